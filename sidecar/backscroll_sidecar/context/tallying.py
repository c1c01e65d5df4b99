"""What a context showed, added to the numbers that metrics are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import tally as tally_shown
from backscroll_scoring.layout import PLACE
from backscroll_scoring.links import NO_ROWS
from backscroll_sidecar.channels import LIVE, ChannelView
from backscroll_sidecar.context.budget import Fitted
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.ranking import RECENCY_FACTORS
from backscroll_sidecar.context.visibility import VisibilityRule
from backscroll_sidecar.strategies.builtin import Recent, Window
from backscroll_sidecar.telemetry.build_numbers import BuildTally

WINDOWS = {Recent.name, Window.name}
"""The sources that look at the newest messages."""
(RECENCY,) = RECENCY_FACTORS
_NO_SCORES = np.empty(0)


def tally_context(tally: BuildTally, view: ChannelView, picked: Picked, fitted: Fitted) -> None:
    """Add one context. The window is what its profile's source of the newest messages proposed."""
    lines, tokens, ranked = fitted.parts.lines, fitted.tokens, picked.ranked
    is_scored = ranked.factors[0] != RECENCY
    window, has_window = _window(view, picked)
    beside = tokens.recent + tokens.semantic + tokens.summary
    shown = lines.columns[PLACE]
    score, text_tokens, window_tokens = tally_shown(
        shown,
        picked.gathered.rows,
        ranked.scores if is_scored else _NO_SCORES,
        ranked.places,
        view.token_count,
        window,
        tokens.budget - tokens.total + beside,
        tally.scores,
    )
    count = len(shown)
    tally.messages += count
    if picked.elsewhere is not None:
        behind = picked.gathered.rows[shown] - view.count
        rules = picked.elsewhere.rules[behind[behind >= 0]]
        tally.shared += int(np.count_nonzero(rules == VisibilityRule.SHARING))
    if is_scored:
        tally.scored += count
        tally.score += score
    if has_window:
        tally.shown_tokens += text_tokens + tokens.summary
        tally.window_tokens += window_tokens


def _window(view: ChannelView, picked: Picked) -> tuple[NDArray[np.int32], bool]:
    """The newest messages that may be shown, ascending; and whether they were looked at."""
    for one in picked.gathered.proposed:
        if one.source in WINDOWS:
            rows = one.rows
            if not view.all_live:
                rows = rows[view.state[rows] == LIVE]
            return rows, True
    return NO_ROWS, False
