"""Acknowledged means durable: seen from the kernel, and after kill -9 (law 1)."""

# ruff: noqa: ASYNC220, ASYNC251 -- nothing else runs on these loops

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from backscroll_sidecar.ports import EraseChange
from backscroll_sidecar.store.sqlite import SqliteStore
from tests.contract.store.builders import ROOM, rows

APPEND_ONE_BY_ONE = """
import asyncio, itertools, os, sys
from backscroll_sidecar.store.sqlite import SqliteStore
from tests.contract.store.builders import append, message, record

async def main(path, durability, limit):
    store = await SqliteStore.open(path, durability=durability)
    for number in range(limit):
        id_ = f"m{number}"
        await store.apply([append(message(id_)), record(id_, names=(f"m:{id_}",))])
        os.write(1, f"ACK m{number}\\n".encode())

asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def command(path: Path, durability: str, limit: int) -> list[str]:
    return [sys.executable, "-c", APPEND_ONE_BY_ONE, str(path), durability, str(limit)]


def environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.mark.proof
@pytest.mark.skipif(not shutil.which("strace"), reason="needs strace")
@pytest.mark.parametrize(("durability", "is_synced"), [("full", True), ("normal", False)])
def test_the_log_reaches_the_disk_before_the_acknowledgement(
    tmp_path: Path, durability: str, is_synced: bool
) -> None:
    """Between the last write to the log and each ACK lies an fsync of the log: with FULL, not with NORMAL."""
    log = tmp_path / "trace"
    traced = ["strace", "-f", "-y", "-o", str(log), "-e", "trace=write,pwrite64,fsync,fdatasync"]
    program = command(tmp_path / "history.db", durability, 5)
    done = subprocess.run([*traced, *program], capture_output=True, check=False, env=environment())
    if b"ptrace" in done.stderr or b"PTRACE" in done.stderr:
        pytest.skip("must not trace here")
    assert done.returncode == 0, done.stderr
    synced, acknowledged = [], False
    is_dirty = False
    for line in log.read_text().splitlines():
        if re.search(r"pwrite64\(\d+<[^>]*-wal>", line):
            is_dirty, acknowledged = True, False
        elif re.search(r"f(data)?sync\(\d+<[^>]*-wal>", line):
            is_dirty = False
        elif '"ACK m' in line and not acknowledged:
            synced.append(not is_dirty)
            acknowledged = True
    assert synced == [is_synced] * 5


@pytest.mark.proof
@pytest.mark.parametrize("durability", ["full", "normal"])
async def test_nothing_acknowledged_is_lost_when_killed(tmp_path: Path, durability: str) -> None:
    """Killed at any moment, a dozen times over: every ACK is there, in order, once, a message and a record about it."""
    path = tmp_path / "history.db"
    for round_ in range(12):
        folder = tmp_path / str(round_)
        folder.mkdir()
        path = folder / "history.db"
        process = subprocess.Popen(
            command(path, durability, 1_000_000), stdout=subprocess.PIPE, env=environment()
        )
        assert process.stdout is not None
        first = process.stdout.readline()
        time.sleep(0.02 * round_)
        process.send_signal(signal.SIGKILL)
        acknowledged = (first + process.stdout.read()).decode().splitlines()
        process.stdout.close()
        process.wait()
        store = await SqliteStore.open(path, durability="full")
        stored = await rows(store)
        records = await store.records(ROOM, "pin", 0, limit=10**6)
        assert [one.id for one in records] == list(stored)
        await store.apply([EraseChange(ROOM, (), "u-alice", 0)])
        assert not await store.records(ROOM, "pin", 0)
        await store.close()
        named = [f"m{i}" for i in range(len(stored))]
        assert list(stored) == named
        assert len(acknowledged) in (len(stored), len(stored) - 1)
        assert acknowledged == [f"ACK {id_}" for id_ in named[: len(acknowledged)]]
