"""Score the rows of a channel for a query. Checks and prepares; a kernel computes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import kernels_score
from .arrays import Float64, Int32, require
from .features import CLASSIC_FACTORS, ChannelColumns, QueryFeatures
from .status import check
from .weights import CLASSIC, ScoreParameters

_NO_TABLE = np.empty((0, len(CLASSIC_FACTORS)), np.float64)
_NO_COLUMN = np.empty(0, np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """The scores of m rows, and what they are made of. Entry i belongs to ``rows[i]``.

    Attributes
    ----------
    factors : float64[m, 5]
        Raw factor values in [0, 1], in the order of `CLASSIC_FACTORS`.
    shares : float64[m, 5]
        Factor times weight: what the factor adds.
    linear : float64[m]
        The shares of a row added from left to right.
    scores : float64[m]
        After the link, in [0, 1].
    """

    factors: Float64
    shares: Float64
    linear: Float64
    scores: Float64


def score_rows(
    columns: ChannelColumns,
    query: QueryFeatures,
    rows: Int32,
    parameters: ScoreParameters = CLASSIC,
) -> Scored:
    """Score rows of a channel, with every factor and share.

    Parameters
    ----------
    rows : int32[m]
        Which rows, in any order; a strided array is copied.

    Raises
    ------
    IndexError
        A row outside the channel.
    ValueError
        Ids of the query not ascending and unique, or offsets that are not offsets.
    """
    m = len(rows)
    factors = np.empty((m, len(CLASSIC_FACTORS)), np.float64)
    shares = np.empty((m, len(CLASSIC_FACTORS)), np.float64)
    linear, scores = np.empty(m, np.float64), np.empty(m, np.float64)
    some = _checked(rows)
    asked = _asked(query, parameters)
    check(kernels_score.score_rows(_arrays(columns), some, *asked, factors, shares, linear, scores))
    return Scored(factors, shares, linear, scores)


def score_only(
    columns: ChannelColumns,
    query: QueryFeatures,
    rows: Int32,
    parameters: ScoreParameters = CLASSIC,
) -> Float64:
    """Return ``score_rows(...).scores``, bit for bit, without writing the twelve times larger rest."""
    scores = np.empty(len(rows), np.float64)
    asked, none = _asked(query, parameters), (_NO_TABLE, _NO_TABLE, _NO_COLUMN)
    check(kernels_score.score_rows(_arrays(columns), _checked(rows), *asked, *none, scores))
    return scores


def score_reaching(
    columns: ChannelColumns,
    query: QueryFeatures,
    rows: Int32,
    parameters: ScoreParameters = CLASSIC,
    *,
    at_least: float,
    in_order: bool = False,
) -> tuple[Int32, Float64]:
    """Return the positions in ``rows``, ascending, of those that reach a score, and their scores as in `score_only`.

    For all rows of a big channel and a threshold: of most rows time, author and parent already tell that they cannot
    reach it, and their words are not read.

    Parameters
    ----------
    at_least : float
        Above 0. The higher it is the less is worked out, with the link "identity"; with "logistic" always all.
    in_order : bool
        The caller knows that ``rows`` ascend without repeats and that times never fall from row to row: of consecutive
        rows those too old are not even read.
    """
    rows = _checked(rows)
    places, scores = np.empty(len(rows), np.int32), np.empty(len(rows), np.float64)
    count = kernels_score.score_reaching(
        _arrays(columns), rows, *_asked(query, parameters), at_least, in_order, places, scores
    )
    if count < 0:
        check(-count)
    return places[:count], scores[:count]


def _checked(rows: Int32) -> Int32:
    """The rows as kernels take them; a strided array is copied."""
    return require("rows", np.ascontiguousarray(rows), np.int32)


def _arrays(columns: ChannelColumns) -> kernels_score.Columns:
    c = columns
    return (
        *(c.time_ms, c.author, c.parent),
        *(c.keyword_offsets, c.keyword_ids, c.mention_offsets, c.mention_ids),
    )


def _asked(
    q: QueryFeatures, p: ScoreParameters
) -> tuple[kernels_score.Query, kernels_score.Parameters]:
    return (
        (q.time_ms, q.author, q.parent, q.keyword_ids, q.mention_ids),
        (p.weights, p.constants, p.max_chain_depth, p.link == "logistic"),
    )
