"""Texts as sets of shingles, to be compared: n characters in a row, alike in any script."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from .arrays import Int32, Int64, require
from .kernels_diversity import shingles


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSets:
    """One set of ids for each of m things that are compared: shingles, words, stems.

    Attributes
    ----------
    offsets : int64[m + 1]
        Set i is ``ids[offsets[i]:offsets[i + 1]]``.
    ids : int32[]
        Ascending and unique within a set.
    facts : int64[m]
        Things with different facts are never near-duplicates, however alike their sets.
    """

    offsets: Int64
    ids: Int32
    facts: Int64

    def __post_init__(self) -> None:
        require("ids", self.ids, np.int32)
        m = len(require("facts", self.facts, np.int64))
        if len(require("offsets", self.offsets, np.int64)) != m + 1:
            raise ValueError(f"offsets must have one entry a set and one more: {m + 1}")

    def __len__(self) -> int:
        """Return m."""
        return len(self.facts)


def shingle_sets(texts: Sequence[str], *, size: int = 3) -> FeatureSets:
    """Cut texts into overlapping shingles of ``size`` characters (Broder 1997), as 31-bit hashes.

    Case, white space, punctuation and full-width forms do not count; letters, digits, ideographs,
    emoji and ``+ - / = < > # % & @`` do. A text with fewer than ``size`` of them is one shingle; one
    with none is an empty set. Its facts are its numbers, in their order, and whether it holds a
    question mark: "at 15:00" is no copy of "at 16:00", nor a statement of a question.

    Raises
    ------
    ValueError
        ``size`` below 1.
    """
    if size < 1:
        raise ValueError(f"size must be at least 1: {size}")
    folded = list(map(str.casefold, texts))
    codes = np.frombuffer("".join(folded).encode("utf-32-le", "surrogatepass"), np.int32)
    ends = np.fromiter(accumulate(map(len, folded)), np.int64, len(folded))
    offsets, ids = np.zeros(len(texts) + 1, np.int64), np.empty(len(codes), np.int32)
    facts = np.empty(len(texts), np.int64)
    count = shingles(codes, ends, size, offsets, ids, facts)
    return FeatureSets(offsets, ids[:count].copy(), facts)
