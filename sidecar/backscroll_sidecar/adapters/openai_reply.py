"""Reads answers of OpenAI Chat Completions and compatible servers. Pure.

Everything here comes from outside: each value is checked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from backscroll_sidecar.adapters.base import ModelReply
from backscroll_sidecar.adapters.replies import Usage, count_of, text_of
from backscroll_sidecar.domain import Part, TextPart, ToolCallPart

_USAGE = (("prompt_tokens", "input_tokens"), ("completion_tokens", "output_tokens"))


def parse_completion(completion: object) -> ModelReply:
    """The answer of a whole completion as parts: its text, then its tool calls, as they were written.

    Raises
    ------
    ValueError
        It is none.
    """
    choice = choice_of(completion, None) if isinstance(completion, Mapping) else None
    message = choice.get("message") if choice else None
    if not isinstance(completion, Mapping) or choice is None or not isinstance(message, Mapping):
        raise ValueError("not a chat completion")
    text = answer_text(message)
    parts: list[Part] = [TextPart(text)] if text else []
    parts.extend(ToolCallPart(*call_fields(call)) for call in calls_of(message))
    reason = choice.get("finish_reason")
    usage = usage_of(completion.get("usage")) or usage_of(choice.get("usage"))
    return ModelReply(
        tuple(parts), reason if isinstance(reason, str) else "", *(usage or (None, None))
    )


def choice_of(chunk: Mapping[str, Any], index: object) -> Mapping[str, Any] | None:
    """The choice with this index, 0 being none; with None for an index the first one. None where there is no such.

    Raises
    ------
    ValueError
        The choices are no list of objects.
    """
    choices = chunk.get("choices") or ()
    if isinstance(choices, list):
        for one in choices:
            if not isinstance(one, dict):
                break
            if index is None or (one.get("index") or 0) == index:
                return one
        else:
            return None
    elif choices == ():
        return None
    raise ValueError("not a chat completion: choices of another shape")


def calls_of(said: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """The tool calls, or pieces of them, in a message or a delta; the one call of older servers among them.

    Raises
    ------
    ValueError
        They are no list of objects.
    """
    if (calls := said.get("tool_calls")) is not None:
        return _mappings(calls)
    function = said.get("function_call")
    return [{"index": 0, "function": function}] if isinstance(function, Mapping) else ()


def call_fields(call: Mapping[str, Any]) -> tuple[str, str, str]:
    """Id, name and arguments of a call or a piece of one, each empty where it is no text.

    Raises
    ------
    ValueError
        The arguments cannot be written as JSON.
    """
    function = call.get("function")
    said: Mapping[str, Any] = function if isinstance(function, Mapping) else {}
    arguments = said.get("arguments")
    if not isinstance(arguments, str):
        try:
            arguments = "" if arguments is None else orjson.dumps(arguments).decode()
        except TypeError:
            raise ValueError("arguments that are no JSON") from None
    return text_of(call.get("id")), text_of(said.get("name")), arguments


def answer_text(said: Mapping[str, Any]) -> str:
    """What the model says. A refusal is what it has to say instead of a content."""
    return text_of(said.get("content")) or text_of(said.get("refusal"))


def thoughts_apart(said: Mapping[str, Any]) -> str:
    """What the model thinks, where its server sets it apart."""
    return text_of(said.get("reasoning_content")) or text_of(said.get("reasoning"))


def is_refused(said: Mapping[str, Any]) -> bool:
    """Whether the model says that it will not answer, where others have their answer."""
    return not text_of(said.get("content")) and bool(text_of(said.get("refusal")))


def usage_of(value: object) -> Usage | None:
    """What was counted; None where nothing was."""
    if not isinstance(value, Mapping):
        return None
    prompt, completion = (
        next((one for one in map(count_of, map(value.get, names)) if one is not None), None)
        for names in _USAGE
    )
    return Usage.of(prompt, completion)


def _mappings(values: object) -> Sequence[Mapping[str, Any]]:
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, dict) for value in values):
        raise ValueError("not a chat completion: no list of objects")
    return values
