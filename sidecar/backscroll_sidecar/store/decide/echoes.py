"""The platform's copy of what a turn said: the bot posted it and gets it back under an id of the platform's. Pure."""

from __future__ import annotations

import re

from backscroll_sidecar.domain import MediaPart, Message, Role, TextPart
from backscroll_sidecar.ports import AppendChange

ECHO_MS = 600_000
"""So long after it was stored a reply's copy is known as one, by the server's clock."""
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^()\s]*\)")
_FENCE = re.compile(r"^\s*(```|~~~)[^\n`]*$", re.MULTILINE)
_LINE_MARK = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+•]\s+)", re.MULTILINE)
_MARKS = re.compile(r"[*_~`\\|]+")


def may_be_echo(message: Message, change: AppendChange) -> bool:
    """Whether a message that is appended may be one: the bot's words, told by somebody other than the turn itself."""
    return message.role is Role.ASSISTANT and change.turn is None and not message.is_partial


def spoken(message: Message) -> str:
    """What people read of a message wherever it is shown: its words, without marks of Markdown and blank space.

    Empty where there is nothing to compare, or a picture or a file is part of it.
    """
    if any(isinstance(part, MediaPart) for part in message.parts):
        return ""
    text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
    plain = _LINE_MARK.sub("", _FENCE.sub("", _LINK.sub(r"\1", text)))
    return "".join(_MARKS.sub("", plain).split())
