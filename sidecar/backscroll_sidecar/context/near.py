"""A question about the last lines, picked without asking around.

Of the reply model's builds by far the most are asked in the middle of a talk, answer no message and ask for nothing
else. Their candidates are the rows that the model ranks anyway, so that no source need be asked, nothing united and
nothing explained: what `picking` comes to then is a few arrays. `picking` stays the specification, to which
`tests/property/test_joining.py` holds this.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import choose_near
from backscroll_scoring.link_columns import WINDOW
from backscroll_scoring.links import Ranking
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.choice import Choice
from backscroll_sidecar.context.gate import Reach
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import NO_ROW, Question
from backscroll_sidecar.context.rank import THRESHOLD_TOLERANCE
from backscroll_sidecar.domain import Rung
from backscroll_sidecar.strategies import BUILTIN, Chain, GivenPreferences, Recent, Strategy, Thread
from backscroll_sidecar.strategies.memory import Sought

OLDER = ("asker", "mention")
"""The sources of older rows: of the asker; of who is named, and of who names the asker."""
_RECENT = Recent.name
_SILENT = frozenset((Thread.name, Chain.name, GivenPreferences.name))
"""Sources that have nothing where a question answers no message and brings no preferences."""
_RANKED, _NEAR = Rung.RANKED, Reach.NEAR


class Found(NamedTuple):
    """What the reply model and the gate made of a question, and its words in the history if they were looked for."""

    replies: Ranking
    far: Reach
    sought: Sought | None

    @property
    def is_near(self) -> bool:
        """Whether the last lines are all that it is about."""
        return self.far is _NEAR


def suits(profile: Profile, strategies: Mapping[str, Strategy]) -> bool:
    """Whether a profile's candidates are what the reply model ranks, where nothing but the last lines is asked for."""
    return (
        profile.replies
        and profile.recent_limit == WINDOW
        and profile.least_context > 0
        and not profile.collapse_duplicates
        and not profile.follow_inferred
        and _RECENT in profile.sources
        and _RECENT not in profile.references
        and _SILENT.issuperset(name for name in profile.sources if name != _RECENT)
        and all(strategies.get(name) is BUILTIN[name] for name in profile.sources)
    )


def is_plainly_asked(request: BuildRequest, question: Question, view: ChannelView) -> bool:
    """Whether every live row may be shown, and the question answers none of them."""
    return (
        question.explicit_parent_row == NO_ROW
        and view.all_live
        and not view.tool_rounds
        and request.thread_id is None
        and not request.preferences
        and not request.visible_since_membership
    )


def chosen_near(view: ChannelView, question: Question, profile: Profile, found: Ranking) -> Choice:
    """The best of what the reply model ranked: good enough, or among the best or the newest. Pure."""
    rows = found.rows
    asker = view.people.index.get(question.asker.id, NO_ROW) if question.asker else NO_ROW
    sources = profile.sources
    chosen, kinds, own, others = choose_near(
        found.scores,
        found.order,
        rows,
        view.columns.author,
        profile.threshold - THRESHOLD_TOLERANCE,
        n_older=len(found.older),
        asker=asker,
        recent=sources.index(_RECENT),
        first=len(sources),
        least=profile.least_context,
        floor=profile.recent_floor,
    )
    return Choice(
        _RANKED, profile, rows, chosen[: profile.max_context], found.scores, None, kinds,
        _no_references(len(rows)), sources + OLDER[not own : 1 + others], True, True, (),
    )  # fmt: skip


@lru_cache(maxsize=256)
def _no_references(count: int) -> NDArray[np.bool_]:
    """bool[count]: all false, read-only."""
    out = np.zeros(count, np.bool_)
    out.flags.writeable = False
    return out
