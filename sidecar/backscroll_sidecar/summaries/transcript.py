"""A stretch of a conversation as text for who summarises it. Pure.

It is material and nothing else: who reads it is told so, and nothing in it can end the tags that it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from backscroll_sidecar.domain import (
    MediaPart,
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
_TAGS = re.compile(r"<(?=\s*/?\s*(?:conversation|summary|focus)\b)", re.IGNORECASE)


def transcript_line(stored: StoredMessage) -> str:
    """``[id] Ann: text``, ``[id] Assistant called name {…}``, ``[id] Tool result: …``."""
    message = stored.message
    said = "\n".join(filter(None, map(_part_text, message.parts)))
    indented = "\n  ".join(fenced(said).splitlines())  # so that no text looks like a message
    return f"[{fenced(message.id)}] {speaker_of(stored)}: {indented}"


def speaker_of(stored: StoredMessage) -> str:
    """Who says a message."""
    message = stored.message
    if message.role is Role.ASSISTANT:
        return "Assistant"
    if message.role is Role.TOOL:
        return "Tool result"
    return " ".join(fenced(message.author.name or message.author.id).splitlines())


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
