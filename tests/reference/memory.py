"""The factors of long memory, a column at a time over all rows."""

import numpy as np

from backscroll_scoring.layout import CHUNK
from backscroll_scoring.memory import SATURATION, SITTING_MS


def memory_factors(matches, time_ms, author, asks, eligible, cues):
    """float64[n, 10], in the order of `MEMORY_FACTORS`: see `backscroll_scoring.score_memory`."""
    n = len(eligible)
    known = np.repeat(matches.active, CHUNK)[:n]
    scores = np.where(known, matches.scores, 0).astype(np.float64)
    cover = np.where(known, matches.cover, np.uint64(0)).tolist()
    sitting = np.cumsum(np.diff(time_ms[:n], prepend=time_ms[:1]) >= SITTING_MS)
    r = scores.max(initial=0) / 10
    sure = r / (r + SATURATION)
    words = _with_neighbours(scores, sitting, (0.2, 0.1))
    answers = (
        (sitting[1:] == sitting[:-1]) & (asks[: n - 1] != 0) & (author[1:n] != author[: n - 1])
    )
    words[1:] += 0.3 * scores[:-1] * answers
    dates = np.zeros(n)
    for (start, end), value in zip(cues.date_spans.reshape(-1, 2), cues.date_values, strict=True):
        dates[max(0, start) : max(0, end)] += value
    by_asker = (author == cues.asker) & (cues.asker >= 0)
    signs = (
        np.isin(author, cues.speakers), asks != 0, by_asker | _all(cues.names_asker, n),
        _all(cues.has_time, n), _all(cues.has_number, n),
    )  # fmt: skip
    passages = (sure * _passages(cover, side, matches.idf) for side in (2, 4))
    meaning = _meaning(cues.dense, sitting, eligible) if len(cues.dense) else np.zeros(n)
    return np.stack([words / 10 / (r + SATURATION), *passages, meaning, dates, *signs], 1)


def _all(flags, n):
    return flags != 0 if len(flags) else np.zeros(n, np.bool_)


def _with_neighbours(values, sitting, weights):
    """Each value and those at distance 1, 2 … in the same sitting, times their weights."""
    out = values.copy()
    for distance, weight in enumerate(weights, 1):
        near = weight * (sitting[distance:] == sitting[:-distance])
        out[distance:] += near * values[:-distance]
        out[:-distance] += near * values[distance:]
    return out


def _passages(cover, side, idf):
    """What the terms of the rows around each weigh, each once, over the most of that."""
    found = np.zeros(len(cover))
    for row in range(len(cover)):
        around = cover[max(0, row - side) : row + side + 1]
        found[row] = sum(w for i, w in enumerate(idf.tolist()) if any(c >> i & 1 for c in around))
    best = found.max(initial=0)
    return found / best if best > 0 else found


def _meaning(dense, sitting, eligible):
    """Similarity and a quarter of that of both neighbours, from 0 for the least eligible row to 1; NaN: the mean.

    The row stands in for a neighbour of which nothing is known.
    """
    told = ~np.isnan(dense)
    own = np.where(told, dense, 0).astype(np.float64)
    mixed = own.copy()
    for row in range(len(own)):
        for beside in (row - 1, row + 1):
            near = 0 <= beside < len(own) and sitting[beside] == sitting[row] and told[beside]
            mixed[row] += 0.25 * (own[beside] if near else own[row])
    there = mixed[told & (eligible != 0)]
    if not len(there) or there.max() <= there.min():
        return np.zeros(len(dense))
    return (np.where(told, mixed, there.mean()) - there.min()) / (there.max() - there.min())
