"""The fitted weights of the reply model, read from the package's data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .arrays import Float64, Int32
from .link_columns import BASE, COLUMNS, CONVERSATION, FAMILIES, QUIET_OF, START

WEIGHTS_FILE = Path(__file__).parent / "data" / "links.json"

FAMILY_NAMES: tuple[str, ...] = (*FAMILIES, "conversation")
"""The families shares are added up by; "conversation" holds the columns of `CONVERSATION`."""


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """A linear model over columns: the sum of ``weight * (value - mean)`` and a constant.

    Attributes
    ----------
    weights : float64[c]
        A column, divided by the column's scale.
    means : float64[c]
    constant : float
    """

    weights: Float64
    means: Float64
    constant: float
    intercept: float = field(init=False)
    """The constant of the same model over the values as they are."""
    with_intercept: Float64 = field(init=False)
    """The weights and, last, the intercept."""

    def __post_init__(self) -> None:
        shift = sum((self.weights * self.means).tolist())
        object.__setattr__(self, "intercept", self.constant - shift)

        object.__setattr__(self, "with_intercept", np.append(self.weights, self.intercept))

    @property
    def terms(self) -> tuple[Float64, Float64, float]:
        """The arguments of the kernels that score by it."""
        return self.weights, self.means, self.constant


@dataclass(frozen=True, slots=True, eq=False)
class LinkModel:
    """The four models that make reply ranking.

    Attributes
    ----------
    first : Linear
        Over `COLUMNS`; softmax over the candidates: which of them is answered. Runs for every message.
    second : Linear
        The same over `COLUMNS` and `CONVERSATION`, for a question.
    tail : Linear
        Over both; logistic: belongs to the question's conversation.
    start : Linear
        Over `START`; logistic: answers nothing that was said here.
    """

    first: Linear
    second: Linear
    tail: Linear
    start: Linear
    of_columns: tuple[Float64, Float64] = field(init=False)
    """Of `first`, `second` and `tail` over `COLUMNS`: the weights of the values as they are, float64[3, c], and what is
    to be added, float64[3]: what the means take away and, of `first`, the constant."""
    of_conversations: tuple[Float64, Float64] = field(init=False)
    """The same of `second` and `tail` over `CONVERSATION`: float64[2, c] and float64[2], constants included."""

    def __post_init__(self) -> None:
        n, both = len(COLUMNS), (self.second, self.tail)
        every = (self.first, *both)
        weights = np.stack([one.weights[:n] for one in every])
        means = np.stack([one.means[:n] for one in every])
        offsets = -(weights * means).sum(axis=1)
        offsets[0] = self.first.intercept
        of_columns = (weights, offsets)
        around = np.stack([one.weights[n:] for one in both])
        taken_away = (around * np.stack([one.means[n:] for one in both])).sum(axis=1)
        of_conversations = (around, np.array([one.constant for one in both]) - taken_away)
        object.__setattr__(self, "of_columns", of_columns)
        object.__setattr__(self, "of_conversations", of_conversations)


def families() -> Int32:
    """int32[COLUMNS + CONVERSATION]: the place in `FAMILY_NAMES` of each column."""
    of_base = {name: at for at, names in enumerate(FAMILIES.values()) for name in names}
    base = [of_base[name] for name in BASE]
    quiet = [base[place] for place in QUIET_OF]
    return np.array(base + quiet + [len(FAMILIES)] * len(CONVERSATION), np.int32)


def load(path: Path = WEIGHTS_FILE) -> LinkModel:
    """The model in a weights file.

    Raises
    ------
    ValueError
        The file's columns are not this package's.
    """
    data: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return LinkModel(
        first=_linear(data, COLUMNS, "first"),
        second=_linear(data, COLUMNS + CONVERSATION, "second"),
        tail=_linear(data, COLUMNS + CONVERSATION, "tail"),
        start=_linear(data, START, "start"),
    )


def _linear(data: Mapping[str, Any], names: tuple[str, ...], model: str) -> Linear:
    rows = data["models"][model]["columns"]
    if tuple(rows) != names:
        raise ValueError(f"the columns of {model!r} are not this version's")
    means = np.array([row["mean"] for row in rows.values()], np.float64)
    scales = np.array([row["scale"] for row in rows.values()], np.float64)
    weights = np.array([row["weight"] for row in rows.values()], np.float64)
    return Linear(weights / scales, means, float(data["models"][model]["constant"]))


@cache
def shipped() -> LinkModel:
    """The model of the package, read once (`warm` does it before the first request)."""
    return load()


FAMILIES_OF_COLUMNS = families()
