"""Shingle sets of messages, kept by number, so that each message is cut once."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from . import kernels_diversity
from .arrays import Bool, Int32, Int64
from .layout import HEAD
from .status import NOT_KEPT, OK, check
from .texts import FeatureSets

FIRST_WORDS = 4_096


class Thinned(NamedTuple):
    """An order without near-duplicates.

    Attributes
    ----------
    stay, go : int64[s], int64[k - s]
        Places, each in their order. If not complete: those that must be looked at, and the rest.
    complete : bool
        Whether all sets that must be looked at are kept.
    """

    stay: Int64
    go: Int64
    complete: bool


class ShingleCache:
    """Sets by number in one array: how many ids, the facts in two halves, the ids. For one thread at a time."""

    __slots__ = ("_numbers", "_starts", "_used", "_words")

    def __init__(self) -> None:
        self._words: Int32 = np.empty(0, np.int32)
        self._used = 0
        self._numbers: Int64 = np.empty(0, np.int64)  # ascending
        self._starts: Int32 = np.empty(0, np.int32)

    @property
    def nbytes(self) -> int:
        """Bytes it holds."""
        return self._words.nbytes + self._numbers.nbytes + self._starts.nbytes

    def add(self, numbers: Int64, sets: FeatureSets) -> None:
        """Keep sets, each under its number, int64[m], of which none is here yet."""
        sizes = np.diff(sets.offsets)
        ends = np.cumsum(sizes + HEAD) + self._used
        used = ends.item(-1) if len(ends) else self._used
        self._make_room(used)
        starts = (ends - sizes - HEAD).astype(np.int32)
        halves = sets.facts.astype("<i8").view("<i4").reshape(-1, 2)
        self._words[starts], self._words[starts + 1], self._words[starts + 2] = sizes, *halves.T
        own = np.arange(len(sets.ids)) - np.repeat(sets.offsets[:-1], sizes)
        self._words[np.repeat(starts + HEAD, sizes) + own] = sets.ids
        self._used = used
        order = numbers.argsort(kind="stable")
        at = self._numbers.searchsorted(numbers[order])
        self._numbers = np.insert(self._numbers, at, numbers[order])
        self._starts = np.insert(self._starts, at, starts[order])

    def _make_room(self, words: int) -> None:
        if words > len(self._words):
            larger = np.empty(max(FIRST_WORDS, 3 * len(self._words) // 2, words), np.int32)
            larger[: self._used] = self._words[: self._used]
            self._words = larger

    def lacks(self, numbers: Int64) -> Bool:
        """bool[m]: under which numbers nothing is kept."""
        if not len(self._numbers):
            return np.ones(len(numbers), np.bool_)
        at = self._numbers.searchsorted(numbers).clip(max=len(self._numbers) - 1)
        lacking: Bool = self._numbers[at] != numbers
        return lacking

    def of(self, numbers: Int64) -> FeatureSets:
        """The sets of these numbers, all of which are here, in their order."""
        starts = self._starts[self._numbers.searchsorted(numbers)].astype(np.int64)
        sizes = self._words[starts].astype(np.int64)
        offsets = np.concatenate(([0], np.cumsum(sizes)))
        own = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        low, high = (
            self._words[starts + 1].astype(np.int64),
            self._words[starts + 2].astype(np.int64),
        )
        facts = high << 32 | low & 0xFFFF_FFFF
        return FeatureSets(offsets, self._words[np.repeat(starts + HEAD, sizes) + own], facts)

    def without(self, numbers: Collection[int]) -> ShingleCache:
        """Another one with the same sets but for these."""
        out = ShingleCache()
        stays = ~np.isin(self._numbers, list(numbers))
        out._words, out._used = self._words[: self._used].copy(), self._used
        out._numbers, out._starts = self._numbers[stays], self._starts[stays]
        return out

    def without_repeats(
        self,
        seq: Int64,
        author: Int32,
        rows: Int32,
        order: Int64,
        marks: Bool,
        *,
        maximum: int | None = None,
        threshold: float = 0.8,
        across_authors: int = 16,
    ) -> Thinned:
        """An order of candidates without those marked ones that repeat a better one.

        Two say the same whose facts are equal and whose sets have a Jaccard similarity (shared / in either) of at
        least ``threshold``. Empty sets are like nothing. Short lines of different people are votes, not copies: they
        need ``across_authors`` members in both sets.

        Parameters
        ----------
        seq : int64[n], author : int32[n]
            By row: the number of its set, and who said it (negative: nobody knows, like nobody else).
        rows : int32[m]
            The candidates.
        order : int64[k]
            Places in `rows`, best first.
        marks : bool[k]
            Which of the order may go.
        maximum : int, optional
            Places that cannot move up into so many are not looked at.

        Raises
        ------
        ValueError, IndexError
            An array of another length, a place or row outside.
        """
        out = np.empty(len(order), np.int64)
        status, count = kernels_diversity.without_repeats(
            self._words[: self._used], self._numbers, self._starts, seq, author, rows, order, marks,
            -1 if maximum is None else maximum, threshold, across_authors, out,
        )  # fmt: skip
        if status != NOT_KEPT:
            check(status)
        return Thinned(out[:count], out[count:], status == OK)
