"""What builds wrote of a channel's messages, kept for the builds to come.

The lines that matter for one question mostly matter for the next one, too, so a message is written, counted and
encoded when a build first shows it, not when it comes in: most never are shown.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from itertools import count
from typing import Any

MAX_BYTES = 2_097_152
"""Of one channel: some 1,000 messages of ordinary length in one style, or 800 with what they are compared by."""
STYLE_BYTES = 300
"""Of a style without messages."""


MARK_AT = 40
"""Bits of an arrival number in a key."""
FORGOTTEN_ONE_BY_ONE = 256
"""So many keys are looked for when messages change; with more of them, all is forgotten."""


class Written:
    """Written messages by style and key: a cache of a view's rows, no part of its value.

    A key is a message's arrival number and, in the bits above, the number of the mark that stands before it (`key`).
    When it is full it begins anew. What changes a message, or how it is written, makes another, which the old views do
    not see: a build that still reads one of those cannot bring back what was.
    """

    __slots__ = ("_by_style", "_mark_numbers", "_marks", "nbytes")

    def __init__(self) -> None:
        self._by_style: dict[Hashable, dict[int, Any]] = {}
        self._marks: dict[str, int] = {}
        self._mark_numbers = count(1)
        self.nbytes = 0

    def of(self, style: Hashable) -> dict[int, Any]:
        """What is written in this style, by key: to be read only."""
        found = self._by_style.get(style)
        if found is None:
            self.nbytes += STYLE_BYTES
            found = self._by_style[style] = {}
        return found

    def key(self, seq: int, mark: str) -> int:
        """The key of a message with a mark before it; without one it is the arrival number."""
        if not mark:
            return seq
        number = self._marks.get(mark)
        if number is None:
            self.nbytes += STYLE_BYTES
            # Never one that was given before: a build may still hold keys from before it began anew.
            number = self._marks[mark] = next(self._mark_numbers)
        return seq | number << MARK_AT

    def keep(self, style: Hashable, key: int, written: object, nbytes: int) -> None:
        """Remember one message, which takes so many bytes."""
        if self.nbytes + nbytes > MAX_BYTES:
            self._by_style, self._marks, self.nbytes = {}, {}, 0
        self.of(style)[key] = written
        self.nbytes += nbytes

    def without(self, seqs: Iterable[int]) -> Written:
        """What is left after these messages changed."""
        out, bare = Written(), list(seqs)
        marks = self._marks.copy()
        gone = bare + [seq | mark << MARK_AT for mark in marks.values() for seq in bare]
        if len(gone) > FORGOTTEN_ONE_BY_ONE:
            return out
        out.nbytes, out._marks, out._mark_numbers = self.nbytes, marks, self._mark_numbers
        for style, known in self._by_style.copy().items():
            out._by_style[style] = left = known.copy()
            for key in gone:
                left.pop(key, None)
        return out
