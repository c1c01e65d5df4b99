"""References that say something new (P-05). Pure.

Lines of the conversation are left alone: what is said twice there is part of it. References are there to add
something, and one that repeats a better ranked line, of the conversation or not, adds nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import FeatureSets, KeptSets, mmr_order, set_similarity, shingle_sets
from backscroll_sidecar.analyze.ends import ends_of
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.candidates import Gathered
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.ranking import Ranked

COMPARED_CHARS = 256
"""So much of a text is compared, from its two ends: 98.7 % of the lines of IRC are no longer. The cost is that of the
characters, some 50 ns each."""


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
    members = gathered.rounds.members
    marks = gathered.semantic[order]
    if members:  # a tool round stays whole
        marks &= ~np.isin(order, list(members))
    if not np.count_nonzero(marks):
        return order, []
    if profile.diversity == "collapse":
        most = None if members else profile.max_context  # rounds may be passed over
        stay, go = without_repeats(view, gathered.rows, order, marks, most)
        return stay, go.tolist()
    references = np.flatnonzero(marks)
    places = order[marks]
    rows = gathered.rows[places]
    sets = cut(view, rows).of(view.seq[rows])
    # What stands behind the last place keeps its order. (Rounds may be passed over, then any may move up.)
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
    found = view.written.sets.without_repeats(*compared, maximum=maximum)
    if not found.complete:
        found = cut(view, rows[found.stay]).without_repeats(*compared, maximum=maximum)
    return found.stay, found.go


def cut(view: ChannelView, rows: NDArray[np.int32]) -> KeptSets:
    """The shingles of lines, these among them; the channel keeps them until a line changes."""

    def shingles(places: NDArray[np.intp]) -> FeatureSets:
        lines = rows[places].tolist()
        return shingle_sets([ends_of(view.texts[row], COMPARED_CHARS) for row in lines])

    return view.written.sets_with(view.seq[rows], shingles)
