"""Calls of tools with their results right behind them, each once: what every vendor insists on. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b

from msgspec.structs import replace

from backscroll_sidecar.domain import (
    NeutralMessage,
    Part,
    Role,
    ToolCallPart,
    ToolResultPart,
    render_part,
    result_message,
)

NO_RESULT_TEXT = "No result provided"
"""The result of a call that nobody answered, an error."""
NO_OUTPUT_TEXT = "(no tool output)"
"""Of a tool that said nothing, where a vendor takes no empty result."""
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
"""An id that all vendors take: the shortest limit is that of Chat Completions."""


def paired(messages: Sequence[NeutralMessage]) -> list[NeutralMessage]:
    """The messages in their order, but for tools.

    Behind a message with calls stands one of ROLE_TOOL with all its results, in the order of the calls; what was said
    between them comes after. A call without a result gets one that is an error. A result without a call is left out,
    and so is a second one. No two calls have the same id, and every id is one that vendors take.
    """
    if not any(one.parts for one in messages):
        return list(messages)
    results = _results(messages)
    used: set[str] = set()
    out: list[NeutralMessage] = []
    for at, message in enumerate(messages):
        if message.role is Role.TOOL:
            continue
        calls = {call.id: call for call in message.tool_calls}
        if not calls:
            out.append(message)
            continue
        ids = {call_id: _free_id(call_id, used) for call_id in calls}
        out.append(_with_ids(message, ids))
        answers = [results.get((at, id), _unanswered(call)) for id, call in calls.items()]
        told = [
            replace(one, call_id=ids[one.call_id], name=calls[one.call_id].name)
            for _, one in answers
        ]
        shown = dict.fromkeys(id for of, _ in answers for id in of)
        out.append(result_message(tuple(told), tuple(shown)))
    return out


def in_words(called: NeutralMessage, answered: NeutralMessage) -> list[NeutralMessage]:
    """An exchange as people would tell of it: what the model said, then, by somebody else, what it called and got.

    Calls in the model's own words would teach it to write calls instead of making them.
    """
    told: list[Part] = [*called.tool_calls, *answered.tool_results]
    ids = called.message_ids + answered.message_ids
    words = NeutralMessage(Role.USER, "\n".join(map(render_part, told)), message_ids=ids)
    if not called.content.strip():
        return [words]
    return [replace(called, parts=()), words]


_Answer = tuple[tuple[str, ...], ToolResultPart]
"""A result, and the ids of the messages it is from."""


def _results(messages: Sequence[NeutralMessage]) -> dict[tuple[int, str], _Answer]:
    """The first result of each call, by the place of the message that calls and the call's id.

    It belongs to the newest call of its id before it: some servers give the same ids again and again.
    """
    found: dict[tuple[int, str], _Answer] = {}
    newest: dict[str, int] = {}
    for at, message in enumerate(messages):
        for call in message.tool_calls:
            newest[call.id] = at
        for one in message.tool_results:
            if (caller := newest.get(one.call_id)) is not None:
                found.setdefault((caller, one.call_id), (message.message_ids, one))
    return found


def _unanswered(call: ToolCallPart) -> _Answer:
    return (), ToolResultPart(call.id, call.name, NO_RESULT_TEXT, is_error=True)


def _free_id(call_id: str, used: set[str]) -> str:
    """An id for a call that vendors take and no other call has: its own if it can be."""
    found = call_id if _CALL_ID.fullmatch(call_id) else _hashed(call_id)
    number = 1
    while found in used:
        number += 1
        found = _hashed(f"{call_id} {number}")
    used.add(found)
    return found


def _hashed(text: str) -> str:
    return f"call_{blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=12).hexdigest()}"


def _with_ids(message: NeutralMessage, ids: dict[str, str]) -> NeutralMessage:
    """The message with these ids for its calls; one id twice is one call, the last."""
    calls = {call.id: call for call in message.tool_calls}
    parts: list[Part] = []
    for part in message.parts:
        if not isinstance(part, ToolCallPart):
            parts.append(part)
        elif calls[part.id] is part:
            parts.append(replace(part, id=ids[part.id]))
    return replace(message, parts=tuple(parts))
