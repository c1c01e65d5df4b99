"""Which candidates are taken, and in which order of preference. Pure.

The order is a ranking that can be cut anywhere: a smaller maximum selects a prefix of it, tool rounds aside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import count

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import ancestors, choose, top_order
from backscroll_scoring.links import FIRST_LINKS
from backscroll_scoring.selection import NO_STAGE
from backscroll_sidecar.channels import HIDDEN, ChannelView
from backscroll_sidecar.context.diversity import diversify
from backscroll_sidecar.context.gather import Gathered
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.rank import MEMORY_STAGE, THRESHOLD_TOLERANCE, Ranked
from backscroll_sidecar.context.rounds import all_of_round, any_of_round, whole_rounds
from backscroll_sidecar.domain import Fate, MessageState
from backscroll_sidecar.strategies import Pinned

HEAD = 3
"""This many best scores come before floors and chain: the likeliest parents stay in front (measured on irc_dev)."""

_THRESHOLD, _VISIBILITY, _RECALLED = Fate.THRESHOLD, Fate.VISIBILITY, Fate.RECALLED
_DUPLICATE, _DIVERSITY = Fate.DUPLICATE, Fate.DIVERSITY

Marks = NDArray[np.bool_]
Places = NDArray[np.intp]
Rejected = tuple[Marks | list[int] | Callable[[], Marks | None], Fate, str]


@dataclass(slots=True, eq=False)
class Selection:
    """What became of every candidate.

    Attributes
    ----------
    chosen : intp[k]
        The places of the chosen candidates (indices into the gathered rows), best first.
    rejected : list of (places, fate, stage)
        Who lost, in the order in which it was decided: of several entries the last one holds. Marks of all candidates
        may be a function: few builds ask for them.
    stage_of : from the place of a chosen candidate to the stage that decided for it
    """

    chosen: Places
    rejected: list[Rejected]
    stage_of: Callable[[int], str]

    def ranks(self) -> dict[int, int]:
        """Ranks by place, 1 is the best."""
        return dict(zip(self.chosen.tolist(), count(1)))

    def drop(self, place: int, fate: Fate, stage: str) -> None:
        """Take a chosen candidate out again (budget, compressor)."""
        self.chosen = self.chosen[self.chosen != place]
        self.rejected.append(([place], fate, stage))

    def account(self, count: int) -> list[tuple[Fate, str]]:
        """The fate of each of `count` candidates, and the stage that decided."""
        out = [(Fate.LIMIT, "limit")] * count
        for lost, fate, stage in self.rejected:
            places = lost() if callable(lost) else lost
            if places is None:
                continue
            for place in places if isinstance(places, list) else np.flatnonzero(places).tolist():
                out[place] = (fate, stage)
        for place in self.chosen.tolist():
            out[place] = (Fate.SELECTED, self.stage_of(place))
        return out


def select(
    view: ChannelView,
    question: Question,
    gathered: Gathered,
    ranked: Ranked,
    profile: Profile,
) -> Selection:
    """Apply visibility, threshold, floors, duplicates, diversity and the maximum, in this order.

    What is pinned comes first and is kept whatever its score.
    """
    pinned = _pinned(view, gathered)
    if pinned is None and ranked.places is not None:
        return _select_reaching(view, gathered, ranked, profile)
    if pinned is None and _is_plain(view, question, gathered, ranked, profile):
        return _select_ordered(view, gathered, ranked, profile)
    return _select_any(view, question, gathered, ranked, profile, pinned)


def _pinned(view: ChannelView, gathered: Gathered) -> Marks | None:
    """bool[m]: proposed as pinned; None where nothing is."""
    if not view.pinned or Pinned.name not in gathered.sources:
        return None
    bit = np.uint32(1 << gathered.sources.index(Pinned.name))
    marks: Marks = gathered.source_bits & bit != 0
    return marks if marks.any() else None


def _select_any(
    view: ChannelView,
    question: Question,
    gathered: Gathered,
    ranked: Ranked,
    profile: Profile,
    pinned: Marks | None,
) -> Selection:
    rows, rounds = gathered.rows, gathered.rounds
    recalled, hidden = _not_live(view, rows)
    chain = _chain(view, question, rows, profile)
    unseen = _either(recalled, hidden)
    floor = _floor(unseen, profile)
    below = _below(ranked, profile, unseen)
    weak = all_of_round(_but(below, floor, chain, pinned), rounds)
    out = weak
    rejected: list[Rejected] = [(weak, _THRESHOLD, _THRESHOLD)]
    if unseen is not None:
        out = weak | unseen
        for marks, fate in ((hidden, _VISIBILITY), (recalled, _RECALLED)):
            if marks is not None:
                rejected.append((marks, fate, fate))
    if rounds.members:
        parted = any_of_round(out, rounds) & ~out
        rejected.append((parted, _VISIBILITY, "round"))
        out = out | parted
    if ranked.order is None:
        head = HEAD if profile.parameters else 0
        kept_anyway = _marked(len(rows), floor, chain)
        order, lifted = _order(np.flatnonzero(~out), ranked.scores, kept_anyway, head)
    else:
        order, lifted = _by_model(out, ranked.order, chain)
    first, order = _apart(order, pinned)
    order = np.append(first, _thinned(view, gathered, ranked, order, profile, rejected))
    chosen = order[: profile.max_context]
    members = rounds.members
    if members:
        whole = whole_rounds(order.tolist(), members, profile.max_context)
        chosen = np.array(whole, np.intp)

    def stage_of(place: int) -> str:
        if pinned is not None and pinned[place]:
            return Pinned.name
        if place in members and below[place]:
            return "round"
        if not below[place] and place not in lifted:
            return ranked.stage_of(place)
        return "floor" if chain is None or not chain[place] else "chain"

    return Selection(chosen, rejected, stage_of)


def _select_reaching(
    view: ChannelView, gathered: Gathered, ranked: Ranked, profile: Profile
) -> Selection:
    """Nothing keeps a candidate that does not reach the threshold: the others alone are looked at.

    What became of those left out is worked out when it is asked for, by the same rules.
    """
    assert ranked.places is not None
    places, scores = ranked.places, ranked.scores
    unseen = partial(_not_live, view)
    rejected: list[Rejected] = [
        (partial(_all_but, len(gathered.rows), places), _THRESHOLD, _THRESHOLD),
        (lambda: unseen(gathered.rows)[1], _VISIBILITY, _VISIBILITY),
        (lambda: unseen(gathered.rows)[0], _RECALLED, _RECALLED),
    ]
    out = None if view.all_live else _either(*unseen(gathered.rows[places]))
    seen, scores = (places, scores) if out is None else (places[~out], scores[~out])
    best_first = scores.argsort(kind="stable")[::-1]  # of equal scores the later first
    order: Places = seen[best_first].astype(np.intp)
    order = _thinned(view, gathered, ranked, order, profile, rejected)
    return Selection(order[: profile.max_context], rejected, ranked.stage_of)


def _is_plain(
    view: ChannelView, question: Question, gathered: Gathered, ranked: Ranked, profile: Profile
) -> bool:
    """Whether an order is all there is to look at: everybody is seen, and nothing but the floor keeps somebody."""
    parent = question.parent_row if profile.follow_inferred else question.explicit_parent_row
    return (
        ranked.order is not None
        and view.all_live
        and parent < 0
        and profile.least_context > 0
        and not gathered.rounds.members
    )


def _select_ordered(
    view: ChannelView, gathered: Gathered, ranked: Ranked, profile: Profile
) -> Selection:
    """What `select` comes to where `_is_plain`, in one pass: most chats and explained builds of a model's order."""
    assert ranked.order is not None
    assert ranked.stages is not None
    order, below, weak = choose(
        ranked.scores,
        ranked.order,
        ranked.stages,
        profile.threshold - THRESHOLD_TOLERANCE,
        least=profile.least_context,
        floor=profile.recent_floor,
        kept_stage=MEMORY_STAGE if ranked.united else NO_STAGE,
    )
    rejected: list[Rejected] = [(weak, _THRESHOLD, _THRESHOLD)]
    order = _thinned(view, gathered, ranked, order, profile, rejected)

    def stage_of(place: int) -> str:
        return "floor" if below[place] else ranked.stage_of(place)

    return Selection(order[: profile.max_context], rejected, stage_of)


def _all_but(count: int, places: NDArray[np.int32]) -> Marks:
    """bool[count]: all but these."""
    out = np.ones(count, np.bool_)
    out[places] = False
    return out


def _thinned(
    view: ChannelView,
    gathered: Gathered,
    ranked: Ranked,
    order: Places,
    profile: Profile,
    rejected: list[Rejected],
) -> Places:
    """The order without copies and, as far as the profile wants it, without what says nothing new."""
    if profile.collapse_duplicates:
        order, copies = _without_copies(view, gathered, order)
        rejected.append((copies, _DUPLICATE, _DUPLICATE))
    if profile.diversity != "none":
        order, alike = diversify(view, gathered, ranked, order, profile)
        rejected.append((alike, _DIVERSITY, _DIVERSITY))
    return order


def select_nothing() -> Selection:
    """The selection of no candidates."""
    return Selection(np.empty(0, np.intp), [], lambda _: "")


def _not_live(view: ChannelView, rows: NDArray[np.int32]) -> tuple[Marks | None, Marks | None]:
    """bool[m]: recalled; partial or hidden. None where the channel has none of these."""
    if view.all_live:
        return None, None
    state = view.state[rows]
    return state == MessageState.RECALLED, (state == MessageState.PARTIAL) | (state == HIDDEN)


def _either(one: Marks | None, other: Marks | None) -> Marks | None:
    """bool[m]: marked by one of them; None: nobody is."""
    if one is None or other is None:
        return other if one is None else one
    return one | other


def _below(ranked: Ranked, profile: Profile, unseen: Marks | None) -> Marks:
    """bool[m]: under the threshold. With a least number, neither the best of those seen are, nor what the history gave:
    `recall_limit` bounds that, and of its lines even a good one is seldom the answer.
    """
    below = ranked.scores < profile.threshold - THRESHOLD_TOLERANCE
    if profile.least_context:
        order = top_order(ranked.scores) if ranked.order is None else ranked.order
        seen = order if unseen is None else order[~unseen[order]]
        below[seen[: profile.least_context]] = False
        if ranked.united:
            below &= ~ranked.from_memory
    return below


def _order(
    places: Places,
    scores: NDArray[np.float64],
    kept_anyway: Marks | None,
    head: int,
) -> tuple[Places, set[int]]:
    """Best scores first; what floors and chain keep comes right after the first `head`, and is named."""
    by_score = places[top_order(scores[places])]
    if kept_anyway is None:
        return by_score, set()
    return _lifted(by_score, kept_anyway, head)


def _by_model(out: Marks, model_order: Places, chain: Marks | None) -> tuple[Places, set[int]]:
    """The model's order, the chain right after the likeliest links. The floor keeps its place: where lines are new is
    in the model, and two of twenty places cost .01 of the conversation (measured on irc_dev).
    """
    taken = ~out
    order = model_order[taken[model_order]]
    if len(model_order) < len(out):
        taken[model_order] = False
        order = np.append(order, np.flatnonzero(taken)[::-1])
    return (order, set()) if chain is None else _lifted(order, chain, FIRST_LINKS)


def _lifted(order: Places, marks: Marks, head: int) -> tuple[Places, set[int]]:
    """The order with the marked ones right behind the first `head`, and which of them moved there."""
    tail = order[head:]
    moving = marks[tail]
    lifted = tail[moving]
    return np.concatenate((order[:head], lifted, tail[~moving])), set(lifted.tolist())


def _floor(not_live: Marks | None, profile: Profile) -> slice | NDArray[np.intp] | None:
    """Where the newest `recent_floor` live candidates are; None without a floor."""
    if not profile.recent_floor:
        return None
    newest = slice(-profile.recent_floor, None)
    return newest if not_live is None else np.flatnonzero(~not_live)[newest]


def _apart(order: Places, marks: Marks | None) -> tuple[Places, Places]:
    """The marked ones of an order, and the others."""
    if marks is None:
        return order[:0], order
    moving = marks[order]
    return order[moving], order[~moving]


def _but(marks: Marks, *all_kept: slice | NDArray[np.intp] | Marks | None) -> Marks:
    """bool[m]: the marks but for what floor, chain and pins keep."""
    if all(kept is None for kept in all_kept):
        return marks
    out = marks.copy()
    for kept in all_kept:
        if kept is not None:
            out[kept] = False
    return out


def _marked(
    count: int, floor: slice | NDArray[np.intp] | None, chain: Marks | None
) -> Marks | None:
    """bool[m]: kept by floor or chain; None without either."""
    if floor is None:
        return chain
    out = np.zeros(count, np.bool_) if chain is None else chain.copy()
    out[floor] = True
    return out


def _chain(
    view: ChannelView, question: Question, rows: NDArray[np.int32], profile: Profile
) -> Marks | None:
    """bool[m]: the message the question replies to and, with `keep_chain`, its ancestors; None without either."""
    answered = question.explicit_parent_row
    if not profile.keep_chain:
        return rows == answered if profile.keep_answered and answered >= 0 else None
    parent = question.parent_row if profile.follow_inferred else answered
    if parent < 0:
        return None
    edges = view.columns if profile.follow_inferred else view.explicit_columns
    chain = np.append(ancestors(edges.parent, parent, profile.thread_limit), parent)
    return np.isin(rows, chain)


def _without_copies(
    view: ChannelView, gathered: Gathered, order: Places
) -> tuple[Places, list[int]]:
    """Of equal texts by one author the best ranked stays; two tools may well answer the same."""
    rows, members = gathered.rows, gathered.rounds.members
    seen: set[tuple[int, str]] = set()
    copies: list[int] = []
    for place in order.tolist():
        row = rows.item(place)
        mark = (view.columns.author.item(row), view.texts[row].strip())
        if mark in seen and place not in members:
            copies.append(place)
        seen.add(mark)
    return order[~np.isin(order, copies)] if copies else order, copies
