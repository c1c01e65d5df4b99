"""Rounds between protobuf and domain: requests in, events out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backscroll.v1 import context_pb2, message_pb2
from backscroll.v1 import session_pb2 as pb
from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.chat.events import Notice
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.domain import Message, ToolCallPart, ToolResultPart
from backscroll_sidecar.edge import limits
from backscroll_sidecar.edge.convert.chat import (
    END_NUMBERS,
    call_options,
    context_to_proto,
    error_to_proto,
    notice_to_proto,
)
from backscroll_sidecar.edge.convert.context import build_request
from backscroll_sidecar.edge.convert.fields import (
    LAYOUT_WORDS,
    check_count,
    check_id,
    check_text,
    enum_value,
    missing,
    numbers_of,
    required_id,
)
from backscroll_sidecar.edge.convert.messages import message_from_proto, message_to_proto
from backscroll_sidecar.edge.convert.sessions import (
    UNADDRESSED_NUMBERS,
    config_text,
    participants_of,
    policy_of,
    ref_of,
    session_to_proto,
)
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.rooms.drafts import SessionDraft
from backscroll_sidecar.rooms.round_events import (
    Answers,
    Interrupted,
    LoopSuppressed,
    RoundEnded,
    RoundEnding,
    RoundEvent,
    RoundRequest,
    RoundStarted,
    Routing,
    StateChanged,
    TargetDelta,
    TargetEnded,
    TargetStarted,
    TargetToolCall,
)
from backscroll_sidecar.rooms.round_record import StepStatus
from backscroll_sidecar.sessions.routing import IgnoredReason, RouteReason, Target
from backscroll_sidecar.sessions.session import Session

MAX_TARGETS = 100
MAX_ANSWERS = 100
REASON_NUMBERS = numbers_of(RouteReason, pb.RouteReason, "ROUTE_REASON")
IGNORED_NUMBERS = numbers_of(IgnoredReason, pb.IgnoredReason, "IGNORED_REASON")
ENDING_NUMBERS = numbers_of(RoundEnding, pb.RoundEndReason, "ROUND_END_REASON")
_STATUS_NUMBERS: Mapping[StepStatus, Any] = {
    status: pb.TargetEndReason.Value(f"TARGET_END_REASON_{status.name}")
    for status in StepStatus
    if status is not StepStatus.PENDING
}


def round_request(
    request: pb.StartRoundRequest,
    tenant: str,
    time_left_s: float | None,
    allowed: AllowedChannels | None = None,
) -> RoundRequest:
    """Translate a round.

    Raises
    ------
    InvalidRequest
        With the field, in dotted form.
    """
    ref = ref_of(request.session, allowed)
    draft = SessionDraft(
        channel=check_id(request.channel, "channel"),
        mode=check_id(request.mode, "mode"),
        role_config_json=config_text(request.role_config_json, "role_config_json"),
        policy=policy_of(request.policy, "policy"),
        participants=participants_of(request.participants, "participants"),
    )
    context, layout = _template(request.context, tenant, time_left_s, allowed)
    has_version = request.HasField("expected_state_version")
    return RoundRequest(
        tenant,
        ref,
        context,
        call_options(request.model_call, tenant),
        check_id(request.request_id, "request_id"),
        said_message(request.message, "message") if request.HasField("message") else None,
        targets_of(request.targets),
        draft,
        layout,
        _settings(request),
        request.expected_state_version if has_version else None,
        time_left_s,
    )


def targets_of(targets: Any) -> tuple[str, ...]:  # noqa: ANN401 - a repeated field
    """Names of those who shall answer."""
    check_count(len(targets), "targets", MAX_TARGETS)
    return tuple(required_id(one, f"targets[{place}]") for place, one in enumerate(targets))


def said_message(message: message_pb2.Message, field: str) -> Message:
    """A message that is said in a session: its channel and session are the session's."""
    if not message.author.id and not (message.id and not message.parts):
        raise missing(f"{field}.author.id")
    try:
        return message_from_proto(message, "")
    except InvalidRequest as error:
        error.field = error.field and f"{field}.{error.field}"
        raise


def _template(
    given: context_pb2.BuildContextRequest,
    tenant: str,
    time_left_s: float | None,
    allowed: AllowedChannels | None,
) -> tuple[BuildRequest, Any]:
    """What the request says of prompts, and of their layout; what is the round's own is left out."""
    request = context_pb2.BuildContextRequest()
    request.CopyFrom(given)
    for name in _OWN:
        request.ClearField(name)
    request.question = "?"
    layout = None
    if given.layout:
        layout = enum_value(LAYOUT_WORDS, given.layout, "context.layout")
    try:
        return build_request(request, tenant, time_left_s, allowed), layout
    except InvalidRequest as error:
        error.field = error.field and f"context.{error.field}"
        raise


_OWN: tuple[Any, ...] = (
    "channel", "asker", "question", "trigger_message_id", "asked_at_ms", "reply", "mentions", "thread_id", "session_id",
    "self_ids", "viewer_id", "system", "query_embedding", "pictures",
)  # fmt: skip


def _settings(request: pb.StartRoundRequest) -> bytes:
    kept = pb.StartRoundRequest(context=request.context, model_call=request.model_call)
    for name in _OWN:
        kept.context.ClearField(name)
    return kept.SerializeToString()


def settings_of(
    request: pb.ResumeRoundRequest,
    tenant: str,
    time_left_s: float | None,
    allowed: AllowedChannels | None = None,
) -> Any:  # noqa: ANN401 - a function of bytes
    """Reads what a round keeps of the request that began it."""

    def read(settings: bytes) -> RoundRequest:
        kept = pb.StartRoundRequest.FromString(settings)
        kept.session.CopyFrom(request.session)
        kept.request_id = request.request_id
        return round_request(kept, tenant, time_left_s, allowed)

    return read


def resume_request(
    request: pb.ResumeRoundRequest,
    tenant: str,
    time_left_s: float | None,
    allowed: AllowedChannels | None = None,
) -> tuple[RoundRequest, tuple[Answers, ...]]:
    """Which round goes on, and the results of tools that it waits for."""
    check_count(len(request.answers), "answers", MAX_ANSWERS)
    answers = []
    for place, one in enumerate(request.answers):
        field = f"answers[{place}]"
        check_count(len(one.tool_results), f"{field}.tool_results", limits.MAX_PARTS)
        results = tuple(
            ToolResultPart(
                required_id(each.call_id, f"{field}.tool_results[{number}].call_id"),
                "",
                check_text(
                    each.text, f"{field}.tool_results[{number}].text", limits.MAX_TEXT_BYTES
                ),
                each.is_error,
            )
            for number, each in enumerate(one.tool_results)
        )
        answers.append(Answers(required_id(one.interrupt_id, f"{field}.interrupt_id"), results))
    if not request.HasField("session") or not request.session.session_id:
        raise missing("session.session_id")
    context, _ = _template(context_pb2.BuildContextRequest(), tenant, time_left_s, allowed)
    begun = RoundRequest(
        tenant,
        ref_of(request.session, allowed),
        context,
        call_options(context_pb2.ModelCall(), tenant),
        required_id(request.request_id, "request_id"),
        time_left_s=time_left_s,
    )
    return begun, tuple(answers)


# --- to the wire -----------------------------------------------------------------------------------


def route_to_proto(session: Session, routing: Routing) -> pb.Route:
    """Who answers, and why."""
    return pb.Route(
        targets=[_target(session, one) for one in routing.targets],
        ignored=[
            pb.IgnoredMention(
                text=one.text,
                reason=IGNORED_NUMBERS[one.reason],
                participant_id=one.participant_id,
                start=one.start,
                end=one.end,
            )
            for one in routing.ignored
        ],
        clean_text=routing.clean_text,
        user_text=routing.user_text,
        policy=UNADDRESSED_NUMBERS[routing.policy],
        candidate_ids=routing.candidates,
    )


def _target(session: Session, one: Target) -> pb.Target:
    participant = session.participant(one.id)
    return pb.Target(
        participant_id=one.id,
        name=one.id if participant is None else participant.name,
        reason=REASON_NUMBERS[one.reason],
        start=one.start,
        end=one.end,
    )


def event_to_proto(event: RoundEvent, server_version: str) -> pb.RoundEvent:
    """One event of a round."""
    out = pb.RoundEvent(sequence=event.sequence, target_id=event.target_id)
    match event.told:
        case RoundStarted() as told:
            out.round_started.CopyFrom(_started(told))
        case TargetStarted() as told:
            out.target_started.CopyFrom(_target_started(told, server_version))
        case TargetDelta(text, is_whole):
            out.delta.text, out.delta.whole = text, is_whole
        case TargetToolCall(call):
            out.tool_call.CopyFrom(_call(call))
        case TargetEnded() as told:
            out.target_ended.CopyFrom(_target_ended(told))
        case StateChanged() as told:
            out.state_changed.CopyFrom(change_to_proto(told))
        case Interrupted(interrupt_id, calls, expires_at_ms):
            out.interrupt.interrupt_id = interrupt_id
            out.interrupt.tool_calls.extend(map(_call, calls))
            out.interrupt.expires_at_ms = expires_at_ms
        case LoopSuppressed(sender_id, participant_id, retry_after_ms):
            out.loop_suppressed.sender_id = sender_id
            out.loop_suppressed.participant_id = participant_id
            out.loop_suppressed.retry_after_ms = retry_after_ms
        case Notice() as told:
            out.notice.CopyFrom(notice_to_proto(told))
        case RoundEnded() as told:
            out.round_ended.CopyFrom(_ended(told))
    return out


def _started(told: RoundStarted) -> pb.RoundStarted:
    out = pb.RoundStarted(
        session=session_to_proto(told.session),
        request_id=told.request_id,
        route=route_to_proto(told.session, told.routing),
        snapshot_sequence=told.snapshot_seq,
        resumed=told.is_resumed,
    )
    if told.message is not None:
        out.user_message.CopyFrom(message_to_proto(told.message))
    return out


def _target_started(told: TargetStarted, server_version: str) -> pb.TargetStarted:
    target = pb.Target(
        participant_id=told.target.id,
        name=told.name,
        reason=REASON_NUMBERS[told.target.reason],
        start=told.target.start,
        end=told.target.end,
    )
    out = pb.TargetStarted(target=target, step=told.step)
    if told.built is not None:
        out.context.CopyFrom(context_to_proto(told.built, server_version))
    return out


def _target_ended(told: TargetEnded) -> pb.TargetEnded:
    out = pb.TargetEnded(reason=_STATUS_NUMBERS[told.status], foreign_speaker_id=told.foreign_id)
    if told.message is not None:
        out.message.CopyFrom(message_to_proto(told.message))
    if told.error is not None:
        out.error.CopyFrom(error_to_proto(told.error))
    if told.end_reason is not None:
        out.end_reason = END_NUMBERS[told.end_reason]
    if told.prompt_tokens is not None and told.completion_tokens is not None:
        out.usage.prompt_tokens = told.prompt_tokens
        out.usage.completion_tokens = told.completion_tokens
    return out


def change_to_proto(told: StateChanged) -> pb.StateChanged:
    """What the mode made of something."""
    return pb.StateChanged(
        state_version=told.state_version,
        event=told.event,
        mode_state_json=told.mode_state_json,
        announcements=map(message_to_proto, told.announcements),
        over=told.is_over,
    )


def _ended(told: RoundEnded) -> pb.RoundEnded:
    return pb.RoundEnded(
        reason=ENDING_NUMBERS[told.ending],
        responses=map(message_to_proto, told.responses),
        failed_ids=told.failed_ids,
        state_version=told.state_version,
        coalesced_into=told.coalesced_into,
    )


def _call(call: ToolCallPart) -> message_pb2.ToolCallPart:
    return message_pb2.ToolCallPart(id=call.id, name=call.name, arguments_json=call.arguments_json)
