"""Anthropic Messages: neutral messages out, a message in."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from backscroll_sidecar.adapters.arguments import object_json
from backscroll_sidecar.adapters.base import Framing, ModelReply, Nameless, PayloadOptions
from backscroll_sidecar.adapters.cache_marks import (
    ANTHROPIC_MARK,
    MOST_ANTHROPIC_MARKS,
    anthropic_marks,
)
from backscroll_sidecar.adapters.names import strict_call_name
from backscroll_sidecar.adapters.pairing import NO_OUTPUT_TEXT
from backscroll_sidecar.adapters.pictures import picture_of
from backscroll_sidecar.adapters.replies import Usage, count_of, text_of
from backscroll_sidecar.adapters.target import Target, value_of
from backscroll_sidecar.adapters.tool_schemas import tool_schemas
from backscroll_sidecar.adapters.turns import Turn, split_system, turns_of
from backscroll_sidecar.domain import (
    MediaPart,
    NeutralMessage,
    Part,
    ProviderStatePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

THOUGHT_BLOCKS = ("thinking", "redacted_thinking")
"""Kinds of blocks that go back unchanged, in their place."""
REPLY_TOKENS = 8_192
"""The limit where nobody names one: the vendor wants one, and all its models can say so much."""
_ANY_INPUT = {"input_schema": {"type": "object"}}
_COUNTED = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


class AnthropicMessages(Nameless):
    """The format of Anthropic and of everything compatible with it."""

    name = "anthropic_messages"
    framing = Framing(message_tokens=4, name_tokens=0, priming_tokens=3)
    """An estimate: the vendor publishes none."""

    def payload(self, messages: Sequence[NeutralMessage], options: PayloadOptions) -> bytes:
        """All of it."""
        target = Target(options.provider, self.name, options.model)
        system, rest = split_system(messages)
        body: dict[str, Any] = {
            "model": options.model,
            "max_tokens": options.reply_tokens or REPLY_TOKENS,
        }
        if system:
            body["system"] = system
        turns = turns_of(rest, target)
        if system and messages[0].ends_prefix:
            body["system"] = [{"type": "text", "text": system, **ANTHROPIC_MARK}]
            body["messages"] = _messages(turns, MOST_ANTHROPIC_MARKS - 1)
        else:
            body["messages"] = _messages(turns, MOST_ANTHROPIC_MARKS)
        if options.tools_json and (tools := _tools(options.tools_json)):
            body["tools"] = tools
        elif names := sorted({one.name for turn in turns for one in _calls(turn)}):
            # Who shows calls must name their tools, also where none may be called.
            body["tools"] = [{"name": strict_call_name(one), **_ANY_INPUT} for one in names]
            body["tool_choice"] = {"type": "none"}
        return orjson.dumps(body)

    def parse_reply(self, completion: object) -> ModelReply:
        """The content of a message as parts: texts and calls, in order."""
        content = completion.get("content") if isinstance(completion, Mapping) else None
        if not isinstance(completion, Mapping) or not isinstance(content, list):
            raise ValueError("not a message")
        parts = [
            part for one in content if isinstance(one, Mapping) for part in parts_of_block(one)
        ]
        reason = text_of(completion.get("stop_reason"))
        return ModelReply(tuple(parts), reason, *(usage_of(completion) or (None, None)))


def parts_of_block(block: Mapping[str, Any]) -> list[Part]:
    """The text or the call in a block of the content."""
    match block.get("type"):
        case "text":
            text = text_of(block.get("text"))
            return [TextPart(text)] if text else []
        case "tool_use":
            arguments = orjson.dumps(block.get("input") or {}).decode()
            return [ToolCallPart(text_of(block.get("id")), text_of(block.get("name")), arguments)]
    return []


def usage_of(message: Mapping[str, Any]) -> Usage | None:
    """What was counted, what a cache had among it; None where nothing was."""
    usage = message.get("usage")
    if not isinstance(usage, Mapping):
        return None
    counts = [one for one in (count_of(usage.get(name)) for name in _COUNTED) if one is not None]
    return Usage.of(sum(counts) if counts else None, count_of(usage.get("output_tokens")))


def _messages(turns: Sequence[Turn], most_marks: int) -> list[dict[str, Any]]:
    """The turns as messages, a mark on the last so many of the blocks that a cache may end behind."""
    messages, ends = list[dict[str, Any]](), list[dict[str, Any]]()
    for turn in turns:
        blocks = list[dict[str, Any]]()
        for at, part in enumerate(turn.parts):
            made = list(_blocks([part]))
            blocks += made
            if at in turn.ends and made and made[-1]["type"] not in THOUGHT_BLOCKS:
                ends.append(made[-1])
        messages.append({"role": "assistant" if turn.is_model else "user", "content": blocks})
    marked = anthropic_marks(len(ends), most_marks)
    for at, block in enumerate(ends):
        if at in marked:
            block.update(ANTHROPIC_MARK)
    return [one | {"content": _content(one["content"])} for one in messages]


def _content(blocks: list[dict[str, Any]]) -> str | list[dict[str, Any]]:
    """A text alone without its block."""
    is_text = len(blocks) == 1 and blocks[0].keys() == {"type", "text"}
    return blocks[0]["text"] if is_text else blocks


def _calls(turn: Turn) -> list[ToolCallPart]:
    return [one for one in turn.parts if isinstance(one, ToolCallPart)]


def _blocks(parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    for part in parts:
        match part:
            case TextPart():
                yield {"type": "text", "text": part.text}
            case ToolCallPart():
                arguments = orjson.loads(object_json(part.arguments_json))
                name = strict_call_name(part.name)
                yield {"type": "tool_use", "id": part.id, "name": name, "input": arguments}
            case ToolResultPart():
                text = part.text if part.text.strip() else NO_OUTPUT_TEXT
                block = {"type": "tool_result", "tool_use_id": part.call_id, "content": text}
                yield block | ({"is_error": True} if part.is_error else {})
            case MediaPart() if picture := picture_of(part):
                data = {"type": "base64", "media_type": picture.media_type, "data": picture.data}
                link = {"type": "url", "url": picture.link}
                yield {"type": "image", "source": link if picture.link else data}
            case ProviderStatePart() if part.kind in THOUGHT_BLOCKS:
                if isinstance(value := value_of(part), dict):
                    yield value


def _tools(tools_json: str) -> list[Mapping[str, Any]]:
    functions, others = tool_schemas(tools_json)
    return [
        {"name": one.name, "description": one.description, "input_schema": one.parameters}
        for one in functions
    ] + [dict(one) for one in others]
