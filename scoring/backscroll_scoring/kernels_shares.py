"""Compiled scores of a linear model, and what each family of columns adds to them."""

from __future__ import annotations

import numba as nb

from .arrays import Float64, Int32
from .compile import F64, F64_2D, READ_F64, READ_F64_2D, READ_I32, kernel


@kernel(nb.void(READ_F64_2D, READ_F64_2D, READ_F64, READ_F64, nb.float64, READ_I32, F64_2D, F64), nogil=True)
def family_shares(
    x: Float64, more: Float64, weights: Float64, means: Float64, constant: float, family: Int32,
    shares: Float64, linear: Float64,
) -> None:  # fmt: skip
    """See `reference_links.family_shares`."""
    n = x.shape[1]
    last = shares.shape[1] - 1
    for j in range(x.shape[0]):
        shares[j, :] = 0.0
        for k in range(n):
            shares[j, family[k]] += weights[k] * (x[j, k] - means[k])
        for k in range(more.shape[1]):
            shares[j, family[n + k]] += weights[n + k] * (more[j, k] - means[n + k])
        shares[j, last] = constant
        total = 0.0
        for f in range(last + 1):
            total += shares[j, f]
        linear[j] = total
