"""Steps of a selection over the candidates of one question."""

from __future__ import annotations

from functools import lru_cache
from types import ModuleType
from typing import NamedTuple

import numpy as np

from . import kernels_selection
from .arrays import Bool, Float64, Int32, Int64, UInt8, UInt32
from .fusion import Interleaved
from .layout import OTHERS, OWN


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


def older_marks(
    author: Int32,
    asker: int,
    older: Int32,
    first: int,
    bits: UInt32,
    flags: Bool,
    *,
    engine: ModuleType = kernels_selection,
) -> tuple[UInt32, Bool, bool, bool]:
    """Put older rows of one or two more sources before others, as `reference_selection.add_older` tells.

    Returns the bits and flags of all, and whether the asker has some of the older rows, and somebody else.
    """
    count = len(older) + len(bits)
    out_bits, out_flags = np.empty(count, np.uint32), np.empty(count, np.bool_)
    whose = engine.add_older(author, asker, older, first, bits, flags, out_bits, out_flags)
    return out_bits, out_flags, whose & OWN != 0, whose & OTHERS != 0


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
        `RECALLED`, `HIDDEN`, `IN_CHAIN`, `IS_PINNED`, `ORPHAN`.
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


def give_places(
    both: Interleaved,
    linear: Float64,
    scores: Float64,
    stages: UInt8,
    stage: int,
    link: tuple[float, float],
    *,
    engine: ModuleType = kernels_selection,
) -> tuple[Int64, Float64, UInt8]:
    """The order, scores and stages of candidates of two lists, as `reference_selection.give_places` tells."""
    scores, stages, order = scores.copy(), stages.copy(), np.empty(len(both.rows), np.int64)
    engine.give_places(
        both.rows, both.by_first, both.places, linear, scores, stages, stage, *link, order
    )
    return order, scores, stages


def spread(
    rows: Int32,
    some: Int32,
    order: Int64,
    scores: Float64,
    stages: UInt8,
    *,
    engine: ModuleType = kernels_selection,
) -> tuple[Int64, Float64, UInt8] | None:
    """What is known of some candidates as that of all, as `reference_selection.spread` tells: order, scores, stages.

    None where some are no candidates.
    """
    m = len(rows)
    places = np.empty(len(some), np.int64)
    all_scores, all_stages = np.empty(m, np.float64), np.empty(m, np.uint8)
    found = engine.spread(rows, some, order, scores, stages, places, all_scores, all_stages)
    return (places, all_scores, all_stages) if found == len(some) else None
