"""Compiled scores of a linear model, and what each family of columns adds to them."""

from __future__ import annotations

import numba as nb
import numpy as np

from .arrays import Float64, Int32
from .compile import F64, F64_2D, READ_F64, READ_F64_2D, READ_I32, kernel

AT_ONCE = 8


@kernel(
    nb.void(READ_F64_2D, READ_F64_2D, READ_F64, READ_F64, nb.float64, READ_I32, F64_2D, F64), nogil=True
)  # fmt: skip
def family_shares(
    x: Float64, more: Float64, weights: Float64, means: Float64, constant: float, family: Int32,
    shares: Float64, linear: Float64,
) -> None:  # fmt: skip
    """See `reference_links.family_shares`. Eight rows at once: one sum alone would wait for itself."""
    n, both, last = x.shape[1], x.shape[1] + more.shape[1], shares.shape[1] - 1
    sums = np.empty(AT_ONCE, np.float64)
    shares[:, :] = 0.0
    for begin in range(0, x.shape[0], AT_ONCE):
        rows = min(AT_ONCE, x.shape[0] - begin)
        k = 0
        while k < both:  # a run of columns of one family
            sums[:] = 0.0
            f = family[k]
            while k < both and family[k] == f:
                w, mean = weights[k], means[k]
                if k < n:
                    for i in range(rows):
                        sums[i] += w * (x[begin + i, k] - mean)
                else:
                    for i in range(rows):
                        sums[i] += w * (more[begin + i, k - n] - mean)
                k += 1
            for i in range(rows):
                shares[begin + i, f] += sums[i]
    for j in range(x.shape[0]):
        shares[j, last] = constant
        total = 0.0
        for f in range(last + 1):
            total += shares[j, f]
        linear[j] = total
