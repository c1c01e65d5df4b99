"""Candidates in a long history: what each row may be worth, summed up bit by bit for 512 rows at once.

A term's rows are kept as bits where many have it: what a question costs does not depend on how often its words were
said. The sums are rough, since only their order counts: who is a candidate is scored exactly behind them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from . import kernels_bits
from .arrays import Float32, Int32, Int64, UInt8, UInt64
from .layout import BESIDE, CHUNK
from .lexical import K1, B, Matches, PostingsView

BITS = 64
KEPT_SHARE = 64
"""Rows of a term are kept as bits where one row in so many has it: then they take 2.5 times what its postings take at
most. Of a rarer one they are read each time, at some 4 ns each."""
STEPS = (0.35, 0.7)
"""A term of less than such shares of the rarest one's weight counts a quarter, or half of what that counts."""
OWN_AND_NEAR = 3
"""What a row of middling length gets of a term of weight 1: 2 for having it, 1 for standing near."""
CANDIDATES = 3_072
"""So many rows by the sums, and by the sums with what else rows are worth."""
GAP = 2 * BESIDE + 1 + BESIDE
"""Places that one candidate without neighbours takes at most."""


class Few(NamedTuple):
    """Some rows of a history, and what stands beside them, as if they were all there is.

    Attributes
    ----------
    rows : int32[m]
        Ascending, with `BESIDE` places of no row, -1, between those that are no neighbours.
    chosen : uint8[m]
        Those that may be chosen: what stands beside them tells what they are worth, but may be worth more itself.
    matches : Matches
        Of the m places.
    """

    rows: Int32
    chosen: UInt8
    matches: Matches

    def places(self, rows: Int32) -> Int32:
        """int32[k]: where rows stand, -1 for those that are not among these."""
        if not len(self.rows):
            return np.full(len(rows), -1, np.int32)
        places = np.searchsorted(self.ascending(), rows).clip(max=len(self.rows) - 1)
        return np.where(self.rows[places] == rows, places, -1).astype(np.int32)

    def ascending(self) -> Int32:
        """int32[m]: the rows; where there is none, the one before."""
        rows: Int32 = np.maximum.accumulate(self.rows)
        return rows

    def beside(self, distance: int) -> Int32:
        """int32[k]: places of rows that may be chosen, and of those at most so far from one."""
        near = self.chosen != 0
        for step in range(1, distance + 1):
            near[step:] |= self.chosen[:-step] != 0
            near[:-step] |= self.chosen[step:] != 0
        return np.flatnonzero(near & (self.rows >= 0)).astype(np.int32)


class LongHistory:
    """The rows of a long history as one question sees them.

    Parameters
    ----------
    postings, offsets, terms, boosts, eligible : as `lexical.bm25` takes them.

    Attributes
    ----------
    idf : float32[k]
        The weight of each term, as `bm25` has it.
    asked : uint64[w]
        The rows that count.
    """

    def __init__(
        self,
        postings: PostingsView,
        offsets: Int64,
        terms: Int32,
        boosts: Float32,
        eligible: UInt8,
    ) -> None:
        self._offsets, self.count = offsets, len(eligible)
        self._postings = postings
        self._words = -(-self.count // BITS)
        self.asked = self.packed(eligible)
        total = kernels_bits.count_both(self.asked, self.asked)
        known = np.flatnonzero(terms >= 0).astype(np.int32)
        planes, self.idf = (
            np.empty((len(known), self._words), np.uint64),
            np.zeros(len(terms), np.float32),
        )
        used = 0
        for place in known.tolist():
            bits = self.having(terms[place : place + 1])
            often = kernels_bits.count_both(bits, self.asked)
            if often:
                weight = math.log(1.0 + (total - often + 0.5) / (often + 0.5))
                self.idf[place] = np.float32(weight) * boosts[place]
                np.bitwise_and(bits, self.asked, out=planes[used])
                known[used] = place
                used += 1
        self._planes, self._terms = planes[:used], known[:used]

    def having(self, terms: Int32, kept_as: str = "") -> UInt64:
        """uint64[w]: the rows that have one of the terms.

        They are kept for the next question under a name, or where many rows have them.
        """
        postings = self._postings
        key: str | bytes = kept_as
        if not key and int(postings.counts[terms].sum()) * KEPT_SHARE >= self.count:
            key = terms.tobytes()
        return postings.bits.having(
            postings.pool, postings.rows, postings.tail[terms], terms, self._words, key
        )

    def packed(self, marks: UInt8) -> UInt64:
        """uint64[w]: a bit for each mark, uint8[n], that is not 0."""
        bits = np.zeros(self._words, np.uint64)
        packed = np.packbits(marks, bitorder="little")
        bits.view(np.uint8)[: len(packed)] = packed
        return bits

    def by(self, author: Int32, user: int) -> UInt64:
        """uint64[w]: the rows of a user, by a column of users, int32[>= n]."""
        return self._postings.bits.by(author, user, self.count, self._words)

    def between(self, first: int, end: int) -> UInt64:
        """uint64[w]: the rows from `first` to `end`."""
        bits = np.zeros(self._words, np.uint64)
        kernels_bits.set_range(first, min(end, self.count), bits)
        return bits

    def candidates(
        self, worth: Sequence[tuple[UInt64, float]], share: float
    ) -> tuple[Int32, Float32]:
        """int32[k], ascending: about the best rows by words and by what else they are worth; float32[k]: how much.

        Parameters
        ----------
        worth : rows as bits, and what each of them gets beside its words, in points of the score.
        share : points of a row of middling length that has all the terms.
        """
        weights = self.idf[self._terms]
        steps = np.searchsorted(STEPS, weights / weights.max(initial=0)).astype(np.int64)
        terms = int((1 << steps).sum())
        unit = OWN_AND_NEAR * terms / share if terms and share > 0 else 8.0
        more = [(bits, min(1 << 12, round(unit * points))) for bits, points in worth]
        most = 4 * terms + sum(weight for _, weight in more)
        sums = np.zeros((most.bit_length(), self._words), np.uint64)
        few, some = self._postings.bits.short(self._offsets, self.count, self._words)
        kernels_bits.add_terms(self._planes, steps, few, some, sums)
        rows, values = self._highest(sums)
        if more:
            for bits, weight in more:
                kernels_bits.add_weight(bits, weight, sums)
            others, totals = self._highest(sums)
            rows, values = _each_once(
                np.concatenate((rows, others)), np.concatenate((values, totals))
            )
        return rows, (values / unit).astype(np.float32)

    def _highest(self, sums: UInt64) -> tuple[Int32, Int32]:
        rows, values = np.empty(CANDIDATES, np.int32), np.empty(CANDIDATES, np.int32)
        found = kernels_bits.highest(sums, self.asked, rows, values) if len(sums) else 0
        return rows[CANDIDATES - found :], values[CANDIDATES - found :]

    def words(self, rows: Int32) -> Float32:
        """float32[m]: BM25 of these rows."""
        return self._words_of(rows)[1]

    def few(self, rows: Int32) -> Few:
        """The rows, those that count, with what stands beside them."""
        bits = np.zeros(self._words, np.uint64)
        kernels_bits.set_rows(rows, self.count, bits)
        bits &= self.asked
        places = np.empty(GAP * kernels_bits.count_both(bits, bits), np.int32)
        chosen = np.empty(len(places), np.uint8)
        m = kernels_bits.runs(bits, self.count, places, chosen)
        cover, scores = self._words_of(places[:m])
        active = np.ones(-(-m // CHUNK), np.bool_)
        return Few(places[:m], chosen[:m], Matches(scores, cover, self.idf, active))

    def _words_of(self, rows: Int32) -> tuple[UInt64, Float32]:
        """uint64[m], float32[m]: which terms rows have, and their BM25."""
        cover, scores = np.empty(len(rows), np.uint64), np.empty(len(rows), np.float32)
        kernels_bits.cover_rows(self._planes, self._terms, rows, cover)
        kernels_bits.score_rows(cover, self.idf, self._offsets, rows, K1, B, scores, self.count)
        return cover, scores

    def marks(self, bits: UInt64, rows: Int32) -> UInt8:
        """uint8[m]: 1 where a row's bit is set."""
        out = np.empty(len(rows), np.uint8)
        kernels_bits.marks_of(bits, rows, out)
        return out


def _each_once(rows: Int32, values: Int32) -> tuple[Int32, Int32]:
    """The rows ascending, each with the last of its values."""
    order = np.argsort(rows, kind="stable")
    rows, values = rows[order], values[order]
    last = np.append(rows[1:] != rows[:-1], True)[: len(rows)]
    return rows[last], values[last]
