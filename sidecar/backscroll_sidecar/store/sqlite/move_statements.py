"""Every statement of a move: on whole tables of every tenant, and on what a file says of a move."""

# ruff: noqa: S608 -- the only things put into these texts are names of tables and columns

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from backscroll_sidecar.store.moving.tables import NUMBERED, OPERATIONS, TABLES, Key, Table
from backscroll_sidecar.store.sqlite.failures import MOVED

# --- what a file says of a move ------------------------------------------------------------------

HAS_MOVES = "SELECT 1 FROM sqlite_schema WHERE name = 'moves'"
GET_MOVE = "SELECT id, phase, other, began_at_ms, progress FROM moves"
PUT_MOVE = (
    "INSERT INTO moves (place, id, phase, other, began_at_ms, progress) VALUES (1, ?, ?, ?, ?, ?)"
)
SET_PHASE = "UPDATE moves SET phase = ?"
SET_PROGRESS = "UPDATE moves SET progress = ?"
ARRIVE = "UPDATE moves SET phase = 'arrived', progress = '{}'"
DELETE_MOVE = "DELETE FROM moves"
HOLD_LOG = "SELECT place FROM moves"
"""In a transaction that lasts, any page that is read: from here on nobody begins the log anew."""

# --- rows ----------------------------------------------------------------------------------------

COUNT = f"SELECT {' + '.join(f'(SELECT count(*) FROM {one.name})' for one in TABLES)}"
HOLDS_ANY = f"SELECT {' OR '.join(f'EXISTS (SELECT 1 FROM {one.name})' for one in TABLES)}"


def of_range(table: Table, after: Key | None, upto: Key | None) -> Iterator[tuple[str, list[Any]]]:
    """Read rows behind a key, up to another one, in the order of keys: statements, one after the other.

    With their values but for the last one, which is a limit. Their bounds are such as indexes know: none has a row's
    number behind other columns.
    """
    for condition, values in _bounds(table, after, upto):
        yield (
            f"SELECT {', '.join(table.columns)} FROM {table.name} {condition} ORDER BY {', '.join(table.key)} LIMIT ?",
            values,
        )


def _bounds(table: Table, after: Key | None, upto: Key | None) -> Iterator[tuple[str, list[Any]]]:
    *scope, last = table.key
    place, marks = f"({', '.join(scope)})", _marks(len(scope))
    if after is not None and upto is not None and after[:-1] == upto[:-1]:
        yield f"WHERE {place} = {marks} AND {last} > ? AND {last} <= ?", [*after, upto[-1]]
        return
    between: list[str] = []
    values: list[Any] = []
    if after is not None:
        yield f"WHERE {place} = {marks} AND {last} > ?", [*after]
        between.append(f"{place} > {marks}")
        values += after[:-1]
    if upto is not None:
        between.append(f"{place} < {marks}")
        values += upto[:-1]
    yield f"WHERE {' AND '.join(between)}" if between else "", values
    if upto is not None:
        yield f"WHERE {place} = {marks} AND {last} <= ?", [*upto]


def of_keys(table: Table, count: int) -> str:
    """Read the rows of so many keys. The keys first: asked for as a set, each lot would read the whole table."""
    names = ", ".join(table.key)
    keys = ", ".join([_marks(len(table.key))] * count)
    return (
        f"WITH given ({names}) AS (VALUES {keys}) SELECT {', '.join(table.columns)} "
        f"FROM given CROSS JOIN {table.name} USING ({names})"
    )


def insert(table: Table) -> str:
    """Of one row."""
    return (
        f"INSERT INTO {table.name} ({', '.join(table.columns)}) VALUES {_marks(len(table.columns))}"
    )


def delete(table: Table) -> str:
    """The rows of one key."""
    return f"DELETE FROM {table.name} WHERE {' AND '.join(f'{name} = ?' for name in table.key)}"


def delete_all(table: Table) -> str:
    """Every row."""
    return f"DELETE FROM {table.name}"


def _marks(count: int) -> str:
    return f"({', '.join('?' * count)})"


# --- what changes meanwhile ----------------------------------------------------------------------

NOTED = "SELECT number, kind, key FROM moved_keys WHERE number > ? ORDER BY number LIMIT ?"
FORGET = "DELETE FROM moved_keys"


def note(table: Table) -> Iterator[str]:
    """Triggers that note the key of each row that changes."""
    for operation, sides in OPERATIONS.items():
        keys = " UNION ".join(
            f"SELECT '{table.name}', json_array({', '.join(f'{side}.{name}' for name in table.key)})"
            for side in sides
        )
        yield (
            f"CREATE TRIGGER noted_{table.name}_{operation} AFTER {operation} ON {table.name} "
            f"BEGIN INSERT INTO moved_keys (kind, key) {keys}; END"
        )


def refuse(table: Table) -> Iterator[str]:
    """Triggers by which every change fails."""
    for operation in OPERATIONS:
        yield (
            f"CREATE TRIGGER closed_{table.name}_{operation} BEFORE {operation} ON {table.name} "
            f"BEGIN SELECT RAISE(ABORT, '{MOVED}'); END"
        )


_DROP_TRIGGERS = "SELECT 'DROP TRIGGER ' || name FROM sqlite_schema WHERE type = 'trigger'"
NOTE_NO_MORE = f"{_DROP_TRIGGERS} AND name LIKE 'noted_%'"
"""Statements that drop what `note` makes; `REFUSE_NO_MORE` what `refuse` makes."""
REFUSE_NO_MORE = f"{_DROP_TRIGGERS} AND name LIKE 'closed_%'"

# --- what a new end puts off, and how its numbers go on ------------------------------------------

PUT_OFF = """
SELECT sql, 'DROP INDEX ' || name FROM sqlite_schema
WHERE type = 'index' AND sql IS NOT NULL AND name <> 'aliases_by_id' -- whose rows are found by it
    AND tbl_name IN (SELECT value FROM json_each(?))
"""
"""Statements that make indexes of some tables, and those that drop them."""
LAST_NUMBERS = {name: f"SELECT coalesce(max(number), 0) FROM {name}" for name in NUMBERED} | {
    "events": "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'events'"
}
"""By table; events have a count of their own."""
DELETE_LAST_EVENT = "DELETE FROM sqlite_sequence WHERE name = 'events'"
PUT_LAST_EVENT = "INSERT INTO sqlite_sequence (name, seq) VALUES ('events', ?)"
