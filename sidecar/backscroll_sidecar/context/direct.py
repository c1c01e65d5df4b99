"""Plain questions, picked without asking around and without keeping an account of it.

Most of the reply model's builds answer no message and ask for nothing but context. Their candidates are the rows that
the model ranks anyway and, where the gate opens, the best of the history: no source need be asked, and what `picking`
does step by step, so that each can be explained, is one kernel. `picking` stays the specification, to which
`tests/property/test_direct.py` and `test_joining.py` hold this.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import Rules, choose_far, choose_near
from backscroll_scoring.link_columns import WINDOW
from backscroll_scoring.links import Ranking
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.choice import Choice
from backscroll_sidecar.context.diversity import without_repeats
from backscroll_sidecar.context.gate import PATTERNS, Reach
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rank import THRESHOLD_TOLERANCE
from backscroll_sidecar.context.recall import RECALLED_BY, Recalled
from backscroll_sidecar.context.trigger import NO_ROW
from backscroll_sidecar.domain import Rung
from backscroll_sidecar.strategies import (
    BUILTIN,
    Chain,
    GivenPreferences,
    Pinned,
    Recent,
    Strategy,
    Thread,
)
from backscroll_sidecar.strategies.memory import MEMORY_LINK, Sought

OLDER = ("asker", "mention")
"""The sources of older rows: of the asker; of who is named, and of who names the asker."""
_RECENT = Recent.name
_SILENT = frozenset((Thread.name, Chain.name, Pinned.name, GivenPreferences.name))
"""Sources that have nothing where a question answers nothing, stands in no thread, nothing is pinned,
and no preferences are brought."""
_RANKED = Rung.RANKED


class Found(NamedTuple):
    """What the reply model and the gate made of a question.

    Attributes
    ----------
    sought, recalled : Sought, Recalled, or None
        Its words in the history and the best of the history, where it reaches so far; the latter once it is known.
    """

    replies: Ranking
    far: Reach
    sought: Sought | None
    recalled: Recalled | None = None


def suits(profile: Profile, strategies: Mapping[str, Strategy]) -> bool:
    """Whether a profile has no other candidates than those the reply model ranks, and those of the history."""
    return (
        profile.replies
        and profile.recent_limit == WINDOW
        and profile.least_context > 0
        and not profile.collapse_duplicates
        and profile.diversity != "mmr"
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
        and not view.pinned
        and question.lost_parent == NO_ROW
        and not question.thread_id
        and not question.skips_system
        and not request.preferences
    )


def chosen_near(view: ChannelView, question: Question, profile: Profile, found: Ranking) -> Choice:
    """The best of what the reply model ranked: good enough, or among the best or the newest. Pure."""
    rows, sources = found.rows, profile.sources
    chosen, kinds, own, others = choose_near(
        found.scores, found.order, rows, view.columns.author, _rules(view, question, profile, found)
    )
    return Choice(
        _RANKED, profile, rows, chosen[: profile.max_context], found.scores, None, kinds,
        _no_references(len(rows)), sources + OLDER[not own : 1 + others], True, True, (),
    )  # fmt: skip


def chosen_far(
    view: ChannelView,
    question: Question,
    profile: Profile,
    found: Ranking,
    far: Reach,
    recalled: Recalled,
) -> Choice:
    """The best of that and of the history, taking turns; of its lines none that repeats a better one. Pure."""
    memory, sources = recalled.memory, profile.sources
    united = choose_far(
        (found.rows, found.order, found.scores),
        (memory.rows, memory.scores, memory.by_words, memory.by_meaning),
        view.columns.author,
        MEMORY_LINK,
        PATTERNS[far],
        _rules(view, question, profile, found),
    )
    chosen, references = united.chosen, united.references
    if profile.diversity == "collapse" and len(memory.rows):
        marks = references[chosen]
        chosen, _ = without_repeats(view, united.rows, chosen, marks, profile.max_context)
    sources += OLDER[not united.own : 1 + united.others] + RECALLED_BY[united.recalled_by]
    return Choice(
        _RANKED, profile, united.rows, chosen[: profile.max_context], united.scores, None, united.bits,
        references, sources, True, recalled.exhaustive, recalled.degradations,
    )  # fmt: skip


def _rules(view: ChannelView, question: Question, profile: Profile, found: Ranking) -> Rules:
    """Who proposed the rows that the reply model ranked, and which are good enough."""
    asker = view.people.index.get(question.asker.id, NO_ROW) if question.asker else NO_ROW
    return Rules(
        len(found.older), asker, profile.sources.index(_RECENT), len(profile.sources),
        profile.threshold - THRESHOLD_TOLERANCE, profile.least_context, profile.recent_floor,
    )  # fmt: skip


@lru_cache(maxsize=256)
def _no_references(count: int) -> NDArray[np.bool_]:
    """bool[count]: all false, read-only."""
    out = np.zeros(count, np.bool_)
    out.flags.writeable = False
    return out
