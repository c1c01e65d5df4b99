"""The five factors of `classic` pair by pair in plain Python: what the kernel is compared with, and tested against."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import CLASSIC, ChannelColumns, QueryFeatures, ScoreParameters

MS_PER_HOUR = 3_600_000


def score_with_python(columns: ChannelColumns, query: QueryFeatures) -> NDArray[np.float64]:
    """float64[n]: the scores of all rows, as `score_only` gives them."""
    scores = []
    for values in factors_of_rows(columns, query, list(range(len(columns)))):
        total = 0.0
        for value, weight in zip(values, CLASSIC.weights, strict=True):
            total += value * weight
        scores.append(min(max(total, 0.0), 1.0))
    return np.array(scores, np.float64)


def factors_of_rows(
    columns: ChannelColumns,
    query: QueryFeatures,
    rows: list[int],
    parameters: ScoreParameters = CLASSIC,
) -> list[tuple[float, float, float, float, float]]:
    """The factors of each row, in the order of `CLASSIC_FACTORS`, each in [0, 1]."""
    asked_words, asked_users = set(query.keyword_ids.tolist()), set(query.mention_ids.tolist())
    path = reply_path(columns.parent, query.parent, parameters.max_chain_depth)
    out = []
    for row in rows:
        words, users = (
            set(ids[offsets[row] : offsets[row + 1]].tolist())
            for offsets, ids in (
                (columns.keyword_offsets, columns.keyword_ids),
                (columns.mention_offsets, columns.mention_ids),
            )
        )
        author, ago_ms = (
            int(columns.author[row]),
            float(query.time_ms) - float(columns.time_ms[row]),
        )
        factors = (
            reply_chain(row, int(columns.parent[row]), query.parent, path, parameters),
            user_continuity(author, query.author, ago_ms, parameters.continuity_window_ms),
            time_decay(ago_ms, parameters.decay_per_hour),
            mention_relation(author, users, query.author, asked_users),
            keyword_overlap(words, asked_words),
        )
        out.append(factors)
    return out


def reply_path(parent: NDArray[np.int32], start: int, most: int) -> list[int]:
    """A row, its parent, and so on: at most so many, until one replies to nothing stored or comes a second time."""
    path: list[int] = []
    while len(path) < most and 0 <= start < len(parent) and start not in path:
        path.append(start)
        start = int(parent[start])
    return path


def reply_chain(
    row: int, parent: int, query_parent: int, path: list[int], parameters: ScoreParameters
) -> float:
    """The query's parent 1, each further ancestor ``chain_decay`` times the one before; a message with the same parent
    ``sibling_score``; the larger of the two.
    """
    value = parameters.sibling_score if query_parent != -1 and parent == query_parent else 0.0
    if row in path:
        ancestor = 1.0
        for _ in range(path.index(row)):
            ancestor *= parameters.chain_decay
        value = max(value, ancestor)
    return value


def user_continuity(author: int, query_author: int, apart_ms: float, window_ms: float) -> float:
    """The asker's own messages: 1, falling to 0 at ``window_ms`` from the query."""
    if query_author < 0 or author != query_author:
        return 0.0
    return max(0.0, 1.0 - abs(apart_ms) / window_ms)


def time_decay(ago_ms: float, decay_per_hour: float) -> float:
    """exp(-rate * hours); a message from after the query counts as from its very moment."""
    return math.exp(-decay_per_hour * (max(0.0, ago_ms) / MS_PER_HOUR))


def mention_relation(
    author: int, mentions: set[int], query_author: int, query_mentions: set[int]
) -> float:
    """.5 if the query mentions the author, .5 if the message mentions the asker, .3 for each user both mention; at
    most 1. Negative indices are nobody.
    """
    value = 0.5 if author >= 0 and author in query_mentions else 0.0
    value += 0.5 if query_author >= 0 and query_author in mentions else 0.0
    common = sum(user >= 0 for user in mentions & query_mentions)
    return min(1.0, value + 0.3 * common)


def keyword_overlap(keywords: set[int], query_keywords: set[int]) -> float:
    """Jaccard: shared words / words of either; 0 if nothing is shared. A negative index is a word the channel does not
    know: it is in the union only.
    """
    common = sum(word >= 0 for word in keywords & query_keywords)
    return common / (len(keywords) + len(query_keywords) - common) if common else 0.0
