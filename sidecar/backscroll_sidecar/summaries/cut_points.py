"""Where a conversation may be cut: what stands before is summarised, what stands behind stays as it is. Pure.

The rules are those of coding agents (pi's `findCutPoint`), with a group's in addition: a call of a tool is never parted
from its results, whoever talked in between.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple

from backscroll_sidecar.domain import Role, StoredMessage, ToolCallPart, ToolResultPart

LINE_TOKENS = 8
"""Of a message in a context, beside its text: framing, speaker."""


class EntryKind(IntEnum):
    """What an entry is to the bot: somebody's words, its own, its calls of tools, or what they gave."""

    SAID = 0
    OWN = 1
    CALLS = 2
    RESULTS = 3


class Entry(NamedTuple):
    """A message of a conversation, in order.

    Attributes
    ----------
    tokens : what it takes in a context.
    call_ids : of the calls it makes, or of those it answers.
    """

    message_id: str
    kind: EntryKind
    tokens: int
    call_ids: tuple[str, ...] = ()


def entry_of(stored: StoredMessage) -> Entry:
    """A stored message as an entry."""
    message = stored.message
    calls = [one.id for one in message.parts if isinstance(one, ToolCallPart)]
    results = [one.call_id for one in message.parts if isinstance(one, ToolResultPart)]
    kind = EntryKind.OWN if message.role is Role.ASSISTANT else EntryKind.SAID
    if calls or results:
        kind = EntryKind.CALLS if calls else EntryKind.RESULTS
    tokens = stored.analysis.token_count + LINE_TOKENS
    return Entry(message.id, kind, tokens, tuple(calls or results))


class Cut(NamedTuple):
    """A cut before the entry at `first_kept`.

    Attributes
    ----------
    first_kept : int
        In 1 to n-1.
    turn_start : int
        Where the turn begins that the cut goes through: in 0 to `first_kept`, equal to it where it goes through none.
    """

    first_kept: int
    turn_start: int

    @property
    def is_split(self) -> bool:
        """Whether the question of a turn is on the one side, and what the bot then did on the other."""
        return self.turn_start < self.first_kept


def find_cut(entries: Sequence[Entry], keep_tokens: int, keep_count: int) -> Cut | None:
    """The cut that keeps at least the newest `keep_count` entries, and of more as many as have `keep_tokens`.

    Walks from the newest entry back until both are reached, and takes the first valid cut from there on, else the last
    one before: so a huge result at the end stays with its call. None where nothing would be left to summarise.
    """
    valid = _valid(entries)
    start, tokens = len(entries), 0
    while start > 0 and (tokens < keep_tokens or len(entries) - start < keep_count):
        start -= 1
        tokens += entries[start].tokens
    latest = len(entries) - keep_count
    if latest < 1 or (start == 0 and tokens < keep_tokens):
        return None
    start = max(start, 1)
    behind = (at for at in range(start, min(latest + 1, len(entries))) if valid[at])
    before = (at for at in range(min(start, len(entries)) - 1, 0, -1) if valid[at])
    first_kept = next(behind, 0) or next(before, 0)
    return Cut(first_kept, _turn_start(entries, first_kept)) if first_kept else None


def _valid(entries: Sequence[Entry]) -> list[bool]:
    """Whether a cut may stand before each entry: not before a result, nor where a call still waits for one."""
    last_result: dict[str, int] = {}
    ends = [-1] * len(entries)
    for at in range(len(entries) - 1, -1, -1):
        entry = entries[at]
        if entry.kind is EntryKind.RESULTS:
            for call_id in entry.call_ids:
                last_result.setdefault(call_id, at)
        elif entry.kind is EntryKind.CALLS:  # an id that is used again names another call
            ends[at] = max((last_result.pop(call_id, -1) for call_id in entry.call_ids), default=-1)
    valid, open_until = [], -1
    for at, entry in enumerate(entries):
        valid.append(at > open_until and entry.kind is not EntryKind.RESULTS)
        open_until = max(open_until, ends[at])
    return valid


def _turn_start(entries: Sequence[Entry], at: int) -> int:
    """The entry that the bot's entry at `at` goes back to: somebody's words before it."""
    start = at
    while start > 0 and entries[start].kind is not EntryKind.SAID:
        start -= 1
    return start if entries[start].kind is EntryKind.SAID else at
