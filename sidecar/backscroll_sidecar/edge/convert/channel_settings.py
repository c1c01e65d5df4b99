"""Settings of channels on the wire."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from backscroll.v1 import admin_pb2, context_pb2
from backscroll_sidecar.context.profiles import Profile, find_profile
from backscroll_sidecar.domain import (
    ChannelSettings,
    Overrides,
    PreferenceExtraction,
    RedactionKind,
    Retention,
    Sharing,
)
from backscroll_sidecar.edge.convert.context import overrides_from_proto
from backscroll_sidecar.edge.convert.fields import (
    check_count,
    check_id,
    check_range,
    enum_value,
    missing,
    numbers_of,
    required_id,
)
from backscroll_sidecar.learning.channel_settings import SetChannel

MAX_REDACTION_KINDS = 20
MAX_NAMED_CHANNELS = 100
MAX_GROUPS = 20
MAX_SUMMARY_HOURS = 8_760
MAX_SHARED_MESSAGES = 20
MAX_RETENTION_DAYS, MAX_RETENTION_MESSAGES = 36_500, 2_000_000_000
_REDACTION_NUMBERS = numbers_of(RedactionKind, admin_pb2.RedactionKind, "REDACTION_KIND")
_EXTRACTION_NUMBERS = numbers_of(
    PreferenceExtraction, admin_pb2.PreferenceExtraction, "PREFERENCE_EXTRACTION"
)
_EXTRACTIONS = {number: one for one, number in _EXTRACTION_NUMBERS.items()}
_REDACTIONS = {number: kind for kind, number in _REDACTION_NUMBERS.items()}


def settings_from_proto(
    request: admin_pb2.SetChannelSettingsRequest, profiles: Mapping[str, Profile]
) -> tuple[str, ChannelSettings]:
    """A channel and what is to be set for it, checked; `profiles`: those there are."""
    if not request.HasField("settings"):
        raise missing("settings")
    given = request.settings
    channel = required_id(given.channel, "settings.channel")
    profile = check_id(given.profile, "settings.profile")
    if profile:
        find_profile(profiles, profile, "settings.profile")
    return channel, ChannelSettings(
        profile,
        overrides_from_proto(given.overrides, "settings.overrides"),
        given.collect_usage if given.HasField("collect_usage") else True,
        _redaction(given),
        _sharing(given),
        _extraction(given),
        check_range(given.summary_hours, "settings.summary_hours", 0, MAX_SUMMARY_HOURS)
        if given.HasField("summary_hours")
        else None,
        _retention(given.retention),
    )


def _extraction(given: admin_pb2.ChannelSettings) -> PreferenceExtraction | None:
    if not given.HasField("preference_extraction"):
        return None
    field = "settings.preference_extraction"
    return enum_value(_EXTRACTIONS, given.preference_extraction, field)


def _redaction(given: admin_pb2.ChannelSettings) -> tuple[RedactionKind, ...] | None:
    if not given.HasField("redaction"):
        return None
    kinds = given.redaction.kinds
    check_count(len(kinds), "settings.redaction.kinds", MAX_REDACTION_KINDS)
    return tuple(
        enum_value(_REDACTIONS, kind, f"settings.redaction.kinds[{place}]")
        for place, kind in enumerate(kinds)
    )


def _sharing(given: admin_pb2.ChannelSettings) -> Sharing | None:
    if not given.HasField("sharing"):
        return None
    names = given.sharing
    most = None
    if names.HasField("max_messages"):
        field = "settings.sharing.max_messages"
        most = check_range(names.max_messages, field, 1, MAX_SHARED_MESSAGES)
    sharing = Sharing(
        _names(names.shares_with, "settings.sharing.shares_with", MAX_NAMED_CHANNELS),
        _names(names.reads_from, "settings.sharing.reads_from", MAX_NAMED_CHANNELS),
        _names(names.groups, "settings.sharing.groups", MAX_GROUPS),
    )
    return sharing if most is None else msgspec.structs.replace(sharing, max_messages=most)


def _names(given: Sequence[str], field: str, most: int) -> tuple[str, ...]:
    """Checked, each once."""
    check_count(len(given), field, most)
    return tuple(
        dict.fromkeys(required_id(name, f"{field}[{place}]") for place, name in enumerate(given))
    )


def _retention(given: admin_pb2.Retention) -> Retention:
    check_range(given.days, "settings.retention.days", 0, MAX_RETENTION_DAYS)
    check_range(given.messages, "settings.retention.messages", 0, MAX_RETENTION_MESSAGES)
    return Retention(
        given.days if given.HasField("days") else None,
        given.messages if given.HasField("messages") else None,
    )


def settings_to_proto(one: SetChannel) -> admin_pb2.ChannelSettings:
    """What is set, as callers read it."""
    settings = one.settings
    told = admin_pb2.ChannelSettings(
        channel=one.channel,
        profile=settings.profile,
        collect_usage=settings.collects_usage,
        updated_at_ms=one.updated_at_ms,
    )
    if settings.preference_extraction is not None:
        told.preference_extraction = _EXTRACTION_NUMBERS[settings.preference_extraction]
    if settings.redaction is not None:
        kinds = [_REDACTION_NUMBERS[kind] for kind in settings.redaction]
        told.redaction.CopyFrom(admin_pb2.Redaction(kinds=kinds))
    if settings.summary_hours is not None:
        told.summary_hours = settings.summary_hours
    if settings.sharing is not None:
        sharing = msgspec.structs.asdict(settings.sharing)
        told.sharing.CopyFrom(admin_pb2.Sharing(**sharing))
    if settings.retention != Retention():
        retention = settings.retention
        told.retention.CopyFrom(
            admin_pb2.Retention(days=retention.days, messages=retention.messages)
        )
    if settings.overrides != Overrides():
        told.overrides.CopyFrom(overrides_to_proto(settings.overrides))
    return told


def overrides_to_proto(overrides: Overrides) -> context_pb2.Overrides:
    """Overrides as callers read them."""
    given = _set_fields(msgspec.structs.asdict(overrides))
    weights = _set_fields(msgspec.structs.asdict(given.pop("weights")))
    told = context_pb2.Overrides(**given)
    if weights:
        told.weights.CopyFrom(context_pb2.ScoreWeights(**weights))
    return told


def _set_fields(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, ())}
