"""How well each message answers a question about long ago: a hand-set linear score over the whole history.

Nothing here is fitted. The weights are round numbers, chosen on the development sets by hand; halving or doubling any
one of them changes little.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from . import kernels_memory
from .arrays import Bool, Float32, Float64, Int32, Int64, UInt8, require
from .lexical import Matches
from .status import check

MEMORY_FACTORS = (
    "words",
    "passage",
    "wide_passage",
    "meaning",
    "date",
    "speaker",
    "question",
    "asker",
    "time_word",
    "number",
)
"""The columns of the score, in the order of every factor axis."""

MEMORY_WEIGHTS = (1.0, 0.3, 0.2, 0.6, 0.5, 0.25, -0.15, 0.6, 0.1, 0.1)
LEXICAL_WEIGHTS = (1.6, 0.48, 0.32, 0.0, *MEMORY_WEIGHTS[4:])
"""Without an embedder the words get what `meaning` would have had."""

SATURATION = 1.0
SITTING_MS = 3_600_000
"""Lines an hour or more apart do not belong together."""

_ASKER = MEMORY_FACTORS.index("asker")
_NONE_F32 = np.empty(0, np.float32)
_NONE_I32 = np.empty(0, np.int32)
_NONE_U8 = np.empty(0, np.uint8)


class MemoryCues(NamedTuple):
    """What a question says beside its words. The defaults say nothing.

    Attributes
    ----------
    dense : float32[n]
        Similarity of each row to the question, on any scale, NaN where a row has none; empty without an embedder.
    speakers : int32[]
        Users the question names, each once.
    asker : int
        The asker if the question may be about the asker, else -1.
    names_asker : uint8[n]
        Rows that name the asker; empty: as `asker` -1.
    date_spans : int32[2d], date_values : float32[d]
        First row and end of each span of time the question names, and what a row in it gets; spans add up.
    has_time, has_number : uint8[n]
        Rows with a word of time, with a number; empty when the question asks for neither.
    """

    dense: Float32 = _NONE_F32
    speakers: Int32 = _NONE_I32
    asker: int = -1
    names_asker: UInt8 = _NONE_U8
    date_spans: Int32 = _NONE_I32
    date_values: Float32 = _NONE_F32
    has_time: UInt8 = _NONE_U8
    has_number: UInt8 = _NONE_U8


class MemoryScores(NamedTuple):
    """Scores of m rows.

    Attributes
    ----------
    rows : int32[m]
    totals : float64[m]
        The sum of a row's shares; minus infinity where the row is not eligible. Usual best scores lie between
        1 and 2.5, rows that have nothing to do with the question near 0.
    shares : float64[m, 10]
        Weight times factor, in the order of `MEMORY_FACTORS`.
    weights : 10 numbers
    found_by : bool[2, m]
        Which rows share a word with the question, and which are among the `limit` most similar to it, of equal ones the
        later; bool[2, 0] where the rows were given.
    """

    rows: Int32
    totals: Float64
    shares: Float64
    weights: tuple[float, ...]
    found_by: Bool


def score_memory(
    matches: Matches,
    time_ms: Int64,
    author: Int32,
    asks: UInt8,
    eligible: UInt8,
    cues: MemoryCues,
    *,
    limit: int = 64,
    rows: Int32 | None = None,
    asker_share: float = 1.0,
) -> MemoryScores:
    """Score all n rows below ``len(eligible)``.

    With B = BM25 / 10 of a row, r the largest B, sure = r / (r + `SATURATION`):

    - words: B / (r + `SATURATION`), with .2 of the next and .1 of the second rows in the same sitting, and .3 of the
      row before if that asks and this is somebody else's. Absolute: a question whose words are common gets little.
    - passage: what the terms weigh that are in a row or 2 rows on each side, over that of the best passage, times sure;
      wide_passage: of 4 rows.
    - meaning: similarity with .25 of both neighbours', the row's own where there is none, from 0, the least eligible
      row, to 1, the best; where a row has no vector, the mean of those that have one.
    - date: the sum of the values of the spans the row is in.
    - speaker: 1 if the question names the author.
    - question: 1 if the row asks: answers are wanted.
    - asker: 1 if the question may be about the asker and the row is by the asker or names the asker.
    - time_word: 1 if the question asks when and the row has a word of time.
    - number: 1 if the question asks how many and the row has a number.

    Parameters
    ----------
    time_ms, author : [>= n]
        As in `ChannelColumns`.
    asks : uint8[>= n]
        1 where the row is a question.
    limit : int
        The scores of so many rows at most: the best, best first; of equal scores the later row first.
    rows : int32[m], optional
        The scores of these rows instead, in their order.
    asker_share : float
        0 to 1: how surely the question is about the asker; `asker` gets so much of its weight.

    Raises
    ------
    TypeError, ValueError, IndexError
        Arrays of other types, layouts or lengths, rows outside, a negative limit.
    """
    n, has_dense = len(eligible), len(cues.dense) > 0
    if has_dense and len(cues.dense) != n:
        raise ValueError(f"dense must have one entry a row, or none: {n}")
    if limit < 0:
        raise ValueError(f"limit must not be negative: {limit}")
    if rows is None:
        wanted = np.empty(min(n, limit), np.int32)
        by = np.empty((2, len(wanted)), np.bool_)
    else:  # a copy: the kernel may write into its own, these may be read-only
        wanted = require("rows", rows, np.int32).copy()
        by = np.empty((2, 0), np.bool_)
    totals, shares = np.empty(len(wanted)), np.empty((len(wanted), len(MEMORY_FACTORS)))
    by_weight, told = _weights(has_dense, asker_share)
    status, count = kernels_memory.memory_scores(
        (*matches,), (time_ms, author, asks, eligible), (*cues,),
        by_weight, SATURATION, SITTING_MS,
        rows is None, wanted, totals, shares, by,
    )  # fmt: skip
    check(status)
    if count < len(wanted):
        wanted, totals, shares, by = wanted[:count], totals[:count], shares[:count], by[:, :count]
    return MemoryScores(wanted, totals, shares, told, by)


@lru_cache(maxsize=16)
def _weights(has_dense: bool, asker_share: float) -> tuple[Float32, tuple[float, ...]]:
    """The weights as the kernel takes them and as they are told."""
    weights = np.array(MEMORY_WEIGHTS if has_dense else LEXICAL_WEIGHTS, np.float32)
    weights[_ASKER] *= asker_share
    return weights, tuple(weights.tolist())
