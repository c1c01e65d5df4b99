"""The specification of `kernels_diversity` in plain Python; see `reference`."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int32, Int64
from backscroll_scoring.layout import HEAD
from backscroll_scoring.status import BAD_OFFSETS, NOT_KEPT, OK, ROW_OUT_OF_RANGE

HASHES, BASE = 2**31 - 1, 0x61C88647
_NO_CONTENT = re.compile(
    "[\x00-\x22'()*,.:;?\\[\\]\\\\_`{-\xa9\xab-\xb4\xb6-\xb9\xbb-\xbf"
    "\u2000-\u206f\u3000-\u303f\ufe00-\ufe0f\uff5f-\uff65]"
)
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}


def shingles(
    codes: Int32, ends: Int64, size: int, out_offsets: Int64, out_ids: Int32, out_facts: Int64
) -> int:
    """Cut m case-folded texts into shingles; return how many ids were written.

    Parameters
    ----------
    codes : int32[c]
        The code points of all texts, one text after the other; text i ends before ``ends[i]``.
    size : int
        Characters a shingle; a text that has fewer is one shingle.
    out_offsets, out_ids : int64[m + 1], int32[c], written
        The sets: polynomial hashes modulo 2 ** 31, ascending and unique within a text.
    out_facts : int64[m], written
        Twice the hash of the numbers (digits, each run with an end mark), and 1 for a question mark.
    """
    written = 0
    out_offsets[0] = 0
    start = 0
    for t, end in enumerate(ends.tolist()):
        text = "".join(map(chr, codes[start:end].tolist())).translate(_FULL_WIDTH)
        start = end
        marks = [m for run in re.findall("[0-9]+", text) for m in [*map(ord, run), 1]]
        out_facts[t] = 2 * _hash(marks) + ("?" in text)
        content = list(map(ord, _NO_CONTENT.sub("", text)))
        wide = min(size, len(content))
        starts = range(len(content) - wide + 1 if content else 0)
        ids = sorted({_hash(content[i : i + wide]) for i in starts})
        out_ids[written : written + len(ids)] = ids
        written += len(ids)
        out_offsets[t + 1] = written
    return written


def jaccard(offsets: Int64, ids: Int32, place: int, out: Float64) -> int:
    """Write the Jaccard similarity of set ``place`` to each of the m sets into ``out``: shared / in either, 0 if
    nothing is shared. OK, BAD_OFFSETS or ROW_OUT_OF_RANGE.
    """
    sets = _sets(offsets, ids)
    if sets is None:
        return BAD_OFFSETS
    if not 0 <= place < len(sets):
        return ROW_OUT_OF_RANGE
    out[:] = [_alike(sets[place], one) for one in sets]
    return OK


def collapse(
    offsets: Int64,
    ids: Int32,
    facts: Int64,
    author: Int32,
    order: Int32,
    threshold: float,
    across_authors: int,
    leaders: Int32,
) -> int:
    """Write for each place of ``order`` the first kept place it repeats, -1 if it is kept itself (P-05).

    It repeats one with equal facts and a Jaccard similarity of at least ``threshold``, by the same author
    (negative: unknown, nobody's) or with ``across_authors`` members in both. OK, BAD_OFFSETS or ROW_OUT_OF_RANGE.
    """
    sets = _sets(offsets, ids)
    if sets is None:
        return BAD_OFFSETS
    kept: list[int] = []
    for i, place in enumerate(order.tolist()):
        if not 0 <= place < len(sets):
            return ROW_OUT_OF_RANGE
        for other in kept:
            same_author = author[place] == author[other] >= 0
            long = min(len(sets[place]), len(sets[other])) >= across_authors
            alike = _alike(sets[place], sets[other]) >= threshold
            if facts[place] == facts[other] and alike and (same_author or long):
                leaders[i] = other
                break
        else:
            leaders[i] = -1
            kept.append(place)
    return OK


def _hash(values: list[int]) -> int:
    h = 0
    for value in values:
        h = (h + value) * BASE & HASHES
    return h


def _alike(a: set[int], b: set[int]) -> float:
    common = len(a & b)
    return common / len(a | b) if common else 0.0


def _sets(offsets: Int64, ids: Int32) -> list[set[int]] | None:
    bounds = offsets.tolist()
    if bounds[0] < 0 or bounds[-1] > len(ids) or any(a > b for a, b in pairwise(bounds)):
        return None
    return [set(ids[a:b].tolist()) for a, b in pairwise(bounds)]


def without_repeats(
    words: Int32,
    numbers: Int64,
    starts: Int32,
    seq: Int64,
    author: Int32,
    rows: Int32,
    order: Int64,
    marks: Bool,
    maximum: int,
    threshold: float,
    across_authors: int,
    out: Int64,
) -> tuple[int, int]:
    """An order of candidates without the marked ones that `collapse` into a better one.

    Looked at is the order up to the last marked one, with a `maximum` (-1: none) no further than could move up into it:
    no more can move up than there are marked.

    Parameters
    ----------
    words : int32[]
        Kept sets: of each `HEAD` words, and the ids.
    numbers, starts : int64[c], int32[c]
        Their numbers, ascending, and where in `words` each begins.
    seq, author : int64[n], int32[n]
        By row: the number of its set, and who said it.
    rows, order, marks : int32[m], int64[k], bool[k]
        Candidates; their places, best first; which of the order may go.
    out : int64[k], written
        The places that stay, behind them those that go, each in their order.

    Returns
    -------
    (int, int)
        OK and how many stay. NOT_KEPT where a set is not there, and how many of the order are looked at, which is
        written as it is. ROW_OUT_OF_RANGE: a place or row outside. BAD_OFFSETS: arrays of other lengths, or no set.
    """
    if len(marks) != len(order) or len(out) != len(order) or len(starts) != len(numbers):
        return BAD_OFFSETS, 0
    marked = np.flatnonzero(marks).tolist()
    most = marked[-1] + 1 if marked else 0
    if maximum >= 0:
        most = min(most, maximum + len(marked))
    start_of = dict(zip(numbers.tolist(), starts.tolist(), strict=True))
    sets: list[list[int]] = []
    facts, by = np.empty(most, np.int64), np.empty(most, np.int32)
    for i, place in enumerate(order[:most].tolist()):
        if not 0 <= place < len(rows):
            return ROW_OUT_OF_RANGE, 0
        row = int(rows[place])
        if not 0 <= row < min(len(seq), len(author)):
            return ROW_OUT_OF_RANGE, 0
        start = start_of.get(int(seq[row]), -1)
        if start < 0:
            out[:] = order
            return NOT_KEPT, most
        left = words[start:].tolist()
        if len(left) < HEAD or not 0 <= left[0] <= len(left) - HEAD:
            return BAD_OFFSETS, 0
        size, low, high = left[:HEAD]
        by[i], facts[i] = author[row], high << 32 | low & 0xFFFF_FFFF
        sets.append(left[HEAD : HEAD + size])
    offsets = np.cumsum([0, *map(len, sets)])
    ids = np.array([one for each in sets for one in each], np.int32)
    leaders = np.empty(most, np.int32)
    collapse(
        offsets, ids, facts, by, np.arange(most, dtype=np.int32), threshold, across_authors, leaders
    )
    goes = np.zeros(len(order), np.bool_)
    goes[:most] = (leaders >= 0) & marks[:most]
    out[:] = np.concatenate((order[~goes], order[goes]))
    return OK, int(np.count_nonzero(~goes))
