"""What the asker may see where membership counts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.domain import Author, Stay

INLINE_ROWS = 30_000
"""Of longer channels the rows are looked at in a thread: 100,000 take some 500 microseconds (law 9)."""


async def as_seen_by(asker: Author | None, view: ChannelView) -> ChannelView:
    """The view in which what was said while the asker was no member is hidden; itself where nothing is.

    All of it is for who never was one; nothing for a member whose stays are not known.
    """
    people = view.people
    index = people.index.get(asker.id, -1) if asker else -1
    stays = people.stays.get(index)
    if index not in people.members:
        stays = ()
    if stays is None:
        return view
    if view.count > INLINE_ROWS:
        return await asyncio.to_thread(_hiding, view, stays)
    return _hiding(view, stays)


def _hiding(view: ChannelView, stays: Iterable[Stay]) -> ChannelView:
    return view.hiding(~_seen_in(stays, view.columns.time_ms))


def _seen_in(stays: Iterable[Stay], times_ms: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[n]: what was said at these times was said in one of the stays."""
    seen = np.zeros(len(times_ms), np.bool_)
    for joined_at_ms, left_at_ms in stays:
        here = (
            np.ones(len(times_ms), np.bool_) if joined_at_ms is None else times_ms >= joined_at_ms
        )
        seen |= here if left_at_ms is None else here & (times_ms < left_at_ms)
    return seen
