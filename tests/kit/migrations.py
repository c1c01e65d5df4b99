"""Histories that move: something of all that is kept, and every row of a database, of whichever kind it is."""

import hashlib
import sqlite3
from pathlib import Path

import asyncpg

from backscroll import AsyncClient, Member, Message
from backscroll_sidecar.store.moving.move import Moved, Told, move
from backscroll_sidecar.store.opening import open_new_end, open_old_end
from backscroll_sidecar.store.postgres.arrays import unspelled
from tests.kit.postgres import server

NOON_MS = 1_700_000_000_000
ROOMS = ("room", "群组 \U0002070e", "o'Brien\n%")
HOSTILE = "\U00020000\U0003134f \u2028 'quoted' \\N \\. \t ﷽ \x1a1 e\u0301"
LEFT_BEHIND = {"segments", "moves", "moved_keys", "schema_migrations"}
"""Tables of SQLite that do not move."""
OF_SERVERS = {"version", "holds"}
"""Columns of PostgreSQL's channels that only servers tell each other."""


def line(number: int, text: str = "") -> Message:
    return Message(
        f"m{number}",
        ("ann", "ben", "猫\U00020000")[number % 3],
        text or f"line {number} 猫 {HOSTILE}",
        NOON_MS + number * 1_000,
        reply_to=f"m{number - 3}" if number > 5 else "",
    )


async def fill(client: AsyncClient) -> None:
    """Something of all that is kept."""
    for room in ROOMS:
        await client.append(room, [line(n) for n in range(60)])
        await client.edit_message(room, "m3", f"edited {HOSTILE}")
        await client.recall_message(room, "m7")
        await client.erase(room, message_ids=["m9"])
        await client.pin_message(room, "m12")
        await client.alias_message(room, "m12", "x12")
        await client.upsert_members(room, [Member("ben", "Benno \U0002070e")])
        await client.build_context(room, "and the cat?", asker="ann")
    await client.erase("room", user_id="猫\U00020000")
    await client.set_preference("ann", f"vegetarian {HOSTILE}")
    await client.set_preference("ben", "likes cats")
    await client.set_channel_settings("room", overrides={"max_context": 3})


def rows_of_file(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of a file, by table, its columns by name."""
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as connection:
        tables = {
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            )
        }
        found = {}
        for table in sorted(tables - LEFT_BEHIND):
            columns = sorted(row[1] for row in connection.execute(f"PRAGMA table_info({table})"))
            rows = connection.execute(f"SELECT {', '.join(columns)} FROM {table}").fetchall()
            found[table] = sorted(rows, key=repr)
    connection.close()
    return found


async def rows_of_database(url: str, tables: dict[str, object]) -> dict[str, list[object]]:
    """The same of PostgreSQL."""
    connection = await asyncpg.connect(url)
    found = {}
    for table in tables:
        rows = [dict(row) for row in await connection.fetch(f"SELECT * FROM {table}")]
        if table == "channels":
            rows = [
                {name: row[name] for name in row.keys() - OF_SERVERS}
                for row in rows
                if row["last_seq"] is not None
            ]
        for row in rows:
            for name in {"owner", "id", "name"} & row.keys() if "record" in table else ():
                row[name] = unspelled(row[name])
            if "with_channel" in row:
                row["with_channel"] = int(row["with_channel"])
        found[table] = sorted((tuple(row[name] for name in sorted(row)) for row in rows), key=repr)
    await connection.close()
    return found


async def rows_of(database: str, tables: dict[str, object]) -> dict[str, list[object]]:
    if "://" in database:
        return await rows_of_database(database, tables)
    return {name: some for name, some in rows_of_file(Path(database)).items() if name in tables}


def digest(rows: dict[str, list[object]]) -> dict[str, str]:
    return {name: hashlib.sha256(repr(some).encode()).hexdigest() for name, some in rows.items()}


def a_new_end(way: str, folder: Path, name: str) -> str:
    """A database that is empty, or a file that is not there."""
    return str(folder / f"{name}.db") if way == "file" else server().new_database()


def traces(database: str) -> list[str]:
    """What a move left in a database: triggers, rows of its own."""
    asked = "SELECT id FROM moves UNION ALL SELECT key FROM moved_keys"
    if "://" in database:
        triggers = "SELECT tgname FROM pg_trigger WHERE NOT tgisinternal"
        functions = "SELECT proname FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
        return (
            server()
            .psql(database, f"{asked} UNION ALL {triggers} UNION ALL {functions}")
            .splitlines()
        )
    connection = sqlite3.connect(database)
    triggers = "SELECT name FROM sqlite_schema WHERE type = 'trigger'"
    found = [name for (name,) in connection.execute(f"{asked} UNION ALL {triggers}")]
    connection.close()
    return found


async def moved_between(old: str, new: str, told: Told) -> Moved:
    leaving = await open_old_end(url_of(old), shown(old))
    coming = await open_new_end(url_of(new), shown(new))
    try:
        return await move(leaving, coming, told)
    finally:
        await leaving.close()
        await coming.close()


def url_of(database: str) -> str:
    return database if "://" in database else f"sqlite:///{database}"


def shown(database: str) -> str:
    """As it is shown: the tests' PostgreSQL has no passwords."""
    return database
