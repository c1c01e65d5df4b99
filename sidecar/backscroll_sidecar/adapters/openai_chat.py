"""OpenAI Chat Completions: neutral messages out, a completion in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
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
_CALL_NAME = re.compile(r"[\w.:/-]{1,128}")
_NOT_ALLOWED_IN_NAME = re.compile(r"[^a-zA-Z0-9_-]+")
MAX_NAME_CHARS = 64
HASH_BYTES = 6
_HASHED_NAME = re.compile(rf"u_[0-9a-f]{{{2 * HASH_BYTES}}}")


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
            bodies = list(map(message_body, messages, payload_names(messages)))
        else:
            bodies = encoded(messages, "openai_chat", message_body)
        opening, closing = envelope(model, tools_json)
        return b"".join((opening, b",".join(bodies), closing))

    def parse_reply(self, completion: object) -> ModelReply:
        """The first choice of a completion as parts: its text, then its tool calls."""
        return parse_completion(completion)


def payload_names(messages: Sequence[NeutralMessage]) -> list[str]:
    """The name of who speaks in each message, as the API accepts it; empty where nobody is named.

    What is safe of a name stays where it is one person's among these messages. Else, or where nothing is left of it,
    it is ``u_`` and a hash of the id.
    """
    people = [(one.author_id or one.name, one.name) for one in messages]
    owners: dict[str, set[str]] = {}
    for who, name in set(people):
        if who:
            owners.setdefault(_safe_name(name), set()).add(who)
    return [_name_of(who, name, len(owners.get(_safe_name(name), ())) == 1) for who, name in people]


def payload_name_alone(message: NeutralMessage) -> str:
    """The name that a message has where nobody else has the same."""
    return _name_of(message.author_id or message.name, message.name, True)


@lru_cache(maxsize=4_096)
def _name_of(who: str, name: str, is_only_one: bool) -> str:
    safe = _safe_name(name)
    if not who:
        return ""
    is_own = safe and is_only_one and not _HASHED_NAME.fullmatch(safe)
    return safe if is_own else _hashed_name(who)


@lru_cache(maxsize=4_096)
def _safe_name(name: str) -> str:
    """Letters, digits, ``_`` and ``-``, at most 64; empty when nothing is left."""
    return _NOT_ALLOWED_IN_NAME.sub("_", name).strip("_")[:MAX_NAME_CHARS]


def _call_name(name: str) -> str:
    """The name of a tool that a model called, as it said it; what no tool can be called by is made safe.

    Models make names up, and an API that refuses one refuses every later request of the turn.
    """
    return name if _CALL_NAME.fullmatch(name) else _safe_name(name) or "tool"


def _hashed_name(user_id: str) -> str:
    digest = blake2b(user_id.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES)
    return f"u_{digest.hexdigest()}"


def envelope(model: str, tools_json: str) -> tuple[bytes, bytes]:
    """What a request body has before its messages and behind them."""
    tools = b',"tools":' + tools_json.encode() if tools_json else b""
    return b'{"model":%b,"messages":[' % orjson.dumps(model), b"]%b}" % tools


def message_body(message: NeutralMessage, name: str = "") -> bytes:
    """One message of a request body."""
    dumped = orjson.dumps(_message(message, name))
    return bytes(memoryview(dumped))  # a copy: orjson's own holds on to 4 KiB


def _message(message: NeutralMessage, name: str) -> dict[str, Any]:
    content = None if message.tool_calls and not message.content.strip() else message.content
    out: dict[str, Any] = {"role": ROLE_NAME[message.role], "content": content}
    if name:
        out["name"] = name
    if message.tool_calls:
        out["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {
                    "name": _call_name(call.name),
                    "arguments": object_json(call.arguments_json),
                },
            }
            for call in message.tool_calls
        ]
    if message.tool_call_id:
        out["tool_call_id"] = message.tool_call_id
    return out
