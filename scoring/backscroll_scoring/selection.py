"""Steps of a selection over the candidates of one question."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from . import kernels_selection
from .arrays import Float64, Int32, Int64, UInt8


class Rules(NamedTuple):
    """Which candidates stay, and in which order.

    Attributes
    ----------
    least_score : a candidate with a lower score is below the threshold.
    least : the best so many of those that may be shown are not below it.
    floor : the newest so many of those stay whatever their score.
    head : so many of the best come before what is lifted: the chain and, with `lifts_floor`, the floor.
    kept_stage : what has its place from this stage is not below the threshold; -1: no stage.
    ranked_only : who is not in the order is below it; the others are not, whatever their score.
    """

    least_score: float = 0.0
    least: int = 0
    floor: int = 0
    head: int = 0
    kept_stage: int = -1
    lifts_floor: bool = False
    ranked_only: bool = False


@lru_cache(maxsize=256)
def _packed(rules: Rules) -> Float64:
    """The rules as the kernel reads them: an array is passed on in a tenth of the time of a tuple."""
    return np.array(rules, np.float64)


def select(
    scores: Float64,
    order: Int64,
    stages: UInt8,
    flags: UInt8,
    parties: Int32,
    rules: Rules,
) -> tuple[Int64, UInt8, UInt8]:
    """Say what becomes of m candidates: who stays, in which order, and why.

    Nobody is shown who is recalled or hidden. Who is below the threshold goes, unless the floor, the chain or a pin
    keeps it. A party, which is a tool exchange, stays whole while one of it does, and goes whole where one of it may
    not be shown.

    Parameters
    ----------
    scores, stages : float64[m], uint8[m]
        Of each candidate: its score, and what gave it that, as `layout` numbers them. With `rules.ranked_only` the
        scores are not looked at.
    order : int64[k]
        Some of them or all, best first; the others come behind, the last first.
    flags : uint8[m]
        `IS_RECALLED`, `IS_HIDDEN`, `IN_CHAIN`, `IS_PINNED`, `IS_ORPHAN`.
    parties : int32[m] or int32[0]
        The first member of the party a candidate belongs to, -1 none; empty: there are no parties.

    Returns
    -------
    chosen : int64[c]
        Those who stay: pins, the head, what is lifted, the rest.
    fate, stage : uint8[m]
        What became of each, and what decided that; those who stay have `OVER_LIMIT` and the stage that is theirs if
        they are selected.
    """
    m = len(flags)
    chosen, fate, stage = np.empty(m, np.int64), np.empty(m, np.uint8), np.empty(m, np.uint8)
    count = kernels_selection.select(
        scores, order, stages, flags, parties, _packed(rules), chosen, fate, stage
    )
    return chosen[:count], fate, stage
