"""Every statement of a move: on whole tables of every tenant, and on what a database says about a move.

Rows are read in the form in which they travel (`moving/tables.py`), except for names that may hold U+0000.
"""

# ruff: noqa: S608 -- the only things put into these texts are names of tables and columns

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from backscroll_sidecar.store.moving.tables import OPERATIONS, TABLES, Key, Table
from backscroll_sidecar.store.postgres.failures import MOVED

NAMES = [one.name for one in TABLES]
_ALL = ", ".join(NAMES)

# --- what a database says about a move -----------------------------------------------------------

HAS_MOVES = "SELECT to_regclass('moves')"
GET_MOVE = "SELECT id, phase, other, began_at_ms, progress FROM moves WHERE place = 1"
PUT_MOVE = "INSERT INTO moves (place, id, phase, other, began_at_ms, progress) VALUES (1, $1, $2, $3, $4, $5)"
SET_PHASE = "UPDATE moves SET phase = $1"
SET_PROGRESS = "UPDATE moves SET progress = $1"
ARRIVE = "UPDATE moves SET phase = 'arrived', progress = '{}'"
DELETE_MOVE = "DELETE FROM moves"

# --- who else is there ---------------------------------------------------------------------------

BE_ALONE = "SELECT pg_try_advisory_lock($1)"
"""True: no other migration fills the database."""
HOLD_MOVES = "LOCK TABLE moves IN ACCESS EXCLUSIVE MODE"
HOLD_GROUPS = "LOCK TABLE channels IN SHARE ROW EXCLUSIVE MODE"
"""No group runs meanwhile, since each group locks its channels before it writes anything else."""
SEE_ANEW = "SELECT pg_stat_clear_snapshot()"
OTHERS = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name IS DISTINCT FROM $1
    AND (backend_type = 'client backend' OR backend_type IS NULL AND usesysid IS NOT NULL)
"""
"""Other users' sessions may hide their type, and only sessions have users: hence the last condition."""

# --- rows ----------------------------------------------------------------------------------------

_TYPES = {"seq": "bigint", "number": "bigint", "revision": "integer"}
"""Types of key columns; all others are text."""
_READ = {"with_channel": "with_channel::integer"}
"""How flags are read."""
_ONLY = {"channels": "last_seq IS NOT NULL"}
"""Rows that move: the row of a channel that never got a message has only a version."""

COUNT = f"SELECT {' + '.join(f'(SELECT count(*) FROM {name})' for name in NAMES)}"
HOLDS_ANY = "SELECT " + " OR ".join(
    f"EXISTS (SELECT FROM {name} WHERE {_ONLY.get(name, 'TRUE')})" for name in NAMES
)
DELETE_OTHERS = "DELETE FROM channels WHERE last_seq IS NULL"
"""What servers that only looked at an empty database left there."""
DELETE_ALL = f"TRUNCATE {_ALL}"
ANALYZE = f"ANALYZE {_ALL}"


def of_range(
    table: Table, after: Key | None, upto: Key | None, limit: int | None
) -> tuple[str, list[Any]]:
    """Read rows after one key, up to another, in the order of keys: a statement and its values."""
    key = ", ".join(table.key)
    values: list[Any] = []
    conditions = [_ONLY[table.name]] if table.name in _ONLY else []
    for sign, bound in ((">", after), ("<=", upto)):
        if bound is not None:
            places = ", ".join(f"${len(values) + n}" for n in range(1, len(bound) + 1))
            conditions.append(f"({key}) {sign} ({places})")
            values += bound
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    most = "" if limit is None else f"LIMIT {limit}"
    mine = ", ".join(_READ.get(name, name) for name in table.columns)
    return f"SELECT {mine} FROM {table.name} {where} ORDER BY {key} {most}", values


def of_keys(table: Table) -> str:
    """Read the rows of keys. Keys are given as columns."""
    mine = ", ".join(f"one.{_READ.get(name, name)}" for name in table.columns)
    only = f"WHERE {_ONLY[table.name]}" if table.name in _ONLY else ""
    return (
        f"SELECT {mine} FROM {_given(table)} JOIN {table.name} AS one ON {_matches(table)} {only}"
    )


def delete(table: Table) -> str:
    """Delete the rows of keys. Keys are given as columns."""
    return f"DELETE FROM {table.name} AS one USING {_given(table)} WHERE {_matches(table)}"


def _given(table: Table) -> str:
    types = (_TYPES.get(name, "text") for name in table.key)
    arrays = ", ".join(f"${number}::{type_}[]" for number, type_ in enumerate(types, 1))
    return f"unnest({arrays}) AS given ({', '.join(table.key)})"


def _matches(table: Table) -> str:
    """Texts are compared as in the key's index."""
    collated = {name: "" if name in _TYPES else ' COLLATE "C"' for name in table.key}
    return " AND ".join(f"one.{name} = given.{name}{collated[name]}" for name in table.key)


# --- what changes meanwhile ----------------------------------------------------------------------

NOTED = "SELECT number, kind, key FROM moved_keys ORDER BY number LIMIT $1"
FORGET = "DELETE FROM moved_keys WHERE number = ANY($1::bigint[])"
FORGET_ALL = "TRUNCATE moved_keys"


def note(table: Table) -> Iterator[str]:
    """Make triggers that note the key of each row that changes, and their functions."""
    key = f"json_build_array({', '.join(table.key)})::text"
    for operation, sides in OPERATIONS.items():
        name = f"noted_{table.name}_{operation}"
        keys = " UNION ".join(f"SELECT '{table.name}', {key} FROM {side}_rows" for side in sides)
        seen = " ".join(f"{side} TABLE AS {side}_rows" for side in sides)
        yield f"""
CREATE OR REPLACE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN INSERT INTO moved_keys (kind, key) {keys}; RETURN NULL; END $$
"""
        yield f"""
CREATE TRIGGER {name} AFTER {operation} ON {table.name} REFERENCING {seen}
FOR EACH STATEMENT EXECUTE FUNCTION {name}()
"""


def note_no_more() -> Iterator[str]:
    """Drop what `note` made for all tables."""
    for table in NAMES:
        for operation in OPERATIONS:
            name = f"noted_{table}_{operation}"
            yield f"DROP TRIGGER IF EXISTS {name} ON {table}"
            yield f"DROP FUNCTION IF EXISTS {name}()"


# --- what refuses every change -------------------------------------------------------------------

MINE = "backscroll.moves_it"
"""Set in the session of the migration, which alone may write the new end. A server would write `channels` first."""
_FUNCTION = f"""
CREATE OR REPLACE FUNCTION refuse_moved() RETURNS trigger LANGUAGE plpgsql AS
$$ BEGIN RAISE EXCEPTION 'this history moved' USING ERRCODE = '{MOVED}'; END $$
"""
REFUSE = [
    _FUNCTION,
    *(
        f"CREATE TRIGGER closed_{name} BEFORE INSERT OR UPDATE OR DELETE OR TRUNCATE ON {name} "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_moved()"
        for name in NAMES
    ),
]
REFUSE_OTHERS = [
    _FUNCTION,
    f"""
CREATE TRIGGER closed_channels BEFORE INSERT OR UPDATE OR DELETE ON channels FOR EACH STATEMENT
WHEN (current_setting('{MINE}', true) IS DISTINCT FROM 'yes') EXECUTE FUNCTION refuse_moved()
""",
]
REFUSE_NO_MORE = [
    *(f"DROP TRIGGER IF EXISTS closed_{name} ON {name}" for name in NAMES),
    "DROP FUNCTION IF EXISTS refuse_moved()",
]

# --- what a new end puts off, and how its numbers go on ------------------------------------------

PUT_OFF = """
SELECT pg_get_indexdef(indexrelid), format('DROP INDEX %s', indexrelid::regclass), 0
FROM pg_index WHERE indrelid = ANY($1::text[]::regclass[]) AND NOT indisprimary
UNION ALL
SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)),
    format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname), 1
FROM pg_constraint WHERE contype = 'f' AND conrelid = ANY($1::text[]::regclass[])
ORDER BY 3, 1
"""
"""Statements that make indexes and references of some tables, and those that drop them."""
SEQUENCE = "SELECT pg_get_serial_sequence($1, 'number')"
SET_LAST_NUMBER = "SELECT setval($1::text::regclass, greatest($2::bigint, 1), $2::bigint > 0)"


def last_number(sequence: str) -> str:
    """That a sequence gave."""
    return f"SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {sequence}"
