"""References that say something new (P-05). Pure.

Lines of the conversation are left alone: what is said twice there is part of it. References are there to add
something, and one that repeats a better ranked line, of the conversation or not, adds nothing.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import FeatureSets, mmr_order, near_duplicates, set_similarity, shingle_sets
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
    order: list[int],
    profile: Profile,
) -> tuple[list[int], list[int]]:
    """The order with references thinned out or rearranged, and the places that lost by it.

    A cut of the new order anywhere is what a smaller maximum gives.
    """
    if profile.diversity == "none" or not np.count_nonzero(gathered.semantic):
        return order, []
    members = gathered.rounds.members
    places = np.array(order, np.intp)
    marks = gathered.semantic[places]
    if members:  # a tool round stays whole
        marks &= [place not in members for place in order]
    if not marks.any():
        return order, []
    if profile.diversity == "collapse":
        alike = _repeats(view, gathered, places, marks, profile.max_context)
        gone = set(alike)
        return [place for place in order if place not in gone] if gone else order, alike
    references = np.flatnonzero(marks).tolist()
    places = places[marks]
    rows = gathered.rows[places]
    sets = _shingles(view, rows)
    # What stands behind the last place keeps its order. (Rounds may be passed over, then any may move up.)
    seen = None if members else sum(i < profile.max_context for i in references)
    first = mmr_order(ranked.scores_at(places), set_similarity(sets), rows=rows, limit=seen)
    by_mmr = np.concatenate([places[first], np.delete(places, first)]).tolist()
    mixed = order.copy()
    for i, place in zip(references, by_mmr, strict=True):
        mixed[i] = place
    most = profile.max_context
    return mixed, sorted(set(order[:most]) - set(mixed[:most]))


def _repeats(
    view: ChannelView,
    gathered: Gathered,
    places: NDArray[np.intp],
    references: NDArray[np.bool_],
    maximum: int,
) -> list[int]:
    """The references, marked among the places in their order, that repeat a better ranked candidate."""
    if not gathered.rounds.members:  # rounds may be passed over
        # No more can move up than there are references: what stands behind needs no look.
        most = maximum + np.count_nonzero(references)
        places, references = places[:most], references[:most]
    rows = gathered.rows[places]
    leaders = near_duplicates(
        _shingles(view, rows),
        np.arange(len(rows), dtype=np.int32),
        authors=view.columns.author[rows],
    )
    alike: list[int] = places[references & (leaders >= 0)].tolist()
    return alike


def _shingles(view: ChannelView, rows: NDArray[np.int32]) -> FeatureSets:
    """What the lines are cut into, each once as long as the channel keeps it."""
    seqs = view.seq[rows].tolist()
    found: list[Any] = list(map(view.written.of(SHINGLES).get, seqs))
    if not all(found):
        missing = [i for i, one in enumerate(found) if one is None]
        lines = rows[missing].tolist()
        cut = shingle_sets([ends_of(view.texts[row], COMPARED_CHARS) for row in lines])
        for i, packed in zip(missing, cut.packed(), strict=True):
            found[i] = packed
            view.written.keep(SHINGLES, seqs[i], packed, SET_BYTES + len(packed))
    return FeatureSets.unpacked(found)
