"""Draws that make learning possible: which candidates get the last slots of a selection.

What is drawn is a function of a seed alone, so a build replays byte for byte. The probability of what was drawn is
known exactly and belongs into the record of the build: without it nothing can be learnt from what happened.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from backscroll_scoring.arrays import Float64, Int64
from backscroll_sidecar.learning.plackett_luce import (
    MOST_SLOTS,
    inclusion_probabilities,
    order_probabilities,
    set_probabilities,
    worths,
)

_SLOTS_SALT = 1
"""The stream of a seed that draws of slots take. It may never change: a seed draws the same for good."""


@dataclass(frozen=True, slots=True, eq=False)
class SlotDraw:
    """A selection whose last slots were drawn.

    Attributes
    ----------
    order : int64[k]
        The chosen candidates, best first: the fixed ones as ranked, then those drawn, in the order of the draws.
    probability : float
        Of this set, in whatever order, in (0, 1]: a context shows its lines by time. To be recorded.
    order_probability : float
        Of this very order, in (0, `probability`].
    inclusion : float64[m]
        The probability of each ranked candidate, in the order of the ranking, to be chosen: 1 for the fixed ones, 0
        beyond the pool. They sum to k. To be recorded.
    """

    order: Int64
    probability: float
    order_probability: float
    inclusion: Float64

    @property
    def is_explored(self) -> bool:
        """Whether anything was left to chance."""
        return self.probability < 1.0


def seed_of(experiment: str, channel: str, session_day: str, request: str = "") -> int:
    """Return the seed of a draw, from 0 to 2^63 - 1: BLAKE2b of the four parts.

    Each part is preceded by its length, so that no two different quadruples are the same bytes. With an empty
    ``request`` the draw is the same for a whole session day.

    Parameters
    ----------
    experiment, channel, session_day, request : str
        Any text. Where channels are told apart by tenant, the tenant belongs into ``channel``.
    """
    digest = blake2b(digest_size=8, person=b"exploration")
    for part in (experiment, channel, session_day, request):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "big") + data)
    return int.from_bytes(digest.digest(), "big") >> 1


def draw_slots(
    ranking: Int64, scores: Float64, *, size: int, slots: int, pool: int, temperature: float, seed: int
) -> SlotDraw:  # fmt: skip
    """Choose ``size`` candidates of a ranking: all but the last ``slots`` as ranked, those by Plackett-Luce.

    The ``pool`` candidates behind the fixed ones compete: to each score / temperature Gumbel noise is added, and the
    largest sums win (Yellott, "The relationship between Luce's choice axiom, Thurstone's theory of comparative
    judgment, and the double exponential distribution", Journal of Mathematical Psychology 1977).

    Parameters
    ----------
    ranking : int64[m]
        Candidates, best first, without repeats.
    scores : float64[c]
        A score for every candidate, finite for those of the pool: ``scores[ranking]`` is looked at. They should be the
        linear scores that weights make, so that other weights can be judged by the same draw.
    size : int
        How many are chosen, at least 1; all m where there are no more.
    slots : int
        How many of them are drawn: from 0, nothing, to `MOST_SLOTS`. At most ``size``.
    pool : int
        How many candidates compete for the slots, from the first slot's on. At least ``slots``.
    temperature : float
        Positive, in units of the scores.
    seed : int
        Not negative; see `seed_of`.

    Raises
    ------
    ValueError
        A number outside its range, or a score of the pool that is not finite.
    """
    if size < 1:
        raise ValueError(f"size must be at least 1: {size}")
    if not 0 <= slots <= min(size, MOST_SLOTS):
        raise ValueError(f"slots must be from 0 to {min(size, MOST_SLOTS)}: {slots}")
    if pool < slots:
        raise ValueError(f"pool must not be smaller than slots, {slots}: {pool}")
    if not (math.isfinite(temperature) and temperature > 0.0):
        raise ValueError(f"temperature must be finite and positive: {temperature}")
    fixed = size - slots
    rivals = ranking[fixed : fixed + pool]
    inclusion = np.zeros(len(ranking), np.float64)
    if not slots or len(rivals) <= slots:
        inclusion[:size] = 1.0
        return SlotDraw(ranking[:size].copy(), 1.0, 1.0, inclusion)
    given = scores[rivals]
    if not np.isfinite(given).all():
        raise ValueError("scores of the pool must be finite")
    live = np.ones((1, len(rivals)), np.bool_)
    worth = worths(given[None, :], np.array([temperature]), live)
    noise = -np.log(-np.log(_uniforms(seed, len(rivals), _SLOTS_SALT)))
    drawn = np.argsort(-(np.log(worth[0]) + noise), kind="stable")[:slots]
    inclusion[:fixed] = 1.0
    inclusion[fixed : fixed + pool] = inclusion_probabilities(worth, slots)[0]
    return SlotDraw(
        np.concatenate((ranking[:fixed], rivals[drawn])),
        float(set_probabilities(worth, drawn[None, :])[0]),
        float(order_probabilities(worth, drawn[None, :])[0]),
        inclusion,
    )


def _uniforms(seed: int, count: int, salt: int = 0) -> Float64:
    """float64[count] in (0, 1), of 52 bits and a half, so that neither end is reached.

    Taken from the bits of PCG64 as they are: NumPy keeps those from release to release, what `Generator` makes of them
    it does not (NEP 19).
    """
    raw = np.random.PCG64([seed, salt]).random_raw(count)
    return ((raw >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52
