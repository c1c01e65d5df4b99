"""StreamChat and Chat: requests to domain, events to protobuf."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterable, Iterable, Mapping
from typing import Any

import orjson

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2
from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.chat.events import (
    ChatEnd,
    ChatError,
    ChatEvent,
    ContextBuilt,
    Delta,
    EndReason,
    Notice,
    TakenBack,
    ToolCalled,
)
from backscroll_sidecar.chat.turns import ChatRequest
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.domain import ToolCallPart, ToolResultPart
from backscroll_sidecar.edge import limits
from backscroll_sidecar.edge.convert.built import encode_built
from backscroll_sidecar.edge.convert.context import build_request
from backscroll_sidecar.edge.convert.fields import (
    PAYLOAD_FORMAT_WORDS,
    check_count,
    check_id,
    check_range,
    check_text,
    enum_value,
    invalid,
    missing,
    required_id,
)
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.ports import Relayed, VendorAnswer, reserved_fields

END_NUMBERS: Mapping[EndReason, Any] = {
    reason: pb.EndReason.Value(f"END_REASON_{reason.name}") for reason in EndReason
}


def chat_request(
    request: pb.StreamChatRequest,
    tenant: str,
    time_left_s: float | None,
    allowed: AllowedChannels | None = None,
) -> ChatRequest:
    """Translate one turn, or the next round of one.

    Raises
    ------
    InvalidRequest
        With the field, in dotted form.
    """
    turn_id = check_id(request.turn_id, "turn_id")
    return dataclasses.replace(
        call_options(request.model_call, tenant),
        context=None if turn_id else _context(request, tenant, time_left_s, allowed),
        turn_id=turn_id,
        tool_results=tuple(_results(request)),
        question_message_id=check_id(request.question_message_id, "question_message_id"),
        time_left_s=time_left_s,
        allowed=allowed,
    )


def call_options(call: pb.ModelCall, tenant: str) -> ChatRequest:
    """How models are called; what the turn is about is left open. Raises `InvalidRequest` with the field."""
    has = call.HasField
    if has("temperature") and not 0.0 <= call.temperature <= 2.0:
        raise invalid("model_call.temperature", "is not between 0 and 2")
    if has("max_tool_iterations"):
        check_range(call.max_tool_iterations, "model_call.max_tool_iterations", 1, 100)
    if has("max_output_tokens") and call.max_output_tokens == 0:
        raise invalid("model_call.max_output_tokens", "must be positive")
    return ChatRequest(
        tenant=tenant,
        temperature=call.temperature if has("temperature") else None,
        max_tool_iterations=call.max_tool_iterations if has("max_tool_iterations") else None,
        enable_tools=call.enable_tools if has("enable_tools") else None,
        max_output_tokens=call.max_output_tokens if has("max_output_tokens") else None,
        extra_body_json=_extra_body(call.extra_body_json, "model_call.extra_body_json"),
        model_api=_model_api(call.model_api),
    )


def _model_api(number: int) -> str:
    """The payload format of an interface; empty where none is named."""
    if number == pb.PAYLOAD_FORMAT_NONE:
        raise invalid("model_call.model_api", "is no interface of a model")
    if not number:
        return ""
    return str(enum_value(PAYLOAD_FORMAT_WORDS, number, "model_call.model_api"))


def _extra_body(text: str, field: str) -> str:
    """The fields to add to the model's body: a JSON object that can be sent, or nothing."""
    if not text:
        return ""
    check_text(text, field, limits.MAX_EXTRA_BODY_BYTES)
    try:
        body = orjson.loads(text)
        orjson.dumps(body)  # it reads deeper than it writes
    except (ValueError, TypeError):
        raise invalid(field, "is no JSON that can be sent") from None
    if not isinstance(body, dict):
        raise invalid(field, "is not a JSON object")
    if found := reserved_fields(body):
        raise invalid(field, f"holds {found[0]}, which the server sets")
    return text


def _context(
    request: pb.StreamChatRequest,
    tenant: str,
    time_left_s: float | None,
    allowed: AllowedChannels | None,
) -> BuildRequest:
    if not request.HasField("context"):
        raise missing("context")
    try:
        found = build_request(request.context, tenant, time_left_s, allowed)
        if not found.question and not found.trigger_message_id:  # a turn stores what is asked
            raise InvalidRequest(
                "question is blank and there is no trigger_message_id",
                field="question",
                reason=Reason.QUESTION_MISSING,
            )
        return found
    except InvalidRequest as error:
        error.field = error.field and f"context.{error.field}"
        raise


def _results(request: pb.StreamChatRequest) -> Iterable[ToolResultPart]:
    check_count(len(request.tool_results), "tool_results", limits.MAX_PARTS)
    for place, result in enumerate(request.tool_results):
        field = f"tool_results[{place}]"
        yield ToolResultPart(
            required_id(result.call_id, f"{field}.call_id"),
            "",
            check_text(result.text, f"{field}.text", limits.MAX_TEXT_BYTES),
            result.is_error,
        )


def event_to_proto(event: ChatEvent, server_version: str) -> pb.StreamChatResponse | None:
    """One event of a stream; None for one that only a whole answer can heed."""
    match event:
        case ContextBuilt(built):
            return pb.StreamChatResponse(context=context_to_proto(built, server_version))
        case Delta(text):
            return pb.StreamChatResponse(delta=text)
        case TakenBack() | VendorAnswer() | Relayed():
            return None
        case ToolCalled(call):
            return pb.StreamChatResponse(tool_call=_call(call))
        case Notice():
            return pb.StreamChatResponse(notice=notice_to_proto(event))
        case ChatError():
            return pb.StreamChatResponse(error=error_to_proto(event))
        case ChatEnd():
            return pb.StreamChatResponse(end=_end(event))


async def whole_answer(events: AsyncIterable[ChatEvent], server_version: str) -> pb.ChatResponse:
    """The same events as one answer."""
    answer = pb.ChatResponse()
    texts: list[str] = []
    async for event in events:
        match event:
            case ContextBuilt(built):
                answer.context.CopyFrom(context_to_proto(built, server_version))
            case Delta(text) | Notice(text):
                texts.append(text)
            case TakenBack():
                texts.clear()
            case ToolCalled(call):
                answer.tool_calls.append(_call(call))
            case ChatError():
                answer.error.CopyFrom(error_to_proto(event))
            case ChatEnd():
                answer.end.CopyFrom(_end(event))
    answer.text = "".join(texts)
    return answer


def context_to_proto(built: BuiltContext, server_version: str) -> pb.BuildContextResponse:
    """The context as BuildContext would have answered it."""
    return pb.BuildContextResponse.FromString(encode_built(built, server_version))


def _call(call: ToolCallPart) -> message_pb2.ToolCallPart:
    return message_pb2.ToolCallPart(id=call.id, name=call.name, arguments_json=call.arguments_json)


def notice_to_proto(notice: Notice) -> pb.Notice:
    """A text of the server's own."""
    return pb.Notice(text=notice.text, reason=END_NUMBERS[notice.reason])


def error_to_proto(error: ChatError) -> pb.ChatError:
    """What went wrong."""
    return pb.ChatError(
        message=error.message, reason=error.reason, retry_after_ms=error.retry_after_ms
    )


def _end(end: ChatEnd) -> pb.ChatEnd:
    usage = None
    if end.prompt_tokens is not None and end.completion_tokens is not None:
        usage = pb.Usage(prompt_tokens=end.prompt_tokens, completion_tokens=end.completion_tokens)
    return pb.ChatEnd(
        reason=END_NUMBERS[end.reason],
        turn_id=end.turn_id,
        reply_message_id=end.reply_message_id,
        usage=usage,
        partial=end.is_partial,
        finish_reason=end.finish_reason,
    )
