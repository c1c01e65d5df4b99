"""Preferences and their topics on the wire."""

from __future__ import annotations

from backscroll.v1 import preference_pb2 as pb
from backscroll_sidecar.edge.convert.fields import (
    check_text,
    check_time,
    invalid,
    missing,
    numbers_of,
)
from backscroll_sidecar.edge.limits import (
    MAX_PREFERENCE_BYTES,
    MAX_PREFERENCE_TOPIC_BYTES,
    MAX_PREFERENCE_VALUE_BYTES,
)
from backscroll_sidecar.preferences.preference import Kept, Origin
from backscroll_sidecar.preferences.topics import TOPIC_NAME, Topic, Topics, TopicType
from backscroll_sidecar.preferences.validity import Judged, Status

_ORIGINS = numbers_of(Origin, pb.PreferenceOrigin, "PREFERENCE_ORIGIN")
_STATUSES = numbers_of(Status, pb.PreferenceStatus, "PREFERENCE_STATUS")
_TYPES = numbers_of(TopicType, pb.PreferenceTopicType, "PREFERENCE_TOPIC_TYPE")


def kept_from_proto(given: pb.Preference, topics: Topics) -> Kept:
    """What is to be kept, checked."""
    text = check_text(given.text, "preference.text", MAX_PREFERENCE_BYTES).strip()
    value = check_text(given.value, "preference.value", MAX_PREFERENCE_VALUE_BYTES).strip()
    topic = topic_from_proto(given.topic, "preference.topic")
    if value and not topic:
        raise invalid("preference.value", "has no topic")
    if not text and not value:
        raise missing("preference.text")
    from_ms = _time(given, "valid_from_ms")
    until_ms = _time(given, "valid_until_ms")
    if from_ms is not None and until_ms is not None and until_ms <= from_ms:
        raise invalid("preference.valid_until_ms", "is not behind valid_from_ms")
    if topic:
        said = value or text
        try:
            value = topics.of(topic).normal(said)
        except ValueError as error:
            raise invalid("preference.value", str(error)) from None
        check_text(value, "preference.value", MAX_PREFERENCE_VALUE_BYTES)
        text = text or topics.told(topic, value, said)
    return Kept(text, topic, value, from_ms, until_ms)


def topic_from_proto(name: str, field: str) -> str:
    """The name of a topic; empty: none."""
    check_text(name, field, MAX_PREFERENCE_TOPIC_BYTES)
    if name and not TOPIC_NAME.fullmatch(name):
        raise invalid(field, "is not of small letters, digits and _, a letter first")
    return name


def _time(given: pb.Preference, name: str) -> int | None:
    return check_time(getattr(given, name), f"preference.{name}") if given.HasField(name) else None


def judged_to_proto(judged: Judged) -> pb.Preference:
    """A preference, as callers read it."""
    one = judged.preference
    kept = one.kept
    return pb.Preference(
        id=one.id,
        user_id=one.user_id,
        channel=one.channel,
        text=kept.text,
        updated_at_ms=one.updated_at_ms,
        topic=kept.topic,
        value=kept.value,
        valid_from_ms=kept.valid_from_ms,
        valid_until_ms=judged.valid_until_ms,
        origin=_ORIGINS[kept.origin],
        source_message_ids=kept.source_ids,
        status=_STATUSES[judged.status],
        superseded_by=judged.superseded_by,
    )


def topic_to_proto(one: Topic) -> pb.PreferenceTopic:
    """A topic, as callers read it."""
    return pb.PreferenceTopic(
        name=one.name,
        type=_TYPES[one.type],
        has_many=one.has_many,
        words=one.words,
        opposite=one.opposite,
        choices=one.choices or (),
        always_shown=one.always_shown,
    )
