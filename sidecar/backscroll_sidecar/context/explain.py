"""Account for every candidate: sources, shares, score, the stage that decided, fate. Pure."""

from __future__ import annotations

import numpy as np

from backscroll_sidecar.channels import ChannelView, shown_id
from backscroll_sidecar.context.candidates import Gathered
from backscroll_sidecar.context.fallback_ladder import Elsewhere
from backscroll_sidecar.context.model import Explanation
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.ranking import (
    CHAIN,
    LINK,
    MEMORY,
    RECENCY_FACTORS,
    SCORE,
    STAGES,
    Ranked,
)
from backscroll_sidecar.context.selection import Selection


def explain(
    view: ChannelView,
    gathered: Gathered,
    ranked: Ranked,
    selection: Selection,
    profile: Profile,
    elsewhere: Elsewhere | None = None,
) -> Explanation:
    """One entry a candidate, in time order; behind them those of other channels, in theirs."""
    shares, linear = ranked.contributions()
    scores = ranked.scores if ranked.all_scores is None else ranked.all_scores()
    count = len(scores)
    own = count if elsewhere is None else count - len(elsewhere.channels)
    ids = [shown_id(view.message_ids[row]) for row in gathered.rows[:own].tolist()]
    if elsewhere is not None:
        ids += map(shown_id, elsewhere.view.message_ids[:])
    ranks = np.zeros(count, np.int64)
    ranks[selection.chosen] = np.arange(1, len(selection.chosen) + 1)
    fates, decided_by = selection.account()
    return Explanation(
        profile.name,
        ranked.factors,
        ranked.weights,
        profile.threshold,
        ranked.link,
        ids,
        [gathered.sources_in(bits) for bits in gathered.source_bits.tolist()],
        np.ascontiguousarray(shares),
        linear,
        scores,
        fates,
        decided_by,
        ranks.tolist(),
        _kinds(ranked, profile),
    )


def _kinds(ranked: Ranked, profile: Profile) -> list[str]:
    """What each candidate's score is the score of."""
    by_score = "recency" if ranked.factors == RECENCY_FACTORS else SCORE
    # A parent known from the platform stands first among the links, with a link's score.
    words = {CHAIN: LINK, SCORE: MEMORY if profile.by_memory else by_score}
    return [words.get(STAGES[stage], STAGES[stage]) for stage in ranked.stages.tolist()]
