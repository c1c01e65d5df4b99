"""Which candidates are chosen, and in which order of preference. Pure.

The order is a ranking that can be cut anywhere: a smaller maximum selects a prefix of it, tool exchange aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import (
    FeatureSets,
    Rules,
    ShingleCache,
    ancestors,
    mmr_order,
    set_similarity,
    shingle_sets,
    top_order,
)
from backscroll_scoring import select as select_candidates
from backscroll_scoring.layout import (
    BY_COMPRESSOR,
    BY_FATE,
    BY_MEMORY,
    DUPLICATE,
    IN_CHAIN,
    IS_HIDDEN,
    IS_ORPHAN,
    IS_PINNED,
    IS_RECALLED,
    OVER_LIMIT,
    SELECTED,
    TOO_ALIKE,
)
from backscroll_scoring.links import FIRST_LINKS
from backscroll_sidecar.analyze.ends import ends_of
from backscroll_sidecar.channels import HIDDEN, WITHHELD, ChannelView
from backscroll_sidecar.context.candidates import Gathered
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.ranking import STAGES, THRESHOLD_TOLERANCE, Ranked
from backscroll_sidecar.context.tool_exchanges import Exchanges, whole_exchanges
from backscroll_sidecar.domain import Fate, MessageState
from backscroll_sidecar.strategies import Pinned

HEAD = 3
"""This many best scores come before floors and chain: the likeliest parents stay in front (measured on irc_dev)."""
COMPARED_CHARS = 256
"""So much of a text is compared, from its two ends: 98.7 % of the lines of IRC are no longer. The cost is that of the
characters, some 50 ns each."""

FATES = tuple(Fate)
DECIDED_BY = (*STAGES, "floor", Pinned.name, "round", "", "compress", "exploration")
"""The words for what decided, as `backscroll_scoring.layout` numbers them; the fate's own where it is empty."""
BY_EXPLORATION = DECIDED_BY.index("exploration")
_NO_PARTIES = np.empty(0, np.int32)
_FLAG_OF_STATE = np.zeros(256, np.uint8)
_FLAG_OF_STATE[[MessageState.RECALLED, MessageState.PARTIAL, HIDDEN, WITHHELD]] = (
    IS_RECALLED, IS_HIDDEN, IS_HIDDEN, IS_HIDDEN,
)  # fmt: skip


@dataclass(slots=True, eq=False)
class Selection:
    """What became of every candidate.

    Attributes
    ----------
    chosen : int64[k]
        The places of the chosen candidates (indices into the gathered rows), best first.
    fate, stage : uint8[m]
        The number of each one's fate in `FATES`, and of what decided that in `DECIDED_BY`.
    """

    chosen: NDArray[np.int64]
    fate: NDArray[np.uint8]
    stage: NDArray[np.uint8]

    def drop(self, fates: Mapping[int, Fate]) -> None:
        """Take chosen candidates out again: the compressor has no room for them. `fates`: theirs by place."""
        if fates:
            places = np.fromiter(fates, np.int64, len(fates))
            self.fate[places] = [FATES.index(fate) for fate in fates.values()]
            self.stage[places] = BY_COMPRESSOR
            self.chosen = self.chosen[self.fate[self.chosen] == SELECTED]

    def account(self) -> tuple[list[Fate], list[str]]:
        """The fate of each candidate, and the stage that decided."""
        # Who is only over the limit has the stage that would have been theirs.
        limited = (self.fate == OVER_LIMIT) & (self.stage != BY_COMPRESSOR)
        fates = [FATES[fate] for fate in self.fate.tolist()]
        stages = np.where(limited, BY_FATE, self.stage).tolist()
        return fates, [DECIDED_BY[stage] or fate for fate, stage in zip(fates, stages, strict=True)]


def select(
    view: ChannelView,
    question: Question,
    gathered: Gathered,
    ranked: Ranked,
    profile: Profile,
) -> Selection:
    """Apply visibility, threshold, floors, duplicates, diversity and the maximum.

    What is pinned comes first and is kept whatever its score.
    """
    exchanges, flags = gathered.exchanges, _flags(view, question, gathered, profile)
    chosen, fate, stage = select_candidates(
        ranked.scores,
        top_order(ranked.scores).astype(np.int64) if ranked.order is None else ranked.order,
        ranked.stages,
        flags,
        _parties(exchanges, len(gathered.rows)),
        _rules(ranked, profile),
    )
    pins = np.count_nonzero(flags[chosen] & IS_PINNED) if view.pinned else 0
    first, chosen = chosen[:pins], chosen[pins:]
    if profile.collapse_duplicates:
        chosen, copies = _without_copies(view, gathered, chosen)
        fate[copies], stage[copies] = DUPLICATE, BY_FATE
    if profile.diversity != "none":
        chosen, alike = diversify(view, gathered, ranked, chosen, profile)
        fate[alike], stage[alike] = TOO_ALIKE, BY_FATE
    if profile.is_steady:
        chosen = _talk_first(gathered, chosen, question.explicit_parent_row)
    if pins:
        chosen = np.append(first, chosen)
    if exchanges.members:
        whole = whole_exchanges(chosen.tolist(), exchanges.members, profile.max_context)
        chosen = np.array(whole, np.int64)
    chosen = chosen[: profile.max_context]
    fate[chosen] = SELECTED
    return Selection(chosen, fate, stage)


def _talk_first(
    gathered: Gathered, chosen: NDArray[np.int64], answered_row: int
) -> NDArray[np.int64]:
    """What the question replies to, then the messages of the talk, the newest first, then references in their order."""
    is_first = gathered.rows[chosen] == answered_row
    is_talk = ~is_first & ~gathered.semantic[chosen]
    talk = np.sort(chosen[is_talk])[::-1]
    return np.concatenate((chosen[is_first], talk, chosen[~is_first & ~is_talk]))


def select_nothing() -> Selection:
    """The selection of no candidates."""
    none = np.empty(0, np.uint8)
    return Selection(np.empty(0, np.int64), none, none)


def _rules(ranked: Ranked, profile: Profile) -> Rules:
    """With a model's order the floor keeps its place: where lines are new is in the model, and two of twenty places
    cost .01 of the conversation (measured on irc_dev). Of what the history gave even a good line is seldom the answer,
    and `recall_limit` bounds it.
    """
    head = HEAD if profile.parameters else 0
    has_order = ranked.order is not None
    return Rules(
        profile.threshold - THRESHOLD_TOLERANCE,
        profile.least_context,
        profile.recent_floor,
        FIRST_LINKS if has_order else head,
        BY_MEMORY if ranked.united and profile.least_context else -1,
        not has_order,
        ranked.places is not None,
    )


def _flags(
    view: ChannelView, question: Question, gathered: Gathered, profile: Profile
) -> NDArray[np.uint8]:
    """uint8[m]: what is known of the candidates; read-only where nothing is."""
    rows, chain = gathered.rows, _chain(view, question, profile)
    is_pinned = bool(view.pinned) and Pinned.name in gathered.sources
    if view.all_live and chain is None and not is_pinned and not gathered.exchanges.dropped:
        return _no_flags(len(rows))
    flags: NDArray[np.uint8] = _FLAG_OF_STATE[view.state[rows]]
    if chain is not None:
        flags[np.isin(rows, chain)] |= IN_CHAIN
    if is_pinned:
        bit = np.uint32(1 << gathered.sources.index(Pinned.name))
        flags[gathered.source_bits & bit != 0] |= IS_PINNED
    flags[list(gathered.exchanges.dropped)] |= IS_ORPHAN
    return flags


@lru_cache(maxsize=64)
def _no_flags(count: int) -> NDArray[np.uint8]:
    out = np.zeros(count, np.uint8)
    out.flags.writeable = False
    return out


def _chain(view: ChannelView, question: Question, profile: Profile) -> NDArray[np.int32] | None:
    """The row the question replies to and, with `keep_chain`, its ancestors; None without either."""
    answered = question.explicit_parent_row
    if not profile.keep_chain:
        return np.array([answered]) if profile.keep_answered and answered >= 0 else None
    parent = question.parent_row if profile.follow_inferred else answered
    if parent < 0:
        return None
    edges = view.columns if profile.follow_inferred else view.explicit_columns
    return np.append(ancestors(edges.parent, parent, profile.thread_limit), parent)


def _parties(exchanges: Exchanges, count: int) -> NDArray[np.int32]:
    """int32[m]: the first candidate of each one's tool exchange, -1 none; empty where there are none."""
    if not exchanges.members:
        return _NO_PARTIES
    out = np.full(count, -1, np.int32)
    out[list(exchanges.members)] = list(exchanges.members.values())
    return out


def _without_copies(
    view: ChannelView, gathered: Gathered, order: NDArray[np.int64]
) -> tuple[NDArray[np.int64], list[int]]:
    """Of equal texts by one author the best ranked stays; two tools may well answer the same."""
    rows, members = gathered.rows, gathered.exchanges.members
    seen: set[tuple[int, str]] = set()
    copies: list[int] = []
    for place in order.tolist():
        row = rows.item(place)
        mark = (view.columns.author.item(row), view.texts[row].strip())
        if mark in seen and place not in members:
            copies.append(place)
        seen.add(mark)
    return order[~np.isin(order, copies)] if copies else order, copies


def diversify(
    view: ChannelView,
    gathered: Gathered,
    ranked: Ranked,
    order: NDArray[np.intp],
    profile: Profile,
) -> tuple[NDArray[np.intp], list[int]]:
    """The order with references thinned out or rearranged, and the places that lost by it.

    A cut of the new order anywhere is what a smaller maximum gives.
    """
    if not np.count_nonzero(gathered.semantic):
        return order, []
    members = gathered.exchanges.members
    marks = gathered.semantic[order]
    if members:  # a tool exchange stays whole
        marks &= ~np.isin(order, list(members))
    if not np.count_nonzero(marks):
        return order, []
    if profile.diversity == "collapse":
        most = None if members else profile.max_context  # exchanges may be passed over
        stay, go = without_repeats(view, gathered.rows, order, marks, most)
        return stay, go.tolist()
    references = np.flatnonzero(marks)
    places = order[marks]
    rows = gathered.rows[places]
    sets = cut(view, rows).of(view.seq[rows])
    # What stands behind the last place keeps its order. (Exchanges may be passed over, then any may move up.)
    most = profile.max_context
    seen = None if members else int(references.searchsorted(most))
    first = mmr_order(ranked.scores_at(places), set_similarity(sets), rows=rows, limit=seen)
    mixed = order.copy()
    mixed[references] = np.concatenate([places[first], np.delete(places, first)])
    return mixed, np.setdiff1d(order[:most], mixed[:most]).tolist()


def without_repeats(
    view: ChannelView,
    rows: NDArray[np.int32],
    order: NDArray[np.intp],
    marks: NDArray[np.bool_],
    maximum: int | None,
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The order without the references that repeat a better ranked candidate, and these.

    `marks`: which of the order are references. With a maximum what stands too far behind to move up into it is not
    looked at.
    """
    compared = (view.seq, view.columns.author, rows, order, marks)
    found = view.lines.sets.without_repeats(*compared, maximum=maximum)
    if not found.complete:
        found = cut(view, rows[found.stay]).without_repeats(*compared, maximum=maximum)
    return found.stay, found.go


def cut(view: ChannelView, rows: NDArray[np.int32]) -> ShingleCache:
    """The shingles of lines, these among them; the channel keeps them until a line changes."""

    def shingles(places: NDArray[np.intp]) -> FeatureSets:
        lines = rows[places].tolist()
        return shingle_sets([ends_of(view.texts[row], COMPARED_CHARS) for row in lines])

    return view.lines.sets_with(view.seq[rows], shingles)
