"""What of a ranking is the same for every question asked at one place, worked out when its rows are linked."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from . import kernels_conversations
from .arrays import Float64
from .link_columns import WINDOW

if TYPE_CHECKING:
    from .links import ReplyLinks


class WindowSizes(NamedTuple):
    """How large the conversations of the rows from `first` on are, counting no other rows but these.

    `sizes` are float64[2, k]: log(1 + members, in the mean) of each row's conversation, and the same of those since.
    """

    first: int
    sizes: Float64


NO_SIZES = WindowSizes(0, np.empty((2, 0)))


def window_sizes(links: ReplyLinks, end: int) -> WindowSizes:
    """What a ranking at row ``end`` takes of the rows before it, where all of them are candidates, worked out ahead."""
    first = max(links.first, end - WINDOW)
    out = np.empty((2, max(0, end - first)), np.float64)
    kernels_conversations.window_sizes(links.together, links.first, first, out)
    return WindowSizes(first, out)
