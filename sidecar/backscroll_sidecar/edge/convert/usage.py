"""Recorded builds and feedback on the wire."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backscroll.v1 import admin_pb2, context_pb2, feedback_pb2
from backscroll_sidecar.edge.convert.built import exploration_to_proto
from backscroll_sidecar.edge.convert.fields import (
    FATE_NUMBERS,
    RUNG_NUMBERS,
    check_id,
    check_range,
    check_text,
    check_time,
    invalid,
    missing,
    numbers_of,
    required_id,
)
from backscroll_sidecar.edge.convert.pages import page_position
from backscroll_sidecar.edge.limits import MAX_FEEDBACK_BYTES
from backscroll_sidecar.learning.consented import MAX_TEXT_BYTES, cut
from backscroll_sidecar.learning.feedback import MAX_RATING, Feedback
from backscroll_sidecar.learning.usage import Usage
from backscroll_sidecar.ports import Signal, SignalKind, UsageQuery

SIGNAL_KINDS = numbers_of(SignalKind, feedback_pb2.SignalKind, "SIGNAL_KIND")


def usage_query(request: admin_pb2.ListUsageRecordsRequest, limit: int) -> UsageQuery:
    """Which records a page is about."""
    channel = check_id(request.channel, "channel")
    trigger = check_id(request.trigger_message_id, "trigger_message_id")
    if trigger and not channel:
        raise missing("channel")
    experiment = check_id(request.experiment_id, "experiment_id")
    arm = check_id(request.arm, "arm")
    if arm and not experiment:
        raise missing("experiment_id")
    since = request.since_ms if request.HasField("since_ms") else None
    until = request.until_ms if request.HasField("until_ms") else None
    position = page_position(request)
    return UsageQuery(
        channel,
        check_id(request.user_id, "user_id"),
        trigger_message_id=trigger,
        since_ms=None if since is None else check_time(since, "since_ms"),
        until_ms=None if until is None else check_time(until, "until_ms"),
        limit=limit,
        newest_first=request.newest_first,
        experiment_id=experiment,
        arm=arm,
        with_shadows=request.with_shadows,
        before=position if request.newest_first else None,
        after=None if request.newest_first else position,
    )


def usage_to_proto(one: Usage) -> admin_pb2.UsageRecord:
    """A record as callers read it."""
    record = one.record
    told = admin_pb2.UsageRecord(
        context_id=record.context_id,
        channel=one.channel,
        user_id=record.user_id,
        trigger_message_id=record.trigger_message_id,
        context_message_ids=one.context_message_ids,
        reply_message_id=one.reply_message_id,
        llm_response=one.llm_response,
        user_feedback=one.user_feedback,
        success_indicator=one.success_indicator,
        signals=_signals_to_proto(one.signals),
        created_at_ms=record.created_at_ms,
        asked_at_ms=record.asked_at_ms,
        profile=record.profile,
        policy_id=record.policy_id,
        rung=RUNG_NUMBERS[record.rung],
        degradations=[
            context_pb2.Degradation(stage=lost.stage, source=lost.source, reason=lost.reason)
            for lost in record.degradations
        ],
        token_count=record.tokens,
        token_budget=record.token_budget,
        build_microseconds=record.build_us,
        experiment_id=record.trial.experiment_id,
        arm=record.trial.arm,
        is_listed=record.trial.is_listed,
        shadow_of=record.trial.shadow_of,
    )
    if record.exploration is not None:
        told.exploration.CopyFrom(exploration_to_proto(record.exploration))
        told.factors.extend(record.exploration.factors)
    for message in one.candidates:
        told.candidates.add(
            message_id=message.message_id,
            channel=message.channel,
            score=message.score,
            fate=FATE_NUMBERS[message.fate],
            features=message.features,
            inclusion_probability=message.inclusion,
            drawn=message.drawn,
        )
    return told


def _signals_to_proto(signals: Sequence[Signal]) -> Iterator[feedback_pb2.Signal]:
    """Where many people wrote much, each text is cut to its share: a record is one message."""
    limit = MAX_TEXT_BYTES
    if sum(len(one.text.encode()) for one in signals) > limit:
        limit //= len(signals)
    return (_signal_to_proto(one, cut(one.text, limit)) for one in signals)


def _signal_to_proto(one: Signal, text: str) -> feedback_pb2.Signal:
    return feedback_pb2.Signal(
        kind=SIGNAL_KINDS[one.kind],
        user_id=one.user_id,
        message_id=one.message_id,
        value=one.value,
        confidence=one.confidence,
        rating=one.rating,
        text=text,
        at_ms=one.at_ms,
    )


def feedback_from_proto(request: feedback_pb2.RecordFeedbackRequest) -> Feedback:
    """What somebody says, checked."""
    context_id = check_id(request.context_id, "context_id")
    reply = check_id(request.reply_message_id, "reply_message_id")
    if context_id and reply:
        raise invalid("reply_message_id", "names the answer a second time: context_id does it")
    if not context_id and not reply:
        raise missing("context_id")
    channel = required_id(request.channel, "channel") if reply else ""
    text = check_text(request.text, "text", MAX_FEEDBACK_BYTES).strip()
    rating, success = 0, None
    if request.HasField("rating"):
        rating = check_range(request.rating, "rating", 1, MAX_RATING)
    if request.HasField("success"):
        success = check_range(request.success, "success", 0.0, 1.0)
    if not rating and success is None and not text:
        raise missing("rating")
    user_id = check_id(request.user_id, "user_id")
    return Feedback(user_id, context_id, channel, reply, rating, success, text)
