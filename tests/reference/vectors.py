"""How similar messages are to a question: all of them at once, from codes and sign bits.

A vector is kept as int8 codes, one float32 scale for every 64 of them, and one sign bit a dimension: whether its value
is above the centre's. The signs give only an order (random hyperplanes: Charikar, "Similarity estimation techniques
from rounding algorithms", 2002, with the axes as hyperplanes).
"""

import numpy as np

from backscroll_scoring.intrinsics import BLOCK
from backscroll_scoring.kernels_vectors import CLEAR, EXACT_TIMES


def similarities(index, query, seqs, least, share):
    """float[m]: cosines by place, NaN without a vector; bool[m]: those that are exact, not estimated.

    The query's codes have 16 bits. With signs and more than `EXACT_TIMES` ``least`` vectors, exact are those whose
    signs differ least in the dimensions in which the query's are clear: at least this many and this share.
    """
    rows, signs = index.rows, index.signs
    unit = np.zeros(rows.codes.shape[1] * BLOCK)
    unit[: len(query)] = query / np.linalg.norm(query.astype(np.float64))
    slots = np.array([index.slot_of[s] if 0 <= s < len(index.slot_of) else -1 for s in seqs], int)
    known = (slots >= 0) & (slots < len(rows.codes))
    slots = slots[known]
    parts = unit.reshape(-1, BLOCK)
    step = np.abs(parts).max(1, keepdims=True) / 32_767
    coded = np.round(parts / np.where(step, step, 1))
    cosines = ((rows.codes[slots] * coded).sum(2) * rows.scales[slots] * step[:, 0]).sum(1)
    near = np.ones(len(slots), np.bool_)
    if len(signs.planes) and len(slots) > EXACT_TIMES * least:
        distances = _distances(signs, slots, unit, len(query))
        near = _nearest(distances, max(least, int(len(slots) * share)))
        if not near.all():
            cosines = np.where(near, cosines, _expected(distances, near, cosines))
    out, exact = np.full(len(seqs), np.nan), np.zeros(len(seqs), np.bool_)
    out[known], exact[known] = cosines, near
    return out, exact


def _distances(signs, slots, unit, dims):
    """How many of a slot's sign bits are not the query's, of those in which the query is not near the centre."""
    away = unit - signs.centre
    clear = np.abs(away) > CLEAR * np.abs(away).sum() / dims
    bits = np.unpackbits(signs.planes[:-1].view(np.uint8), axis=1, bitorder="little")[:, slots]
    return (bits[clear] != (away > 0)[clear, None]).sum(0)


def _nearest(distances, limit):
    """Whole distances while their rows fit the limit, so that no order of rows decides; the first one anyhow."""
    values, counts = np.unique(distances, return_counts=True)
    fits = (np.cumsum(counts) <= limit).sum()
    return distances <= values[max(0, fits - 1)]


def _expected(distances, near, cosines):
    """A falling line of the distance, fitted to the exact ones and never above the least of them."""
    x, exact = distances - distances[near].mean(), cosines[near]
    slope = min(0.0, (x[near] * exact).sum() / max((x[near] ** 2).sum(), 1.0))
    return np.clip(exact.mean() + slope * x, -1.0, None).clip(max=exact.min())
