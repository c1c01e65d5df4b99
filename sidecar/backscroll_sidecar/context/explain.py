"""Account for every candidate: sources, shares, score, the stage that decided, fate (law 7). Pure."""

from __future__ import annotations

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.gather import Gathered
from backscroll_sidecar.context.model import CandidateExplanation, Explanation
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.rank import CHAIN, LINK, MEMORY, RECENCY_FACTORS, Ranked
from backscroll_sidecar.context.select import Selection


def explain(
    view: ChannelView,
    gathered: Gathered,
    ranked: Ranked,
    selection: Selection,
    profile: Profile,
) -> Explanation:
    """One entry a candidate, in time order."""
    ranks = selection.ranks()
    scores, linear, shares = ranked.scores.tolist(), ranked.linear.tolist(), ranked.shares.tolist()
    kinds = _kinds(ranked, profile)
    candidates = tuple(
        CandidateExplanation(
            message_id=view.message_ids[row],
            sources=gathered.sources_of(place),
            shares=tuple(shares[place]),
            linear=linear[place],
            score=scores[place],
            decided_by=selection.decided_by[place],
            fate=selection.fates[place],
            rank=ranks.get(place, 0),
            scored_by=kinds[place],
        )
        for place, row in enumerate(gathered.rows.tolist())
    )
    return Explanation(
        profile.name, ranked.factors, ranked.weights, profile.threshold, ranked.link, candidates
    )


def _kinds(ranked: Ranked, profile: Profile) -> list[str]:
    """What each candidate's score is the score of."""
    if (
        ranked.stages
    ):  # a parent known from the platform stands first among the links, with a link's score
        return [LINK if stage == CHAIN else stage for stage in ranked.stages]
    kind = "recency" if ranked.factors == RECENCY_FACTORS else "score"
    return [MEMORY if profile.by_memory else kind] * len(ranked.scores)
