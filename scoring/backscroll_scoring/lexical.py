"""An inverted index that is appended to while it is read, and BM25 over it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from . import kernels_lexical
from .arrays import Bool, Float32, Int32, Int64, UInt8, UInt64, require
from .layout import CHUNK, GONE, LARGEST_CHUNK
from .row_bits import RowBits
from .status import check

K1 = 1.5
B = 0.75
MAX_QUERY_TERMS = 64
"""A row's matches are the bits of one number. The rarest of more terms are not sought: the first ones count."""

COMMON = 64
"""A word of so many rows tells no two rows to be about the same."""
NEWEST_ALIKE = 16
"""So many rows of a rare word are compared."""
WALKED = 1_024
"""Postings of a word that are read, without those of texts that were taken out: one that has more is common, or hardly
any of its rows are eligible."""
AMONG = 1_000
"""What rows have in common must be as rare as a word that one row has, of so many at least: it grows with the history,
and in a short one everyday words are said once."""

_MIN_CAPACITY = 64
MOST_GONE = 1_024
"""So many entries without a text stay at least; of more there are never more than of the others."""
_MIN_POOL = 1_024
"""Above the largest chunk, so that a pool that grew has room for one."""


@dataclass(frozen=True, slots=True, eq=False)
class PostingsView:
    """Postings as a reader holds them. Appends after it was taken may show: rows not below the reader's own count.

    Attributes
    ----------
    pool, tail, rows : int32[]
        A term's postings stand in chunks of the pool; a chunk is a header and then entries. The header holds
        ``-2 - place`` of the last posting of the chunk before (``-1`` without one), so it is negative and an entry is
        not. ``tail[term]`` is the place of the term's newest posting, -1 without any: reading goes backwards from it.
        An entry is one text of one row; ``rows[entry]`` says which.
    counts : int32[T]
        Postings a term has, those of edited texts too: what reading it costs.
    entered : int64[1]
        How many entries there are, raised before `counts` is: read after it, it covers all that is counted.
    bits : RowBits
        What is kept of them for long histories; no part of the value.
    """

    pool: Int32
    tail: Int32
    rows: Int32
    counts: Int32
    entered: Int64
    bits: RowBits


class Postings:
    """Rows by term, terms numbered from 0. One writer, any number of readers, no lock.

    The writer writes the posting first and the tail last, and a reader passes over rows its view does not have. A row
    that is edited gets another entry. Growing moves everything to larger arrays; `renumber` and `remove` make a new
    array of rows, or new arrays without what is gone. What readers hold stays as it was.
    """

    __slots__ = (
        "_bits", "_counts", "_entered", "_pool", "_room", "_rows", "_size", "_tail", "_used",
    )  # fmt: skip

    def __init__(self) -> None:
        self._pool = np.zeros(_MIN_POOL, np.int32)
        self._tail = np.full(_MIN_CAPACITY, -1, np.int32)
        self._room = np.zeros(_MIN_CAPACITY, np.int32)
        self._size = np.zeros(_MIN_CAPACITY, np.int32)
        self._used = np.zeros(1, np.int32)
        self._counts = np.zeros(_MIN_CAPACITY, np.int32)
        self._rows = np.full(_MIN_CAPACITY, GONE, np.int32)
        self._entered = np.zeros(1, np.int64)
        self._bits = RowBits()

    def __len__(self) -> int:
        """Entries: rows that were added, edited ones each time, as far as they were not given up."""
        return self._entered.item(0)

    @property
    def nbytes(self) -> int:
        """Bytes held, spare capacity included."""
        arrays = (self._pool, self._tail, self._room, self._size, self._counts, self._rows)
        return self._bits.nbytes + sum(array.nbytes for array in arrays)

    def view(self) -> PostingsView:
        """What is there now."""
        return PostingsView(
            self._pool, self._tail, self._rows, self._counts, self._entered, self._bits
        )

    def append(self, rows: Int32, terms: Int32, places: Int32) -> None:
        """Add rows. Amortised O(number of terms).

        Parameters
        ----------
        rows : int32[k]
        terms, places : int32[m]
            Row ``rows[places[i]]`` has ``terms[i]``, each once; the places of a term ascend.

        Raises
        ------
        ValueError
            A negative term, or a place outside `rows`.
        """
        base = self._enter(rows)
        if len(places) != len(terms):
            raise ValueError("each term has a place")
        if not len(terms):
            return
        if terms.min() < 0:
            raise ValueError("terms are numbered from 0")
        if places.min() < 0 or places.max() >= len(rows):
            raise ValueError("a term of a row that is not there")
        self.reserve_terms(int(terms.max()) + 1)
        entries = places + np.int32(base)
        done = 0
        while done < len(terms):
            done += kernels_lexical.append_postings(
                *(self._pool, self._tail, self._room, self._size, self._used),
                *(terms[done:], entries[done:]),
            )
            if done < len(terms):
                self._grow_pool(len(self._pool) + len(self._pool) // 2 + _MIN_POOL)
        if len(rows) == 1:
            self._counts[terms] += 1  # a row has a term once
        else:
            more = np.bincount(terms)
            self._counts[: len(more)] += more.astype(np.int32)

    def reserve_terms(self, count: int) -> None:
        """Know the terms below `count`, be there postings of them or not."""
        if count > len(self._tail):
            capacity = count + count // 2
            self._tail = _grown(self._tail, capacity, -1)
            self._room = _grown(self._room, capacity, 0)
            self._size = _grown(self._size, capacity, 0)
            self._counts = _grown(self._counts, capacity, 0)

    def renumber(self, new_rows: Int32) -> None:
        """Give other numbers: row r becomes ``new_rows[r]``, `GONE` leaves; rows outside that table stay. O(rows)."""
        rows = self._rows.copy()
        known = rows < len(new_rows)
        rows[known] = new_rows[rows[known]]
        self._rows, self._bits = rows, RowBits()
        self._compact_when_most_are_gone()

    def remove(self, rows: Int32) -> None:
        """Take rows out. O(rows): their postings stay and lead nowhere, until they are the most."""
        self._rows = np.where(np.isin(self._rows, rows), np.int32(GONE), self._rows)
        self._bits = RowBits()
        self._compact_when_most_are_gone()

    def compact(self) -> None:
        """Make the postings again without those that lead nowhere. O(postings)."""
        stays = self._rows[: len(self)] != GONE
        numbers = np.where(stays, np.cumsum(stays) - 1, -1).astype(np.int32)
        counts = np.empty(len(self._tail), np.int32)
        block = np.empty(self._used.item(0) + len(counts), np.int32)
        used = kernels_lexical.live_postings(self._pool, self._tail, numbers, counts, block)
        self._hold(self._rows[: len(self)][stays], counts, block[:used])

    def _compact_when_most_are_gone(self) -> None:
        gone = int(np.count_nonzero(self._rows[: len(self)] == GONE))
        if gone > max(len(self) - gone, MOST_GONE):
            self.compact()

    def _enter(self, rows: Int32) -> int:
        """New entries for these rows, known before any posting is; the number of the first."""
        base = self._entered.item(0)
        end = base + len(rows)
        if end > len(self._rows):
            self._rows = _grown(self._rows, end + end // 2, GONE)
        self._rows[base:end] = rows
        self._entered[0] = end
        return base

    def trim(self, terms: int) -> None:
        """Give spare capacity back, but for `terms` terms: for what is loaded once and grows slowly."""
        for name in ("_tail", "_room", "_size", "_counts"):
            if terms < len(getattr(self, name)):
                setattr(self, name, getattr(self, name)[:terms].copy())
        used = self._used.item(0)
        if len(self._pool) > used + _MIN_POOL:
            self._pool = _grown(self._pool[:used], used + _MIN_POOL, 0)
        entered = self._entered.item(0)
        if entered < len(self._rows):
            self._rows = self._rows[:entered].copy()

    def begin(self, rows: Int32, counts: Int32, block: Int32) -> None:
        """`append_block` of all terms, 0, 1, …, into an empty index: nothing is looked up, no array is longer than it.

        Raises
        ------
        ValueError
            The index is not empty.
        """
        if len(self):
            raise ValueError("there are rows already")
        self._hold(rows, counts, block)

    def _hold(self, rows: Int32, counts: Int32, block: Int32) -> None:
        self._rows, self._entered = rows.copy(), np.array([len(rows)], np.int64)
        self._pool = np.zeros(len(block) + _MIN_POOL, np.int32)
        self._pool[: len(block)] = block
        self._used[0] = len(block)
        self._counts, self._room = counts.copy(), np.zeros_like(counts)
        self._size = np.minimum(counts, LARGEST_CHUNK)
        ends = np.cumsum(counts + (counts > 0), dtype=np.int32)
        self._tail = np.where(counts > 0, ends - 1, np.int32(-1))

    def append_block(self, rows: Int32, terms: Int32, counts: Int32, block: Int32) -> None:
        """Add rows whose postings stand term by term already: one chunk a term, no look at any posting.

        Parameters
        ----------
        rows : int32[k]
        terms, counts : int32[m]
            Known terms, each once, and how many postings each has.
        block : int32[]
            For each term that has postings -1, then their places in `rows`, ascending.
        """
        has = counts > 0
        terms, counts = terms[has], counts[has]
        base, used = self._enter(rows), self._used.item(0)
        end = used + len(block)
        if end > len(self._pool):
            self._grow_pool(end + _MIN_POOL)
        self._pool[used:end] = block
        if base:
            self._pool[used:end] += np.int32(base)
        ends = used + np.cumsum(counts + 1, dtype=np.int32)
        self._pool[ends - counts - 1] = kernels_lexical.HEADER - self._tail[terms]
        self._room[terms] = 0
        self._size[terms] = np.minimum(counts, LARGEST_CHUNK)
        self._counts[terms] += counts
        self._used[0] = end
        self._tail[terms] = ends - 1  # last: a reader that sees it sees the postings

    def _grow_pool(self, capacity: int) -> None:
        """Pool and tails move together: a reader that holds one pair never meets a place of the other."""
        self._pool = _grown(self._pool, capacity, 0)
        self._tail = self._tail.copy()


class Matches(NamedTuple):
    """How n rows match a question's terms.

    Attributes
    ----------
    scores : float32[n]
        BM25, 0 where nothing matches; anything outside of the active chunks.
    cover : uint64[n]
        Bit i: the row has term i; the same.
    idf : float32[k]
        The weight of each term.
    active : bool[c]
        The chunks of `CHUNK` rows of which one matches, or stands up to `BESIDE` rows from one that does.
    """

    scores: Float32
    cover: UInt64
    idf: Float32
    active: Bool

    def rows(self) -> Int32:
        """int32[m]: the rows that match, ascending."""
        near = np.flatnonzero(np.repeat(self.active, CHUNK)[: len(self.scores)])
        return near[self.scores[near] > 0].astype(np.int32)

    def best(self, cut: int) -> tuple[float, float]:
        """The highest scores among the rows below `cut` and among the others, 0 where none match."""
        best = np.empty(2, np.float32)
        kernels_lexical.best_scores(self.scores, self.active, cut, best)
        return best.item(0), best.item(1)


class Worth(NamedTuple):
    """What the best scores before and after a cut must come to: ``min(cap, before) - slope * after >= least``."""

    cap: float
    slope: float
    least: float

    def is_beyond(self, before: float, after: float) -> bool:
        """Whether these, or what they bound, cannot come to it."""
        return min(self.cap, before) - self.slope * after < self.least


def bm25(
    postings: PostingsView,
    offsets: Int64,
    terms: Int32,
    boosts: Float32,
    eligible: UInt8,
) -> Matches:
    """BM25 of n rows, a term counted once a row (Robertson and Zaragoza 2009; the idf is Lucene's).

    The sum over a row's terms of ``idf / (1 + K1 * (1 - B + B * length / mean length))`` with
    ``idf = boost * log(1 + (all eligible - df + .5) / (df + .5))``, 0 where no row has the term.

    Parameters
    ----------
    offsets : int64[>= n + 1]
        Prefix sums of the rows' lengths in words. The mean length is that of all n rows.
    terms : int32[k], boosts : float32[k]
        Different terms, and a factor for each one's idf. No row has a negative term.
    eligible : uint8[n]
        Other rows count nowhere and get 0.

    Raises
    ------
    ValueError
        More than `MAX_QUERY_TERMS` terms, arrays of wrong lengths, terms outside the postings.
    """
    sought = _sought(postings, offsets, terms, boosts, eligible)
    n, k = len(eligible), len(terms)
    scores, cover, idf = np.empty(n, np.float32), np.empty(n, np.uint64), np.zeros(k, np.float32)
    active = np.empty(-(-n // CHUNK), np.bool_)
    check(kernels_lexical.bm25(*sought, K1, B, idf, scores, cover, active))
    return Matches(scores, cover, idf, active)


def bound_bm25(
    postings: PostingsView,
    offsets: Int64,
    terms: Int32,
    boosts: Float32,
    eligible: UInt8,
    cut: int,
) -> tuple[float, float]:
    """A number not less than `Matches.best`'s first and one not more than its second; no posting before `cut` is read.

    The first is that of a row without words that has all terms that any has, each as rare as it can be. The second is
    that of the newest postings, from the newest of a term to the first that leads before `cut`, each term as common as
    it can be. Every row below ``len(eligible)`` was appended.

    Raises
    ------
    ValueError
        As `bm25`.
    """
    sought = _sought(postings, offsets, terms, boosts, eligible)
    counts = np.zeros(len(terms), np.int32)
    if len(postings.counts):  # what no text has a word of has no postings
        postings.counts.take(
            terms, out=counts, mode="clip"
        )  # the kernel refuses what is out of range
    entered, bounds = postings.entered.item(0), np.empty(2, np.float32)
    check(kernels_lexical.bound_bm25(*sought, K1, B, cut, counts, entered, bounds))
    return bounds.item(0), bounds.item(1)


def _sought(
    postings: PostingsView, offsets: Int64, terms: Int32, boosts: Float32, eligible: UInt8
) -> tuple[tuple[Int32, Int32, Int32], Int64, Int32, Float32, UInt8]:
    """What the kernels of BM25 begin with."""
    k = len(terms)
    if k > MAX_QUERY_TERMS or len(boosts) != k:
        raise ValueError(f"at most {MAX_QUERY_TERMS} terms, each with a boost: {k}, {len(boosts)}")
    return (postings.pool, postings.tail, postings.rows), offsets, terms, boosts, eligible


def rows_with(
    postings: PostingsView,
    terms: Int32,
    eligible: UInt8,
) -> UInt8:
    """uint8[n]: how many of the terms each eligible row has (modulo 256).

    Raises
    ------
    ValueError
        A term outside the postings.
    """
    out = np.zeros(len(require("eligible", eligible, np.uint8)), np.uint8)
    terms = require("terms", terms, np.int32)
    check(
        kernels_lexical.mark_rows(postings.pool, postings.tail, postings.rows, terms, eligible, out)
    )
    return out


def count_rows(
    postings: PostingsView, terms: Int32, eligible: UInt8, most: int, walked: int = WALKED
) -> Int32:
    """Return how many eligible rows have each term, int32[k], counted up to ``most``. No row has a negative term.

    `most` as well for a term of more than `walked` postings, whatever rows they lead to.

    Raises
    ------
    ValueError
        A term outside the postings.
    """
    out = np.empty(len(terms), np.int32)
    found = (postings.pool, postings.tail, postings.rows)
    check(kernels_lexical.count_rows(found, terms, eligible, most, walked, out))
    return out


def rows_of_pairs(
    postings: PostingsView,
    terms: Int32,
    offsets: Int64,
    ids: Int32,
    eligible: UInt8,
    most: int,
) -> tuple[Int32, list[Int32]]:
    """How many eligible rows have each of a text's terms, and which have one and the next: O(terms).

    Parameters
    ----------
    terms : int32[k]
        In the order of the text; an unknown one is -1.
    offsets : int64[>= n + 1], ids : int32[]
        The terms of each row, ascending: of row r ``ids[offsets[r] : offsets[r + 1]]``.
    eligible : uint8[n]

    Returns
    -------
    int32[k], list of int32[m]
        -1 for a term of more than `WALKED` postings: it is common. For each term but the last the rows that have it
        and the next one; none where more than `most` do, or where both terms are common.

    Raises
    ------
    ValueError
        A term outside the postings.
    """
    counts, pairs = np.empty(len(terms), np.int32), max(0, len(terms) - 1)
    found, n_found = np.empty(pairs * most, np.int32), np.empty(pairs, np.int32)
    lists = (postings.pool, postings.tail, postings.rows)
    check(
        kernels_lexical.rows_of_pairs(
            lists, terms, offsets, ids, eligible, WALKED, counts, found, n_found
        )
    )
    return counts, [found[i * most :][:count] for i, count in enumerate(n_found.tolist())]


def rows_alike(
    postings: PostingsView, terms: Int32, boosts: Float32, eligible: UInt8, cut: int, most: int
) -> Int32:
    """Return the rows before ``cut`` that have the rarest of the terms, ascending, at most ``most``.

    A row is worth the sum over its terms of ``boost * log((n + 1) / df)``, where ``df`` counts eligible rows. It must
    be worth ``log(max(n, AMONG) + 1)``; of equal ones the newest are taken. A term that `COMMON` rows have does not
    count, nor does one of which `WALKED` postings did not tell; of the others the `NEWEST_ALIKE` newest rows before the
    cut are looked at. O(terms), whatever the history: at most `WALKED` postings a term, of which each takes some
    10 nanoseconds.

    Parameters
    ----------
    terms : int32[k], boosts : float32[k]
        Different terms; no row has a negative one.
    eligible : uint8[n]

    Raises
    ------
    ValueError
        More than `MAX_QUERY_TERMS` terms, a term outside the postings.
    """
    if len(terms) > MAX_QUERY_TERMS or len(boosts) != len(terms):
        raise ValueError(f"at most {MAX_QUERY_TERMS} terms, each with a boost: {len(terms)}")
    out = np.empty(most, np.int32)
    count = kernels_lexical.rows_alike(
        (postings.pool, postings.tail, postings.rows), terms, boosts, eligible, cut, COMMON, NEWEST_ALIKE,
        WALKED, AMONG, out,
    )  # fmt: skip
    if count < 0:
        raise ValueError("a term outside the postings")
    return out[:count]


def in_use(
    postings: PostingsView,
    terms: Int32,
    eligible: UInt8,
) -> Bool:
    """bool[k]: which of the terms an eligible row has, -1 being none. Cheap for those that newer rows have.

    Raises
    ------
    ValueError
        A term outside the postings.
    """
    terms = require("terms", terms, np.int32)
    out = np.empty(len(terms), np.uint8)
    eligible = require("eligible", eligible, np.uint8)
    check(
        kernels_lexical.mark_terms(
            postings.pool, postings.tail, postings.rows, terms, eligible, out
        )
    )
    return out.view(np.bool_)


def _grown(old: Int32, capacity: int, fill: int) -> Int32:
    out = np.empty(capacity, np.int32)
    out[: len(old)] = old
    out[len(old) :] = fill
    return out
