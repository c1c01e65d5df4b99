"""References that say something new (P-05). Pure.

Lines of the conversation are left alone: what is said twice there is part of it. References are there to add
something, and one that repeats a better ranked line, of the conversation or not, adds nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import FeatureSets, mark_repeats, mmr_order, set_similarity, shingle_sets
from backscroll_sidecar.analyze.ends import ends_of
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.gather import Gathered
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.rank import Ranked

COMPARED_CHARS = 256
"""So much of a text is compared, from its two ends: 98.7 % of the lines of IRC are no longer. The cost is that of the
characters, some 50 ns each."""
SHINGLES = "shingles"
"""The style under which a channel keeps what a line was cut into: an edit drops it with the line as it was written."""
SET_BYTES = 200
"""Of one line beside its shingles."""


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
        return without_repeats(view, gathered.rows, order, marks, most)
    references = np.flatnonzero(marks)
    places = order[marks]
    rows = gathered.rows[places]
    sets = FeatureSets.unpacked(shingles(view, rows))
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
) -> tuple[NDArray[np.intp], list[int]]:
    """The order without the references that repeat a better ranked candidate, and their places.

    `marks`: which of the order are references, at least one. With a maximum what stands too far behind to move up into
    it is not looked at.
    """
    (at,) = marks.nonzero()
    most = at.item(-1) + 1  # what stands behind the last reference needs no look
    if maximum is not None:
        # No more can move up than there are references.
        most = min(most, maximum + len(at))
    looked_at = rows[order[:most]]
    alike = mark_repeats(shingles(view, looked_at), view.columns.author[looked_at])
    alike &= marks[:most]
    stays = np.ones(len(order), np.bool_)
    stays[:most] = ~alike
    return order[stays], order[:most][alike].tolist()


def shingles(view: ChannelView, rows: NDArray[np.int32]) -> list[bytes]:
    """What the lines are cut into, packed, each once as long as the channel keeps it."""
    seqs = view.seq[rows].tolist()
    found: list[Any] = list(map(view.written.of(SHINGLES).get, seqs))
    if not all(found):
        missing = [i for i, one in enumerate(found) if one is None]
        lines = rows[missing].tolist()
        cut = shingle_sets([ends_of(view.texts[row], COMPARED_CHARS) for row in lines])
        for i, packed in zip(missing, cut.packed(), strict=True):
            found[i] = packed
            view.written.keep(SHINGLES, seqs[i], packed, SET_BYTES + len(packed))
    return found
