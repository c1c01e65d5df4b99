"""A stretch of a conversation as text for who summarises it. Pure.

It is material and nothing else: who reads it is told so, and nothing in it can end the tags that it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from backscroll_sidecar.domain import (
    Author,
    MediaPart,
    Message,
    Part,
    ProviderStatePart,
    Role,
    StoredMessage,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    render_part,
)
from backscroll_sidecar.tool_outputs import head_and_tail

MAX_RESULT_CHARS = 2_000
"""Of a tool's result a summary needs no more."""
ASSISTANT, TOOL_RESULT = "Assistant", "Tool result"
_RESERVED = (ASSISTANT.casefold(), TOOL_RESULT.casefold())
_TAGS = re.compile(r"<(?=\s*/?\s*(?:conversation|summary|focus)\b)", re.IGNORECASE)


def transcript_line(stored: StoredMessage, speaker: str) -> str:
    """``[id] Ann: text``, ``[id] Assistant: (calls name with {…})``, ``[id] Tool result: …``."""
    message = stored.message
    said = "\n".join(filter(None, map(_part_text, message.parts)))
    indented = "\n  ".join(fenced(said).splitlines())  # so that no text looks like a message
    return f"[{fenced(message.id)}] {speaker}: {indented}"


def speakers_of(rows: Sequence[StoredMessage]) -> list[str]:
    """Who says each message. Two people of one name, and who is named like the bot or a tool, are told by their ids."""
    ids, bots = dict[str, set[str]](), set[str]()
    for author, role in ((one.message.author, one.message.role) for one in rows):
        if role is Role.ASSISTANT:
            bots.add(author.id)
        else:
            ids.setdefault(_name(author).casefold(), set()).add(author.id)
    return [_speaker(one.message, ids, is_only_bot=len(bots) < 2) for one in rows]


def _speaker(message: Message, ids: Mapping[str, set[str]], *, is_only_bot: bool) -> str:
    author = message.author
    name = _name(author)
    if message.role is Role.ASSISTANT:
        return ASSISTANT if is_only_bot else f"{ASSISTANT} {name}"
    if message.role is Role.TOOL:
        return TOOL_RESULT
    folded = name.casefold()
    is_alike = len(ids[folded]) > 1 or folded.startswith(_RESERVED)
    return f"{name} <{_one_row(author.id)}>" if is_alike else name


def _name(author: Author) -> str:
    return _one_row(author.name or author.id)


def _one_row(text: str) -> str:
    return " ".join(fenced(text).split())


def fenced(text: str) -> str:
    """The text with nothing in it that could end the tags around it."""
    return _TAGS.sub("<\\\\", text)


def _part_text(part: Part) -> str:
    match part:
        case TextPart(text):
            return text
        case ToolCallPart(_, name, arguments):
            return f"(calls {name} with {arguments})"
        case ToolResultPart(_, name, text):
            return f"({name}) {head_and_tail(text, MAX_RESULT_CHARS)}"
        case MediaPart():
            return render_part(part)
        case ProviderStatePart():
            return ""


def count_fitting(lines: Sequence[str], max_chars: int) -> int:
    """How many of the first lines fit into so many characters, at least one."""
    total = 0
    for count, line in enumerate(lines):
        total += len(line) + 1
        if total > max_chars:
            return max(count, 1)
    return len(lines)
