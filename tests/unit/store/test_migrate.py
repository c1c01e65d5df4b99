"""Numbered SQL files: order, atomicity, records, and a database of every version still opens (S2-17)."""

# ruff: noqa: ASYNC240 -- nothing else runs on these loops

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from backscroll_sidecar.domain import MessageState
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import AliasChange, EraseChange, about_message
from backscroll_sidecar.store.sqlite import SqliteStore, files, migrate
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    edit,
    everything,
    kept_turn,
    message,
    put,
    recall,
    record,
    rows,
    turn,
)
from tests.contract.store.partial_contract import broken_off
from tests.contract.store.usage_contract import signal, tell, usage

DATABASES = Path(__file__).parent / "databases"
"""One SQL dump a released schema, made by `write_dump`; never changed afterwards."""
NEWEST = len(migrate.known())
PROBE_IDS = ["m1", "m2", "m3", "m4"]


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(":memory:", isolation_level=None)
    yield opened
    opened.close()


def folder_with(tmp_path: Path, **scripts: str) -> tuple[migrate.Migration, ...]:
    folder = tmp_path / "migrations"
    folder.mkdir(exist_ok=True)
    for migration in migrate.known():
        (folder / f"{migration.number:04}_{migration.name}.sql").write_text(migration.sql)
    for name, sql in scripts.items():
        (folder / f"{name.removeprefix('n')}.sql").write_text(sql)
    return migrate.known(folder)


def test_migrations_are_numbered_without_a_gap(tmp_path: Path) -> None:
    """A forgotten or doubled number is a mistake of ours, found at once."""
    assert [m.number for m in migrate.known()] == list(range(1, NEWEST + 1))
    with pytest.raises(AssertionError):
        folder_with(tmp_path, **{f"n{NEWEST + 2:04}_too_far": "SELECT 1;"})


def test_a_migration_runs_once_and_is_recorded(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    """EXAMPLES 16: `applied` and `pending` only read."""
    known = migrate.known()
    more = folder_with(
        tmp_path,
        **{
            f"n{NEWEST + 1:04}_pins": "CREATE TABLE pins (a);\n-- why\nINSERT INTO pins VALUES (';');"
        },
    )
    assert migrate.applied(connection) == ()
    assert migrate.pending(connection, more) == more
    assert connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)
    migrate.migrate(connection, known)
    assert migrate.pending(connection, more) == more[NEWEST:]
    migrate.migrate(connection, more)
    migrate.migrate(connection, more)
    assert migrate.applied(connection) == tuple(range(1, NEWEST + 2))
    assert connection.execute("SELECT a FROM pins").fetchall() == [(";",)]


def test_a_change_and_its_record_share_a_transaction(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    """A script that fails half-way leaves nothing, and is tried again."""
    broken = folder_with(
        tmp_path,
        **{f"n{NEWEST + 1:04}_bad": "CREATE TABLE half (a);\nINSERT INTO nowhere VALUES (1);"},
    )
    with pytest.raises(sqlite3.OperationalError):
        migrate.migrate(connection, broken)
    assert migrate.applied(connection) == tuple(range(1, NEWEST + 1))
    assert connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'half'").fetchall() == []
    assert migrate.pending(connection, broken) == broken[NEWEST:]


def test_a_script_without_an_end_is_a_mistake(
    connection: sqlite3.Connection, tmp_path: Path
) -> None:
    """The last statement lacks its semicolon."""
    with pytest.raises(AssertionError):
        migrate.migrate(
            connection, folder_with(tmp_path, **{f"n{NEWEST + 1:04}_bad": "CREATE TABLE half (a)"})
        )


async def test_a_newer_database_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A newer schema refuses to start, and says what to do."""
    newer = folder_with(
        tmp_path, **{f"n{NEWEST + 1:04}_next": "ALTER TABLE events ADD COLUMN extra TEXT;"}
    )
    path = tmp_path / "history.db"
    store = await SqliteStore.open(path, migrations=newer)
    await put(store, message("m1"))
    await store.close()
    before = path.read_bytes()
    with pytest.raises(
        StoreUnavailable, match=rf"schema {NEWEST + 1}.*up to {NEWEST}.*newer version.*backup"
    ):
        await SqliteStore.open(path)
    assert path.read_bytes() == before
    store = await SqliteStore.open(path, migrations=newer)
    assert (await store.stats()).schema_version == NEWEST + 1
    await store.close()


@pytest.mark.parametrize("dump", sorted(DATABASES.glob("*.sql")), ids=lambda path: path.stem)
async def test_a_database_of_every_version_opens(tmp_path: Path, dump: Path) -> None:
    """A dump of each released schema is brought up to date and answers as it did when it was made."""
    path = tmp_path / "history.db"
    old = sqlite3.connect(path)
    old.executescript(dump.read_text("utf-8"))
    old.close()
    store = await SqliteStore.open(path)
    assert (await store.stats()).schema_version == migrate.known()[-1].number
    loaded = await store.load_channel(ROOM)
    assert [(r.seq, r.message.id, r.message.text, r.revision) for r in loaded.parts[0]] == [
        (1, "m1", "one", 0),
        (2, "m2", "zwei 猫", 1),
        (3, "m3", "", 0),
    ]
    assert [(m.user_id, m.name) for m in loaded.members] == [("u-alice", "Alice"), ("u-bob", "Bob")]
    assert [e.event.type for e in await store.events(ROOM)] == [
        "message.edited",
        "message.recalled",
    ]
    results = await put(store, message("m2", "two", author="u-bob"), message("m3"), message("m4"))
    assert [(r.outcome.value, r.seq) for r in results] == [
        ("duplicate", 2), ("gone", 3), ("stored", 4),
    ]  # fmt: skip
    if dump.stem >= "0002":
        assert await kept_turn(store, "default", "t1", NOON_MS) == (OTHER_ROOM, b"\x00body")
        kept = (await rows(store, OTHER_ROOM))["r1"].message
        assert kept == broken_off(channel=OTHER_ROOM.channel)
    if dump.stem >= "0007":
        (pin,) = await store.records(ROOM, "pin", NOON_MS)
        assert (pin.id, pin.body, pin.created_at_ms) == ("r1", b"\x00pin", NOON_MS)
    if dump.stem >= "0008":
        assert (await store.get_messages(ROOM, ["p1"]))["p1"].message.id == "m1"
    await store.apply([turn("t2", b"new")])
    assert await kept_turn(store, "default", "t2", NOON_MS) == (ROOM, b"new")
    await put(store, broken_off())
    assert (await rows(store))["r1"].state is MessageState.PARTIAL
    await everything(store, [ROOM], PROBE_IDS)
    await store.close()


async def test_a_turn_of_an_older_schema_goes_with_what_it_shows(tmp_path: Path) -> None:
    """N-10: 0011 makes records of turns, about the messages whose ids stand in their bodies."""
    path = tmp_path / "history.db"
    store = await SqliteStore.open(path, migrations=migrate.known()[:10])
    await put(store, *(message(f"m{n}") for n in range(4)))
    await store.close()
    bodies = {
        "shows": {"messages": [{"content": "m2", "message_ids": ["m0", "m1"]}]},
        "asked": {"messages": [], "question_message_id": "m1"},
        "other": {"messages": [{"content": "m1", "message_ids": ["m2"]}], "reply_text": "m1"},
    }
    old = sqlite3.connect(path)
    for id_, body in bodies.items():
        kept = ("default", id_, ROOM.channel, orjson.dumps({"version": 1, "turn": body}), NOON_MS)
        old.execute("INSERT INTO turns VALUES (?, ?, ?, ?, ?)", kept)
    old.commit()
    old.close()
    store = await SqliteStore.open(path)
    assert all([await kept_turn(store, "default", id_, 0) for id_ in bodies])
    await store.apply([recall("m1")])
    assert [await kept_turn(store, "default", id_, 0) is None for id_ in bodies] == [1, 1, 0]
    await store.apply([EraseChange(ROOM, ("nobody",), "", NOON_MS)])
    assert await kept_turn(store, "default", "other", 0) is None
    await store.close()


def test_the_newest_schema_has_its_dump() -> None:
    """A new migration comes with a dump of the database it makes (`write_dump`)."""
    assert (DATABASES / f"{migrate.known()[-1].number:04}.sql").exists()


async def write_dump(folder: Path) -> None:
    """Make the dump of the newest schema: `python -m tests.unit.store.test_migrate FOLDER`."""
    path = folder / "dump.db"
    store = await SqliteStore.open(path)
    secret = message("m3", session_id="s1", audience=("u-bob",))
    await put(store, message("m1", "one"), message("m2", "two", author="u-bob"), secret)
    await store.apply([edit("m2", "zwei 猫"), recall("m3")])
    await put(store, broken_off(), key=OTHER_ROOM)
    await store.apply([turn("t1", b"\x00body", key=OTHER_ROOM)])
    await store.apply([AliasChange(ROOM, "m1", "p1")])
    await store.apply([record("r1", b"\x00pin", names=(about_message("m1"),))])
    await store.apply([usage("c1", "m1"), tell("c1", signal())])
    await store.close()
    connection = sqlite3.connect(path)
    dump = [f"PRAGMA application_id = {files.APPLICATION_ID};", *connection.iterdump()]
    connection.close()
    number = migrate.known()[-1].number
    (DATABASES / f"{number:04}.sql").write_text("\n".join(dump) + "\n", "utf-8")


if __name__ == "__main__":
    import asyncio
    import sys

    asyncio.run(write_dump(Path(sys.argv[1])))
