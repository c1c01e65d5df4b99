"""The five factors of `classic` over a whole channel in NumPy: what the kernel is compared with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import CLASSIC, ChannelColumns, QueryFeatures, ancestors

MS_PER_HOUR = 3_600_000


def score_with_numpy(columns: ChannelColumns, query: QueryFeatures) -> NDArray[np.float64]:
    """float64[n]: the scores of all rows, as `score_only` gives them."""
    rate, window_ms, chain_decay, sibling = CLASSIC.constants
    ago_ms = float(query.time_ms) - columns.time_ms
    chain = np.where((columns.parent == query.parent) & (query.parent != -1), sibling, 0.0)
    if query.parent >= 0:
        above = ancestors(columns.parent, query.parent, CLASSIC.max_chain_depth - 1)
        path = np.append(np.int32(query.parent), above)
        chain[path] = np.maximum(chain[path], chain_decay ** np.arange(len(path)))
    own = (columns.author == query.author) & (query.author >= 0)
    continuity = np.where(own, np.maximum(0.0, 1.0 - np.abs(ago_ms) / window_ms), 0.0)
    decay = np.exp(-rate * np.maximum(0.0, ago_ms) / MS_PER_HOUR)
    factors = (chain, continuity, decay, _mentions(columns, query), _overlap(columns, query))
    total = np.zeros(len(columns))
    for factor, weight in zip(factors, CLASSIC.weights, strict=True):
        total += factor * weight
    return np.clip(total, 0.0, 1.0)


def _mentions(columns: ChannelColumns, query: QueryFeatures) -> NDArray[np.float64]:
    named = 0.5 * np.isin(columns.author, query.mention_ids)
    users, offsets = columns.mention_ids, columns.mention_offsets
    asker = _counts((users == query.author) & (query.author >= 0), offsets)
    both = _counts(np.isin(users, query.mention_ids), offsets)
    value: NDArray[np.float64] = np.minimum(1.0, named + 0.5 * (asker > 0) + 0.3 * both)
    return value


def _overlap(columns: ChannelColumns, query: QueryFeatures) -> NDArray[np.float64]:
    offsets = columns.keyword_offsets
    common = _counts(np.isin(columns.keyword_ids, query.keyword_ids), offsets)
    either = np.diff(offsets) + len(query.keyword_ids) - common
    return np.where(common > 0, common / np.maximum(either, 1), 0.0)


def _counts(flags: NDArray[np.bool_], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[n]: how many flags are set in each row's run."""
    before = np.zeros(len(flags) + 1, np.int64)
    np.cumsum(flags, out=before[1:])
    return before[offsets[1:]] - before[offsets[:-1]]
