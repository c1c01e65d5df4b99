"""Gemini generateContent: neutral messages out, a response in."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import orjson

from backscroll_sidecar.adapters.arguments import object_json
from backscroll_sidecar.adapters.base import Framing, ModelReply, Nameless, PayloadOptions
from backscroll_sidecar.adapters.names import strict_call_name
from backscroll_sidecar.adapters.pairing import in_words, paired
from backscroll_sidecar.adapters.pictures import TOLD_PICTURE_TOKENS, picture_of
from backscroll_sidecar.adapters.replies import Usage, count_of, text_of
from backscroll_sidecar.adapters.target import Target, family_of, value_of
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
    render_part,
)

SIGNATURE = "thought_signature"
"""A signed thought beside a part, which goes back beside it."""
_VERSION = re.compile(r"gemini-(\d+)")
_FIRST_LETTER = re.compile(r"[a-zA-Z_]")


class GeminiContents(Nameless):
    """The format of Google's own interface. The model is no part of it but of the address."""

    name = "gemini_contents"
    framing = Framing(
        message_tokens=4, name_tokens=0, priming_tokens=3, linked_picture_tokens=TOLD_PICTURE_TOKENS
    )
    """An estimate: the vendor publishes none."""

    def payload(self, messages: Sequence[NeutralMessage], options: PayloadOptions) -> bytes:
        """All of it."""
        target = Target(options.provider, self.name, options.model)
        system, rest = split_system(messages)
        is_signed = signs_calls(options.model)
        declared = {_name(one.name) for one in tool_schemas(options.tools_json)[0]}
        said = _sendable(paired(rest), target, declared, is_signed=is_signed)
        body: dict[str, Any] = {}
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        body["contents"] = [_content(one, with_ids=is_signed) for one in turns_of(said, target)]
        if options.tools_json and (tools := _tools(options.tools_json)):
            body["tools"] = tools
        return orjson.dumps(body)

    def parse_reply(self, completion: object) -> ModelReply:
        """The first candidate of a response as parts: texts and calls, in order."""
        if not isinstance(completion, Mapping):
            raise ValueError("not a response")
        candidate = candidate_of(completion)
        if candidate is None:
            raise ValueError("a response without a candidate")
        parts = [one for said in parts_of(candidate) for one in parts_of_part(said)]
        reason = text_of(candidate.get("finishReason"))
        return ModelReply(tuple(parts), reason, *(usage_of(completion) or (None, None)))


def signs_calls(model: str) -> bool:
    """Whether a model wants the ids of calls, and its signature beside them: those from Gemini 3 on."""
    family = family_of(model)
    version = _VERSION.match(family)
    return int(version[1]) >= 3 if version else family.startswith("gemini")


def candidate_of(response: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The first candidate; None where there is none. Raises ValueError for what is no list of objects."""
    candidates = response.get("candidates") or ()
    if not isinstance(candidates, list | tuple):
        raise ValueError("candidates of another shape")
    first = candidates[0] if candidates else None
    if first is not None and not isinstance(first, Mapping):
        raise ValueError("a candidate of another shape")
    return first


def parts_of(candidate: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts of what a candidate says."""
    content = candidate.get("content")
    parts = content.get("parts") if isinstance(content, Mapping) else None
    return [one for one in parts if isinstance(one, Mapping)] if isinstance(parts, list) else []


def parts_of_part(said: Mapping[str, Any]) -> list[Part]:
    """The text or the call in a part; thoughts are neither."""
    if said.get("thought") is True:
        return []
    call = said.get("functionCall")
    if isinstance(call, Mapping):
        arguments = orjson.dumps(call.get("args") or {}).decode()
        return [ToolCallPart(text_of(call.get("id")), text_of(call.get("name")), arguments)]
    text = text_of(said.get("text"))
    return [TextPart(text)] if text else []


def usage_of(response: Mapping[str, Any]) -> Usage | None:
    """What was counted, thoughts among what was said; None where nothing was."""
    usage = response.get("usageMetadata")
    if not isinstance(usage, Mapping):
        return None
    said = [count_of(usage.get(name)) for name in ("candidatesTokenCount", "thoughtsTokenCount")]
    counts = [one for one in said if one is not None]
    return Usage.of(count_of(usage.get("promptTokenCount")), sum(counts) if counts else None)


def _sendable(
    messages: Sequence[NeutralMessage], target: Target, declared: Set[str], *, is_signed: bool
) -> Iterator[NeutralMessage]:
    """The messages, those exchanges in words that lack a signature, since somebody else made the calls, or whose tools
    are not `declared`.
    """
    waiting: NeutralMessage | None = None
    for message in messages:
        calls = message.tool_calls
        if waiting is not None:
            yield from in_words(waiting, message)
            waiting = None
        elif calls and (
            (is_signed and not _is_signed(target.own(message.parts)))
            or (declared and not declared >= {_name(one.name) for one in calls})
        ):
            waiting = message
        else:
            yield message


def _is_signed(parts: Sequence[Part]) -> bool:
    """Whether the first call has a signature before it."""
    for at, part in enumerate(parts):
        if isinstance(part, ToolCallPart):
            before = parts[at - 1] if at else None
            return isinstance(before, ProviderStatePart) and before.kind == SIGNATURE
    return True


def _content(turn: Turn, *, with_ids: bool) -> dict[str, Any]:
    parts = list(_parts(turn.parts, with_ids=with_ids))
    return {"role": "model" if turn.is_model else "user", "parts": parts}


def _parts(parts: Sequence[Part], *, with_ids: bool) -> Iterator[dict[str, Any]]:
    signature: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, ProviderStatePart):
            if part.kind == SIGNATURE and isinstance(value := value_of(part), str):
                signature = {"thoughtSignature": value}
            continue
        if (shown := _part(part, with_ids=with_ids)) is not None:
            yield shown | signature
            signature = {}
    if signature:
        yield {"text": ""} | signature  # the only empty text that may be sent


def _part(part: Part, *, with_ids: bool) -> dict[str, Any] | None:
    match part:
        case TextPart():
            return {"text": part.text}
        case ToolCallPart():
            call = {
                "name": _name(part.name),
                "args": orjson.loads(object_json(part.arguments_json)),
            }
            return {"functionCall": call | ({"id": part.id} if with_ids else {})}
        case ToolResultPart():
            said = {"error" if part.is_error else "output": part.text}
            response = {"name": _name(part.name), "response": said}
            return {"functionResponse": response | ({"id": part.call_id} if with_ids else {})}
        case MediaPart() if picture := picture_of(part):
            if picture.link:
                return {"text": render_part(part)}
            return {"inlineData": {"mimeType": picture.media_type, "data": picture.data}}
    return None


def _name(name: str) -> str:
    """A tool's name, which begins with a letter here."""
    found = strict_call_name(name)
    return found if _FIRST_LETTER.match(found) else f"_{found}"[:64]


def _tools(tools_json: str) -> list[Mapping[str, Any]]:
    functions, others = tool_schemas(tools_json)
    declared = [
        {"name": one.name, "description": one.description, "parametersJsonSchema": one.parameters}
        for one in functions
    ]
    return ([{"functionDeclarations": declared}] if declared else []) + [
        dict(one) for one in others
    ]
