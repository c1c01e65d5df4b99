"""Plackett-Luce: the probabilities of drawing a few of a pool, one after the other, without putting back.

Plackett, "The analysis of permutations", Applied Statistics 1975; Luce, "Individual choice behavior", 1959. Each draw
takes one of those left, with a probability in proportion to its worth. All functions take n pools at once, padded to
the same width p with worths of 0, which are never drawn.
"""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int64

MOST_SLOTS = 3
"""So many draws at most: the probability of a set sums its orders, and that of one item the orders it is in."""
LEAST_WORTH = 1e-6
"""The worth of a pool's best is 1, and of its last no less than this. It bounds how improbable a draw can be, hence how
much one decision can weigh later, and keeps differences of worths exact to some ten digits."""
_WIDEST = -math.log(LEAST_WORTH)


def worths(scores: Float64, temperatures: Float64, live: Bool) -> Float64:
    """Return what each candidate is worth: exp((score - its pool's best) / temperature).

    A pool whose scores lie so far apart that its last would be worth less than `LEAST_WORTH` has a higher temperature,
    at which that is just reached: so the better one is always worth more.

    Parameters
    ----------
    scores : float64[n, p]
        Finite where `live`.
    temperatures : float64[n]
        Positive, in units of the scores. The lower, the surer the best are drawn.
    live : bool[n, p]
        False where a row is padded. Each row has some that are live.

    Returns
    -------
    float64[n, p]
        In [1e-6, 1]; 0 where not live.
    """
    shown = np.where(live, scores, -np.inf)
    below = np.where(live, shown - shown.max(axis=1, keepdims=True), 0.0)
    warmest = np.maximum(temperatures, -below.min(axis=1) / _WIDEST)
    return np.where(live, np.exp(below / warmest[:, None]), 0.0)


def order_probabilities(worth: Float64, drawn: Int64) -> Float64:
    """Return the probability of drawing just these, in just this order: the product of worth / (sum of those left).

    Parameters
    ----------
    worth : float64[n, p]
    drawn : int64[n, s]
        Places in the pool, in the order of the draws, without repeats in a row.

    Returns
    -------
    float64[n]
        In (0, 1].
    """
    taken = np.take_along_axis(worth, drawn, axis=1)
    left = worth.sum(axis=1, keepdims=True) - np.cumsum(taken, axis=1) + taken
    out: Float64 = np.minimum(1.0, np.prod(taken / left, axis=1))
    return out


def set_probabilities(worth: Float64, drawn: Int64) -> Float64:
    """Return the probability of drawing these in whatever order: the sum over their orders.

    Parameters and result are as in `order_probabilities`.

    Raises
    ------
    ValueError
        More than `MOST_SLOTS` draws.
    """
    _check_slots(drawn.shape[1])
    orders = permutations(range(drawn.shape[1]))
    total = sum(order_probabilities(worth, drawn[:, list(order)]) for order in orders)
    return np.minimum(1.0, np.asarray(total, np.float64))


def inclusion_probabilities(worth: Float64, slots: int) -> Float64:
    """Return the probability of each candidate to be among ``slots`` draws.

    With p = worth / sum: it is the first with p_i; the second with the sum over a != i of p_a / (1 - p_a) * p_i; the
    third with the sum over a != b, both other than i, of p_a p_b / ((1 - p_a)(1 - p_a - p_b)) * p_i.

    Parameters
    ----------
    worth : float64[n, p]
        Each row has more candidates than ``slots``.
    slots : int
        From 1 to `MOST_SLOTS`.

    Returns
    -------
    float64[n, p]
        In [0, 1]; each row sums to ``slots``.

    Raises
    ------
    ValueError
        ``slots`` outside its range, or a pool that has no more candidates than slots.
    """
    _check_slots(slots)
    if len(worth) and int(np.count_nonzero(worth, axis=1).min()) <= slots:
        raise ValueError("each pool must have more candidates than slots")
    p: Float64 = worth / worth.sum(axis=1, keepdims=True)
    out: Float64 = p.copy()
    if slots >= 2:
        first = p / (1.0 - p)
        out += p * (first.sum(axis=1, keepdims=True) - first)
    if slots >= 3:
        pairs = _pairs(p)
        with_i = pairs.sum(axis=2) + pairs.sum(axis=1)
        out += p * (pairs.sum(axis=(1, 2))[:, None] - with_i)
    np.clip(out, 0.0, 1.0, out=out)
    return out


def _pairs(p: Float64) -> Float64:
    """float64[n, p, p]: entry a, b is what the third draw is multiplied by where a was first and b second."""
    count = p.shape[1]
    first, second = p[:, :, None], p[:, None, :]
    is_same = np.eye(count, dtype=np.bool_)
    left = np.where(is_same, 1.0, 1.0 - first - second)
    out: Float64 = np.where(is_same, 0.0, first * second / ((1.0 - first) * left))
    return out


def _check_slots(slots: int) -> None:
    if not 1 <= slots <= MOST_SLOTS:
        raise ValueError(f"slots must be from 1 to {MOST_SLOTS}: {slots}")
