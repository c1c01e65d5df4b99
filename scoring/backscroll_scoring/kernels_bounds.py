"""Which rows can reach a score at all: the pass before the scorer, for those who ask for good scores only.

A block of rows is bounded by its nearest time, each of its rows by author and parent and by who is mentioned. Words are
not read: they add no more than their weight. What is left is scored exactly; most blocks of a channel have nobody left.
"""

from __future__ import annotations

import math

import numba as nb
import numpy as np

from .arrays import Float32, Int32, Int64
from .compile import I32, READ_I32, READ_I64, helper, kernel
from .status import BAD_OFFSETS, ROW_OUT_OF_RANGE
from .weights import Constants, Weights

BLOCK = 512
SLACK = 1e-5  # of the weights: more than rounding takes from a sum in float32
ENOUGH = 1e30  # more than any score, and far from the end of float32


@helper
def _is_run(rows: Int32) -> bool:
    """Are the rows consecutive?"""
    gaps = np.int32(0)
    for j in range(rows.shape[0]):
        gaps |= rows[j] - rows[0] - np.int32(j)
    return gaps == 0


@helper
def _most(weight: float) -> float:
    """What a factor of 0 to 1 adds at most."""
    return max(weight, 0.0)


@helper
def _single(value: float) -> np.float32:
    return np.float32(min(value, ENOUGH))


@helper
def _outside(rows: Int32, run: bool, n: int) -> bool:
    """Is a row none of the n? Sign bits are gathered: no branch a row."""
    last = rows.shape[0] - 1
    bad = np.int64(rows[0]) | (n - 1 - np.int64(rows[last]))
    if not run:
        for j in range(rows.shape[0]):
            row = np.int64(rows[j])
            bad |= row | (n - 1 - row)
    return bool(bad < 0)


@helper
def _add_for_mentions(
    offsets: Int64, ids: Int32, first: int, user: int, most: np.float32, bounds: Float32
) -> bool:
    """Raise the bounds of consecutive rows that mention the user; False: the offsets are none."""
    start, end = offsets[first], offsets[first + bounds.shape[0]]
    if not 0 <= start <= end <= ids.shape[0]:
        return False
    span = ids[start:end]
    sought, found = np.int32(user), np.int32(0)
    for k in range(span.shape[0]):
        found |= np.int32(span[k] == sought)
    if found != 0:
        j = 0
        for k in range(span.shape[0]):
            while j + 1 < bounds.shape[0] and start + k >= offsets[first + j + 1]:
                j += 1
            if span[k] == sought:
                bounds[j] += most
    return True


@helper
def _far(
    ago_ms: float,
    at_least: float,
    weights: Weights,
    constants: Constants,
    by_chain: float,
    by_mention: float,
    by_asker: float,
) -> bool:
    """Is nothing of this age enough, nor anything older? All that is not told by time is taken to be there."""
    by_time, decay_per_hour = _most(weights[2]), constants[0]
    need = at_least - by_time * math.exp(-decay_per_hour * (max(ago_ms, 0.0) / 3_600_000.0))
    for f in range(5):
        need -= SLACK * _most(weights[f])
    own = by_asker if ago_ms < constants[1] else 0.0
    return bool(need - _most(weights[4]) > by_chain + own + by_mention)


@kernel(
    nb.intp(
        *(READ_I64, READ_I32, READ_I32, READ_I64, READ_I32, READ_I32),
        *(nb.int64, nb.int32, nb.int32, READ_I32),
        *(nb.types.UniTuple(nb.float64, 5), nb.types.UniTuple(nb.float64, 4), nb.intp),
        *(nb.float64, nb.boolean, I32),
    ),
    nogil=True,
)
def may_reach(
    time_ms: Int64,
    author: Int32,
    parent: Int32,
    mention_offsets: Int64,
    mention_ids: Int32,
    rows: Int32,
    query_time: int,
    query_author: int,
    query_parent: int,
    query_mentions: Int32,
    weights: Weights,
    constants: Constants,
    max_chain_depth: int,
    at_least: float,
    in_order: bool,
    places: Int32,
) -> int:
    """See `reference.may_reach`."""
    decay_per_hour, window_ms, _, sibling_score = constants
    n, total = time_ms.shape[0], rows.shape[0]
    chain = np.empty(min(max_chain_depth, n), np.int32)
    length, row = 0, query_parent
    while length < chain.shape[0] and 0 <= row < n:
        chain[length] = row
        row = parent[row]
        length += 1
    by_chain = _most(weights[0]) if query_parent != -1 else 0.0
    by_asker, by_time = _most(weights[1]), _most(weights[2])
    rate, time_bound = _single(decay_per_hour / 3_600_000.0), _single(by_time)
    anyone = query_author >= 0
    for k in range(query_mentions.shape[0]):
        anyone |= query_mentions[k] >= 0
    by_mention = _most(weights[3]) if anyone else 0.0
    sibling, mention = _single(by_chain * sibling_score), _single(by_mention)
    answered, asker, nothing = np.int32(query_parent), np.int32(query_author), np.float32(0.0)
    bounds, times = np.empty(BLOCK, np.float32), np.empty(BLOCK, np.int64)
    authors, parents = np.empty(BLOCK, np.int32), np.empty(BLOCK, np.int32)
    begin, count = 0, 0
    if in_order and total and rows[total - 1] - rows[0] == total - 1:
        if rows[0] < 0 or rows[total - 1] >= n:
            return -ROW_OUT_OF_RANGE
        begin = (total - 1) // BLOCK * BLOCK
        by_own = by_asker if query_author >= 0 else 0.0
        while begin > 0:  # one far block, and all before it are
            ago_ms = float(query_time) - float(time_ms[rows[0] + begin - 1])
            if _far(ago_ms, at_least, weights, constants, by_chain, by_mention, by_own):
                break
            begin -= BLOCK
    for base in range(begin, total, BLOCK):
        part = rows[base : base + BLOCK]
        m, first = part.shape[0], part[0]
        run = _is_run(part)
        if _outside(part, run, n):
            return -ROW_OUT_OF_RANGE
        if not run:
            for j in range(m):
                times[j], authors[j] = time_ms[part[j]], author[part[j]]
                parents[j] = parent[part[j]]
        its_time = time_ms[first : first + m] if run else times[:m]
        its_author = author[first : first + m] if run else authors[:m]
        its_parent = parent[first : first + m] if run else parents[:m]

        newest = its_time[0]
        for j in range(m):
            newest = its_time[j] if its_time[j] > newest else newest  # noqa: FURB136 (max does not vectorise)
        least_ms = float(query_time) - float(newest)
        fresh = math.exp(-decay_per_hour * (max(least_ms, 0.0) / 3_600_000.0))
        need = at_least - by_time * fresh - _most(weights[4])
        for f in range(5):
            need -= SLACK * _most(weights[f])
        if not run:
            need -= by_mention  # rows far apart: anybody may be mentioned
        near = query_author >= 0 and least_ms < window_ms
        own = _single(by_asker) if near else nothing
        if need > by_chain + own + by_mention:
            continue
        for j in range(m):
            bounds[j] = nothing
        if need <= 0.0:  # near rows: each by its own time, e**-x <= 1 / (1 + x)
            need += by_time * fresh
            for j in range(m):
                passed = np.float32(float(query_time) - float(its_time[j]))
                x = rate * (passed if passed > nothing else nothing)  # noqa: FURB136
                bounds[j] = time_bound / (np.float32(1.0) + x)

        for j in range(m):
            bounds[j] += sibling if its_parent[j] == answered else nothing
        if near:
            for j in range(m):
                bounds[j] += own if its_author[j] == asker else nothing
        if run and anyone:
            if query_author >= 0 and not _add_for_mentions(
                mention_offsets, mention_ids, first, query_author, mention, bounds[:m]
            ):
                return -BAD_OFFSETS
            for k in range(query_mentions.shape[0]):
                user = query_mentions[k]
                if user < 0:
                    continue
                for j in range(m):
                    bounds[j] += mention if its_author[j] == user else nothing
                if not _add_for_mentions(
                    mention_offsets, mention_ids, first, user, mention, bounds[:m]
                ):
                    return -BAD_OFFSETS
        for step in range(length):
            if run:
                place = chain[step] - first
                if 0 <= place < m:
                    bounds[place] += _single(by_chain)
            else:
                for j in range(m):
                    bounds[j] += _single(by_chain) if part[j] == chain[step] else nothing
        enough, some = np.float32(need), np.int32(0)
        for j in range(m):
            some |= np.int32(bounds[j] >= enough)
        if some != 0:
            for j in range(m):
                if bounds[j] >= enough:
                    places[count] = base + j
                    count += 1
    return count
