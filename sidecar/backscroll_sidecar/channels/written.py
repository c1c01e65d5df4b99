"""What builds wrote of a channel's messages, kept for the builds to come.

The lines that matter for one question mostly matter for the next one, too, so a message is written, counted and
encoded when a build first shows it, not when it comes in: most never are shown.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

MAX_BYTES = 2_097_152
"""Of one channel: some 1,000 messages of ordinary length in one style, or 800 with what they are compared by."""
STYLE_BYTES = 300
"""Of a style without messages."""


class Written:
    """Written messages by style and arrival number: a cache of a view's rows, no part of its value.

    When it is full it begins anew. What changes a message, or how it is written, makes another, which the old
    views do not see: a build that still reads one of those cannot bring back what was.
    """

    __slots__ = ("_by_style", "nbytes")

    def __init__(self) -> None:
        self._by_style: dict[Hashable, dict[int, Any]] = {}
        self.nbytes = 0

    def of(self, style: Hashable) -> dict[int, Any]:
        """What is written in this style, by arrival number: to be read only."""
        found = self._by_style.get(style)
        if found is None:
            self.nbytes += STYLE_BYTES
            found = self._by_style[style] = {}
        return found

    def keep(self, style: Hashable, seq: int, written: object, nbytes: int) -> None:
        """Remember one message, which takes so many bytes."""
        if self.nbytes + nbytes > MAX_BYTES:
            self._by_style, self.nbytes = {}, 0
        self.of(style)[seq] = written
        self.nbytes += nbytes

    def without(self, seqs: Iterable[int]) -> Written:
        """What is left after these messages changed."""
        gone = tuple(seqs)
        out = Written()
        out.nbytes = self.nbytes
        for style, known in self._by_style.copy().items():
            out._by_style[style] = left = known.copy()
            for seq in gone:
                left.pop(seq, None)
        return out
