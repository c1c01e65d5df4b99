"""The requests of rounds: what is said, and the settings of its prompts, models and tools."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypedDict

from backscroll._calls.context import PromptOptions, context_request
from backscroll._calls.rooms import RoomCore
from backscroll._encode import encode
from backscroll._tools import ToolTable
from backscroll.v1 import context_pb2, message_pb2, session_pb2
from backscroll.values import (
    Author,
    Mention,
    Message,
    PayloadFormatName,
    Reply,
    author_of,
    mentions_of,
    parts_of,
    reply_of,
)

RoundTools: TypeAlias = Mapping[str, Callable[..., Any]] | Sequence[Callable[..., Any]]


class ModelOptions(TypedDict, total=False):
    """How the models of a round are called; as for `stream_chat`."""

    temperature: float | None
    max_tool_iterations: int | None
    enable_tools: bool | None
    max_output_tokens: int | None
    extra_body_json: str
    model_api: PayloadFormatName | int | None


class RoundOptions(PromptOptions, ModelOptions, total=False):
    """Settings of a round: those of `build_context` that say what a prompt is like, and those of the model."""


def said(
    text: str | Message,
    author: str | Author | None,
    *,
    id: str = "",
    reply_to: str | Reply | message_pb2.Reply | None = None,
    mentions: Sequence[str | Mention | message_pb2.Mention] = (),
    audience: Sequence[str] = (),
) -> message_pb2.Message:
    """What is said, as protobuf. A `Message` is taken as it is, but for what is given beside it."""
    given = encode(
        message_pb2.Message,
        id=id,
        author=author_of(author),
        reply=reply_of(reply_to),
        mentions=mentions_of(mentions),
        audience=audience,
    )
    if isinstance(text, Message):
        message = text.to_proto()
        message.MergeFrom(given)
        return message
    if author is None:
        raise TypeError("who says it? give an author: an id, or an Author")
    given.parts.extend(parts_of(text, ()))
    return given


def round_request(
    core: RoomCore,
    message: message_pb2.Message | None,
    targets: Sequence[str],
    request_id: str | None,
    tools: RoundTools | None,
    settings: RoundOptions,
) -> tuple[session_pb2.StartRoundRequest, ToolTable | None]:
    """The request of a round, and the functions that answer its calls of tools."""
    given: dict[str, Any] = dict(settings)
    model = {name: given.pop(name) for name in ModelOptions.__annotations__ if name in given}
    if unknown := given.keys() - PromptOptions.__annotations__.keys():
        raise TypeError(f"got an unexpected keyword argument {min(unknown)!r}")
    call = encode(context_pb2.ModelCall, **model)
    table = None
    if tools is not None and (call.enable_tools or not call.HasField("enable_tools")):
        table = table_of(tools, given.get("tools_json", ""))
        call.enable_tools = table is not None
        given["tools_json"] = "" if table is None else table.schemas_json
    request = encode(
        session_pb2.StartRoundRequest,
        request_id=request_id or uuid.uuid4().hex,
        session=core.ref,
        message=message,
        targets=targets,
        context=context_request("", "", **given),
        model_call=call,
    )
    return request, table


def table_of(tools: RoundTools | None, tools_json: str) -> ToolTable | None:
    """The functions by name."""
    if tools is None:
        return None
    if isinstance(tools, Sequence):
        tools = {each.__name__: each for each in tools}
    return ToolTable.of(tools, tools_json)
