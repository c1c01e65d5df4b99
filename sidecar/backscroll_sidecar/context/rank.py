"""Candidates to scores. The kernels do the work; without a scorer the newest is the best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import CLASSIC_FACTORS, score_rows
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.memory_ranking import rank_rows_by_memory
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.strategies.memory import link

RECENCY_FACTORS = ("recency",)


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """Scores of the candidates, parallel to their rows.

    Attributes
    ----------
    scores : float64[m]
        The link's value, 0 to 1: what the threshold is compared with.
    linear : float64[m]
        Sum of the shares.
    shares : float64[m, f]
        Weight times factor, in the order of `factors`.
    """

    scores: NDArray[np.float64]
    linear: NDArray[np.float64]
    shares: NDArray[np.float64]
    factors: tuple[str, ...]
    weights: tuple[float, ...]
    link: str


def rank(
    view: ChannelView, question: Question, rows: NDArray[np.int32], profile: Profile
) -> Ranked:
    """Score the candidate rows by the profile's scorer, or by recency if it has none."""
    if profile.by_memory:
        memory = rank_rows_by_memory(view, question, rows)
        return Ranked(
            link(memory.scores),
            memory.scores,
            memory.shares,
            memory.factors,
            memory.weights,
            "logistic",
        )
    if profile.parameters is None:
        return rank_by_recency(rows)
    columns = view.columns if profile.follow_inferred else view.explicit_columns
    features = question.features(view, follow_inferred=profile.follow_inferred)
    scored = score_rows(columns, features, rows, profile.parameters)
    return Ranked(
        scored.scores,
        scored.linear,
        scored.shares,
        CLASSIC_FACTORS,
        profile.parameters.weights,
        profile.parameters.link,
    )


def rank_by_recency(rows: NDArray[np.int32]) -> Ranked:
    """The newest candidate gets 1, each older one a step of 1/m less."""
    m = len(rows)
    scores = np.arange(1, m + 1, dtype=np.float64) / max(1, m)
    return Ranked(scores, scores, scores.reshape(m, 1), RECENCY_FACTORS, (1.0,), "identity")
