"""Rows of terms, of users and of lengths as bits, kept for the next question about a long history."""

from __future__ import annotations

import numpy as np

from . import kernels_bits
from .arrays import Int32, Int64, UInt64
from .status import NOT_KEPT, check

SHORT, MIDDLING = 0.5, 1.5
"""Times the mean of words: rows up to the first give most by BM25, from the second on least."""
KEPT_AUTHORS = 64
"""Of so many users the rows are kept; of more all are made again."""
_NOTHING = np.empty(0, np.uint64)


class RowBits:
    """Which rows have a term, a bit each, as far as it was asked for. Any number of readers, no lock.

    Belongs to postings whose rows keep their numbers: who gives rows other numbers makes another one. What is kept is
    never written to: a reader that finds it too short puts a longer one in its place.
    """

    __slots__ = ("_authors", "_lengths", "_terms")

    def __init__(self) -> None:
        self._terms: dict[str | bytes, tuple[UInt64, Int32, Int32]] = {}
        self._authors: dict[int, tuple[UInt64, int]] = {}
        self._lengths: tuple[UInt64, UInt64, int, int] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        kept = [bits for bits, _, _ in list(self._terms.values())]
        kept += [bits for bits, _ in list(self._authors.values())]
        lengths = self._lengths
        kept += lengths[:2] if lengths else ()
        return sum(bits.nbytes for bits in kept)

    def having(
        self,
        pool: Int32,
        rows: Int32,
        newest: Int32,
        terms: Int32,
        words: int,
        key: str | bytes = b"",
    ) -> UInt64:
        """uint64[words]: the rows that have one of the terms; rows that came after these postings may be among them.

        `pool`, `rows` and `newest`, the last posting of each term, are as in `PostingsView`. With a `key` the next
        question of it reads only what came meanwhile, also of terms that came behind the others.
        """
        kept = self._terms.get(key) if key else None
        known = np.full(len(terms), -1, np.int32)
        bits = np.zeros(words + words // 4 if key else words, np.uint64)
        if kept is not None and np.array_equal(kept[2], terms[: len(kept[2])]):
            known[: len(kept[2])] = kept[1]
            if len(kept[0]) >= words and (known == newest).all():
                return kept[0][:words]
            size = min(len(kept[0]), len(bits))
            bits[:size] = kept[0][:size]
        status = kernels_bits.set_postings(pool, rows, newest, known, bits)
        if status != NOT_KEPT:
            check(status)
            if key:
                self._terms[key] = bits, newest, terms
        return bits[:words]

    def by(self, author: Int32, user: int, count: int, words: int) -> UInt64:
        """uint64[words]: the rows of a user, by a column of users, int32[>= count]; kept for the next question."""
        kept, done = self._authors.get(user, (_NOTHING, 0))
        if len(kept) < words or done < count:
            bits = np.zeros(max(len(kept), words + words // 4), np.uint64)
            bits[: len(kept)] = kept
            kernels_bits.set_equal(author, user, done, count, bits)
            if len(self._authors) >= KEPT_AUTHORS:
                self._authors.clear()
            self._authors[user] = kept, done = bits, count
        return kept[:words]

    def short(self, offsets: Int64, count: int, words: int) -> tuple[UInt64, UInt64]:
        """uint64[words] twice: the short rows, and those that are not long. `offsets` as in `bm25`."""
        kept, done, first = self._lengths, 0, 1 << count.bit_length() >> 1
        mean = float(offsets[first]) / max(1, first)  # the same whoever asks first
        if kept is None or kept[3] != first:
            few, some = (np.zeros(words + words // 4, np.uint64) for _ in range(2))
        elif kept[2] >= count:
            return kept[0][:words], kept[1][:words]
        else:
            few, some = (np.zeros(max(words, len(one)), np.uint64) for one in kept[:2])
            few[: len(kept[0])], some[: len(kept[1])] = kept[:2]
            done = kept[2]
        kernels_bits.set_short(offsets, done, count, SHORT * mean, few)
        kernels_bits.set_short(offsets, done, count, MIDDLING * mean, some)
        self._lengths = few, some, count, first
        return few[:words], some[:words]
