"""Candidates to scores. The kernels do the work; without a scorer the newest is the best.

The reply model has scores of two kinds: for the likeliest links, the probability that the question answers the
message; for the rest, the probability that it belongs to the same conversation. A candidate's shares and link are
those of the model that gave it its place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

import msgspec
import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import (
    CLASSIC_FACTORS,
    ChannelColumns,
    Fused,
    QueryFeatures,
    ScoreParameters,
    Turns,
    decay_per_hour,
    linear_fusion,
    recency_multipliers,
    reciprocal_rank_fusion,
    score_only,
    score_reaching,
    score_rows,
    take_turns,
    top_order,
)
from backscroll_scoring.layout import BY_CHAIN, BY_LINK, BY_SCORE
from backscroll_scoring.links import FIRST_LINKS, NO_ROWS, SHARES, Ranking, reply_order
from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.context.candidates import Gathered, Proposed
from backscroll_sidecar.context.history_search import rank_rows_by_memory
from backscroll_sidecar.context.profiles import Fusion, Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.strategies import Pinned
from backscroll_sidecar.strategies.history_router import PATTERNS, Reach
from backscroll_sidecar.strategies.memory import MEMORY_LINK, Memory, link

RECENCY_FACTORS = ("recency",)
LINK, CONVERSATION, CHAIN, MEMORY, SCORE = "link", "conversation", "chain", "memory", "score"
MEANING = "meaning"
"""What lines of other channels are scored by."""
STAGES = (CONVERSATION, LINK, CHAIN, MEMORY, SCORE, MEANING)
"""What may give a candidate its score, as `backscroll_scoring.layout` numbers them."""
ONES = (1.0,) * len(SHARES)
THRESHOLD_TOLERANCE = 1e-6
RRF_K = 60.0
"""The larger, the less the first places of a list stand out; the paper's value (`backscroll_scoring.fusion`)."""
_NO_SCORES = np.empty(0)

Contributions = tuple[NDArray[np.float64], NDArray[np.float64]]
"""float64[m, f]: weight times factor, in the order of the factors; float64[m]: their sums."""
SourceRanking = tuple[NDArray[np.int32], NDArray[np.float64]]
"""Rows best first, and their scores."""


class Ranked(msgspec.Struct, frozen=True, eq=False):
    """Scores of the candidates, parallel to their rows.

    Attributes
    ----------
    scores : float64[m]
        The link's value, 0 to 1: what the threshold is compared with.
    contributions : what the scores are made of
        Worked out when it is asked for: a build that explains nothing does not.
    stages : uint8[m]
        What gave each candidate its score: its place in `STAGES`.
    order : int64[k] or None
        The candidates best first where that is not simply by score; those left out come last.
    places : int32[k] or None
        The candidates that reach the threshold, ascending, where nothing keeps any other: `scores` has only theirs, in
        their order. None: it has all m.
    all_scores : float64[m], worked out when it is asked for; None where `scores` has all
    united : whether the history gave some of them their place
    features : float64[m, f], worked out when it is asked for
        What is weighed where the score is a sum of weighted factors that may be given other weights; else None.
    """

    scores: NDArray[np.float64]
    stages: NDArray[np.uint8]
    contributions: Callable[[], Contributions]
    factors: tuple[str, ...]
    weights: tuple[float, ...]
    link: str
    order: NDArray[np.int64] | None = None
    places: NDArray[np.int32] | None = None
    all_scores: Callable[[], NDArray[np.float64]] | None = None
    united: bool = False
    features: Callable[[], NDArray[np.float64]] | None = None

    def scores_at(self, places: NDArray[np.intp]) -> NDArray[np.float64]:
        """float64[k]: the scores of these candidates; where only some have one, of those."""
        return self.scores[places if self.places is None else self.places.searchsorted(places)]


def rank(view: ChannelView, question: Question, gathered: Gathered, profile: Profile) -> Ranked:
    """Score the candidates by the profile's fusion or scorer, or by recency if it has none."""
    rows = gathered.rows
    if profile.fusion:
        return _rank_fused(view, question, gathered, profile.fusion, profile)
    if profile.by_memory:
        memory = rank_rows_by_memory(view, question, rows)
        return Ranked(
            link(memory.scores),
            by_score(len(rows)),
            lambda: (memory.shares, memory.shares.sum(axis=1)),
            memory.factors,
            memory.weights,
            "logistic",
        )
    if profile.parameters is None:
        return rank_by_recency(rows)
    columns = view.columns if profile.follow_inferred else view.explicit_columns
    if question.lost_parent >= 0:
        columns = view.with_lost_parents(columns)
    features = question.features(follow_inferred=profile.follow_inferred)
    parameters = profile.parameters
    contributions = partial(_contributions, columns, features, rows, parameters)
    all_scores = partial(score_only, columns, features, rows, parameters)
    how = contributions, CLASSIC_FACTORS, parameters.weights, parameters.link
    stages = by_score(len(rows))
    given = partial(_features, columns, features, rows, parameters) if profile.explores else None
    least = _least_of_use(view, question, rows, profile)
    if least <= 0:
        return Ranked(all_scores(), stages, *how, features=given)
    places, scores = score_reaching(
        columns, features, rows, parameters, at_least=least, in_order=True
    )
    best = places[scores.argsort(kind="stable")[::-1]]  # of equal scores the later first
    return Ranked(
        scores, stages, *how, best.astype(np.int64), places=places, all_scores=all_scores, features=given
    )  # fmt: skip


@lru_cache(maxsize=64)
def by_score(count: int) -> NDArray[np.uint8]:
    """uint8[count], read-only: nothing but their scores gave candidates their places."""
    out = np.full(count, BY_SCORE, np.uint8)
    out.flags.writeable = False
    return out


def _contributions(
    columns: ChannelColumns,
    features: QueryFeatures,
    rows: NDArray[np.int32],
    parameters: ScoreParameters,
) -> Contributions:
    """What the scores of the rows are made of."""
    scored = score_rows(columns, features, rows, parameters)
    return scored.shares, scored.linear


def _features(
    columns: ChannelColumns,
    features: QueryFeatures,
    rows: NDArray[np.int32],
    parameters: ScoreParameters,
) -> NDArray[np.float64]:
    """What the weights of the profile are multiplied with."""
    return score_rows(columns, features, rows, parameters).factors


def _least_of_use(
    view: ChannelView, question: Question, rows: NDArray[np.int32], profile: Profile
) -> float:
    """The score below which a candidate is out; 0 where one may stay whatever its score."""
    if profile.least_context or profile.recent_floor or profile.keep_chain:
        return 0.0
    if profile.keep_answered and question.explicit_parent_row >= 0:
        return 0.0
    if view.pinned and Pinned.name in profile.sources:
        return 0.0
    if view.tool_rows(rows):
        return 0.0
    return profile.threshold - THRESHOLD_TOLERANCE


def rank_by_recency(rows: NDArray[np.int32]) -> Ranked:
    """The newest candidate gets 1, each older one a step of 1/m less."""
    m = len(rows)
    scores = np.arange(1, m + 1, dtype=np.float64) / max(1, m)
    shares = scores.reshape(m, 1)
    return Ranked(
        scores, by_score(m), lambda: (shares, scores), RECENCY_FACTORS, (1.0,), "identity"
    )


UNRANKED = rank_by_recency(NO_ROWS)
"""No candidates' scores."""


def rank_by_replies(
    rows: NDArray[np.int32],
    found: Ranking,
    reach: Reach = Reach.NEAR,
    memory: Memory | None = None,
) -> Ranked:
    """The reply model's ranking and, where there is one, that of the whole history, in one order.

    The model has the likeliest links first, a parent known from the platform before all, then the rest of the
    conversation. Candidates that neither looked at (recalled, partial, far too many) score 0. Each has the score and
    shares of the ranking that gave it its place.
    """
    far = NO_ROWS, _NO_SCORES
    if memory is not None:
        far = rows.searchsorted(memory.rows).astype(np.int32), memory.scores
    best, near = found.order, (found.rows, found.order, found.scores, found.stages)
    both = take_turns(rows, near, far, PATTERNS[reach], MEMORY_LINK)
    if both is None:
        best, near = _among(rows, found)
        both = take_turns(rows, near, far, PATTERNS[reach], MEMORY_LINK)
        assert both is not None
    contributions = partial(_reply_contributions, rows, found, best)
    factors, weights = SHARES, ONES
    if memory is not None:
        contributions = partial(_contributions_of_both, contributions, memory, both)
        factors, weights = factors + memory.factors, weights + memory.weights
    return Ranked(
        both.scores,
        both.stages,
        contributions,
        factors,
        weights,
        "softmax, logistic",
        both.order,
        united=memory is not None,
    )


def _reply_contributions(
    rows: NDArray[np.int32], found: Ranking, best: NDArray[np.int64]
) -> Contributions:
    """What the model's scores of the candidates are made of; `best` are those it looked at, by their places there."""
    order = rows.searchsorted(found.rows[best])
    head, first = best[:FIRST_LINKS], order[:FIRST_LINKS]
    shares, linear = np.zeros((len(rows), len(SHARES))), np.zeros(len(rows))
    shares[order], shares[first] = found.tail_shares[best], found.link_shares[head]
    linear[order], linear[first] = found.tail_linear[best], found.link_linear[head]
    return shares, linear


def _contributions_of_both(
    near: Callable[[], Contributions], memory: Memory, both: Turns
) -> Contributions:
    """The same where some candidates have their places from the history."""
    near_shares, linear = near()
    by_memory = both.by_far >= 0
    places, far = both.order[by_memory], both.by_far[by_memory]
    m, f = near_shares.shape
    shares = np.hstack((near_shares, np.zeros((m, memory.shares.shape[1]))))
    shares[places, :f], shares[places, f:] = 0.0, memory.shares[far]
    linear[places] = memory.scores[far]
    return shares, linear


def _among(
    rows: NDArray[np.int32], found: Ranking
) -> tuple[
    NDArray[np.int64],
    tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.float64], NDArray[np.uint8]],
]:
    """The ranking of those that are candidates: their places in the model's, best first; and itself."""
    (there,) = np.isin(found.rows, rows).nonzero()
    parent = int((there == found.parent).argmax()) if found.parent in there else -1
    order = reply_order(found.link_linear[there], found.tail_linear[there], parent, FIRST_LINKS)
    first = order[:FIRST_LINKS]
    scores, stages = found.together[there], np.zeros(len(there), np.uint8)
    scores[first], stages[first] = found.link[there[first]], BY_LINK
    if parent >= 0:
        stages[parent] = BY_CHAIN
    return there[order], (found.rows[there], order, scores, stages)


def _rank_fused(
    view: ChannelView, question: Question, gathered: Gathered, by: Fusion, profile: Profile
) -> Ranked:
    """Score the candidates by what the sources themselves hold best.

    Each source that proposed something live, pins aside, has the same weight, 1 / n, and a factor from 0 to 1; their
    sum is 1 for what is the best of every list. Age takes at most `recency_share` of that sum away: a factor of its
    own, not above 0, so that the shares still sum to the linear value.
    """
    found = [(p.source, _best_first(view, p)) for p in gathered.proposed if p.source != Pinned.name]
    lists = [(source, ranking) for source, ranking in found if len(ranking[0])]
    weight = 1.0 / max(1, len(lists))
    fused = _fused([ranking for _, ranking in lists], weight, by)
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


def _best_first(view: ChannelView, proposed: Proposed) -> SourceRanking:
    """The live rows of one source; those of equal scores, or without any, the newest first."""
    live = view.state[proposed.rows] == LIVE
    rows = proposed.rows[live]
    if proposed.scores is None:
        newest_first = np.unique(rows)[::-1].copy()
        return newest_first, np.arange(len(newest_first), 0, -1, dtype=np.float64)
    order = top_order(proposed.scores[live], rows)
    return rows[order], proposed.scores[live][order]


def _fused(lists: list[SourceRanking], weight: float, by: Fusion) -> Fused:
    rankings = [rows for rows, _ in lists]
    if by == "rrf":
        # The factor (k + 1) / (k + rank) is 1 for the best of a list.
        weights = [weight * (RRF_K + 1)] * len(lists)
        return reciprocal_rank_fusion(rankings, weights=weights, k=RRF_K)
    return linear_fusion(rankings, [scores for _, scores in lists], weights=[weight] * len(lists))
