"""A database that no server has is brought up to date: its schema, and what was erased since. Blocking."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from backscroll_sidecar.ports import EVERYWHERE
from backscroll_sidecar.store.backups.erasures import (
    Erased,
    Erasure,
    Received,
    change_of,
    summed,
)
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


def erase(database: Path, erasures: Sequence[Erasure]) -> list[Erased]:
    """Erase what these took, each in a transaction, and leave no log. Raises as `bring_up_to_date` does."""
    with _written(database) as connection:
        return [Erased(one, summed(_receipts(connection, one))) for one in erasures]


def _receipts(connection: sqlite3.Connection, erasure: Erasure) -> Iterator[dict[str, int]]:
    for channel in _channels(connection, erasure):
        change = change_of(erasure, channel, _received(connection, erasure, channel))
        for applied in group.apply_group(connection, [change] if change else [], group.Known()):
            yield dict(applied.receipt.counts) if applied.receipt else {}


def _channels(connection: sqlite3.Connection, erasure: Erasure) -> list[str]:
    if erasure.channel:
        return [erasure.channel]
    return [*reads.channels_to_erase(connection, erasure.tenant, erasure.user_id), EVERYWHERE]


def _received(connection: sqlite3.Connection, erasure: Erasure, channel: str) -> list[Received]:
    here = (erasure.tenant, channel)
    if erasure.message_ids:
        return []
    if erasure.user_id:
        rows = connection.execute(sql.RECEIVED_OF_USER, (*here, erasure.user_id))
    else:
        rows = connection.execute(sql.RECEIVED_OF_CHANNEL, here)
    return [Received(*row) for row in rows]


@contextmanager
def _written(database: Path) -> Iterator[sqlite3.Connection]:
    try:
        with closing(files.connect_writer(database, "full", migrate.known())) as connection:
            yield connection
            files.checkpoint(connection)
    except sqlite3.Error as error:
        raise typed(error) from error
