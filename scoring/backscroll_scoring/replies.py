"""Reply trees: who answers whom. A tree is all messages whose replies lead to the same root.

``parent`` is int32[n], the row each row replies to, -1 for none; see `ChannelColumns.parent`. Bad
data may hold cycles: a cycle's lowest row is its root. All functions end on any input.
"""

from __future__ import annotations

import numpy as np

from . import kernels_replies
from .arrays import Int32, require
from .kernels_score import reply_path


def ancestors(parent: Int32, row: int, max_depth: int) -> Int32:
    """Return the messages above a row, int32[<= max_depth], the nearest first, without the row.

    Raises
    ------
    IndexError
        ``row`` is not a row of the channel.
    """
    require("parent", parent, np.int32)
    if not 0 <= row < len(parent):
        raise IndexError(f"row {row} is outside a channel of {len(parent)}")
    if max_depth < 0:
        raise ValueError(f"max_depth must not be negative: {max_depth}")
    path = np.empty(min(max_depth, len(parent)) + 1, np.int32)
    return path[1 : reply_path(parent, row, path)]


def roots(parent: Int32) -> Int32:
    """Return the root of each row, int32[n]; linear time. A message without a parent is its own."""
    out = np.empty(len(require("parent", parent, np.int32)), np.int32)
    kernels_replies.roots(parent, out)
    return out
