"""One ranking out of those of the sources, by rank or by score, with age as a bounded multiplier (P-05, P-06). Pure.

What no list holds, such as the rest of a tool round, has a score of 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import (
    Fused,
    decay_per_hour,
    linear_fusion,
    recency_multipliers,
    reciprocal_rank_fusion,
    top_order,
)
from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.context.candidates import Gathered
from backscroll_sidecar.context.profiles import Fusion, Profile
from backscroll_sidecar.context.proposals import Proposed
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.ranking import Ranked, by_score
from backscroll_sidecar.strategies import Pinned

RRF_K = 60.0
"""The larger, the less the first places of a list stand out; the paper's value (`backscroll_scoring.fusion`)."""

Ranking = tuple[NDArray[np.int32], NDArray[np.float64]]
"""Rows best first, and their scores."""


def rank_fused(
    view: ChannelView, question: Question, gathered: Gathered, profile: Profile
) -> Ranked:
    """Score the candidates by the profile's fusion.

    Each source that proposed something live, pins aside, has the same weight, 1 / n, and a factor from 0 to 1; their
    sum is 1 for what is the best of every list. Age takes at most `recency_share` of that sum away: a factor of its
    own, not above 0, so that the shares still sum to the linear value.
    """
    found = [(p.source, _best_first(view, p)) for p in gathered.proposed if p.source != Pinned.name]
    lists = [(source, ranking) for source, ranking in found if len(ranking[0])]
    weight = 1.0 / max(1, len(lists))
    fused = _fused([ranking for _, ranking in lists], weight, profile.fusion or "rrf")
    places = np.searchsorted(gathered.rows, fused.rows)
    shares = np.zeros((len(gathered.rows), len(lists) + 1))
    shares[places, :-1] = fused.shares
    sums = np.zeros(len(gathered.rows))
    sums[places] = fused.scores
    kept = recency_multipliers(
        view.columns.time_ms[gathered.rows],
        question.asked_at_ms,
        share=profile.recency_share,
        decay_per_hour=decay_per_hour(profile.recency_half_life_minutes),
    )
    linear = sums * kept
    shares[:, -1] = linear - sums
    return Ranked(
        np.clip(linear, 0.0, 1.0),
        by_score(len(linear)),
        lambda: (shares, linear),
        (*(source for source, _ in lists), "recency"),
        (*[weight] * len(lists), profile.recency_share),
        "identity",
    )


def _best_first(view: ChannelView, proposed: Proposed) -> Ranking:
    """The live rows of one source; those of equal scores, or without any, the newest first."""
    live = view.state[proposed.rows] == LIVE
    rows = proposed.rows[live]
    if proposed.scores is None:
        newest_first = np.unique(rows)[::-1].copy()
        return newest_first, np.arange(len(newest_first), 0, -1, dtype=np.float64)
    order = top_order(proposed.scores[live], rows)
    return rows[order], proposed.scores[live][order]


def _fused(lists: list[Ranking], weight: float, by: Fusion) -> Fused:
    rankings = [rows for rows, _ in lists]
    if by == "rrf":
        # The factor (k + 1) / (k + rank) is 1 for the best of a list.
        weights = [weight * (RRF_K + 1)] * len(lists)
        return reciprocal_rank_fusion(rankings, weights=weights, k=RRF_K)
    return linear_fusion(rankings, [scores for _, scores in lists], weights=[weight] * len(lists))
