"""Reply trees: who answers whom. A tree is all messages whose replies lead to the same root.

``parent`` is int32[n], the row each row replies to, -1 for none; see `ChannelColumns.parent`. Bad
data may hold cycles: a cycle's lowest row is its root. All functions end on any input.
"""

from __future__ import annotations

from types import ModuleType

import numpy as np

from . import kernels
from .arrays import Int32, require


def ancestors(parent: Int32, row: int, max_depth: int, *, engine: ModuleType = kernels) -> Int32:
    """Return the messages above a row, int32[<= max_depth], the nearest first, without the row.

    Raises
    ------
    IndexError
        ``row`` is not a row of the channel.
    """
    require("parent", parent, np.int32)
    _check_row(parent, row)
    if max_depth < 0:
        raise ValueError(f"max_depth must not be negative: {max_depth}")
    path = np.empty(min(max_depth, len(parent)) + 1, np.int32)
    return path[1 : engine.reply_path(parent, row, path)]


def roots(parent: Int32, *, engine: ModuleType = kernels) -> Int32:
    """Return the root of each row, int32[n]; linear time. A message without a parent is its own."""
    out = np.empty(len(require("parent", parent, np.int32)), np.int32)
    engine.roots(parent, out)
    return out


def reply_tree(parent: Int32, row: int, *, engine: ModuleType = kernels) -> Int32:
    """Return all rows in the reply tree of a row, int32[], ascending, the row included.

    Linear in the channel.

    Raises
    ------
    IndexError
        ``row`` is not a row of the channel.
    """
    require("parent", parent, np.int32)
    _check_row(parent, row)
    root = roots(parent, engine=engine)
    return np.flatnonzero(root == root[row]).astype(np.int32)


def _check_row(parent: Int32, row: int) -> None:
    if not 0 <= row < len(parent):
        raise IndexError(f"row {row} is outside a channel of {len(parent)}")
