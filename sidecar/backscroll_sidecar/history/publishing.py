"""What is told of a committed group: to whom, in what order, in pieces small enough for the event loop. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from msgspec.structs import replace

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import EVERYWHERE, AppendChange, Applied, Change

PUBLISH_SLICE = 32


class ChannelPublisher(Protocol):
    """Is told what every committed change did, before whoever asked for the change is."""

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Take over at most `PUBLISH_SLICE` rows and as many members. On the event loop, so cheap and without I/O.

        A long change comes in several calls, in order; read `stored`, `members`, `vectors`, `record`, `is_erasure`,
        `erased_ids`. A publisher that cannot take them must forget the channel, so that its next use loads it from the
        store; what it raises is logged and counted, the commit stands.
        """


class FanOut:
    """Publishes to several publishers. One that raises does not keep the rows from the others.

    Of what another server did caches are told alone: by channel what is of the channel, by tenant what is of
    `EVERYWHERE`. Workers begin something when a message comes; that server's have done so.
    """

    def __init__(self, *caches: ChannelPublisher) -> None:
        self._caches = caches
        self._tenant_caches: tuple[ChannelPublisher, ...] = ()
        self._workers: tuple[ChannelPublisher, ...] = ()

    def add(
        self,
        *caches: ChannelPublisher,
        tenant_caches: Iterable[ChannelPublisher] = (),
        workers: Iterable[ChannelPublisher] = (),
    ) -> None:
        """Publish to these, too, from now on."""
        self._caches += caches
        self._tenant_caches += tuple(tenant_caches)
        self._workers += tuple(workers)

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        failures: list[Exception] = []
        for publisher in self._told(key, applied):
            try:
                publisher.publish(key, applied)
            except Exception as failure:  # noqa: BLE001 - all of them are raised below
                failures.append(failure)
        if failures:
            raise ExceptionGroup("publishers failed", failures)

    def _told(self, key: ChannelKey, applied: Applied) -> Iterable[ChannelPublisher]:
        if not applied.is_foreign:
            return (*self._caches, *self._tenant_caches, *self._workers)
        return self._caches if key.channel != EVERYWHERE else (*self._caches, *self._tenant_caches)


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
        records=tuple(change for one in appended for change in one.records),
        version=appended[-1].version,
    )


def publish_slices(applied: Applied) -> Iterator[Applied]:
    """What one change did, in pieces small enough for the event loop; nothing when nothing changed.

    Erased ids go with the first piece; rows follow in order of `seq`, members and vectors beside them; last aliases
    and records.
    """
    if applied.error is not None:
        return
    rows, members, vectors = applied.stored, applied.members, applied.vectors
    if not (rows or members or vectors or applied.aliases or applied.records or applied.is_erasure):
        return
    count = max(len(rows), len(members), len(vectors))
    if count <= PUBLISH_SLICE:
        yield applied
        return
    pieces = [slice(start, start + PUBLISH_SLICE) for start in range(0, count, PUBLISH_SLICE)]
    for part in pieces:
        is_first, is_last = part is pieces[0], part is pieces[-1]
        yield replace(
            applied,
            append_results=(),
            erased_ids=applied.erased_ids if is_first else (),
            receipt=applied.receipt if is_first else None,
            stored=rows[part],
            members=members[part],
            vectors=vectors[part],
            aliases=applied.aliases if is_last else (),
            records=applied.records if is_last else (),
            version=applied.version if is_last else 0,
        )
