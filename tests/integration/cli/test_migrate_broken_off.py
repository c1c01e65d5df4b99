"""A migration that is killed, taken back or refused: bots go on, at one end or the other."""

import asyncio
import json
import signal
from pathlib import Path

import asyncpg
import pytest

from backscroll_sidecar.errors import FailedPrecondition, StoreUnavailable
from backscroll_sidecar.store.moving.move import move
from backscroll_sidecar.store.opening import move_of, open_new_end, open_old_end, open_store
from backscroll_sidecar.store.postgres.moving import PostgresNewEnd
from backscroll_sidecar.store.sqlite.files import FileLock
from tests.integration.cli.conftest import InProcess
from tests.integration.cli.in_process import Commands
from tests.kit import broken_migration
from tests.kit.migrations import (
    ROOMS,
    a_new_end,
    digest,
    fill,
    line,
    moved_between,
    rows_of,
    rows_of_file,
    shown,
    traces,
    url_of,
)
from tests.kit.postgres import server
from tests.kit.served import served

pytestmark = [
    pytest.mark.row("P-22"),
    pytest.mark.sqlite("each test names the kind of both ends, and has both"),
]
BREAKS = [
    ("begin", 1), ("prepare", 1), ("fill", 3), ("fill", 9), ("finish", 1), ("between", 2), ("shut", 1), ("leave", 1),
    ("replace", 1), ("open_for_servers", 1), ("tidy", 1),
]  # fmt: skip


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
    assert f"moved before: the history is at {url}" in again.stderr
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
        with pytest.raises(FailedPrecondition, match="connections: 1"):
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


async def test_a_database_that_a_server_has_is_refused_before_anything_begins(
    here: Commands, tmp_path: Path
) -> None:
    old, url = str(tmp_path / "old.db"), server().new_database()
    async with served(old) as (client, _):
        await client.append("room", [line(1)])
    async with served(url):
        done = await asyncio.to_thread(here.run, "migrate", "--from", old, "--to", url)
    assert done.returncode == 1
    assert "stop its servers first" in done.stderr
    assert not traces(old)


async def test_a_database_that_servers_only_looked_at_is_empty(
    here: Commands, tmp_path: Path
) -> None:
    old, url = str(tmp_path / "old.db"), server().new_database()
    async with served(old) as (client, _):
        await client.append("room", [line(1)])
    async with served(url) as (client, _):
        assert not [one async for one in client.list_channels()]
    assert server().rows(url, "SELECT count(*) FROM channels") == [(1,)]
    done = await asyncio.to_thread(here.json, "migrate", "--from", old, "--to", url)
    assert done["rows"]["messages"] == 1
    assert server().rows(url, "SELECT channel FROM channels") == [("room",)]
