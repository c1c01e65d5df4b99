"""OpenAI Chat Completions: neutral messages out, a completion in."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import orjson

from backscroll_sidecar.adapters.arguments import object_json
from backscroll_sidecar.adapters.base import (
    Framing,
    LineForm,
    ModelReply,
    PayloadOptions,
    Speaker,
    inside_json,
    speaker_of,
)
from backscroll_sidecar.adapters.cache_marks import BREAKPOINT, breakpoints, writes_breakpoints
from backscroll_sidecar.adapters.names import safe_name, strict_call_name
from backscroll_sidecar.adapters.openai_reply import parse_completion
from backscroll_sidecar.adapters.pairing import NO_OUTPUT_TEXT, paired
from backscroll_sidecar.adapters.pictures import pictures_of
from backscroll_sidecar.adapters.target import Target, value_of
from backscroll_sidecar.adapters.tool_schemas import tool_schemas
from backscroll_sidecar.domain import (
    NeutralMessage,
    ProviderStatePart,
    Role,
    ToolCallPart,
)

ROLE_NAME = {
    Role.USER: "user",
    Role.ASSISTANT: "assistant",
    Role.SYSTEM: "system",
    Role.TOOL: "tool",
}
THOUGHT_FIELDS = ("reasoning_content", "reasoning", "reasoning_details")
"""Fields of a message with its thoughts. Some servers want those back that led to calls, others refuse them."""
CALL_FIELDS = ("extra_content", "thought_signature", "provider_specific_fields")
"""Fields of a call that only its server can read; Gemini wants its signature back."""
HASH_BYTES = 6
_HASHED_NAME = re.compile(rf"u_[0-9a-f]{{{2 * HASH_BYTES}}}")


class OpenAIChat:
    """The format of OpenAI and of everything compatible with it."""

    name = "openai_chat"
    framing = Framing(message_tokens=4, name_tokens=1, priming_tokens=3)
    """Three marks and the role; the field; what begins the reply (OpenAI's published count for o200k models)."""

    @property
    def line_form(self) -> LineForm:
        """Itself."""
        return self

    def envelope(self, model: str, tools_json: str) -> tuple[bytes, bytes]:
        """``{"model", "messages"}``, and ``"tools"`` where there are any."""
        tools = b',"tools":' + _tools(tools_json).encode() if tools_json else b""
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
                owners.setdefault(safe_name(one.name), set()).add(one.key)
        shared = {safe for safe, keys in owners.items() if len(keys) > 1}
        return [_name_of(one.key, one.name, safe_name(one.name) in shared) for one in speakers]

    def name_alone(self, speaker: Speaker, *, is_shared: bool = False) -> str:
        """See `names`."""
        return _name_of(speaker.key, speaker.name, is_shared)

    def payload(self, messages: Sequence[NeutralMessage], options: PayloadOptions) -> bytes:
        """All of it."""
        shown = paired(messages)
        names = (
            self.names(list(map(speaker_of, shown))) if options.with_names else [""] * len(shown)
        )
        opening, closing = self.envelope(options.model, options.tools_json)
        target = Target(options.provider, self.name, options.model)
        declared = frozenset(one.name for one in tool_schemas(options.tools_json)[0])
        marked = breakpoints(shown) if writes_breakpoints(self.name, options) else ()
        bodies = [
            body
            for at, (message, name) in enumerate(zip(shown, names, strict=True))
            for body in self._bodies(message, name, target, declared, is_marked=at in marked)
        ]
        return b"".join((opening, b",".join(bodies), closing))

    def _bodies(
        self,
        message: NeutralMessage,
        name: str,
        target: Target,
        declared: Collection[str],
        *,
        is_marked: bool,
    ) -> Iterator[bytes]:
        """A message as some of the payload's; none where nothing would be said."""
        if message.role is Role.TOOL:
            for one in message.tool_results:
                text = one.text or NO_OUTPUT_TEXT
                yield orjson.dumps({"role": "tool", "content": text, "tool_call_id": one.call_id})
        elif message.tool_calls:
            yield orjson.dumps(_with_calls(message, name, target, declared))
        elif pictures := pictures_of(message):
            shown = [{"type": "image_url", "image_url": {"url": one.url}} for one in pictures]
            named = {"name": name} if name else {}
            said = [{"type": "text", "text": message.content}, *shown]
            yield orjson.dumps({"role": ROLE_NAME[message.role], "content": said, **named})
        elif is_marked:
            block = {"type": "text", "text": message.content, **BREAKPOINT}
            named = {"name": name} if name else {}
            yield orjson.dumps({"role": ROLE_NAME[message.role], "content": [block], **named})
        elif message.content.strip():
            head, tail = self.around(message.role, name)
            yield head + inside_json(message.content) + tail

    def parse_reply(self, completion: object) -> ModelReply:
        """The first choice of a completion as parts: its text, then its tool calls."""
        return parse_completion(completion)


@lru_cache(maxsize=64)
def _tools(tools_json: str) -> str:
    """The tools as they were written; those in another vendor's form in this one's."""
    functions, others = tool_schemas(tools_json)
    written = orjson.loads(tools_json)
    if all(isinstance(one, dict) and isinstance(one.get("function"), dict) for one in written):
        return tools_json
    if not functions:
        return tools_json
    made = [
        {"name": one.name, "description": one.description, "parameters": one.parameters}
        for one in functions
    ]
    return orjson.dumps(
        [*({"type": "function", "function": one} for one in made), *others]
    ).decode()


@lru_cache(maxsize=4_096)
def _name_of(key: str, name: str, is_shared: bool) -> str:
    safe = safe_name(name)
    if not key:
        return ""
    is_own = safe and not is_shared and not _HASHED_NAME.fullmatch(safe)
    return safe if is_own else _hashed_name(key)


def _hashed_name(user_id: str) -> str:
    digest = blake2b(user_id.encode("utf-8", "surrogatepass"), digest_size=HASH_BYTES)
    return f"u_{digest.hexdigest()}"


def _with_calls(
    message: NeutralMessage, name: str, target: Target, declared: Collection[str]
) -> dict[str, Any]:
    """A message that calls tools, with what its server said beside that."""
    content = message.content if message.content.strip() else None
    out: dict[str, Any] = {"role": ROLE_NAME[message.role], "content": content}
    if name:
        out["name"] = name
    calls: list[dict[str, Any]] = []
    fields: dict[str, Any] = {}
    for part in target.own(message.parts):
        if isinstance(part, ToolCallPart):
            calls.append(_call(part, declared) | fields)
            fields = {}
        elif isinstance(part, ProviderStatePart) and (value := value_of(part)) is not None:
            (out if part.kind in THOUGHT_FIELDS else fields)[part.kind] = value
    out["tool_calls"] = calls
    return out


def _call(call: ToolCallPart, declared: Collection[str]) -> dict[str, Any]:
    """A call. Whoever declares a tool knows what its server takes for a name."""
    name = call.name if call.name in declared else strict_call_name(call.name)
    function = {"name": name, "arguments": object_json(call.arguments_json)}
    return {"id": call.id, "type": "function", "function": function}
