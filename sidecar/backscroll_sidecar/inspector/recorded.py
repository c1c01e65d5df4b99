"""What is recorded of builds, as pages show it. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backscroll.v1 import admin_pb2, feedback_pb2
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.inspector.explained import FATE_OF
from backscroll_sidecar.inspector.said import Said


@dataclass(frozen=True, slots=True)
class RecordLine:
    """One recorded build in a list."""

    context_id: str
    channel: str
    created_at_ms: int
    user_id: str
    trigger: Said | None
    trigger_id: str
    profile: str
    policy_id: str
    rung: str
    degradations: Sequence[str]
    shown_count: int
    candidate_count: int
    tokens: int
    budget: int
    milliseconds: float
    success: float | None
    experiment: str
    is_shadow: bool


@dataclass(frozen=True, slots=True)
class SignalLine:
    """What somebody said or did about the answer."""

    kind: str
    user_id: str
    value: float | None
    confidence: float
    text: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Record:
    """One recorded build, opened."""

    line: RecordLine
    answer: str
    reply_message_id: str
    asked_at_ms: int
    feedback: str
    signals: Sequence[SignalLine]
    fates: Sequence[tuple[str, int]]
    erased: bool


@dataclass(frozen=True, slots=True)
class EventLine:
    """One recorded event."""

    at_ms: int
    type: str
    context_id: str
    message_id: str
    payload: Sequence[tuple[str, str]]


def record_line(one: admin_pb2.UsageRecord, texts: Mapping[str, Said]) -> RecordLine:
    """A build in a list; `texts` of the messages that asked, as far as they are there."""
    return RecordLine(
        context_id=one.context_id,
        channel=one.channel,
        created_at_ms=one.created_at_ms,
        user_id=one.user_id,
        trigger=texts.get(one.trigger_message_id),
        trigger_id=one.trigger_message_id,
        profile=one.profile,
        policy_id=one.policy_id,
        rung=pb.Rung.Name(one.rung).removeprefix("RUNG_").lower(),
        degradations=[
            " ".join(filter(None, (d.stage, d.source, d.reason))) for d in one.degradations
        ],
        shown_count=len(one.context_message_ids),
        candidate_count=len(one.candidates),
        tokens=one.token_count,
        budget=one.token_budget,
        milliseconds=one.build_microseconds / 1000,
        success=one.success_indicator if one.HasField("success_indicator") else None,
        experiment=" / ".join(filter(None, (one.experiment_id, one.arm))),
        is_shadow=bool(one.shadow_of),
    )


def record_page(one: admin_pb2.UsageRecord, texts: Mapping[str, Said]) -> Record:
    """A build, opened."""
    fates = Counter(FATE_OF[candidate.fate] for candidate in one.candidates)
    return Record(
        line=record_line(one, texts),
        answer=one.llm_response,
        reply_message_id=one.reply_message_id,
        asked_at_ms=one.asked_at_ms,
        feedback=one.user_feedback,
        signals=[
            SignalLine(
                feedback_pb2.SignalKind.Name(s.kind).removeprefix("SIGNAL_KIND_").lower(),
                s.user_id,
                s.value if s.HasField("value") else None,
                s.confidence,
                s.text,
                s.at_ms,
            )
            for s in one.signals
        ],
        fates=[(name, fates[name]) for name in FATE_OF.values() if fates[name]],
        erased=bool(one.trigger_message_id) and one.trigger_message_id not in texts,
    )


def fates_of(one: admin_pb2.UsageRecord) -> dict[str, str]:
    """What became of each candidate of the channel, as recorded."""
    return {c.message_id: FATE_OF[c.fate] for c in one.candidates if not c.channel}


def asked_again(one: admin_pb2.UsageRecord) -> pb.BuildContextRequest:
    """The question of a record at its own moment, with the profile and the budget it had."""
    request = pb.BuildContextRequest(
        channel=one.channel,
        trigger_message_id=one.trigger_message_id,
        asked_at_ms=one.asked_at_ms,
        profile=one.profile,
    )
    if one.user_id:
        request.asker.id = one.user_id
    if one.token_budget:
        request.token_budget = one.token_budget
    return request


def event_line(one: admin_pb2.RecordedEvent) -> EventLine:
    """One event of a list."""
    return EventLine(
        one.event.at_ms,
        one.event.type,
        one.context_id,
        one.message_id,
        sorted(one.event.payload.items()),
    )
