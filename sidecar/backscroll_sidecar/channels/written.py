"""Rendered messages of a channel, kept for later builds.

The lines that matter for one question mostly matter for the next one, too, so a message is written, counted and
encoded when a build first shows it, or a moment before (`context.precompute`), not when it comes in: most are never
shown.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import FeatureSets, Page, ShingleCache

MAX_BYTES = 2_097_152
"""Of one channel: some 1,000 ordinary messages in one style, fewer with their shingles."""
MAX_PAGE_BYTES = 1_048_576
"""Of its pages besides."""
STYLE_BYTES = 300
"""Of a style without messages."""

SetsOf = Callable[[NDArray[np.intp]], FeatureSets]
"""Makes shingle sets of the messages at these places."""


class Written:
    """Written messages by style and arrival number: a cache of a view's rows, no part of its value.

    When it is full it begins anew. What changes a message, or how it is written, makes another, which the old
    views do not see: a build that still reads one of those cannot bring back what was.

    Attributes
    ----------
    wanted : the style of the last question, which precomputing uses too
    sets : shingle sets by arrival number; `sets_with` adds to them
    """

    __slots__ = ("_by_style", "_page_bytes", "_pages", "_written_bytes", "sets", "wanted")

    def __init__(self, wanted: Any = None) -> None:  # noqa: ANN401 - its style, of whatever kind
        self.wanted = wanted
        self._by_style: dict[Hashable, dict[int, Any]] = {}
        self._pages: dict[Hashable, Page] = {}
        self.sets = ShingleCache()
        self._written_bytes = self._page_bytes = 0

    @property
    def nbytes(self) -> int:
        """Bytes held, roughly."""
        return self._written_bytes + self.sets.nbytes + self._page_bytes

    def of(self, style: Hashable) -> dict[int, Any]:
        """What is written in this style, by arrival number: to be read only."""
        found = self._by_style.get(style)
        if found is None:
            self._written_bytes += STYLE_BYTES
            found = self._by_style[style] = {}
        return found

    def keep(self, style: Hashable, seq: int, written: object, nbytes: int) -> None:
        """Remember one message, which takes so many bytes."""
        if self._written_bytes + self.sets.nbytes + nbytes > MAX_BYTES:
            self._begin_anew()
        self.of(style)[seq] = written
        self._written_bytes += nbytes

    def sets_with(self, seqs: NDArray[np.int64], make: SetsOf) -> ShingleCache:
        """The shingle sets, completed for these messages; `make` makes missing ones."""
        if self._written_bytes + self.sets.nbytes > MAX_BYTES:
            self._begin_anew()
        new = np.flatnonzero(self.sets.lacks(seqs))
        if len(new):
            self.sets.add(seqs[new], make(new))
        return self.sets

    def _begin_anew(self) -> None:
        self._by_style, self.sets, self._written_bytes = {}, ShingleCache(), 0

    def page(self, style: Hashable) -> Page:
        """What answers in this style are joined of; messages are put on it by `keep_on_page`."""
        found = self._pages.get(style)
        if found is None:
            found = self._pages[style] = Page()
            self._page_bytes += found.nbytes
        return found

    def keep_on_page(
        self,
        style: Hashable,
        keys: Sequence[int],
        forms: Sequence[Sequence[bytes]],
        numbers: Sequence[Sequence[int]],
    ) -> None:
        """Put messages on the page of a style. Full pages begin anew; what is written stays."""
        page = self.page(style)
        before = page.nbytes
        page.add(keys, forms, numbers)
        self._page_bytes += page.nbytes - before
        if self._page_bytes > MAX_PAGE_BYTES:
            self._pages, self._page_bytes = {}, 0

    def forget(self) -> None:
        """Begin anew, for those, too, who hold it and are not done: they go on with names as they are now."""
        self._begin_anew()
        self._pages, self._page_bytes = {}, 0

    def without(self, seqs: Iterable[int]) -> Written:
        """What is left after these messages changed."""
        gone = tuple(seqs)
        out = Written(self.wanted)
        out._written_bytes = self._written_bytes
        for style, known in self._by_style.copy().items():
            out._by_style[style] = left = known.copy()
            for seq in gone:
                left.pop(seq, None)
        out.sets = self.sets.without(gone)
        keys = [key for seq in gone for key in page_keys(seq)]
        out._pages = {style: page.without(keys) for style, page in self._pages.items()}
        out._page_bytes = self._page_bytes
        return out


def page_keys(seq: int) -> tuple[int, int]:
    """Under which keys a page has a message: as it is, and with its date."""
    return 2 * seq, 2 * seq + 1
