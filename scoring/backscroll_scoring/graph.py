"""How near messages are to a question in the graph of replies."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from .arrays import Float64, Int32, require
from .kernels_graph import tree_values
from .replies import ancestors

MOST_STEPS = 100


@dataclass(frozen=True, slots=True)
class GraphParameters:
    """What each step in the graph costs, and how far to look.

    Attributes
    ----------
    up : float
        Each further ancestor is worth so much of the one below it. In [0, 1].
    down : float
        Each step from a message to one that answers it. In [0, 1].
    own : float
        A recent line of the bot itself. In [0, 1].
    max_up, max_down : int
        Steps at most, up from the question and down from what was found. In [0, 100].
    own_lines : int
        How many of the bot's newest lines are looked at. In [0, 100].
    reach : int
        An answer counts at most so many rows away from where the way down began; the bot's lines
        are looked for among so many newest rows. This bounds the work: at most
        (1 + max_up + own_lines) * (2 * reach + 1) rows are looked at in a channel of any size.
    """

    up: float = 0.8
    down: float = 0.6
    own: float = 0.5
    max_up: int = 15
    max_down: int = 4
    own_lines: int = 8
    reach: int = 500

    def __post_init__(self) -> None:
        for name in ("up", "down", "own"):
            value = getattr(self, name)
            if not (math.isfinite(value) and 0 <= value <= 1):
                raise ValueError(f"{name} must be in [0, 1]: {value}")
        for name in ("max_up", "max_down", "own_lines"):
            if not 0 <= getattr(self, name) <= MOST_STEPS:
                raise ValueError(f"{name} must be in [0, {MOST_STEPS}]: {getattr(self, name)}")
        if not 0 <= self.reach < 2**31:
            raise ValueError(f"reach must not be negative: {self.reach}")


NEAR = GraphParameters()
"""The defaults."""


@dataclass(frozen=True, slots=True, eq=False)
class GraphScores:
    """The messages the question is connected to.

    Attributes
    ----------
    rows : int32[k]
        Ascending; every other row's value is 0.
    values : float64[k]
        In (0, 1].
    """

    rows: Int32
    values: Float64

    def column(self, rows: Int32) -> Float64:
        """Return the value of each of these rows, float64[m]."""
        if not len(self.rows):
            return np.zeros(len(rows), np.float64)
        place = np.minimum(np.searchsorted(self.rows, rows), len(self.rows) - 1)
        return np.where(self.rows[place] == rows, self.values[place], 0.0)


def graph_scores(
    parent: Int32,
    author: Int32,
    *,
    question_parent: int,
    end: int,
    question_row: int = -1,
    own_authors: Int32 | None = None,
    parameters: GraphParameters = NEAR,
) -> GraphScores:
    """Score what is connected to a question by replies, over several steps.

    A way goes up from the question and then down: u steps up, d steps down are worth
    ``up ** (u - 1) * down ** d``: the message answered 1, its own parent .8, a sibling .6, an answer to a
    sibling .36, a sibling of the parent .48, an answer to the question itself .6. A recent line of
    the bot is worth ``own``, what answers it ``own * down ** d``. The best way counts.

    Parameters
    ----------
    parent, author : int32[n]
        See `ChannelColumns`. Cycles and parents that are no rows end a way.
    question_parent : int
        The row the question answers; -1: none.
    end : int
        Rows from here on are not seen, 0 to n.
    question_row : int
        The question's own row if it is stored: it is no result, answers to it are. -1: not stored.
    own_authors : int32[], optional
        Indices of the bot's own ids.

    Raises
    ------
    ValueError
        ``end`` outside the channel, or arrays of different lengths.
    """
    n = len(require("parent", parent, np.int32))
    if len(require("author", author, np.int32)) != n:
        raise ValueError(f"author must have one entry a row: {n}")
    if not 0 <= end <= n:
        raise ValueError(f"end must be in [0, {n}]: {end}")
    starts = _starts(parent, author, question_parent, end, question_row, own_authors, parameters)
    rows = np.array(sorted(starts), np.int32)
    values = np.array([starts[row] for row in rows.tolist()], np.float64)
    room = min(end, len(rows) * (2 * parameters.reach + 1))
    found, worth = np.empty(room, np.int32), np.empty(room, np.float64)
    count = tree_values(
        parent,
        end,
        rows,
        values,
        parameters.down,
        parameters.max_down,
        parameters.reach,
        found,
        worth,
    )
    found, worth = found[:count], worth[:count]
    other = found != question_row
    return GraphScores(found[other], worth[other])


def _starts(
    parent: Int32,
    author: Int32,
    question_parent: int,
    end: int,
    question_row: int,
    own_authors: Int32 | None,
    parameters: GraphParameters,
) -> dict[int, float]:
    """The rows from which ways lead down, and what they are worth themselves."""
    starts: dict[int, float] = {}
    if own_authors is not None:
        first = max(0, end - parameters.reach)
        tail = author[first:end]
        is_own = np.zeros(len(tail), np.bool_)
        for own in own_authors.tolist():
            is_own |= tail == own
        mine = np.flatnonzero(is_own) + first
        starts = dict.fromkeys(
            mine[len(mine) - min(len(mine), parameters.own_lines) :].tolist(), parameters.own
        )
    value = 1.0
    if 0 <= question_row < end:
        starts[question_row] = value
    if 0 <= question_parent < end and parameters.max_up > 0:
        for row in [
            question_parent,
            *ancestors(parent, question_parent, parameters.max_up - 1).tolist(),
        ]:
            if row < end:
                starts[row] = max(value, starts.get(row, 0.0))
            value *= parameters.up
    return {row: worth for row, worth in starts.items() if worth > 0}
