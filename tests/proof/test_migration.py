"""A million messages move to PostgreSQL and back under 500 new ones a second: none lost, none twice, all the same."""

import asyncio
import hashlib
import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import pytest

from backscroll import Client
from backscroll_bench.speed import chats
from backscroll_sidecar.domain import Author, ChannelKey
from backscroll_sidecar.store.moving.tables import TABLES
from backscroll_sidecar.store.opening import move_of, open_old_end, open_store
from tests.contract.store.builders import append, message
from tests.integration.cli.conftest import Shell
from tests.integration.cli.test_migrate import free_port, wait_until
from tests.kit.migrations import url_of
from tests.kit.postgres import server
from tests.kit.talkers import Talkers

pytestmark = [pytest.mark.proof, pytest.mark.timeout(3_500)]
COUNT, CHANNELS, GROUP = 1_000_000, 200, 500
RATE, BOTS = 500, 10
PAUSE_MS = 2_000


async def fill(path: Path) -> None:
    """Real chats, a stretch to each channel by turns."""
    store = await open_store(url_of(str(path)), "normal")
    stream = chats.stream()
    for n in range(COUNT // GROUP):
        key = ChannelKey("default", f"channel {n % CHANNELS}")
        said = [
            message(
                one.id,
                one.line.content,
                author=Author(one.line.user_id, one.line.name),
                at=one.sent_at_ms - chats.START_MS,
            )
            for one in islice(stream, GROUP)
        ]
        await store.apply([append(*said, key=key)])
    await store.close()


async def told(database: str) -> tuple[dict[str, str], list[str]]:
    """Of each table a hash over what no bot of the test wrote to; the ids of all messages."""
    end = await open_old_end(url_of(database), database)
    hashes: dict[str, str] = {}
    ids: list[str] = []
    for table in TABLES:
        hashed, after = hashlib.sha256(), None
        while rows := await end.page(table, after, 20_000):
            after = rows[-1][: len(table.key)]
            for row in rows:
                if row[1].startswith("channel "):
                    hashed.update(repr(row).encode())
            if table.name == "messages":
                ids += [row[3] for row in rows]
        hashes[table.name] = hashed.hexdigest()
    await end.close()
    return hashes, ids


@contextmanager
def serving(shell: Shell, address: str, database: str) -> Iterator[subprocess.Popen[str]]:
    command = ("serve", "--json", "--listen", address, "--database", database)
    log = (shell.directory / f"{time.monotonic_ns()}.log").open("w")
    process = shell.start(*command, stdout=subprocess.PIPE, stderr=log)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
        assert process.wait(60) == 0
        log.close()
        if process.stdout is not None:
            process.stdout.close()


@pytest.mark.row("P-22")
def test_a_million_there_and_back(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    shell = Shell(tmp_path, request.config.rootpath / ".pytest_cache/d/kernels")
    old, new, back = str(tmp_path / "old.db"), server().new_database(), str(tmp_path / "back.db")
    began_s = time.monotonic()
    asyncio.run(fill(Path(old)))
    print(f"\n{COUNT:,} messages stored in {time.monotonic() - began_s:.0f} s")
    address = f"127.0.0.1:{free_port()}"
    said: dict[str, int] = {}
    said |= moves(shell, address, old, new, "to PostgreSQL")
    said |= moves(shell, address, new, back, "back")
    (before, _), (after, ids) = asyncio.run(told(old)), asyncio.run(told(back))
    assert after == before
    expected = {f"{room} m{n}" for room, count in said.items() for n in range(count)}
    assert expected <= set(ids)
    assert len(set(ids)) == len(ids) == COUNT + len(expected)
    print(f"{len(ids):,} messages: {len(expected):,} came meanwhile, 0 lost, 0 twice")


def moves(shell: Shell, address: str, old: str, new: str, way: str) -> dict[str, int]:
    """Move under load; how many messages each bot had acknowledged."""
    with serving(shell, address, old) as first:
        assert first.stdout is not None
        assert first.stdout.readline()
        rooms = [f"{way} {n}" for n in range(BOTS)]
        with Talkers(address, rooms, RATE) as talkers:
            talkers.wait_for(RATE * 2)
            moving = shell.start(
                "migrate", "--from", old, "--to", new, "--json",
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
            wait_until(lambda: asyncio.run(move_of(url_of(new))) or moving.poll() is not None)
            assert moving.poll() is None, moving.communicate()
            with serving(shell, address, new) as second:
                began_s, before = time.monotonic(), talkers.total
                said, errors = moving.communicate()
                assert moving.returncode == 0, errors
                rate = (talkers.total - before) / (time.monotonic() - began_s)
                talkers.wait_for(RATE * 2)
                assert first.wait(60) == 0
                talkers.stop()
                assert second.stdout is not None
                assert json.loads(second.stdout.readline())["listen"] == [address]
                answered(address, rooms[0])
    done = json.loads(said)
    print(
        f"{way}: {sum(done['rows'].values()):,} rows, {done['caught_up']:,} keys changed meanwhile"
    )
    print(
        f"  seconds {done['seconds']}; {sum(done['rows'].values()) / done['seconds']['copy']:,.0f} rows a second"
    )
    print(f"  {rate:.0f} messages a second came; writes paused {done['pause_ms']} ms")
    print(
        f"  {done['compared']:,} rows compared before, {done['compared_last']:,} behind the switch"
    )
    print(f"  the longest wait of a bot: {talkers.longest_s:.2f} s")
    assert done["pause_ms"] < PAUSE_MS
    return dict(talkers.said)


def answered(address: str, room: str) -> None:
    with Client(address) as client:
        assert client.build_context(room, "what did the cat read?").messages
