"""The specification of `kernels_diversity` in plain Python; see `reference`."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np

from .arrays import Bool, Float64, Int32, Int64
from .status import BAD_OFFSETS, OK, ROW_OUT_OF_RANGE

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


def unpack(packed: Int32, offsets: Int64, ids: Int32, facts: Int64) -> int:
    """Take m sets apart that `texts.FeatureSets.packed` made: of each how many ids, the facts in two halves, the ids.

    Parameters
    ----------
    offsets : int64[m + 1], ids : int32[], facts : int64[m], written
        As in `FeatureSets`.

    Returns
    -------
    int
        OK, or BAD_OFFSETS when they are not m sets, or have more ids than there is room for.
    """
    left, count = packed.tolist(), 0
    offsets[0] = 0
    for i in range(len(facts)):
        if len(left) < 3 or not 0 <= left[0] <= min(len(left) - 3, len(ids) - count):
            return BAD_OFFSETS
        (size, low, high), left = left[:3], left[3:]
        facts[i] = high << 32 | low & 0xFFFF_FFFF
        ids[count : count + size], left = left[:size], left[size:]
        count += size
        offsets[i + 1] = count
    return BAD_OFFSETS if left else OK


def mark_repeats(
    packed: Int32, author: Int32, threshold: float, across_authors: int, out: Bool
) -> int:
    """Mark in ``out``, bool[m], which of m packed sets, the best first, `collapse` into a better one.

    OK, BAD_OFFSETS when they are not m sets, or ROW_OUT_OF_RANGE when there is not an author for each.
    """
    m = len(out)
    if len(author) != m:
        return ROW_OUT_OF_RANGE
    offsets, facts = np.empty(m + 1, np.int64), np.empty(m, np.int64)
    ids, leaders = np.empty(len(packed), np.int32), np.empty(m, np.int32)
    if unpack(packed, offsets, ids, facts) != OK:
        return BAD_OFFSETS
    order = np.arange(m, dtype=np.int32)
    collapse(offsets, ids, facts, author, order, threshold, across_authors, leaders)
    out[:] = leaders >= 0
    return OK
