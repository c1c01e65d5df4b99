"""Candidates to scores. The kernels do the work; without a scorer the newest is the best.

The reply model has scores of two kinds: for the likeliest links, the probability that the question answers the
message; for the rest, the probability that it belongs to the same conversation. A candidate's shares and link are
those of the model that gave it its place.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import CLASSIC_FACTORS, score_rows, top_order
from backscroll_scoring.links import SHARES
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.gate import Reach, united
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.recall import rank_rows_by_memory
from backscroll_sidecar.context.replies import Replies
from backscroll_sidecar.strategies.memory import Memory, link

RECENCY_FACTORS = ("recency",)
FIRST_LINKS = 7
"""So many of the likeliest links come before the rest of their conversation (measured: 5 to 8 are alike)."""
LINK, CONVERSATION, CHAIN, MEMORY = "link", "conversation", "chain", "memory"


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
    order : intp[k] or None
        The candidates best first where that is not simply by score; those left out come last.
    stages : tuple of m str
        What gave each candidate its place, where there is an order.
    """

    scores: NDArray[np.float64]
    linear: NDArray[np.float64]
    shares: NDArray[np.float64]
    factors: tuple[str, ...]
    weights: tuple[float, ...]
    link: str
    order: NDArray[np.intp] | None = None
    stages: tuple[str, ...] = ()


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


def rank_by_replies(rows: NDArray[np.int32], replies: Replies, parent_row: int) -> Ranked:
    """The likeliest links first, a parent known from the platform before all, then the rest of the conversation.

    Candidates the model did not look at (recalled, partial, far too many) score 0.
    """
    found = replies.ranking
    known = np.isin(replies.rows, rows)
    places = np.searchsorted(rows, replies.rows[known])
    link, together = found.link[known], found.together[known]
    parent = _place(rows, parent_row)
    by_link = np.lexsort((-places, -found.link_linear[known], places != parent))
    head, rest = by_link[:FIRST_LINKS], by_link[FIRST_LINKS:]
    rest = rest[np.lexsort((-places[rest], -found.tail_linear[known][rest]))]
    scores, linear = np.zeros(len(rows)), np.zeros(len(rows))
    shares = np.zeros((len(rows), len(SHARES)))
    stages = [CONVERSATION] * len(rows)
    scores[places], linear[places] = together, found.tail_linear[known]
    shares[places] = found.tail_shares[known]
    first = places[head]
    scores[first], linear[first] = link[head], found.link_linear[known][head]
    shares[first] = found.link_shares[known][head]
    for place in first.tolist():
        stages[place] = CHAIN if place == parent else LINK
    order = places[np.concatenate([head, rest])]
    return Ranked(
        scores,
        linear,
        shares,
        SHARES,
        (1.0,) * len(SHARES),
        "softmax, logistic",
        order,
        tuple(stages),
    )


def rank_united(rows: NDArray[np.int32], near: Ranked, memory: Memory, reach: Reach) -> Ranked:
    """The conversation's ranking and that of the whole history in one order.

    Each candidate has the scores and shares of the list that gave it its place.
    """
    order = near.order if near.order is not None else top_order(near.scores, rows)
    both = united(rows[order].astype(np.int32), memory.rows, reach)
    places = np.searchsorted(rows, both.rows)
    at_places = places[~both.by_first]
    at_memory = {row: at for at, row in enumerate(memory.rows.tolist())}
    far = [at_memory[row] for row in both.rows[~both.by_first].tolist()]
    f, m = near.shares.shape[1], memory.shares.shape[1]
    shares = np.zeros((len(rows), f + m))
    shares[:, :f] = near.shares
    shares[at_places, :f], shares[at_places, f:] = 0.0, memory.shares[far]
    scores, linear = near.scores.copy(), near.linear.copy()
    scores[at_places], linear[at_places] = link(memory.scores[far]), memory.scores[far]
    stages = list(near.stages)
    for place in at_places.tolist():
        stages[place] = MEMORY
    return Ranked(
        scores,
        linear,
        shares,
        near.factors + memory.factors,
        near.weights + memory.weights,
        near.link,
        places,
        tuple(stages),
    )


def _place(rows: NDArray[np.int32], row: int) -> int:
    at = int(np.searchsorted(rows, row))
    return at if at < len(rows) and rows[at] == row else -1
