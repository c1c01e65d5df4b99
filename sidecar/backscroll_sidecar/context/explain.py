"""Account for every candidate: sources, shares, score, the stage that decided, fate (law 7). Pure."""

from __future__ import annotations

from collections.abc import Mapping

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.gather import Gathered
from backscroll_sidecar.context.model import CandidateExplanation, Explanation
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.rank import Ranked
from backscroll_sidecar.context.select import Selection


def explain(
    view: ChannelView,
    gathered: Gathered,
    ranked: Ranked,
    selection: Selection,
    profile: Profile,
    ranks: Mapping[int, int],
) -> Explanation:
    """One entry a candidate, in time order. `ranks` holds the final ranks by place."""
    scores, linear, shares = ranked.scores.tolist(), ranked.linear.tolist(), ranked.shares.tolist()
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
        )
        for place, row in enumerate(gathered.rows.tolist())
    )
    return Explanation(
        profile.name, ranked.factors, ranked.weights, profile.threshold, ranked.link, candidates
    )
