"""A conversation as turns of two sides, for vendors that take nothing else. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from backscroll_sidecar.adapters.pairing import paired
from backscroll_sidecar.adapters.target import Target
from backscroll_sidecar.domain import NeutralMessage, Part, ProviderStatePart, Role, TextPart

FILLER_TEXT = "…"
"""What the other side says where a vendor wants it to speak: nothing in any language."""
SYSTEM_LABEL = "System: "
"""Before a platform's line where only people can speak."""


class Turn(NamedTuple):
    """What one side says until the other one speaks: results of tools first, no blank text.

    `ends` : the places of parts that a prompt cache may end behind.
    """

    is_model: bool
    parts: list[Part]
    ends: list[int]


def split_system(messages: Sequence[NeutralMessage]) -> tuple[str, Sequence[NeutralMessage]]:
    """The system texts that the messages begin with, as one, and the rest."""
    count = 0
    while count < len(messages) and messages[count].role is Role.SYSTEM:
        count += 1
    system = [one.content for one in messages[:count] if one.content.strip()]
    return "\n\n".join(system), messages[count:]


def turns_of(messages: Iterable[NeutralMessage], target: Target) -> list[Turn]:
    """The turns, by turns: the first and the last are a person's.

    Calls of tools have their results right behind them (`pairing.paired`), and states are the target's own. Where the
    model would begin, or end, the other side says `FILLER_TEXT`.
    """
    turns: list[Turn] = []
    for message in paired(list(messages)):
        parts = _parts_of(message, target)
        if not parts:
            continue
        is_model = message.role is Role.ASSISTANT
        if not turns and is_model:
            turns.append(Turn(False, [TextPart(FILLER_TEXT)], []))
        if turns and turns[-1].is_model == is_model:
            turns[-1].parts.extend(parts)
        else:
            turns.append(Turn(is_model, parts, []))
        if message.ends_prefix:
            turns[-1].ends.append(len(turns[-1].parts) - 1)
    if not turns or turns[-1].is_model:
        turns.append(Turn(False, [TextPart(FILLER_TEXT)], []))
    return turns


def _parts_of(message: NeutralMessage, target: Target) -> list[Part]:
    """The parts of a message without blank texts; none where nothing would be said."""
    parts = target.own(message.parts or (TextPart(message.content),))
    said = [one for one in parts if not isinstance(one, TextPart) or one.text.strip()]
    if all(isinstance(one, ProviderStatePart) for one in said):
        return []
    if message.role is Role.SYSTEM:
        return [TextPart(SYSTEM_LABEL + one.text) for one in said if isinstance(one, TextPart)]
    return said
