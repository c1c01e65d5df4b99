"""What of a recorded build may be handed out, by the consent of those who took part. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec.structs import replace as replace_fields

from backscroll_sidecar.domain import StoredMessage
from backscroll_sidecar.learning.usage import Usage
from backscroll_sidecar.ports import Signal, SignalKind

MAX_TEXT_BYTES = 2 * 1024 * 1024
"""Of the messages of one build together: an answer of the server has to hold them."""

Place = tuple[str, str]
"""The channel of a message, empty for the build's own, and its id."""


@dataclass(frozen=True, slots=True)
class ExportedMessage:
    """What else is known of a message that a record names. `channel` is empty for the build's own."""

    message_id: str
    channel: str
    topic_labels: Sequence[str]
    text: str = ""


@dataclass(frozen=True, slots=True)
class ExportedUsage:
    """A recorded build as it is handed out."""

    usage: Usage
    messages: Sequence[ExportedMessage]


@dataclass(slots=True)
class ExportSummary:
    """How much an export holds, and what it leaves out for want of consent."""

    builds: int = 0
    left_out_by_channel: int = 0
    left_out_by_user: int = 0
    left_out_messages: int = 0


def places_of(usage: Usage) -> Iterator[Place]:
    """All messages that a record names; some of them several times."""
    own = (
        usage.record.trigger_message_id,
        *usage.context_message_ids,
        usage.reply_message_id,
        *(one.message_id for one in usage.signals),
    )
    yield from (("", id_) for id_ in own if id_)
    yield from ((one.channel, one.message_id) for one in usage.candidates)


def without_messages(
    usage: Usage, is_hidden: Callable[[Place], bool], refuses: Callable[[str], bool]
) -> tuple[Usage, int]:
    """The record without messages and signals of people who refuse; how many candidates it lost."""
    candidates = tuple(
        one for one in usage.candidates if not is_hidden((one.channel, one.message_id))
    )
    signals = tuple(
        one
        for one in usage.signals
        if not refuses(one.user_id) and not (one.message_id and is_hidden(("", one.message_id)))
    )
    shown = tuple(id_ for id_ in usage.context_message_ids if not is_hidden(("", id_)))
    has_reply = bool(usage.reply_message_id) and not is_hidden(("", usage.reply_message_id))
    kept = replace(
        usage,
        candidates=candidates,
        context_message_ids=shown,
        signals=signals,
        reply_message_id=usage.reply_message_id if has_reply else "",
        llm_response=usage.llm_response if has_reply else None,
    )
    if len(signals) < len(usage.signals):
        kept = _summed_up(kept)
    return kept, len(usage.candidates) - len(candidates)


def _summed_up(usage: Usage) -> Usage:
    """With the text and the value that its signals come to."""
    said = [one for one in usage.signals if one.kind is SignalKind.FEEDBACK]
    values = [one.value for one in said if one.value is not None]
    texts = sorted((-one.at_ms, one.user_id, one.text) for one in said if one.text)
    return replace(
        usage,
        user_feedback=texts[0][2] if texts else None,
        success_indicator=sum(values) / len(values) if values else None,
    )


def without_texts(usage: Usage) -> Usage:
    """The record without a word that somebody wrote."""
    return replace(
        usage,
        llm_response=None,
        user_feedback=None,
        signals=tuple(map(_wordless, usage.signals)),
    )


def _wordless(signal: Signal) -> Signal:
    return replace_fields(signal, text="")


def messages_of(
    usage: Usage,
    labels: Callable[[Place], Sequence[str]],
    rows: Mapping[Place, StoredMessage],
) -> Sequence[ExportedMessage]:
    """What there is to say of the messages of a record; `rows`: those whose texts are wanted."""
    places = list(dict.fromkeys(places_of(usage)))
    texts = {place: rows[place].message.text if place in rows else "" for place in places}
    limit = MAX_TEXT_BYTES
    if sum(len(text.encode()) for text in texts.values()) > MAX_TEXT_BYTES:
        limit = MAX_TEXT_BYTES // len(places)
    found = (
        ExportedMessage(place[1], place[0], labels(place), cut(texts[place], limit))
        for place in places
    )
    return [one for one in found if one.topic_labels or one.text]


def cut(text: str, limit_bytes: int) -> str:
    """The beginning of a text that takes no more bytes."""
    raw = text.encode()
    return text if len(raw) <= limit_bytes else raw[:limit_bytes].decode(errors="ignore")
