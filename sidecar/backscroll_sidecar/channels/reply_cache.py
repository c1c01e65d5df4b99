"""Results of the reply model for the newest rows of a channel. A cache, computed again when dropped."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.links import (
    CAPACITY,
    LOOK_BACK,
    NO_SIZES,
    ReplyLinks,
    WindowSizes,
    carry_links,
    first_row,
    new_links,
    window_sizes,
)


@dataclass(slots=True, eq=False)
class LinkState:
    """Cues of the rows from `cues_from` on and links of those from `links.first` on, both known up to row `upto`.

    Rows are filled in behind `upto`, never changed before it: whoever reads rows below an `upto` it has seen needs no
    lock. One `LinkState` has room for `CAPACITY` linked rows; beyond, another one begins.
    `sizes` are those of the window before `upto`, or before an `upto` of lately.
    """

    links: ReplyLinks
    cues_from: int
    upto: int
    flags: NDArray[np.int32]
    called: NDArray[np.int32]
    shortened: NDArray[np.int32]
    sizes: WindowSizes = NO_SIZES

    @classmethod
    def begun(cls, first: int, old: LinkState | None) -> LinkState:
        """A state whose links begin at row `first`, filled from an older one."""
        cues_from = max(0, first - LOOK_BACK)
        room = first - cues_from + CAPACITY
        nobody = np.full(room, -1, np.int32)
        state = cls(
            new_links(first), cues_from, cues_from, np.zeros(room, np.int32), nobody, nobody.copy()
        )
        if old is not None and old.reaches(first):
            skip, count = cues_from - old.cues_from, old.upto - cues_from
            for name in ("flags", "called", "shortened"):
                getattr(state, name)[:count] = getattr(old, name)[skip : skip + count]
            carry_links(old.links, state.links, old.upto)
            state.upto, state.sizes = old.upto, window_sizes(state.links, old.upto)
        return state

    def reaches(self, first: int) -> bool:
        """Whether a state that begins at row `first` can go on from this one."""
        return self.links.first <= first < self.upto and self.cues_from <= max(0, first - LOOK_BACK)

    def copied(self, upto: int) -> LinkState:
        """The same with arrays of its own, known up to row `upto` at most."""
        upto = min(upto, self.upto)  # first: what a thread fills in from here on may be copied half
        links = self.links
        own = ReplyLinks(
            links.first,
            links.rows.copy(),
            links.chances.copy(),
            links.starts.copy(),
            links.together.copy(),
        )
        return replace(
            self, links=own, upto=upto, sizes=window_sizes(own, upto),
            flags=self.flags.copy(), called=self.called.copy(), shortened=self.shortened.copy(),
        )  # fmt: skip


@dataclass(slots=True, eq=False)
class ReplyCache:
    """The `LinkState` of one generation of a channel, if there is one, and the work that is extending it.

    `names` are those of who wrote before a row, as whoever looks for them wants them, and that row.
    """

    state: LinkState | None = None
    names: tuple[int, Any] | None = field(default=None, repr=False)
    work: asyncio.Future[LinkState] | None = field(default=None, repr=False)

    def missing(self, end: int) -> int:
        """How many rows must be linked before a question at row `end` can be ranked."""
        first = first_row(end)
        if self.state is None or not self.state.reaches(first):
            return end - first
        return max(0, end - self.state.upto)

    def begun(self, end: int) -> LinkState:
        """The state to be filled in for a question at row `end`: the one that is kept unless it looks far back."""
        first, state = first_row(end), self.state
        if state is None or state.links.first != first:
            state = LinkState.begun(first, state)
            if self.state is None or first > self.state.links.first:
                self.state = state
        return state

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        if self.state is None:
            return 0
        links = self.state.links
        arrays = (links.rows, links.chances, links.starts, links.together)
        sizes = self.state.sizes.sizes.nbytes
        return sum(array.nbytes for array in arrays) + 3 * self.state.flags.nbytes + sizes

    def before(self, row: int) -> ReplyCache:
        """The cache of a generation whose rows from `row` on are others."""
        state = self.state
        if state is None or row <= state.cues_from:
            return ReplyCache()
        return ReplyCache(state.copied(row))
