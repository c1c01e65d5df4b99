"""`backscroll migrate`: a history moves between SQLite and PostgreSQL, and nothing of it is lost or changed."""

import asyncio
import hashlib
import json
import signal
import socket
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import asyncpg
import pytest

from backscroll import AsyncClient, Client, Member, Message
from backscroll_sidecar.errors import FailedPrecondition, StoreUnavailable
from backscroll_sidecar.store.moving.ends import Changed, Move
from backscroll_sidecar.store.moving.move import Moved, Told, move
from backscroll_sidecar.store.moving.tables import TABLES
from backscroll_sidecar.store.opening import move_of, open_new_end, open_old_end, open_store
from backscroll_sidecar.store.postgres.arrays import unspelled
from backscroll_sidecar.store.postgres.moving import PostgresNewEnd
from backscroll_sidecar.store.sqlite.files import FileLock
from backscroll_sidecar.store.sqlite.moving import SqliteNewEnd
from tests.integration.cli.conftest import InProcess, Shell
from tests.integration.cli.in_process import Commands
from tests.kit import broken_migration
from tests.kit.postgres import server
from tests.kit.prepared import Started
from tests.kit.served import served
from tests.kit.talkers import Talkers

pytestmark = pytest.mark.row("P-22")
NOON_MS = 1_700_000_000_000
ROOMS = ("room", "群组 \U0002070e", "o'Brien\n%")
HOSTILE = "\U00020000\U0003134f \u2028 'quoted' \\N \\. \t ﷽ \x1a1 e\u0301"
LEFT_BEHIND = {"segments", "moves", "moved_keys", "schema_migrations"}
"""Tables of SQLite that do not move."""
OF_SERVERS = {"version", "holds"}
"""Columns of PostgreSQL's channels that only servers tell each other."""


@pytest.fixture
def here() -> Commands:
    """The command line in this process; a migration asks no server."""
    return Commands("127.0.0.1:1")


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


async def answers(client: AsyncClient) -> list[object]:
    """What a server says of everything, but for what differs from call to call."""
    said: list[object] = []
    for room in ROOMS:
        listed = [one async for one in client.list_messages(room)]
        said.append(listed)
        said.append([(one.user_id, one.name) for one in await client.list_members(room)])
        said.append([one.message.id for one in await client.list_pinned_messages(room)])
        for profile in ("naive", "balanced", "classic"):
            built = await client.build_context(room, "and the cat?", asker="ann", profile=profile)
            said.append([built.payload, built.messages])
    return said


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


def digest(rows: dict[str, list[object]]) -> dict[str, str]:
    return {name: hashlib.sha256(repr(some).encode()).hexdigest() for name, some in rows.items()}


async def test_there_and_back(here: Commands, tmp_path: Path) -> None:
    """Every row, every answer; the next numbers are those that would have come."""
    old, url, back = tmp_path / "old.db", server().new_database(), tmp_path / "back.db"
    async with served(old) as (client, _):
        await fill(client)
    async with served(old) as (client, _):
        before = await answers(client)
    rows = rows_of_file(old)
    moved = await asyncio.to_thread(here.json, "migrate", "--from", str(old), "--to", url)
    assert sum(moved["rows"].values()) == moved["compared"] == sum(map(len, rows.values()))
    assert digest(await rows_of_database(url, rows)) == digest(rows)
    async with served(url) as (client, _):
        assert await answers(client) == before
    rows = await rows_of_database(url, rows)  # builds were recorded
    await asyncio.to_thread(here.json, "migrate", "--from", url, "--to", str(back))
    assert digest(rows_of_file(back)) == digest(rows)
    async with served(back) as (client, _):
        assert await answers(client) == before
        await client.append("room", [line(100)])
    connection = sqlite3.connect(back)
    assert connection.execute("SELECT seq FROM messages WHERE id = 'm100'").fetchall() == [(61,)]
    connection.close()


async def test_all_that_is_kept_moves(tmp_path: Path) -> None:
    """A table or column that is new in a schema must be told to the move."""
    url = server().new_database()
    with_file = await open_new_end(f"sqlite:///{tmp_path / 'new.db'}", "new.db")
    with_url = await open_new_end(url, "new")
    await with_file.close()
    await with_url.close()
    mine = {one.name: set(one.columns) for one in TABLES}
    connection = sqlite3.connect(tmp_path / "new.db")
    columns = {
        name: {row[1] for row in connection.execute(f"PRAGMA table_info({name})")}
        for (name,) in connection.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        )
        if name not in LEFT_BEHIND
    }
    connection.close()
    assert mine == columns
    told = server().psql(
        url,
        "SELECT table_name || ' ' || column_name FROM information_schema.columns JOIN information_schema.tables "
        "USING (table_schema, table_name) WHERE table_schema = 'public' AND table_type = 'BASE TABLE'",
    )
    theirs: dict[str, set[str]] = {}
    for table, column in map(str.split, told.splitlines()):
        theirs.setdefault(table, set()).add(column)
    theirs["channels"] -= OF_SERVERS
    left = LEFT_BEHIND | {"channel_changes", "losses", "leases", "unfinished"}
    assert mine == {name: found for name, found in theirs.items() if name not in left}


async def test_a_history_that_moved_is_refused(here: Commands, tmp_path: Path) -> None:
    old, url = tmp_path / "old.db", server().new_database()
    async with served(old) as (client, _):
        await client.append("room", [line(1)])
    await asyncio.to_thread(here.json, "migrate", "--from", str(old), "--to", url)
    with pytest.raises(Exception, match=f"moved to {url.replace('?', '.')}"):
        async with served(old):
            pass
    again = await asyncio.to_thread(here.run, "migrate", "--from", str(old), "--to", url)
    assert again.returncode == 0
    assert f"the history is at {url}" in again.stderr
    elsewhere = str(tmp_path / "elsewhere.db")
    for how in ((), ("--abandon",)):
        done = await asyncio.to_thread(
            here.run, "migrate", "--from", str(old), "--to", elsewhere, *how
        )
        assert done.returncode == 1
        assert "name that with --to" in done.stderr
    assert not await asyncio.to_thread(Path(elsewhere).exists)


async def test_a_database_with_something_in_it_is_refused(here: Commands, tmp_path: Path) -> None:
    old, other = tmp_path / "old.db", tmp_path / "other.db"
    for path in (old, other):
        async with served(path) as (client, _):
            await client.append("room", [line(1)])
    before = rows_of_file(other)
    done = await asyncio.to_thread(here.run, "migrate", "--from", str(old), "--to", str(other))
    assert done.returncode == 1
    assert "name an empty database" in done.stderr
    assert rows_of_file(other) == before
    async with served(old) as (client, _):  # it was left alone
        await client.append("room", [line(2)])
    assert await (await open_old_end(f"sqlite:///{old}", "old")).move() is None


BREAKS = [
    ("begin", 1), ("prepare", 1), ("fill", 3), ("fill", 9), ("finish", 1), ("between", 2), ("shut", 1), ("leave", 1),
    ("replace", 1), ("open_for_servers", 1), ("tidy", 1),
]  # fmt: skip


def a_new_end(way: str, folder: Path, name: str) -> str:
    """A database that is empty, or a file that is not there."""
    return str(folder / f"{name}.db") if way == "file" else server().new_database()


async def rows_of(database: str, tables: dict[str, object]) -> dict[str, list[object]]:
    if "://" in database:
        return await rows_of_database(database, tables)
    return {name: some for name, some in rows_of_file(Path(database)).items() if name in tables}


@pytest.mark.parametrize(("old_kind", "new_kind"), [("file", "url"), ("url", "file")])
@pytest.mark.parametrize(("step", "count"), BREAKS)
async def test_a_killed_migration_goes_on(
    here: Commands, tmp_path: Path, old_kind: str, new_kind: str, step: str, count: int
) -> None:
    """What was written in between moves, too; a history that is about to move takes no server."""
    old, new = a_new_end(old_kind, tmp_path, "old"), a_new_end(new_kind, tmp_path, "new")
    async with served(old) as (client, _):
        await fill(client)
    ends = ("--from", old, "--to", new)
    if step == "replace":  # what changes between two runs
        await asyncio.to_thread(broken_migration.run, signal.SIGKILL, "fill", 9, *ends)
        async with served(old) as (client, _):
            await client.append("room", [line(n) for n in range(60, 70)])
    broken = await asyncio.to_thread(broken_migration.run, signal.SIGKILL, step, count, *ends)
    assert broken.returncode == -signal.SIGKILL, broken.stderr
    is_open = step in {"open_for_servers", "tidy"}
    if step in {"shut", "leave"} or is_open:
        with pytest.raises(StoreUnavailable, match="this history"):
            async with served(old):
                pass
    else:
        async with served(old) as (client, _):
            await client.append("room", [line(n) for n in range(70, 80)])
            await client.edit_message("room", "m1", "once more")
            await client.erase(ROOMS[1], whole_channel=True)
            await client.unpin_message(ROOMS[2], "m12")
    if step != "begin" and not is_open:  # it is this migration's by now
        with pytest.raises(StoreUnavailable):
            async with served(new):
                pass
    await asyncio.to_thread(here.json, "migrate", *ends)
    tables = rows_of_file(Path(old if old_kind == "file" else new))
    before = await rows_of(old, tables)
    assert digest(await rows_of(new, tables)) == digest(before)
    assert len(before["messages"]) > 100
    assert not [name for name in traces(old) if "noted_" in name]
    async with served(new) as (client, _):
        await client.append("room", [line(100)])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
async def test_the_new_end_opens_once_all_servers_let_go(
    here: Commands, tmp_path: Path, how: signal.Signals
) -> None:
    """Even if the run that told them was broken off, and one stands still with the file's lock."""
    old, new = str(tmp_path / "old.db"), server().new_database()
    async with served(old) as (client, _):
        await fill(client)
    ends = ("--from", old, "--to", new)
    broken = await asyncio.to_thread(broken_migration.run, how, "leave", 1, *ends)
    if how == signal.SIGINT:
        assert broken.returncode == 130
        assert "servers know already" in broken.stderr
    lock = FileLock(Path(old))
    again = asyncio.create_task(asyncio.to_thread(here.json, "migrate", *ends))
    await asyncio.wait((again,), timeout=1.5)
    said = await move_of(new)
    assert said is not None
    assert (again.done(), said.phase) == (False, "arriving")
    lock.release()
    await again
    said = await move_of(new)
    assert said is not None
    assert said.phase == "arrived"


@pytest.mark.parametrize("kind", ["file", "url"])
@pytest.mark.parametrize("step", ["shut", "changed"])
async def test_whatever_fails_at_the_switch_bots_go_on(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, kind: str, step: str
) -> None:
    old = a_new_end(kind, tmp_path, "old")
    new = a_new_end("url" if kind == "file" else "file", tmp_path, "new")
    async with served(old) as (client, _):
        await fill(client)
        leaving = await open_old_end(url_of(old), shown(old))
        coming = await open_new_end(url_of(new), shown(new))
        called = getattr(leaving, step)

        async def broken(*given: object) -> object:
            answer = await called(*given)
            said = await leaving.move()
            if said is not None and said.phase == "closed":
                raise asyncpg.InterfaceError("of a kind that nobody foresaw")
            return answer

        monkeypatch.setattr(leaving, step, broken)
        with pytest.raises(asyncpg.InterfaceError):
            await move(leaving, coming, lambda *_: None)
        await client.append("room", [line(100)])
        await leaving.close()
        await coming.close()
    await moved_between(old, new, lambda *_: None)


@pytest.mark.parametrize(("old_kind", "new_kind"), [("file", "url"), ("url", "file")])
async def test_much_that_changed_is_caught_up_with_by_lots(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, old_kind: str, new_kind: str
) -> None:
    """And by rounds while all is compared."""
    old, new = a_new_end(old_kind, tmp_path, "old"), a_new_end(new_kind, tmp_path, "new")
    async with served(old) as (client, _):
        await fill(client)
    ends = ("--from", old, "--to", new)
    await asyncio.to_thread(broken_migration.run, signal.SIGKILL, "fill", 9, *ends)
    monkeypatch.setattr("backscroll_sidecar.store.moving.move.LOT", 7)
    monkeypatch.setattr("backscroll_sidecar.store.moving.move.ROUND_S", 0.0)
    lots = []
    new_end = SqliteNewEnd if new_kind == "file" else PostgresNewEnd
    replace = new_end.replace

    async def replaced(end: SqliteNewEnd | PostgresNewEnd, changed: Changed) -> None:
        lots.append(len(changed.marks))
        await replace(end, changed)

    monkeypatch.setattr(new_end, "replace", replaced)
    async with served(old) as (client, _):
        await fill(client)
        await client.append("room", [line(n) for n in range(60, 90)])
        await client.erase(ROOMS[1], whole_channel=True)
    moved = await moved_between(old, new, lambda *_: None)
    assert max(lots) == 7
    assert len(lots) > 5
    assert moved.caught_up
    tables = rows_of_file(Path(old if old_kind == "file" else new))
    assert digest(await rows_of(new, tables)) == digest(await rows_of(old, tables))


@pytest.mark.parametrize("is_shut", [False, True], ids=["leaving", "closed"])
async def test_a_backup_is_in_no_migration(here: Commands, tmp_path: Path, is_shut: bool) -> None:
    """What is restored notes nothing for a migration that is no more, and takes writes."""
    old, file, restored = (tmp_path / name for name in ("old.db", "old.backup", "restored.db"))
    async with served(old) as (client, _):
        await fill(client)
    leaving = await open_old_end(url_of(str(old)), str(old))
    await leaving.begin(Move("a move", "leaving", "elsewhere", NOON_MS))
    async with served(old) as (client, _):
        await client.append("room", [line(70)])
    if is_shut:
        await leaving.shut()
    await leaving.close()
    assert traces(str(old))
    await asyncio.to_thread(here.json, "backup", "--database", str(old), "--to", str(file))
    await asyncio.to_thread(here.json, "restore", str(file), "--to", str(restored), "--verify")
    assert not traces(str(restored))
    assert rows_of_file(restored) == rows_of_file(old)
    async with served(restored) as (client, _):
        await client.append("room", [line(71)])


async def test_a_server_that_opens_the_new_end_meanwhile_keeps_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old, url = tmp_path / "old.db", server().new_database()
    async with served(old) as (client, _):
        await client.append("room", [line(1)])
    stores = []
    look = PostgresNewEnd._check_free

    async def looked(end: PostgresNewEnd) -> None:
        await look(end)
        if not stores:
            stores.append(await open_store(url))

    monkeypatch.setattr(PostgresNewEnd, "_check_free", looked)
    with pytest.raises(FailedPrecondition, match="stop its servers first"):
        await moved_between(str(old), url, lambda *_: None)
    assert await move_of(url) is None
    await stores[0].close()
    await moved_between(str(old), url, lambda *_: None)


async def test_sessions_of_other_users_are_seen(tmp_path: Path) -> None:
    """Of them a user who is no superuser sees hardly more than that they are."""
    old, url = tmp_path / "old.db", server().new_database()
    async with served(old) as (client, _):
        await client.append("room", [line(1)])
    server().psql(url, "CREATE ROLE mover LOGIN; GRANT ALL ON SCHEMA public TO mover")
    beside = await asyncpg.connect(url)
    try:
        with pytest.raises(FailedPrecondition, match="1 other connections"):
            await moved_between(str(old), url.replace("backscroll@", "mover@"), lambda *_: None)
    finally:
        await beside.close()


async def test_servers_of_another_version_keep_their_schema(here: Commands, tmp_path: Path) -> None:
    url, asked = server().new_database(), "SELECT max(number) FROM schema_migrations"
    async with served(url) as (client, _):
        await client.append("room", [line(1)])
    ((newest,),) = server().rows(url, asked)
    server().psql(url, f"DELETE FROM schema_migrations WHERE number = {newest}")
    beside = await asyncpg.connect(url)
    ends = ("--from", url, "--to", str(tmp_path / "new.db"))
    for how in ((), ("--abandon",)):
        done = await asyncio.to_thread(here.run, "migrate", *ends, *how)
        assert done.returncode == 1
        assert "older than this program" in done.stderr
    await beside.close()
    assert server().rows(url, asked) == [(newest - 1,)]


async def test_an_url_may_have_options_of_the_driver(here: Commands, tmp_path: Path) -> None:
    old, url = str(tmp_path / "old.db"), f"{server().new_database()}&statement_cache_size=0"
    async with served(old) as (client, _):
        await client.append("room", [line(1)])
    await asyncio.to_thread(here.json, "migrate", "--from", old, "--to", url)
    said = await move_of(url)
    assert said is not None
    assert said.phase == "arrived"


@pytest.mark.parametrize("kind", ["file", "url"])
@pytest.mark.parametrize("step", ["fill", "finish", "shut"])
async def test_ctrl_c_takes_everything_back(tmp_path: Path, kind: str, step: str) -> None:
    old = a_new_end(kind, tmp_path, "old")
    new = a_new_end("url" if kind == "file" else "file", tmp_path, "new")
    async with served(old) as (client, _):
        await fill(client)
    ends = ("--from", old, "--to", new)
    broken = await asyncio.to_thread(broken_migration.run, signal.SIGINT, step, 1, *ends)
    assert broken.returncode == 130, broken.stderr
    assert "both are as before" in broken.stderr
    assert not traces(old)
    async with served(old) as (client, _):
        await client.append("room", [line(100)])
    async with served(new) as (client, _):  # empty, and whole
        assert not [one async for one in client.list_channels()]
        await fill(client)


@pytest.mark.parametrize("kind", ["file", "url"])
async def test_a_killed_migration_is_abandoned(
    here: Commands, inside: InProcess, tmp_path: Path, kind: str
) -> None:
    old, new = a_new_end(kind, tmp_path, "old"), a_new_end("url", tmp_path, "new")
    async with served(old) as (client, _):
        await fill(client)
    ends = ("--from", old, "--to", new)
    await asyncio.to_thread(broken_migration.run, signal.SIGKILL, "fill", 4, *ends)
    assert traces(old)
    assert "begun" in await doctors_word(inside, old)
    assert "no server can have it yet" in await doctors_word(inside, new)
    done = await asyncio.to_thread(here.json, "migrate", *ends, "--abandon")
    assert done["abandoned"]
    assert not traces(old)
    again = await asyncio.to_thread(here.json, "migrate", *ends, "--abandon")
    assert not again["abandoned"]
    assert not await doctors_word(inside, old)
    await asyncio.to_thread(here.json, "migrate", *ends)
    done = await asyncio.to_thread(here.run, "migrate", *ends, "--abandon")
    assert done.returncode == 1
    assert "move it back from there" in done.stderr
    assert "this history moved to" in await doctors_word(inside, old)
    assert "came from" in await doctors_word(inside, new)


async def doctors_word(shell: InProcess, database: str) -> str:
    """What it says of a migration; nothing: that there is none."""
    done = await asyncio.to_thread(shell.run, "doctor", "--json", BACKSCROLL_DATABASE=database)
    said = json.loads(done.stdout)
    return "".join(one["detail"] for one in said["checks"] if one["name"] == "migration")


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


@pytest.mark.parametrize(("old_kind", "new_kind"), [("file", "url"), ("url", "file")])
def test_bots_go_on_talking(shell: Shell, tmp_path: Path, old_kind: str, new_kind: str) -> None:
    """The next server waits for the port and the history; nothing acknowledged is lost, nothing is stored twice."""
    old, new = a_new_end(old_kind, tmp_path, "old"), a_new_end(new_kind, tmp_path, "new")
    next_one: list[Started] = []
    log = tmp_path / "next.log"

    def told(step: str, done: int, total: int) -> None:
        if step == "comparing" and not next_one:
            command = ("serve", "--json", "--listen", first.address, "--database", new)
            with log.open("w") as errors:
                next_one.append(
                    prepared.start(command, tmp_path, shell.variables({}), stderr=errors)
                )
            wait_until(lambda: "waits for a migration" in log.read_text())
            with Client(first.address) as client:
                client.edit_message("first", "m1", "edited meanwhile")
                client.erase("first", message_ids=["m2"])
                client.pin_message("first", "m3")
            talkers.wait_for(20)

    assert shell.prepared is not None
    prepared = shell.prepared
    with shell.serving("--database", old, listen=f"127.0.0.1:{free_port()}") as first:
        with Client(first.address) as client:
            client.append("first", [line(n) for n in range(10)])
        with Talkers(first.address, ["a", "b"], rate=100) as talkers:
            talkers.wait_for(20)
            moved = asyncio.run(moved_between(old, new, told))
            talkers.wait_for(20)
        assert first.popen.wait(60) == 0
        assert f"this history moved to {shown(new)}" in first.log.read_text()
    try:
        with Client(json.loads(next_one[0].stdout.readline())["listen"][0]) as client:
            for room, count in talkers.said.items():
                ids = [one.message.id for one in client.list_messages(room)]
                assert ids == [f"{room} m{n}" for n in range(count)]
            texts = {one.message.id: one.message.parts for one in client.list_messages("first")}
            assert "m2" not in texts
            assert "edited meanwhile" in str(texts["m1"])
            assert [one.message.id for one in client.list_pinned_messages("first")] == ["m3"]
    finally:
        next_one[0].send_signal(signal.SIGTERM)
        assert next_one[0].wait(60) == 0
        next_one[0].stdout.close()
    assert moved.caught_up
    tables = rows_of_file(Path(old if old_kind == "file" else new))
    written = {"messages", "channels", "members", "usage_records", "events"}
    kept = {name: some for name, some in tables.items() if name not in written}
    assert digest(asyncio.run(rows_of(old, kept))) == digest(asyncio.run(rows_of(new, kept)))
    print(
        f"{old_kind} to {new_kind}: writes paused for {moved.pause_ms} ms, a bot waited {talkers.longest_s:.2f} s"
    )


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


def wait_until(is_so: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends_s
        time.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
