"""Steps of a selection over the candidates of one question."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import NamedTuple

import numpy as np

from . import kernels_fusion, kernels_selection
from .arrays import Bool, Float64, Int32, Int64, UInt8, UInt32
from .fusion import Interleaved
from .layout import OTHERS, OWN

NO_STAGE = -1


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


def choose(
    scores: Float64,
    order: Int64,
    stages: UInt8,
    least_score: float,
    *,
    least: int = 0,
    floor: int = 0,
    kept_stage: int = NO_STAGE,
    engine: ModuleType = kernels_selection,
) -> tuple[Int64, Bool, Bool]:
    """Take the candidates of an order that are good enough, as `reference_selection.choose` tells.

    Returns those in order, int64[k], and of all m whether they are below, and weak, bool[m] each.
    """
    m = len(scores)
    chosen, below, weak = np.empty(m, np.int64), np.empty(m, np.bool_), np.empty(m, np.bool_)
    count = engine.choose(
        scores, order, stages, kept_stage, least_score, least, floor, chosen, below, weak
    )
    return chosen[:count], below, weak


class Rules(NamedTuple):
    """Who proposed ranked rows, and which of them are good enough: see `reference_selection.choose_near`."""

    n_older: int = 0
    asker: int = -1
    recent: int = 0
    first: int = 1
    least_score: float = 0.0
    least: int = 0
    floor: int = 0


def choose_near(
    scores: Float64,
    order: Int64,
    rows: Int32,
    author: Int32,
    rules: Rules,
    *,
    engine: ModuleType = kernels_selection,
) -> tuple[Int64, UInt32, bool, bool]:
    """Take those of m ranked rows that are good enough, as `reference_selection.choose_near` tells.

    Returns them in order, int64[k], the sources' bits of all, uint32[m], and whether the asker has some of the older
    rows, and somebody else.
    """
    m = len(rows)
    chosen, bits = np.empty(m, np.int64), np.empty(m, np.uint32)
    count, whose = engine.choose_near(scores, order, rows, author, *rules, chosen, bits)
    return chosen[:count], bits, whose & OWN != 0, whose & OTHERS != 0


class United(NamedTuple):
    """Candidates of two rankings, n of them, as `reference_united.choose_far` tells.

    Attributes
    ----------
    rows, bits, references, scores : int32[n], uint32[n], bool[n], float64[n]
    chosen : int64[c]
        The places of the selected, best first.
    own, others : whether the asker has some of the older rows, and somebody else.
    recalled_by : the sources of the second ranking, as `with_recalled` counts them.
    """

    rows: Int32
    bits: UInt32
    references: Bool
    scores: Float64
    chosen: Int64
    own: bool
    others: bool
    recalled_by: int


def choose_far(
    near: tuple[Int32, Int64, Float64],
    far: tuple[Int32, Float64, Bool, Bool],
    author: Int32,
    link: tuple[float, float],
    pattern: Bool,
    rules: Rules,
    *,
    kernel: Callable[..., tuple[int, int, int, int]] = kernels_fusion.choose_far,
) -> United:
    """Unite m ranked rows with the best of the history, and take what is good enough.

    `near`: rows, order and scores; `far`: rows, scores, by words, by meaning; see `reference_united.choose_far`.
    """
    most = len(near[0]) + len(far[0])
    rows, bits = np.empty(most, np.int32), np.empty(most, np.uint32)
    references, scores = np.empty(most, np.bool_), np.empty(most, np.float64)
    chosen = np.empty(most, np.int64)
    n, count, whose, sources = kernel(
        *near, author, *rules, *far, *link, pattern, rows, bits, references, scores, chosen
    )
    return United(
        rows[:n], bits[:n], references[:n], scores[:n], chosen[:count],
        whose & OWN != 0, whose & OTHERS != 0, sources,
    )  # fmt: skip


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
