"""Account for every candidate: sources, shares, score, the stage that decided, fate (law 7). Pure."""

from __future__ import annotations

from backscroll_sidecar.channels import ChannelView, shown_id
from backscroll_sidecar.context.gather import Gathered
from backscroll_sidecar.context.model import CandidateExplanation, Explanation
from backscroll_sidecar.context.picking import Elsewhere
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.rank import (
    CHAIN,
    LINK,
    MEMORY,
    RECENCY_FACTORS,
    SCORE,
    STAGES,
    Ranked,
)
from backscroll_sidecar.context.select import Selection


def explain(
    view: ChannelView,
    gathered: Gathered,
    ranked: Ranked,
    selection: Selection,
    profile: Profile,
    elsewhere: Elsewhere | None = None,
) -> Explanation:
    """One entry a candidate, in time order; behind them those of other channels, in theirs."""
    ranks = selection.ranks()
    all_shares, all_linear = ranked.contributions()
    all_scores = ranked.scores if ranked.all_scores is None else ranked.all_scores()
    scores, linear, shares = all_scores.tolist(), all_linear.tolist(), all_shares.tolist()
    kinds = _kinds(ranked, profile)
    own = len(kinds) if elsewhere is None else len(kinds) - len(elsewhere.channels)
    ids = [shown_id(view.message_ids[row]) for row in gathered.rows[:own].tolist()]
    if elsewhere is not None:
        ids += map(shown_id, elsewhere.view.message_ids[:])
    account = selection.account()
    candidates = tuple(
        CandidateExplanation(
            message_id=message_id,
            sources=gathered.sources_of(place),
            shares=tuple(shares[place]),
            linear=linear[place],
            score=scores[place],
            decided_by=account[place][1],
            fate=account[place][0],
            rank=ranks.get(place, 0),
            scored_by=kinds[place],
        )
        for place, message_id in enumerate(ids)
    )
    return Explanation(
        profile.name, ranked.factors, ranked.weights, profile.threshold, ranked.link, candidates
    )


def _kinds(ranked: Ranked, profile: Profile) -> list[str]:
    """What each candidate's score is the score of."""
    by_score = "recency" if ranked.factors == RECENCY_FACTORS else SCORE
    # A parent known from the platform stands first among the links, with a link's score.
    words = {CHAIN: LINK, SCORE: MEMORY if profile.by_memory else by_score}
    return [words.get(STAGES[stage], STAGES[stage]) for stage in ranked.stages.tolist()]
