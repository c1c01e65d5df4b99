"""OpenAI Chat Completions: neutral messages out, a completion in."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import orjson

from backscroll_sidecar.adapters.arguments import object_json
from backscroll_sidecar.adapters.base import Framing, ModelReply, Speaker, inside_json, speaker_of
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
    framing = Framing(message_tokens=4, name_tokens=1, priming_tokens=3)
    """Three marks and the role; the field; what begins the reply (OpenAI's published count for o200k models)."""

    def envelope(self, model: str, tools_json: str) -> tuple[bytes, bytes]:
        """``{"model", "messages"}``, and ``"tools"`` where there are any."""
        tools = b',"tools":' + tools_json.encode() if tools_json else b""
        return b'{"model":%b,"messages":[' % orjson.dumps(model), b"]%b}" % tools

    def around(self, role: Role, name: str = "") -> tuple[bytes, bytes]:
        """``{"role", "content"}``, and ``"name"`` where there is one."""
        named = b',"name":"%b"' % name.encode() if name else b""
        return b'{"role":"%b","content":"' % ROLE_NAME[role].encode(), b'"%b}' % named

    def names(self, speakers: Sequence[Speaker]) -> list[str]:
        """What is safe of a name stays where it is one person's among these.

        Else, or where nothing is left of it, it is ``u_`` and a hash of the key.
        """
        owners: dict[str, set[str]] = {}
        for one in set(speakers):
            if one.key:
                owners.setdefault(_safe_name(one.name), set()).add(one.key)
        shared = {safe for safe, keys in owners.items() if len(keys) > 1}
        return [_name_of(one.key, one.name, _safe_name(one.name) in shared) for one in speakers]

    def name_alone(self, speaker: Speaker, *, is_shared: bool = False) -> str:
        """See `names`."""
        return _name_of(speaker.key, speaker.name, is_shared)

    def payload(
        self,
        messages: Sequence[NeutralMessage],
        *,
        model: str,
        tools_json: str = "",
        with_names: bool = False,
    ) -> bytes:
        """All of it."""
        names = self.names(list(map(speaker_of, messages))) if with_names else [""] * len(messages)
        opening, closing = self.envelope(model, tools_json)
        return b"".join((opening, b",".join(map(self._message, messages, names)), closing))

    def _message(self, message: NeutralMessage, name: str) -> bytes:
        if message.tool_calls or message.tool_call_id:
            return orjson.dumps(_with_tools(message, name))
        head, tail = self.around(message.role, name)
        return head + inside_json(message.content) + tail

    def parse_reply(self, completion: object) -> ModelReply:
        """The first choice of a completion as parts: its text, then its tool calls."""
        return parse_completion(completion)


@lru_cache(maxsize=4_096)
def _name_of(key: str, name: str, is_shared: bool) -> str:
    safe = _safe_name(name)
    if not key:
        return ""
    is_own = safe and not is_shared and not _HASHED_NAME.fullmatch(safe)
    return safe if is_own else _hashed_name(key)


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


def _with_tools(message: NeutralMessage, name: str) -> dict[str, Any]:
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
