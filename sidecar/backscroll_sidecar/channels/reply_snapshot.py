"""The reply cache of a channel's newest rows, stored in its last segment.

It saves the first question after a load from reading some 500 rows again. It is used only when the loaded rows are
those it was made from. It holds row numbers, no ids.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring.link_columns import TOP, WINDOW
from backscroll_scoring.link_model import shipped
from backscroll_scoring.links import CAPACITY, LOOK_BACK, NOBODY, ReplyLinks
from backscroll_sidecar.channels.batch import RECALLED
from backscroll_sidecar.channels.reply_cache import LinkState
from backscroll_sidecar.channels.view import ChannelView

ARRAYS: Mapping[str, type[np.generic]] = {
    "links.chances": np.float64,
    "links.starts": np.float64,
    "links.made_of": np.int64,
    "links.places": np.int64,
    "links.flags": np.int32,
    "links.called": np.int32,
    "links.shortened": np.int32,
    "links.rows": np.int32,
}
"""All of no length: nothing is kept.

``made_of``: see `_made_of`. ``places``: `LinkState.cues_from`, `ReplyLinks.first`, `LinkState.upto`. ``called`` and
``shortened``: how many rows before it the user last wrote, 0 for nobody.
"""
Arrays = Mapping[str, NDArray[Any]]
NOTHING: Arrays = {name: np.empty(0, dtype) for name, dtype in ARRAYS.items()}


def model() -> str:
    """The name of the reply model. Snapshots of another one are not read."""
    made_by = (shipped().first, shipped().start)
    return f"{zlib.crc32(b''.join(part.with_intercept.tobytes() for part in made_by)):x}"


def packed(view: ChannelView, revised: Mapping[int, int]) -> Arrays:
    """A snapshot of a view's reply cache, as `ARRAYS`. `revised`: revisions by seq of edited rows. For a thread."""
    state = view.replies.state
    if state is None:
        return NOTHING
    links, upto = state.links, min(state.upto, view.count)
    rows, known = upto - state.cues_from, upto - links.first
    if known <= 0:
        return NOTHING
    return {
        "links.chances": links.chances[:known].ravel(),
        "links.starts": links.starts[:known],
        "links.made_of": _made_of(view.seq, view.state, revised, view.seq.max()),
        "links.places": np.array([state.cues_from, links.first, upto]),
        "links.flags": state.flags[:rows],
        "links.called": _rows_back(state.called[:rows], view.columns.author, state.cues_from),
        "links.shortened": _rows_back(state.shortened[:rows], view.columns.author, state.cues_from),
        "links.rows": links.rows[:known].ravel(),
    }


def unpacked(
    kept: Arrays,
    seq: NDArray[np.int64],
    state: NDArray[np.uint8],
    author: NDArray[np.int32],
    revised: Mapping[int, int],
) -> LinkState | None:
    """The snapshot's state; None when it was made from other rows."""
    made_of = kept["links.made_of"]
    if len(made_of) != 4:
        return None
    count, last_seq = made_of[:2].tolist()
    first_rows = slice(0, max(0, count))
    if (
        not 0 < count <= len(seq)
        or seq[count:].min(initial=last_seq + 1) <= last_seq
        or not np.array_equal(
            _made_of(seq[first_rows], state[first_rows], revised, last_seq), made_of
        )
        or not _fits(kept, count)
    ):
        return None
    cues_from, first, upto = kept["links.places"].tolist()
    found = ReplyLinks(
        first,
        kept["links.rows"].reshape(-1, TOP),
        kept["links.chances"].reshape(-1, TOP),
        kept["links.starts"],
        np.zeros((0, WINDOW + 1), np.float32),
    )
    called, shortened = (
        np.where(back > 0, author[np.arange(cues_from, upto) - back], NOBODY).astype(np.int32)
        for back in (kept["links.called"], kept["links.shortened"])
    )
    old = LinkState(found, cues_from, upto, kept["links.flags"], called, shortened)
    return LinkState.begun(first, old)


def _made_of(
    seq: NDArray[np.int64], state: NDArray[np.uint8], revised: Mapping[int, int], last_seq: int
) -> NDArray[np.int64]:
    """How many rows, up to which one, and sums that every edit, recall and erasure changes (see `Segment`)."""
    revisions = sum(number for one, number in revised.items() if one <= last_seq)
    recalled = np.count_nonzero(state == RECALLED)
    return np.array([len(seq), seq.max(), revisions, recalled])


def _rows_back(
    users: NDArray[np.int32], author: NDArray[np.int32], first: int
) -> NDArray[np.int32]:
    """For each row from `first` on, how many rows before it the user wrote last: some `LOOK_BACK` at most."""
    back = np.zeros(len(users), np.int32)
    for place in np.flatnonzero(users != NOBODY).tolist():
        row = first + place
        before = author[max(0, row - LOOK_BACK) : row][::-1]
        back[place] = 1 + int((before == users[place]).argmax())
    return back


def _fits(kept: Arrays, count: int) -> bool:
    """Whether every number is that of an existing row."""
    if len(kept["links.places"]) != 3:
        return False
    cues_from, first, upto = kept["links.places"].tolist()
    if not (
        0 <= cues_from == max(0, first - LOOK_BACK) <= first < upto <= min(count, first + CAPACITY)
    ):
        return False
    known, rows = upto - first, np.arange(cues_from, upto)
    links = kept["links.rows"]
    return (
        len(links) == len(kept["links.chances"]) == known * TOP
        and len(kept["links.starts"]) == known
        and all(
            len(kept[f"links.{name}"]) == len(rows) for name in ("flags", "called", "shortened")
        )
        and bool((links >= NOBODY).all())
        and bool((links.reshape(-1, TOP) < rows[first - cues_from :, None]).all())
        and all(
            bool(((kept[name] >= 0) & (kept[name] <= rows)).all())
            for name in ("links.called", "links.shortened")
        )
    )
