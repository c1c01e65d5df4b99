"""The body of a chat completion request: the adapter's bytes and the fields of a call. Pure, no SDK."""

from collections.abc import Mapping
from typing import Any

import orjson
from msgspec.structs import replace

from backscroll_sidecar.adapters import OpenAIChat
from backscroll_sidecar.domain import NeutralMessage
from backscroll_sidecar.models.answer_reader import clean
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault, ModelRequest

_ADAPTER = OpenAIChat()
_BESIDE_TOOLS = ("tool_choice", "parallel_tool_calls")
"""Fields that vendors refuse where there are no tools."""


def request_body(
    request: ModelRequest,
    *,
    include_usage: bool = True,
    max_tokens_field: str = "max_tokens",
    extra_body: Mapping[str, object] | None = None,
) -> bytes:
    """The adapter's payload as it is, then the call's fields.

    Fields of `extra_body` replace those made here, fields of the request replace both. The adapter's stay.
    """
    extra: dict[str, Any] = {"stream": True}
    if include_usage:
        extra["stream_options"] = {"include_usage": True}
    if request.temperature is not None:
        extra["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        extra[max_tokens_field] = request.max_output_tokens
    tools_json = _checked_tools(request.tools_json)
    extra |= extra_body or {}
    if request.extra_body_json:
        extra |= orjson.loads(request.extra_body_json)
    if not tools_json:
        for name in _BESIDE_TOOLS:
            extra.pop(name, None)
    payload = _payload(request, tools_json)
    return payload[:-1] + b"," + orjson.dumps(extra)[1:]


def _payload(request: ModelRequest, tools_json: str) -> bytes:
    try:
        return _ADAPTER.payload(
            request.messages,
            model=request.model,
            tools_json=tools_json,
            with_names=request.with_names,
        )
    except TypeError:  # a lone surrogate
        messages = [_cleaned(message) for message in request.messages]
        return _ADAPTER.payload(
            messages,
            model=clean(request.model),
            tools_json=tools_json,
            with_names=request.with_names,
        )


def _checked_tools(tools_json: str) -> str:
    """The tools, which must be a JSON list; an empty one is left out."""
    if not tools_json:
        return ""
    try:
        tools = orjson.loads(tools_json)
    except ValueError:
        tools = None
    if not isinstance(tools, list):
        raise failed(ModelFault.REJECTED, "the tools are not a JSON list")
    return tools_json if tools else ""


def _cleaned(message: NeutralMessage) -> NeutralMessage:
    calls = tuple(
        replace(
            call,
            id=clean(call.id),
            name=clean(call.name),
            arguments_json=clean(call.arguments_json),
        )
        for call in message.tool_calls
    )
    return replace(
        message,
        content=clean(message.content),
        name=clean(message.name),
        tool_call_id=clean(message.tool_call_id),
        tool_calls=calls,
    )
