"""OpenAI Chat Completions: neutral messages out (S1-12, S1-18, S3-03), a completion in (S3-04)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import orjson

from backscroll_sidecar.adapters.arguments import object_json
from backscroll_sidecar.adapters.base import ModelReply, encoded
from backscroll_sidecar.adapters.openai_reply import parse_completion
from backscroll_sidecar.domain import NeutralMessage, Role

ROLE_NAME = {
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.SYSTEM: "system",
    Role.TOOL: "tool",
}
_NOT_ALLOWED_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
MAX_NAME_CHARS = 64


class OpenAIChat:
    """The format of OpenAI and of everything compatible with it."""

    name = "openai_chat"

    def payload(
        self,
        messages: Sequence[NeutralMessage],
        *,
        model: str,
        tools_json: str = "",
        with_names: bool = False,
    ) -> bytes:
        """``{"model", "messages"}``, and ``"tools"`` where there are any."""
        if with_names:
            bodies = encoded(messages, "openai_chat, names", _with_name)
        else:
            bodies = encoded(messages, "openai_chat", message_body)
        opening, closing = envelope(model, tools_json)
        return b"".join((opening, b",".join(bodies), closing))

    def parse_reply(self, completion: object) -> ModelReply:
        """The first choice of a completion as parts: its text, then its tool calls."""
        return parse_completion(completion)


def safe_name(name: str) -> str:
    """A name as the API accepts it: letters, digits, ``_`` and ``-``, at most 64; empty when nothing is left (N-07)."""
    return _NOT_ALLOWED_IN_NAME.sub("_", name).strip("_")[:MAX_NAME_CHARS]


def envelope(model: str, tools_json: str) -> tuple[bytes, bytes]:
    """What a request body has before its messages and behind them."""
    tools = b',"tools":' + tools_json.encode() if tools_json else b""
    return b'{"model":%b,"messages":[' % orjson.dumps(model), b"]%b}" % tools


def message_body(message: NeutralMessage, name: str = "") -> bytes:
    """One message of a request body."""
    dumped = orjson.dumps(_message(message, name))
    return bytes(memoryview(dumped))  # a copy: orjson's own holds on to 4 KiB


def _with_name(message: NeutralMessage) -> bytes:
    return message_body(message, safe_name(message.name))


def _message(message: NeutralMessage, name: str) -> dict[str, Any]:
    content = None if message.tool_calls and not message.content else message.content
    out: dict[str, Any] = {"role": ROLE_NAME[message.role], "content": content}
    if name:
        out["name"] = name
    if message.tool_calls:
        out["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": object_json(call.arguments_json)},
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        out["tool_call_id"] = message.tool_call_id
    return out
