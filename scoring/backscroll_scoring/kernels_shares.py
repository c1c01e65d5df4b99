"""Compiled scores of a linear model, and what each family of columns adds to them."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float64, Int32
from .compile import F64, F64_2D, READ_F64, READ_F64_2D, READ_I32, kernel


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
