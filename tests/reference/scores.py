"""The specification: every kernel in plain Python, one row at a time, sets instead of tables.

Slow on purpose. Each function has the name, arguments and result of its twin in `kernels`; tests
hold the two together, and ``engine=reference`` runs this one. Functions that can refuse return a
status (see `status`).
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int32, Int64
from backscroll_scoring.status import (
    BAD_OFFSETS,
    NOT_A_NUMBER,
    NOT_ASCENDING,
    OK,
    QUERY_NOT_SORTED,
    REFUSED,
    ROW_OUT_OF_RANGE,
)
from backscroll_scoring.weights import Constants, Weights
from tests.reference.diversity import collapse, jaccard, shingles
from tests.reference.graph import tree_values

__all__ = [
    "collapse",
    "jaccard",
    "may_reach",
    "reply_path",
    "roots",
    "score_reaching",
    "score_rows",
    "shingles",
    "survey",
    "top",
    "tree_values",
]

MS_PER_HOUR = 3_600_000
ROUNDING = 1e-9
"""More than the order in which five numbers are added can change, as a part of their sum."""


def reply_chain(
    row: int, parent_of_row: int, query_parent: int, path: list[int], decay: float, sibling: float
) -> float:
    """S5-06. The query's parent 1, each further ancestor ``decay`` times the one before; a message
    with the same parent ``sibling``; the larger of the two. ``path`` is the query's parent and its
    ancestors, nearest first.
    """
    value = sibling if query_parent != -1 and parent_of_row == query_parent else 0.0
    if row in path:
        ancestor = 1.0
        for _ in range(path.index(row)):
            ancestor *= decay
        value = max(value, ancestor)
    return value


def user_continuity(author: int, query_author: int, apart_ms: float, window_ms: float) -> float:
    """S5-07. The asker's own messages: 1, falling to 0 at ``window_ms`` from the query."""
    if query_author < 0 or author != query_author:
        return 0.0
    return max(0.0, 1.0 - abs(apart_ms) / window_ms)


def time_decay(ago_ms: float, decay_per_hour: float) -> float:
    """S5-08. exp(-rate * hours); a message from after the query counts as from its very moment."""
    return math.exp(-decay_per_hour * (max(0.0, ago_ms) / MS_PER_HOUR))


def mention_relation(
    author: int, mentions: set[int], query_author: int, query_mentions: set[int]
) -> float:
    """S5-09. .5 if the query mentions the author, .5 if the message mentions the asker, .3 for each
    user both mention; at most 1. Negative indices are nobody.
    """
    value = 0.5 if author >= 0 and author in query_mentions else 0.0
    value += 0.5 if query_author >= 0 and query_author in mentions else 0.0
    common = sum(user >= 0 for user in mentions & query_mentions)
    return min(1.0, value + 0.3 * common)


def keyword_overlap(keywords: set[int], query_keywords: set[int]) -> float:
    """S5-10. Jaccard: shared words / words of either; 0 if nothing is shared. A negative index is a
    word the channel does not know: it is in the union only.
    """
    common = sum(word >= 0 for word in keywords & query_keywords)
    return common / (len(keywords) + len(query_keywords) - common) if common else 0.0


def link(total: float, logistic: bool) -> float:
    """S5-11. The sum clipped to [0, 1], or its logistic in the form that cannot overflow."""
    if not logistic:
        return min(max(total, 0.0), 1.0)
    if total >= 0:
        return 1.0 / (1.0 + math.exp(-total))
    return math.exp(total) / (1.0 + math.exp(total))


def score_rows(
    time_ms: Int64,
    author: Int32,
    parent: Int32,
    keyword_offsets: Int64,
    keyword_ids: Int32,
    mention_offsets: Int64,
    mention_ids: Int32,
    rows: Int32,
    query_time: int,
    query_author: int,
    query_parent: int,
    query_keywords: Int32,
    query_mentions: Int32,
    weights: Weights,
    constants: Constants,
    max_chain_depth: int,
    logistic: bool,
    factors: Float64,
    shares: Float64,
    linear: Float64,
    scores: Float64,
) -> int:
    """Score m rows of a channel of n (S5-06 to S5-12).

    Parameters
    ----------
    rows : int32[m]
        Which rows, in any order, repeated or not.
    constants : 4 floats
        `ScoreParameters.constants`.
    factors, shares : float64[m, 5], written
        Raw factor values in [0, 1], and the same times their weights. Given with 0 rows they, and
        ``linear``, are left alone: only ``scores`` is wanted.
    linear : float64[m], written
        The shares of a row added from left to right (S5-12).
    scores : float64[m], written
        The link's value of ``linear``, in [0, 1].

    Returns
    -------
    int
        OK, ROW_OUT_OF_RANGE, QUERY_NOT_SORTED or BAD_OFFSETS; outputs are undefined unless OK.
    """
    if any(not 0 <= row < len(time_ms) for row in rows.tolist()):
        return ROW_OUT_OF_RANGE
    for ids in (query_keywords.tolist(), query_mentions.tolist()):
        if ids != sorted(set(ids)):
            return QUERY_NOT_SORTED
    asked_words, asked_users = set(query_keywords.tolist()), set(query_mentions.tolist())
    decay_per_hour, window_ms, chain_decay, sibling_score = constants
    buffer = np.empty(min(max_chain_depth, len(time_ms)), np.int32)
    path = buffer[: reply_path(parent, query_parent, buffer)].tolist()
    for i, row in enumerate(rows.tolist()):
        sets = []
        for offsets, ids in ((keyword_offsets, keyword_ids), (mention_offsets, mention_ids)):
            start, end = int(offsets[row]), int(offsets[row + 1])
            if not 0 <= start <= end <= len(ids):
                return BAD_OFFSETS
            sets.append(set(ids[start:end].tolist()))
        words, users = sets
        ago_ms = float(query_time) - float(time_ms[row])
        values = (
            reply_chain(row, int(parent[row]), query_parent, path, chain_decay, sibling_score),
            user_continuity(int(author[row]), query_author, ago_ms, window_ms),
            time_decay(ago_ms, decay_per_hour),
            mention_relation(int(author[row]), users, query_author, asked_users),
            keyword_overlap(words, asked_words),
        )
        total = 0.0
        for f, (value, weight) in enumerate(zip(values, weights, strict=True)):
            total += value * weight
            if len(factors):
                factors[i, f] = value
                shares[i, f] = value * weight
        if len(factors):
            linear[i] = total
        scores[i] = link(total, logistic)
    return OK


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
    """Write the positions in ``rows`` of those whose sum may reach `at_least`, ascending; return how many.

    The arguments are those of `score_rows`. A row is left out only if its factors do not get there with all the
    question's words in it; weights below 0 are passed over. The kernel looks less closely: it leaves out fewer.

    Parameters
    ----------
    at_least : float
        Above 0.
    in_order : bool
        Whether ``rows`` ascend without repeats, and the times of the channel's rows ascend too.
    places : int32[m], written

    Returns
    -------
    int
        Not negative; or -ROW_OUT_OF_RANGE, -BAD_OFFSETS.
    """
    if any(not 0 <= row < len(time_ms) for row in rows.tolist()):
        return -ROW_OUT_OF_RANGE
    decay_per_hour, window_ms, chain_decay, sibling_score = constants
    users = set(query_mentions.tolist())
    buffer = np.empty(min(max_chain_depth, len(time_ms)), np.int32)
    path = buffer[: reply_path(parent, query_parent, buffer)].tolist()
    count = 0
    for i, row in enumerate(rows.tolist()):
        start, end = int(mention_offsets[row]), int(mention_offsets[row + 1])
        if not 0 <= start <= end <= len(mention_ids):
            return -BAD_OFFSETS
        mentions = set(mention_ids[start:end].tolist())
        ago_ms = float(query_time) - float(time_ms[row])
        values = (
            reply_chain(row, int(parent[row]), query_parent, path, chain_decay, sibling_score),
            user_continuity(int(author[row]), query_author, ago_ms, window_ms),
            time_decay(ago_ms, decay_per_hour),
            mention_relation(int(author[row]), mentions, query_author, users),
            1.0,
        )
        total = sum(
            value * weight for value, weight in zip(values, weights, strict=True) if weight > 0
        )
        if total * (1 + ROUNDING) >= at_least:
            places[count] = i
            count += 1
    return count


def score_reaching(
    time_ms: Int64,
    author: Int32,
    parent: Int32,
    keyword_offsets: Int64,
    keyword_ids: Int32,
    mention_offsets: Int64,
    mention_ids: Int32,
    rows: Int32,
    query_time: int,
    query_author: int,
    query_parent: int,
    query_keywords: Int32,
    query_mentions: Int32,
    weights: Weights,
    constants: Constants,
    max_chain_depth: int,
    logistic: bool,
    at_least: float,
    in_order: bool,
    places: Int32,
    scores: Float64,
) -> int:
    """Write the positions in ``rows`` of those that reach a score, ascending, and their scores; return how many.

    The arguments are those of `may_reach`, which passes over rows that cannot, and of `score_rows`. With ``logistic``
    all are scored.

    Parameters
    ----------
    places : int32[m], written
    scores : float64[m], written
        Those of ``places``; what stands behind them is undefined.

    Returns
    -------
    int
        How many reach it; or -ROW_OUT_OF_RANGE, -QUERY_NOT_SORTED, -BAD_OFFSETS.
    """
    count = len(rows)
    places[:] = np.arange(count)
    if not logistic:
        count = may_reach(
            time_ms, author, parent, mention_offsets, mention_ids, rows, query_time, query_author, query_parent,
            query_mentions, weights, constants, max_chain_depth, at_least, in_order, places,
        )  # fmt: skip
        if count < 0:
            return count
    no_table, no_column = np.empty((0, 5), np.float64), np.empty(0, np.float64)
    status = score_rows(
        time_ms, author, parent, keyword_offsets, keyword_ids, mention_offsets, mention_ids, rows[places[:count]],
        query_time, query_author, query_parent, query_keywords, query_mentions, weights, constants, max_chain_depth,
        logistic, no_table, no_table, no_column, scores,
    )  # fmt: skip
    if status != OK:
        return -status
    (reached,) = (scores[:count] >= at_least).nonzero()
    places[: len(reached)] = places[reached]
    scores[: len(reached)] = scores[reached]
    return len(reached)


def reply_path(parent: Int32, start: int, out: Int32) -> int:
    """Write ``start``, its parent, and so on into ``out`` until it is full, a message replies to
    nothing that is stored, or a message comes a second time. Return how many were written.
    """
    path: list[int] = []
    row = int(start)
    while len(path) < len(out) and 0 <= row < len(parent) and row not in path:
        path.append(row)
        row = int(parent[row])
    out[: len(path)] = path
    return len(path)


def roots(parent: Int32, out: Int32) -> None:
    """Write the root of every row into ``out`` (int32[n]): the last message on the way from parent
    to parent; if the way ends in a cycle, the cycle's lowest row.
    """
    n = len(parent)
    for i in range(n):
        path: list[int] = []
        row = i
        while 0 <= row < n and row not in path:
            path.append(row)
            row = int(parent[row])
        out[i] = min(path[path.index(row) :]) if row in path else path[-1]


def top(scores: Float64, rows: Int32, out: Int32) -> int:
    """Write the positions of the ``len(out)`` best of m scores into ``out`` (int32, at most m),
    best first; of equal scores the larger entry of ``rows`` (int32[m]) first, then the later
    position. NOT_A_NUMBER if any score is NaN.
    """
    if np.isnan(scores).any():
        return NOT_A_NUMBER
    order = sorted(range(len(scores)), key=lambda i: (-scores[i], -int(rows[i]), -i))
    out[:] = order[: len(out)]
    return OK


def survey(rows: Int32, eligible: Bool) -> int:
    """Return `REFUSED` if a row is outside ``eligible`` (bool[n]) or not eligible, plus `NOT_ASCENDING` if the rows
    do not strictly ascend.
    """
    listed = rows.tolist()
    refused = any(not (0 <= row < len(eligible) and eligible[row]) for row in listed)
    ascends = all(one < other for one, other in pairwise(listed)) and min(listed, default=0) >= 0
    return REFUSED * refused + NOT_ASCENDING * (not ascends)
