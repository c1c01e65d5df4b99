"""References that say something new (P-05). Pure.

Lines of the conversation are left alone: what is said twice there is part of it. References are there to add
something, and one that repeats a better ranked line, of the conversation or not, adds nothing.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

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
SET_BYTES = 250
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
    if profile.diversity == "none" or not gathered.semantic.any():
        return order, []
    members = gathered.rounds.members
    semantic = gathered.semantic.tolist()
    references = [
        i for i, p in enumerate(order) if semantic[p] and p not in members
    ]  # a tool round stays whole
    if not references:
        return order, []
    if profile.diversity == "collapse":
        alike = _repeats(view, gathered, order, references, profile.max_context)
        gone = set(alike)
        return [place for place in order if place not in gone], alike
    places = np.array([order[i] for i in references])
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
    order: list[int],
    references: list[int],
    maximum: int,
) -> list[int]:
    """The references that repeat a better ranked candidate."""
    # No more can move up than there are references: what stands behind needs no look. (Rounds may be passed over.)
    head = order if gathered.rounds.members else order[: maximum + len(references)]
    rows = gathered.rows[head]
    sets = _shingles(view, rows)
    places = np.arange(len(head), dtype=np.int32)
    leaders = near_duplicates(sets, places, authors=view.columns.author[rows])
    return [order[i] for i in references if i < len(head) and leaders[i] >= 0]


def _shingles(view: ChannelView, rows: NDArray[np.int32]) -> FeatureSets:
    """What the lines are cut into, each once as long as the channel keeps it."""
    seqs = view.seq[rows].tolist()
    found = list(map(view.written.of(SHINGLES).get, seqs))
    missing = [i for i, one in enumerate(found) if one is None]
    if missing:
        lines = rows[missing].tolist()
        cut = shingle_sets([ends_of(view.texts[row], COMPARED_CHARS) for row in lines])
        for i, fact, (start, end) in zip(
            missing, cut.facts.tolist(), pairwise(cut.offsets.tolist()), strict=True
        ):
            found[i] = fact, cut.ids[start:end].tobytes()
            view.written.keep(SHINGLES, seqs[i], found[i], SET_BYTES + 4 * (end - start))
    facts, sets = zip(*found, strict=True)
    ids = np.frombuffer(b"".join(sets), np.int32)
    ends = np.fromiter(accumulate(map(len, sets), initial=0), np.int64, len(found) + 1)
    return FeatureSets(ends // ids.itemsize, ids, np.array(facts, np.int64))
