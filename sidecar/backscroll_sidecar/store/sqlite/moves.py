"""What a file says of a move."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from backscroll_sidecar.store.moving.ends import Move
from backscroll_sidecar.store.sqlite import files, migrate
from backscroll_sidecar.store.sqlite import move_statements as sql
from backscroll_sidecar.store.sqlite.connection import transaction
from backscroll_sidecar.store.sqlite.failures import typed


def found_move(connection: sqlite3.Connection) -> Move | None:
    """What the database says of a move."""
    return Move.of_row(connection.execute(sql.GET_MOVE).fetchone())


def look(path: Path) -> Move | None:
    """What a file says of a move, if it is there; whoever has it. Raises `StoreUnavailable`."""
    if not path.exists():
        return None
    try:
        with contextlib.closing(files.connect_reader(path, sqlite3.Connection)) as connection:
            if max(migrate.applied(connection), default=0) < migrate.known()[-1].number:
                return None
            return found_move(connection)
    except sqlite3.Error as error:
        raise typed(error) from error


def forget_move(connection: sqlite3.Connection) -> None:
    """Have a copy of a database be in no move; one that was being filled stays so: it is not whole."""
    if not connection.execute(sql.HAS_MOVES).fetchone():
        return  # of an older schema
    move = found_move(connection)
    if move is None or move.phase == "arriving":
        return
    with transaction(connection):
        take_back(connection)


def take_back(connection: sqlite3.Connection) -> None:
    """Have an old end be as before its move. In a transaction."""
    run_each(connection, sql.NOTE_NO_MORE)
    run_each(connection, sql.REFUSE_NO_MORE)
    connection.execute(sql.FORGET)
    connection.execute(sql.DELETE_MOVE)


def run_each(connection: sqlite3.Connection, found_by: str) -> None:
    """Run the statements that a statement finds."""
    for (statement,) in connection.execute(found_by).fetchall():
        connection.execute(statement)
