"""From the contract's events of a round to those of the client."""

from __future__ import annotations

import json
from typing import Any

from backscroll._encode import enum_name
from backscroll.results import Context
from backscroll.room_events import (
    Ignored,
    Interrupt,
    LoopSuppressed,
    Move,
    PreparedRound,
    RoundEnded,
    RoundEvent,
    RoundNotice,
    RoundStarted,
    Route,
    StateChanged,
    Target,
    TargetContext,
    TargetDelta,
    TargetEnded,
    TargetStarted,
    TargetToolCall,
)
from backscroll.v1 import context_pb2, message_pb2, session_pb2
from backscroll.values import ToolCall

_ROUTE_REASON = session_pb2.RouteReason.DESCRIPTOR
_IGNORED = session_pb2.IgnoredReason.DESCRIPTOR
_UNADDRESSED = session_pb2.Unaddressed.DESCRIPTOR
_TARGET_END = session_pb2.TargetEndReason.DESCRIPTOR
_ROUND_END = session_pb2.RoundEndReason.DESCRIPTOR
_MODEL_END = context_pb2.EndReason.DESCRIPTOR


def route_of(raw: session_pb2.Route) -> Route:
    """Translate who answers."""
    return Route(
        tuple(map(target_of, raw.targets)),
        tuple(
            Ignored(one.text, enum_name(_IGNORED, one.reason), one.participant_id)
            for one in raw.ignored
        ),
        raw.clean_text,
        raw.user_text,
        enum_name(_UNADDRESSED, raw.policy),
        tuple(raw.candidate_ids),
        raw,
    )


def target_of(raw: session_pb2.Target) -> Target:
    """Translate a target."""
    reason = enum_name(_ROUTE_REASON, raw.reason)
    return Target(raw.participant_id, raw.name, reason, raw.start, raw.end)


def state_of(mode_state_json: str) -> dict[str, Any]:
    """The state of a mode."""
    state: dict[str, Any] = json.loads(mode_state_json or "{}")
    return state


def move_of(raw: session_pb2.ActResponse) -> Move:
    """Translate what a move led to."""
    change = raw.change
    return Move(
        change.event,
        state_of(change.mode_state_json),
        change.state_version,
        tuple(change.announcements),
        change.over,
        tuple(raw.waiting_for),
        raw,
    )


def prepared_of(
    raw: session_pb2.PrepareRoundResponse, request: context_pb2.BuildContextRequest
) -> PreparedRound:
    """Translate what a round would go by."""
    return PreparedRound(
        route_of(raw.route),
        tuple(
            TargetContext(
                target_of(one.target), Context.of(one.context, request), tuple(one.stop_names)
            )
            for one in raw.contexts
        ),
        dict(raw.lookup),
        tuple(raw.history),
        raw.user_text,
        raw.task_prompt,
        raw.mode,
        raw.state_version,
        raw,
    )


def _call_of(raw: message_pb2.ToolCallPart) -> ToolCall:
    return ToolCall(raw.id, raw.name, raw.arguments_json)


def round_event_of(
    raw: session_pb2.RoundEvent, request: context_pb2.BuildContextRequest
) -> RoundEvent | None:
    """Translate an event; None: a newer server's, which this client does not know."""
    number, who = raw.sequence, raw.target_id
    match raw.WhichOneof("event"):
        case "round_started":
            begun = raw.round_started
            return RoundStarted(
                begun.session.session_id, begun.request_id, route_of(begun.route), begun.resumed,
                raw, number, who,
            )  # fmt: skip
        case "target_started":
            asked = raw.target_started
            context = Context.of(asked.context, request) if asked.HasField("context") else None
            return TargetStarted(target_of(asked.target), context, asked.step, raw, number, who)
        case "delta":
            return TargetDelta(raw.delta.text, who, raw.delta.whole, raw, number)
        case "tool_call":
            return TargetToolCall(_call_of(raw.tool_call), who, raw, number)
        case "target_ended":
            return _target_ended(raw)
        case "interrupt":
            waits = raw.interrupt
            calls = tuple(map(_call_of, waits.tool_calls))
            return Interrupt(waits.interrupt_id, who, calls, waits.expires_at_ms, raw, number)
        case "notice":
            reason = enum_name(_MODEL_END, raw.notice.reason)
            return RoundNotice(raw.notice.text, who, reason, raw, number)
        case _:
            return _event_of_the_round(raw)


def _target_ended(raw: session_pb2.RoundEvent) -> TargetEnded:
    ended = raw.target_ended
    return TargetEnded(
        enum_name(_TARGET_END, ended.reason),
        raw.target_id,
        ended.message if ended.HasField("message") else None,
        ended.error.message,
        ended.error.reason,
        enum_name(_MODEL_END, ended.end_reason) if ended.end_reason else "",
        raw,
        raw.sequence,
    )


def _event_of_the_round(raw: session_pb2.RoundEvent) -> RoundEvent | None:
    number, who = raw.sequence, raw.target_id
    match raw.WhichOneof("event"):
        case "state_changed":
            change = raw.state_changed
            state, said = state_of(change.mode_state_json), tuple(change.announcements)
            return StateChanged(
                change.event, state, change.state_version, said, change.over, raw, number, who
            )
        case "loop_suppressed":
            loop = raw.loop_suppressed
            return LoopSuppressed(
                loop.sender_id, loop.participant_id, loop.retry_after_ms, raw, number, who
            )
        case "round_ended":
            ended = raw.round_ended
            return RoundEnded(
                enum_name(_ROUND_END, ended.reason), tuple(ended.responses),
                tuple(ended.failed_ids), ended.state_version, ended.coalesced_into, raw, number, who,
            )  # fmt: skip
    return None
