"""Which candidates are taken, and in which order of preference. Pure.

The order is a ranking that can be cut anywhere: a smaller maximum selects a prefix of it, tool rounds aside.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import ancestors, top_order
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.diversity import diversify
from backscroll_sidecar.context.gather import Gathered
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rank import FIRST_LINKS, MEMORY, Ranked
from backscroll_sidecar.context.rounds import Rounds
from backscroll_sidecar.domain import Fate, MessageState

THRESHOLD_TOLERANCE = 1e-6
HEAD = 3
"""This many best scores come before floors and chain: the likeliest parents stay in front (measured on irc_dev)."""


@dataclass(slots=True, eq=False)
class Selection:
    """What became of every candidate.

    Attributes
    ----------
    order : list of places
        The chosen candidates (indices into the gathered rows), best first.
    fates : list of Fate
        One per candidate.
    decided_by : list of str
        The stage that decided, one per candidate.
    """

    order: list[int]
    fates: list[Fate]
    decided_by: list[str]

    def ranks(self) -> dict[int, int]:
        """Ranks by place, 1 is the best."""
        return dict(zip(self.order, count(1)))

    def drop(self, place: int, fate: Fate, stage: str) -> None:
        """Take a chosen candidate out again (budget, compressor)."""
        self.order.remove(place)
        self.fates[place], self.decided_by[place] = fate, stage


def select(
    view: ChannelView,
    question: Question,
    gathered: Gathered,
    ranked: Ranked,
    profile: Profile,
    *,
    membership_only: bool,
) -> Selection:
    """Apply visibility, threshold, floors, duplicates, diversity and the maximum, in this order."""
    rows = gathered.rows
    fates = [Fate.LIMIT] * len(rows)
    decided = ["limit"] * len(rows)

    def reject(places: NDArray[np.intp], fate: Fate, stage: str = "") -> None:
        for place in places.tolist():
            fates[place], decided[place] = fate, stage or fate.value

    recalled = view.state[rows] == MessageState.RECALLED
    partial = view.state[rows] == MessageState.PARTIAL
    hidden = partial | _hidden(view, question, rows) if membership_only else partial
    chain = _chain(view, question, rows, profile)
    kept_anyway = chain | _floor(recalled | partial, profile)
    below = _below(ranked, profile, ~(hidden | recalled))
    weak = _all_of_round(below & ~kept_anyway, gathered.rounds)
    reject(np.flatnonzero(weak), Fate.THRESHOLD)
    reject(np.flatnonzero(hidden), Fate.VISIBILITY)
    reject(np.flatnonzero(recalled), Fate.RECALLED)
    out = weak | hidden | recalled
    parted = _any_of_round(out, gathered.rounds) & ~out
    reject(np.flatnonzero(parted), Fate.VISIBILITY, "round")
    places = np.flatnonzero(~(out | parted))
    head = HEAD if profile.parameters else 0
    if ranked.order is None:
        order, lifted = _order(places, ranked.scores, kept_anyway, head)
    else:
        order, lifted = _by_model(places, ranked.order, chain)
    if profile.collapse_duplicates:
        order, copies = _without_copies(view, gathered, order)
        reject(np.array(copies, np.intp), Fate.DUPLICATE)
    order, alike = diversify(view, gathered, ranked.scores, order, profile)
    reject(np.array(alike, np.intp), Fate.DIVERSITY)
    members = gathered.rounds.members
    chosen = _whole_rounds(order, members, profile.max_context)
    for place in chosen:
        fates[place] = Fate.SELECTED
        if place in members and below[place]:
            decided[place] = "round"
            continue
        by_score = not below[place] and place not in lifted
        stage = ranked.stages[place] if ranked.stages else "score"
        decided[place] = stage if by_score else "chain" if chain[place] else "floor"
    return Selection(chosen, fates, decided)


def _below(ranked: Ranked, profile: Profile, seen: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """bool[m]: under the threshold. With a least number, neither the best of those seen are, nor what the history gave:
    `recall_limit` bounds that, and of its lines even a good one is seldom the answer.
    """
    below = ranked.scores < profile.threshold - THRESHOLD_TOLERANCE
    if profile.least_context:
        order = top_order(ranked.scores) if ranked.order is None else ranked.order
        below[order[seen[order]][: profile.least_context]] = False
        below[[place for place, stage in enumerate(ranked.stages) if stage == MEMORY]] = False
    return below


def _all_of_round(marks: NDArray[np.bool_], rounds: Rounds) -> NDArray[np.bool_]:
    """bool[m]: a member of a tool round is marked only where every member is (P-10)."""
    return ~_any_of_round(~marks, replace(rounds, dropped=frozenset()))


def _any_of_round(marks: NDArray[np.bool_], rounds: Rounds) -> NDArray[np.bool_]:
    """bool[m]: the marks, orphans, and every member of a tool round of which one is marked (P-10)."""
    if not rounds.members:
        return marks
    out = marks.copy()
    out[list(rounds.dropped)] = True
    hit = {first for place, first in rounds.members.items() if out[place]}
    out[[place for place, first in rounds.members.items() if first in hit]] = True
    return out


def _whole_rounds(order: list[int], members: Mapping[int, int], maximum: int) -> list[int]:
    """The first `maximum` places; the members of a tool round stand together and none is cut off (P-10).

    A round that does not fit any more is passed over. So a smaller maximum is a prefix but for rounds: a larger one
    may begin with a round that did not fit before.
    """
    if not members:
        return order[:maximum]
    blocks: dict[int, list[int]] = {}
    for place in order:
        blocks.setdefault(members.get(place, place), []).append(place)
    chosen: list[int] = []
    for block in blocks.values():
        if len(chosen) + len(block) <= maximum:
            chosen += sorted(block)
    return chosen


def _order(
    places: NDArray[np.intp],
    scores: NDArray[np.float64],
    kept_anyway: NDArray[np.bool_],
    head: int,
) -> tuple[list[int], set[int]]:
    """Best scores first; what floors and chain keep comes right after the first `head`, and is named."""
    by_score = places[top_order(scores[places])].tolist()
    tail = by_score[head:]
    lifted = [p for p in tail if kept_anyway[p]]
    return by_score[:head] + lifted + [p for p in tail if not kept_anyway[p]], set(lifted)


def _by_model(
    places: NDArray[np.intp],
    model_order: NDArray[np.intp],
    chain: NDArray[np.bool_],
) -> tuple[list[int], set[int]]:
    """The model's order, the chain right after the likeliest links. The floor keeps its place: where lines are new is
    in the model, and two of twenty places cost .01 of the conversation (measured on irc_dev).
    """
    left = set(places.tolist())
    order = [place for place in model_order.tolist() if place in left]
    order += sorted(left.difference(order), reverse=True)
    rest = order[FIRST_LINKS:]
    answered = [place for place in rest if chain[place]]
    order = order[:FIRST_LINKS] + answered + [place for place in rest if not chain[place]]
    return order, set(answered)


def _floor(not_live: NDArray[np.bool_], profile: Profile) -> NDArray[np.bool_]:
    """bool[m]: the newest `recent_floor` live candidates."""
    out = np.zeros(len(not_live), np.bool_)
    if profile.recent_floor:
        out[np.flatnonzero(~not_live)[-profile.recent_floor :]] = True
    return out


def _chain(
    view: ChannelView, question: Question, rows: NDArray[np.int32], profile: Profile
) -> NDArray[np.bool_]:
    """bool[m]: the message the question replies to and its ancestors."""
    parent = question.parent_row if profile.follow_inferred else question.explicit_parent_row
    if not profile.keep_chain or parent < 0:
        return np.zeros(len(rows), np.bool_)
    edges = view.columns if profile.follow_inferred else view.explicit_columns
    chain = np.append(ancestors(edges.parent, parent, profile.thread_limit), parent)
    return np.isin(rows, chain)


def _hidden(view: ChannelView, question: Question, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
    """bool[m]: said before the asker joined or after the asker left (P-04)."""
    hidden = np.zeros(len(rows), np.bool_)
    if question.asker is None:
        return hidden
    index = view.people.index.get(question.asker.id, -1)
    times = view.columns.time_ms[rows]
    joined, left = view.people.joined_at_ms.get(index), view.people.left_at_ms.get(index)
    if joined is not None:
        hidden |= times < joined
    if left is not None and (joined is None or left > joined):
        hidden |= times >= left
    return hidden


def _without_copies(
    view: ChannelView, gathered: Gathered, order: list[int]
) -> tuple[list[int], list[int]]:
    """Of equal texts by one author the best ranked stays; two tools may well answer the same."""
    rows, members = gathered.rows, gathered.rounds.members
    seen: set[tuple[int, str]] = set()
    kept: list[int] = []
    copies: list[int] = []
    for place in order:
        row = int(rows[place])
        mark = (int(view.columns.author[row]), view.texts[row].strip())
        is_copy = mark in seen and place not in members
        (copies if is_copy else kept).append(place)
        seen.add(mark)
    return kept, copies
