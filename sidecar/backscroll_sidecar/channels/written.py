"""What builds wrote of a channel's messages, kept for the builds to come.

The lines that matter for one question mostly matter for the next one, too, so a message is written, counted and
encoded when a build first shows it, not when it comes in: most never are shown.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from backscroll_scoring import Page

MAX_BYTES = 3_145_728
"""Of one channel: some 1,000 messages of ordinary length in one style, on a page, too, or 800 with what they are
compared by."""
STYLE_BYTES = 300
"""Of a style without messages."""


class Written:
    """Written messages by style and arrival number: a cache of a view's rows, no part of its value.

    When it is full it begins anew. What changes a message, or how it is written, makes another, which the old
    views do not see: a build that still reads one of those cannot bring back what was.
    """

    __slots__ = ("_by_style", "_pages", "nbytes")

    def __init__(self) -> None:
        self._by_style: dict[Hashable, dict[int, Any]] = {}
        self._pages: dict[Hashable, Page] = {}
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
        self._make_room(nbytes)
        self.of(style)[seq] = written
        self.nbytes += nbytes

    def page(self, style: Hashable) -> Page:
        """What answers in this style are joined of; messages are put on it by `keep_on_page`."""
        found = self._pages.get(style)
        if found is None:
            found = self._pages[style] = Page()
            self.nbytes += found.nbytes
        return found

    def keep_on_page(
        self, style: Hashable, key: int, forms: Sequence[bytes], numbers: Sequence[int]
    ) -> None:
        """Put one message on the page of a style."""
        page = self.page(style)
        before = page.nbytes
        page.add(key, forms, numbers)
        self._make_room(grown := page.nbytes - before)
        self.nbytes += grown

    def _make_room(self, nbytes: int) -> None:
        if self.nbytes + nbytes > MAX_BYTES:
            self._by_style, self._pages, self.nbytes = {}, {}, 0

    def without(self, seqs: Iterable[int]) -> Written:
        """What is left after these messages changed."""
        gone = tuple(seqs)
        out = Written()
        out.nbytes = self.nbytes
        for style, known in self._by_style.copy().items():
            out._by_style[style] = left = known.copy()
            for seq in gone:
                left.pop(seq, None)
        keys = [key for seq in gone for key in page_keys(seq)]
        out._pages = {style: page.without(keys) for style, page in self._pages.items()}
        return out


def page_keys(seq: int) -> tuple[int, int]:
    """Under which keys a page has a message: as it is, and with its date."""
    return 2 * seq, 2 * seq + 1
