"""OpenAI Responses: neutral messages out, a response in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from backscroll_sidecar.adapters.arguments import object_json
from backscroll_sidecar.adapters.base import Framing, ModelReply, Nameless, PayloadOptions
from backscroll_sidecar.adapters.cache_marks import BREAKPOINT, breakpoints, writes_breakpoints
from backscroll_sidecar.adapters.names import strict_call_name
from backscroll_sidecar.adapters.pairing import NO_OUTPUT_TEXT, paired
from backscroll_sidecar.adapters.pictures import pictures_of
from backscroll_sidecar.adapters.replies import Usage, count_of, text_of
from backscroll_sidecar.adapters.target import Target, value_of
from backscroll_sidecar.adapters.tool_schemas import tool_schemas
from backscroll_sidecar.adapters.turns import split_system
from backscroll_sidecar.domain import (
    NeutralMessage,
    Part,
    ProviderStatePart,
    Role,
    TextPart,
    ToolCallPart,
)

REASONING, ITEM_ID = "reasoning", "item_id"
"""A whole item of thoughts; the id of the item that a text or a call came in, which wants those thoughts with it."""
_ROLES = {Role.USER: "user", Role.ASSISTANT: "assistant", Role.SYSTEM: "developer"}


class OpenAIResponses(Nameless):
    """The format of OpenAI's newer interface: items instead of messages, the system text apart."""

    name = "openai_responses"
    framing = Framing(message_tokens=4, name_tokens=0, priming_tokens=3)
    """As in Chat Completions, whose prompts it makes: an estimate."""

    def payload(self, messages: Sequence[NeutralMessage], options: PayloadOptions) -> bytes:
        """All of it."""
        target = Target(options.provider, self.name, options.model)
        system, rest = split_system(messages)
        body: dict[str, Any] = {"model": options.model}
        if system:
            body["instructions"] = system
        used: set[str] = set()
        shown = paired(rest)
        marked = breakpoints(shown) if writes_breakpoints(self.name, options) else ()
        body["input"] = [
            item
            for at, one in enumerate(shown)
            for item in _items(one, target, used, is_marked=at in marked)
        ]
        if options.tools_json and (tools := _tools(options.tools_json)):
            body["tools"] = tools
        return orjson.dumps(body)

    def parse_reply(self, completion: object) -> ModelReply:
        """The output of a response as parts: texts and calls, in order."""
        output = completion.get("output") if isinstance(completion, Mapping) else None
        if not isinstance(completion, Mapping) or not isinstance(output, list):
            raise ValueError("not a response")
        parts: list[Part] = []
        for item in output:
            if isinstance(item, Mapping):
                parts += parts_of_item(item)
        return ModelReply(
            tuple(parts), reason_of(completion), *(usage_of(completion) or (None, None))
        )


def parts_of_item(item: Mapping[str, Any]) -> list[Part]:
    """The text or the call in an item of the output."""
    match item.get("type"):
        case "message":
            text = content_text(item)
            return [TextPart(text)] if text else []
        case "function_call":
            words = (text_of(item.get(name)) for name in ("call_id", "name", "arguments"))
            return [ToolCallPart(*words)]
    return []


def content_text(item: Mapping[str, Any]) -> str:
    """What a message says; a refusal is what it has to say instead."""
    content = item.get("content")
    pieces = content if isinstance(content, list) else ()
    said = [one for one in pieces if isinstance(one, Mapping)]
    text = "".join(text_of(one.get("text")) for one in said if one.get("type") == "output_text")
    return text or "".join(text_of(one.get("refusal")) for one in said)


def reason_of(response: Mapping[str, Any]) -> str:
    """Why the model stopped, in the vendor's words; empty while it has not."""
    details = response.get("incomplete_details")
    inner = details.get("reason") if isinstance(details, Mapping) else None
    status = text_of(response.get("status"))
    return text_of(inner) or ("" if status in {"in_progress", "queued"} else status)


def usage_of(response: Mapping[str, Any]) -> Usage | None:
    """What was counted; None where nothing was."""
    usage = response.get("usage")
    if not isinstance(usage, Mapping):
        return None
    return Usage.of(count_of(usage.get("input_tokens")), count_of(usage.get("output_tokens")))


def _items(
    message: NeutralMessage, target: Target, used: set[str], *, is_marked: bool
) -> Iterator[dict[str, Any]]:
    """A message as items of the input. `used`: the ids of the vendor's items so far, each of which may come once."""
    if message.role is Role.TOOL:
        for one in message.tool_results:
            output = one.text or NO_OUTPUT_TEXT
            yield {"type": "function_call_output", "call_id": one.call_id, "output": output}
    elif message.role is Role.ASSISTANT and message.parts:
        yield from _said(target.own(message.parts), used)
    elif pictures := pictures_of(message):
        shown = [
            {"type": "input_image", "image_url": one.url, "detail": "auto"} for one in pictures
        ]
        said = [{"type": "input_text", "text": message.content}, *shown]
        yield {"role": _ROLES[message.role], "content": said}
    elif is_marked:
        text = {"type": "input_text", "text": message.content, **BREAKPOINT}
        yield {"role": _ROLES[message.role], "content": [text]}
    elif message.content.strip():
        yield {"role": _ROLES[message.role], "content": message.content}


def _said(parts: Sequence[Part], used: set[str]) -> Iterator[dict[str, Any]]:
    """What the model said. Thoughts stand right before the item they led to, and neither without the other."""
    thoughts: list[dict[str, Any]] = []
    item_id = ""
    for part in parts:
        if isinstance(part, ProviderStatePart):
            value = value_of(part)
            if part.kind == REASONING and isinstance(value, dict):
                thoughts.append(value)
            elif part.kind == ITEM_ID and isinstance(value, str):
                item_id = value
            continue
        ids = {item_id, *(text_of(one.get("id")) for one in thoughts)} - {""}
        has_thoughts = bool(item_id and thoughts and not ids & used)
        item = _item(part, item_id if has_thoughts else "")
        if item is not None:
            if has_thoughts:
                used |= ids
                yield from thoughts
            yield item
            thoughts, item_id = [], ""


def _item(part: Part, item_id: str) -> dict[str, Any] | None:
    """A text or a call as an item, under the vendor's own id where there is one; None where nothing is said."""
    own_id = {"id": item_id} if item_id else {}
    if isinstance(part, ToolCallPart):
        name, arguments = strict_call_name(part.name), object_json(part.arguments_json)
        call = {"type": "function_call", "call_id": part.id, "name": name, "arguments": arguments}
        return call | own_id
    if not isinstance(part, TextPart) or not part.text.strip():
        return None
    if not item_id:
        return {"role": "assistant", "content": part.text}
    said = {"type": "output_text", "text": part.text, "annotations": []}
    message = {"type": "message", "role": "assistant", "status": "completed", "content": [said]}
    return message | own_id


def _tools(tools_json: str) -> list[Mapping[str, Any]]:
    functions, others = tool_schemas(tools_json)
    return [
        {
            "type": "function", "name": one.name, "description": one.description,
            "parameters": one.parameters, "strict": bool(one.is_strict),
        }
        for one in functions
    ] + [dict(one) for one in others]  # fmt: skip
