"""Compiled scores of a linear model, what each family of columns adds to them, and the order two models make."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float64, Int32
from .compile import F64, F64_2D, I32, READ_F64, READ_F64_2D, READ_I32, helper, kernel


@kernel(
    nb.void(READ_F64_2D, READ_F64_2D, READ_F64, READ_F64, nb.float64, READ_I32, F64_2D, F64), nogil=True
)  # fmt: skip
def family_shares(
    x: Float64, more: Float64, weights: Float64, means: Float64, constant: float, family: Int32,
    shares: Float64, linear: Float64,
) -> None:  # fmt: skip
    """See `reference_links.family_shares`. A column of all rows at once: one row's sum would wait for itself."""
    m, n, last = x.shape[1], x.shape[0], shares.shape[0] - 1
    both = n + more.shape[0]
    sums = np.empty(m, np.float64)
    for f in range(last):
        for j in range(m):
            shares[f, j] = 0.0
    k = 0
    while k < both:  # a run of columns of one family
        f = family[k]
        for j in range(m):
            sums[j] = 0.0
        while k < both and family[k] == f:
            w, mean = weights[k], means[k]
            if k < n:
                for j in range(m):
                    sums[j] += w * (x[k, j] - mean)
            else:
                for j in range(m):
                    sums[j] += w * (more[k - n, j] - mean)
            k += 1
        for j in range(m):
            shares[f, j] += sums[j]
    for j in range(m):
        shares[last, j] = constant
        linear[j] = 0.0
    for f in range(last + 1):
        for j in range(m):
            linear[j] += shares[f, j]


@helper
def _sort(scores: Float64, places: Int32) -> None:
    """Insertion: the highest score first, of equal ones the larger place. Some hundred places, nearly in order."""
    for k in range(1, places.shape[0]):
        moving = places[k]
        hole = k
        while hole > 0:
            other = places[hole - 1]
            before = scores[moving] > scores[other]
            if not (before or (scores[moving] == scores[other] and moving > other)):
                break
            places[hole] = other
            hole -= 1
        places[hole] = moving


@kernel(nb.void(READ_F64, READ_F64, nb.intp, nb.intp, I32), nogil=True)
def reply_order(
    link_linear: Float64, tail_linear: Float64, parent: int, first: int, out: Int32
) -> None:
    """See `reference_links.reply_order`."""
    m = out.shape[0]
    for j in range(m):
        out[j] = m - 1 - j
    _sort(link_linear, out)
    if parent >= 0:
        at = 0
        while out[at] != parent:
            at += 1
        for k in range(at, 0, -1):
            out[k] = out[k - 1]
        out[0] = parent
    _sort(tail_linear, out[min(first, m) :])
