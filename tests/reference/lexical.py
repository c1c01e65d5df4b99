"""BM25 of rows given as lists of their terms, and the postings of an index read one by one."""

import math
from itertools import takewhile

import numpy as np

K1, B = 1.5, 0.75
ROUNDING = 1e-4


def rows_of(view, term):
    """The rows of a term, newest entry first; those that came after the view was taken are left out. -1 has none."""
    out, place = [], int(view.tail[term]) if term >= 0 else -1
    while 0 < place < len(view.pool):
        if view.pool[place] < len(view.rows):
            out.append(int(view.rows[view.pool[place]]))
        place -= 1
        if view.pool[place] < 0:  # a chunk's header: where the chunk before it ends
            place = -2 - int(view.pool[place])
    return out


def rows_alike(texts, terms, boosts, eligible, cut, most, common, newest, among):
    """The rows before a cut with the rarest of the terms: each is worth what its terms are, of equal ones the later."""
    n, worth = len(eligible), {}
    for term, boost in zip(terms, boosts, strict=True):
        rows = [row for row in range(n) if eligible[row] and term in texts[row]]
        if len(rows) < common:
            for row in [row for row in rows if row < cut][-newest:]:
                worth[row] = worth.get(row, 0.0) + boost * math.log((n + 1.0) / len(rows))
    least = math.log(max(n, among) + 1.0)
    alike = [row for row in worth if worth[row] >= least]
    return sorted(sorted(alike, key=lambda row: (-round(worth[row], 9), -row))[:most])


def bm25(texts, terms, boosts, eligible):
    """Scores and matches of n rows, and the weight of each term; a term counts once a row (Robertson and Zaragoza
    2009; the idf is Lucene's). Rows that are not eligible count nowhere, but for the mean length.
    """
    n, total = len(eligible), int(eligible.sum())
    has = np.array(
        [[e and t in text for t in terms] for e, text in zip(eligible, texts, strict=False)], bool
    )
    df = has.reshape(n, len(terms)).sum(0)
    idf = np.where(df > 0, boosts * np.log(1 + (total - df + 0.5) / (df + 0.5)), 0)
    scores = has.reshape(n, len(terms)) @ idf / _flattened(texts, n)
    cover = [sum(1 << i for i, one in enumerate(row) if one) for row in has.tolist()]
    return scores, cover, idf


def _flattened(texts, n):
    """What length does to each row's weights."""
    sizes = np.array([len(text) for text in texts[:n]], np.float64)
    return 1 + K1 * (1 - B + B * sizes / max(1.0, sizes.sum()) * n)


def bounds(view, texts, terms, boosts, eligible, cut):
    """Of the best scores before and behind a cut. The first is that of a row without words that has all terms that any
    has, each as rare as it can be: of its postings all may be gone that lead to rows that are not eligible. The second
    is that of the newest postings, up to the first that leads before the cut, each term as common as it can be.
    """
    n, total, entered = len(eligible), int(eligible.sum()), int(view.entered[0])
    most, after = 0.0, np.zeros(n)
    for term, boost in zip(terms, boosts, strict=True):
        rows = rows_of(view, term)
        if not any(row < n and eligible[row] for row in rows):
            continue
        count = int(view.counts[term])
        fewest, often = min(max(1, count - (entered - total)), total), min(count, total)
        most += boost * math.log(1 + (total - fewest + 0.5) / (fewest + 0.5))
        for row in takewhile(lambda row: row >= cut, rows):
            if row < n and eligible[row]:
                after[row] += boost * math.log(1 + (total - often + 0.5) / (often + 0.5))
    most /= 1 + K1 * (1 - B)
    least = (after / _flattened(texts, n)).max(initial=0)
    return (1 + ROUNDING) * most, (1 - ROUNDING) * least
