"""What the writer handles: a queued change, its size, its group, and what is told of it afterwards. Pure."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import (
    AppendChange,
    Applied,
    Change,
    EditChange,
    EventsChange,
    MembersChange,
    RecordChange,
    VectorsChange,
)
from backscroll_sidecar.values import quick

ITEM_BYTES = 1_024
PUBLISH_SLICE = 32


@quick
@dataclass(frozen=True, slots=True, eq=False)
class Pending:
    """A change on its way to the store, and who waits for it (nobody waits for events)."""

    change: Change
    items: int
    bytes: int
    future: asyncio.Future[Applied] | None


@dataclass(frozen=True, slots=True)
class GroupReport:
    """One committed (or failed) group, for metrics. `commit_seconds` holds retries, not the publishing."""

    changes: int
    items: int
    bytes: int
    commit_seconds: float
    failed_changes: int
    queued_items: int


def pend(change: Change, future: asyncio.Future[Applied] | None = None) -> Pending:
    """A change with its size: how many rows it is about, at least 1, and about how much memory it holds.

    That is a flat sum a row, and its texts as Python stores them.
    """
    items, texts = 1, 0
    match change:
        case AppendChange():
            items = len(change.messages)
            texts = sum([analysis.text.__sizeof__() for analysis in change.analyses])
        case MembersChange():
            items = len(change.members)
        case EventsChange():
            items = len(change.events)
        case VectorsChange():
            items = len(change.vectors)
            texts = sum([len(vector.values) for vector in change.vectors])
        case EditChange():
            texts = change.analysis.text.__sizeof__()
        case RecordChange():
            texts = len(change.body or b"")
        case _:
            pass
    items = max(items, 1)
    return Pending(change, items, items * ITEM_BYTES + texts, future)


def joined_by_channel(
    done: Iterable[tuple[Change, Applied]],
) -> Iterator[tuple[ChannelKey, Applied]]:
    """What a group did, in the order of each channel; appends to a channel that follow each other as one.

    To publish costs much more by the call than by the row.
    """
    appended: dict[ChannelKey, list[Applied]] = {}
    for change, applied in done:
        if isinstance(change, AppendChange):
            appended.setdefault(change.key, []).append(applied)
            continue
        if change.key in appended:
            yield change.key, _joined(appended.pop(change.key))
        yield change.key, applied
    for key, several in appended.items():
        yield key, _joined(several)


def _joined(appended: list[Applied]) -> Applied:
    """Appends to one channel as one; what was answered to each is left out."""
    if len(appended) == 1:
        return appended[0]
    last = {row.seq: row for one in appended for row in one.stored}  # a late parent moves others
    return Applied(
        stored=tuple(last[seq] for seq in sorted(last)),
        members=tuple(member for one in appended for member in one.members),
        vectors=tuple(vector for one in appended for vector in one.vectors),
        aliases=tuple(alias for one in appended for alias in one.aliases),
    )


def publish_slices(applied: Applied) -> Iterator[Applied]:
    """What one change did, in pieces small enough for the event loop (law 9); nothing when nothing changed.

    Erased ids go with the first piece; rows follow in order of `seq`, members and vectors beside them; last aliases.
    """
    if applied.error is not None:
        return
    rows, members, vectors = applied.stored, applied.members, applied.vectors
    if not (rows or members or vectors or applied.aliases or applied.record or applied.is_erasure):
        return
    count = max(len(rows), len(members), len(vectors))
    if count <= PUBLISH_SLICE:
        yield applied
        return
    first = slice(PUBLISH_SLICE)
    yield replace(
        applied,
        append_results=(),
        aliases=(),
        stored=rows[first],
        members=members[first],
        vectors=vectors[first],
    )
    for start in range(PUBLISH_SLICE, count, PUBLISH_SLICE):
        part = slice(start, start + PUBLISH_SLICE)
        yield Applied(stored=rows[part], members=members[part], vectors=vectors[part])
    if applied.aliases:
        yield Applied(aliases=applied.aliases)
