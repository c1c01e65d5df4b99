"""The compiled order that two models make of candidates."""

from __future__ import annotations

import numba as nb

from .arrays import Float64, Int32
from .compile import I32, READ_F64, helper, kernel


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
    for k in range(
        min(first, m)
    ):  # the best of those left comes to the front, the others keep their order
        best = k
        for i in range(k, m):
            if out[i] == parent:
                best = i
                break
            if link_linear[out[i]] > link_linear[out[best]]:
                best = i
        chosen = out[best]
        for i in range(best, k, -1):
            out[i] = out[i - 1]
        out[k] = chosen
    _sort(tail_linear, out[min(first, m) :])
