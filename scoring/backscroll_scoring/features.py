"""What is scored: the columns of one channel, and the question they are scored for.

Messages are rows, 0 to n-1, in time order. Authors and mentioned users are indices into one table
of users per channel, keywords are indices into one table of words per channel: the kernels compare
integers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .arrays import Int32, Int64, require

CLASSIC_FACTORS = (
    "reply_chain",
    "user_continuity",
    "time_decay",
    "mention_relation",
    "keyword_overlap",
)
"""The five factors of `classic`, in the order of every factor axis in this package."""

_LIMITS = {32: 1 << 31, 64: 1 << 63}


@dataclass(frozen=True, slots=True, eq=False)
class ChannelColumns:
    """The columns of one channel, one row a message, in time order.

    All are C-contiguous; read-only is fine. Only types, layouts and lengths are checked here, not
    the n values: a column is built once and read by many requests. The kernels themselves never
    read outside an array and always end, whatever the values are.

    Attributes
    ----------
    time_ms : int64[n]
        When the message was sent, milliseconds since the epoch.
    author : int32[n]
        Index of the author in the channel's table of users.
    parent : int32[n]
        Row of the message this one replies to; -1: it replies to nothing. A parent may be any row,
        and cycles are tolerated. A value that is no row (below -1, or n and above) names a message
        that is not stored: it has no ancestors, and messages with the same value are siblings.
    keyword_offsets : int64[n + 1]
        Row i's keywords are ``keyword_ids[keyword_offsets[i]:keyword_offsets[i + 1]]``.
    keyword_ids : int32[K]
        Indices into the channel's table of words, not negative; ascending and unique within a row.
    mention_offsets : int64[n + 1]
        Row i's mentions are ``mention_ids[mention_offsets[i]:mention_offsets[i + 1]]``.
    mention_ids : int32[M]
        Indices into the channel's table of users, not negative; ascending and unique within a row.
    """

    time_ms: Int64
    author: Int32
    parent: Int32
    keyword_offsets: Int64
    keyword_ids: Int32
    mention_offsets: Int64
    mention_ids: Int32

    def __post_init__(self) -> None:
        n = len(require("time_ms", self.time_ms, np.int64))
        for name in ("author", "parent"):
            if len(require(name, getattr(self, name), np.int32)) != n:
                raise ValueError(f"{name} must have one entry a row: {n}")
        for name in ("keyword", "mention"):
            offsets = require(f"{name}_offsets", getattr(self, f"{name}_offsets"), np.int64)
            ids = require(f"{name}_ids", getattr(self, f"{name}_ids"), np.int32)
            if len(offsets) != n + 1:
                raise ValueError(f"{name}_offsets must have one entry a row and one more: {n + 1}")
            if offsets[0] != 0 or offsets[n] != len(ids):
                raise ValueError(
                    f"{name}_offsets must run from 0 to len({name}_ids) = {len(ids)}, "
                    f"not from {offsets[0]} to {offsets[n]}"
                )

    def __len__(self) -> int:
        """Return n, the number of rows."""
        return len(self.time_ms)


@dataclass(frozen=True, slots=True, eq=False)
class QueryFeatures:
    """The trigger: the message or question the rows are scored for. It need not be a row itself.

    Attributes
    ----------
    time_ms : int
        The time all scores refer to, milliseconds since the epoch.
    author : int
        Index of the asker in the channel's table of users; negative: unknown there, matches nobody.
    parent : int
        Row of the message the trigger replies to; -1: it replies to nothing. See
        `ChannelColumns.parent`.
    keyword_ids : int32[]
        Ascending, unique. A word the channel does not know has a negative id of its own: it matches
        nothing and counts in the union.
    mention_ids : int32[]
        Ascending, unique. A user the channel does not know has a negative id: it matches nobody.
    """

    time_ms: int
    author: int
    parent: int
    keyword_ids: Int32
    mention_ids: Int32

    def __post_init__(self) -> None:
        _check_fits("time_ms", self.time_ms, 64)
        _check_fits("author", self.author, 32)
        _check_fits("parent", self.parent, 32)
        require("keyword_ids", self.keyword_ids, np.int32)
        require("mention_ids", self.mention_ids, np.int32)


def _check_fits(name: str, value: Any, bits: int) -> None:  # noqa: ANN401 - what a caller gave
    if type(value) is not int and not isinstance(value, np.integer):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    if not -_LIMITS[bits] <= value < _LIMITS[bits]:
        raise ValueError(f"{name} = {value} does not fit int{bits}")
