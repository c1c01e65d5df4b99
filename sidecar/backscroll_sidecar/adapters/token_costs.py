"""What a message costs in a payload, calls of tools and the like included: the same for all vendors. Pure."""

from __future__ import annotations

from collections.abc import Callable

from backscroll_sidecar.adapters.base import Framing
from backscroll_sidecar.adapters.pairing import NO_OUTPUT_TEXT, NO_RESULT_TEXT
from backscroll_sidecar.adapters.pictures import picture_tokens
from backscroll_sidecar.domain import (
    MediaPart,
    NeutralMessage,
    Part,
    ProviderStatePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

STATE_BYTES_A_TOKEN = 4
"""An estimate: nobody else can read what is in a state, and some vendors do not count it."""

Count = Callable[[str], int]


def message_tokens(message: NeutralMessage, count: Count, framing: Framing) -> int:
    """Tokens of a message with its framing; each call and each result has a framing of its own."""
    if not message.parts:
        return framing.message_tokens + count(message.content)
    found = sum(_part_tokens(part, count, framing) for part in message.parts)
    return found + (0 if message.tool_results else framing.message_tokens)


def missing_result_tokens(count: Count, framing: Framing) -> int:
    """Of the result that a call gets which nobody answered."""
    return framing.message_tokens + count(NO_RESULT_TEXT)


def _part_tokens(part: Part, count: Count, framing: Framing) -> int:
    match part:
        case TextPart():
            return count(part.text)
        case ToolCallPart():
            return framing.message_tokens + count(part.name) + count(part.arguments_json)
        case ToolResultPart():
            return framing.message_tokens + count(part.text or NO_OUTPUT_TEXT)
        case ProviderStatePart():
            return len(part.data) // STATE_BYTES_A_TOKEN
        case MediaPart():
            return picture_tokens(part, framing.linked_picture_tokens)
