"""Fitting of linear models: listwise softmax and logistic regression, by L-BFGS. Deterministic."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Objective = Callable[[Array], tuple[float, Array]]


def minimise(objective: Objective, start: Array, steps: int, memory: int = 12) -> Array:
    """The minimum of a smooth convex function, by L-BFGS with Armijo's rule; ends early when nothing moves."""
    w = start.copy()
    value, gradient = objective(w)
    past: deque[tuple[Array, Array]] = deque(maxlen=memory)
    for _ in range(steps):
        direction = _two_loops(gradient, past)
        slope = float(gradient @ direction)
        if slope >= 0.0:
            direction, slope = -gradient, -float(gradient @ gradient)
            past.clear()
        size = 1.0 if past else min(1.0, 1.0 / max(1e-12, float(np.abs(gradient).sum())))
        for _ in range(20):
            new_value, new_gradient = objective(w + size * direction)
            if new_value <= value + 1e-4 * size * slope:
                break
            size *= 0.5
        else:
            break
        step, change = size * direction, new_gradient - gradient
        if float(step @ change) > 1e-12:
            past.append((step, change))
        done = value - new_value < 1e-8 * max(1.0, abs(value))
        w, value, gradient = w + step, new_value, new_gradient
        if done:
            break
    return w


def _two_loops(gradient: Array, past: deque[tuple[Array, Array]]) -> Array:
    q = -gradient
    alphas = []
    for step, change in reversed(past):
        alpha = float(step @ q) / float(step @ change)
        alphas.append(alpha)
        q = q - alpha * change
    if past:
        step, change = past[-1]
        q = q * (float(step @ change) / float(change @ change))
    for (step, change), alpha in zip(past, reversed(alphas), strict=True):
        beta = float(change @ q) / float(step @ change)
        q = q + (alpha - beta) * step
    return q


def listwise(
    x: NDArray[np.float32],
    offsets: NDArray[np.int64],
    gold: NDArray[np.bool_],
    weight: Array,
    l2: float,
    steps: int,
) -> Array:
    """Weights that minimise -log of the softmax mass on gold, a weighted mean over lists, plus l2 / 2 |w|^2.

    `x` float32[rows, columns], standardised; list i is ``x[offsets[i]:offsets[i + 1]]`` and holds some gold.
    """
    begins, sizes = offsets[:-1], np.diff(offsets)
    share = weight / weight.sum()

    def objective(w: Array) -> tuple[float, Array]:
        scores = (x @ w.astype(np.float32)).astype(np.float64)
        top = np.maximum.reduceat(scores, begins)
        e = np.exp(scores - np.repeat(top, sizes))
        all_mass = np.add.reduceat(e, begins)
        gold_mass = np.maximum(np.add.reduceat(e * gold, begins), 1e-300)
        loss = float(share @ (np.log(all_mass) - np.log(gold_mass)))
        pull = e * (np.repeat(share / all_mass, sizes) - gold * np.repeat(share / gold_mass, sizes))
        gradient = (pull.astype(np.float32) @ x).astype(np.float64)
        return loss + 0.5 * l2 * float(w @ w), gradient + l2 * w

    return minimise(objective, np.zeros(x.shape[1]), steps)


def listwise_all(
    x: NDArray[np.float32],
    offsets: NDArray[np.int64],
    gold: NDArray[np.bool_],
    weight: Array,
    l2: float,
    steps: int,
) -> Array:
    """Like `listwise`, but every gold row counts: minimises the mean over gold of -log of its softmax."""
    begins, sizes = offsets[:-1], np.diff(offsets)
    share = weight / weight.sum()
    wanted = gold / np.repeat(np.add.reduceat(gold.astype(np.float64), begins), sizes)

    def objective(w: Array) -> tuple[float, Array]:
        scores = (x @ w.astype(np.float32)).astype(np.float64)
        top = np.maximum.reduceat(scores, begins)
        e = np.exp(scores - np.repeat(top, sizes))
        mass = np.add.reduceat(e, begins)
        loss = float(share @ (top + np.log(mass) - np.add.reduceat(wanted * scores, begins)))
        pull = e * np.repeat(share / mass, sizes) - wanted * np.repeat(share, sizes)
        gradient = (pull.astype(np.float32) @ x).astype(np.float64)
        return loss + 0.5 * l2 * float(w @ w), gradient + l2 * w

    return minimise(objective, np.zeros(x.shape[1]), steps)


def logistic(
    x: NDArray[np.float32], y: NDArray[np.bool_], weight: Array, l2: float, steps: int
) -> Array:
    """Weights and, last, the constant of a logistic regression; the constant is not pulled to zero."""
    share = weight / weight.sum()
    mask = np.append(np.full(x.shape[1], l2), 0.0)

    def objective(w: Array) -> tuple[float, Array]:
        z = (x @ w[:-1].astype(np.float32)).astype(np.float64) + w[-1]
        loss = float(share @ (np.logaddexp(0.0, z) - y * z))
        pull = share * (1.0 / (1.0 + np.exp(-z)) - y)
        gradient = np.append((pull.astype(np.float32) @ x).astype(np.float64), pull.sum())
        return loss + 0.5 * float(mask @ (w * w)), gradient + mask * w

    return minimise(objective, np.zeros(x.shape[1] + 1), steps)
