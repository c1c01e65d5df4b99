"""A database that no server has is brought up to date: its schema, and what was erased since. Blocking."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from backscroll_sidecar.ports import EraseChange
from backscroll_sidecar.store.backups.erasures import Erasure, Received, of_then
from backscroll_sidecar.store.sqlite import backup_statements as sql
from backscroll_sidecar.store.sqlite import files, group, migrate, reads
from backscroll_sidecar.store.sqlite.failures import typed


def newest_schema() -> int:
    """The schema this program writes."""
    return migrate.known()[-1].number


def bring_up_to_date(database: Path) -> None:
    """Give it the newest schema, and leave no log beside it.

    Raises
    ------
    StoreUnavailable, StoreReadOnly
        It is not of ours, or the disk takes nothing.
    """
    with _written(database):
        pass


def erase(database: Path, erasures: Sequence[Erasure]) -> list[dict[str, int]]:
    """Erase what these took, and leave no log; of each how many rows went by part, as in a receipt, without zeros.

    Raises as `bring_up_to_date` does.
    """
    with _written(database) as connection:
        return [_erase(connection, one) for one in erasures]


def _erase(connection: sqlite3.Connection, erasure: Erasure) -> dict[str, int]:
    of_tenant = (erasure.tenant, erasure.user_id)
    channels = reads.channels_to_erase(connection, *of_tenant) if erasure.is_of_tenant else []
    counts: Counter[str] = Counter()
    for change in erasure.changes(channels):
        then = of_then(change, _received(connection, change))
        for applied in group.apply_group(connection, [then] if then else [], group.Known()):
            counts.update(applied.receipt.counts if applied.receipt else {})
    return dict(+counts)


def _received(connection: sqlite3.Connection, change: EraseChange) -> list[Received]:
    if change.message_ids:
        return []
    if change.user_id:
        rows = connection.execute(sql.RECEIVED_OF_USER, (*change.key, change.user_id))
    else:
        rows = connection.execute(sql.RECEIVED_OF_CHANNEL, change.key)
    return [Received(*row) for row in rows]


@contextmanager
def _written(database: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(files.connect_writer(database, "full", migrate.known())) as connection:
            yield connection
            files.checkpoint(connection)
    except sqlite3.Error as error:
        raise typed(error) from error
