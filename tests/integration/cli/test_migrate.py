"""`backscroll migrate`: a history moves between SQLite and PostgreSQL, and nothing of it is lost or changed."""

import asyncio
import json
import signal
import socket
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from backscroll import AsyncClient, Client
from backscroll_sidecar.store.moving.ends import Changed, Move
from backscroll_sidecar.store.moving.tables import TABLES
from backscroll_sidecar.store.opening import move_of, open_new_end, open_old_end
from backscroll_sidecar.store.postgres.moving import PostgresNewEnd
from backscroll_sidecar.store.sqlite.moving import SqliteNewEnd
from tests.integration.cli.conftest import Shell
from tests.integration.cli.in_process import Commands
from tests.kit import broken_migration
from tests.kit.migrations import (
    LEFT_BEHIND,
    NOON_MS,
    OF_SERVERS,
    ROOMS,
    a_new_end,
    digest,
    fill,
    line,
    moved_between,
    rows_of,
    rows_of_database,
    rows_of_file,
    shown,
    traces,
    url_of,
)
from tests.kit.postgres import server
from tests.kit.prepared import Started
from tests.kit.served import served
from tests.kit.talkers import Talkers

pytestmark = [
    pytest.mark.row("P-22"),
    pytest.mark.sqlite("each test names the kind of both ends, and has both"),
]


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
    left = LEFT_BEHIND | {"channel_changes", "losses", "lineages", "leases", "unfinished"}
    assert mine == {name: found for name, found in theirs.items() if name not in left}


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


async def test_an_url_may_have_options_of_the_driver(here: Commands, tmp_path: Path) -> None:
    old, url = str(tmp_path / "old.db"), f"{server().new_database()}&statement_cache_size=0"
    async with served(old) as (client, _):
        await client.append("room", [line(1)])
    await asyncio.to_thread(here.json, "migrate", "--from", old, "--to", url)
    said = await move_of(url)
    assert said is not None
    assert said.phase == "arrived"


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


def wait_until(is_so: Callable[[], bool]) -> None:
    ends_s = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < ends_s
        time.sleep(0.01)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
