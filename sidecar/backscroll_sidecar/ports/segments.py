"""Segments: what a store keeps of rows for those who read a whole channel at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll_sidecar.domain import Member, StoredMessage


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of a channel as bytes that the store does not look into: a cache of its rows.

    It holds every row from `first_seq` to `last_seq`: `row_count` of them, with these sums of their revision numbers
    and moves, and of recalled ones. Rows never come into such a stretch later, and an edit, a move, a retraction and
    an erasure change one of the three for good; so a store that finds the same three knows that nothing changed
    since the segment was made.
    """

    first_seq: int
    last_seq: int
    row_count: int
    revisions: int
    recalled: int
    columns: bytes
    bodies: bytes


@dataclass(frozen=True, slots=True)
class ChannelRows:
    """A whole channel: segments, and rows where there are none, in order of `seq`; all its members; aliases, each with
    the id of its message; the ids that are pinned, in the order in which they were.
    """

    parts: Sequence[Segment | Sequence[StoredMessage]]
    members: Sequence[Member]
    aliases: tuple[tuple[str, str], ...] = ()
    pinned: tuple[str, ...] = ()
