"""backup and restore killed at any line: what is there is the old file or the new one, whole."""

import os
import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest

from backscroll_sidecar.store.backups import backup, files, restore
from backscroll_sidecar.store.sqlite import renewal, snapshot
from backscroll_sidecar.store.sqlite.store import SqliteStore
from tests.integration.cli.in_process import Commands
from tests.integration.cli.test_backup import content, database  # noqa: F401 - a fixture
from tests.kit.killed_lines import killed_at

MODULES = (backup, files, restore, renewal, snapshot)
EVERY, SOME = 1, 23
"""Lines between two kills: in the proof, in the ordinary suite."""
HERE = Commands("127.0.0.1:1")
ERASED = '{"tenant":"default","channel":"other room","erased_at_ms":4000000000000}\n'

steps = pytest.mark.parametrize(
    "step", [pytest.param(EVERY, marks=[pytest.mark.proof, pytest.mark.timeout(3_600)]), SOME]
)


def kill_at_lines(step: int, work: Callable[[], object], check: Callable[[], object]) -> int:
    """Let it be killed at the lines 1, 1 + step, …, and check what is there; at how many."""
    for kills in count():
        if not killed_at(1 + kills * step, MODULES, work):
            return kills
        check()
    raise AssertionError


@pytest.mark.slow
@steps
def test_a_backup_killed_at_any_line(database: Path, tmp_path: Path, step: int) -> None:  # noqa: F811
    file, target = tmp_path / "chat.backup", tmp_path / "new.db"
    arguments = ("backup", "--database", str(database), "--to", str(file), "--force")
    before = content(database)
    HERE.json(*arguments)
    seen = {file.stat().st_ino}

    def check() -> None:
        seen.add(file.stat().st_ino)
        HERE.json("restore", str(file), "--to", str(target), "--force", "--verify")
        assert content(target) == before
        assert content(database) == before

    kills = kill_at_lines(step, lambda: HERE.json(*arguments), check)
    assert kills > 100 // step
    HERE.json(*arguments)
    assert not left_overs(tmp_path)


def left_overs(folder: Path) -> list[Path]:
    """Files that somebody began and nobody finished."""
    return [*folder.glob("*restoring*"), *folder.glob(f".*{backup.PART_SUFFIX}*")]


def leave(folder: Path, module: ModuleType, *arguments: str) -> None:
    """Kill a command where it leaves the most."""
    for number in count(1, 3):
        assert killed_at(number, (module,), lambda: HERE.json(*arguments))
        if any(one.stat().st_size > 4_096 for one in left_overs(folder)):
            return


@pytest.mark.slow
@pytest.mark.row("N-10")
def test_what_a_killed_backup_left_goes_with_the_next(database: Path, tmp_path: Path) -> None:  # noqa: F811
    """Whatever name that one has; what another program is writing just then stays."""
    leave(
        tmp_path, backup, "backup", "--database", str(database), "--to", str(tmp_path / "a.backup")
    )
    with files.new_file(tmp_path / f".b.backup{backup.PART_SUFFIX}") as busy:
        HERE.json("backup", "--database", str(database), "--to", str(tmp_path / "c.backup"))
        assert [one.stat().st_ino for one in left_overs(tmp_path)] == [
            os.fstat(busy.fileno()).st_ino
        ]
    assert not left_overs(tmp_path)


@pytest.mark.slow
@pytest.mark.row("N-10")
@pytest.mark.parametrize("who", ["server", "restore"])
async def test_what_a_killed_restore_left_goes_with_the_next_start(
    database: Path,  # noqa: F811
    tmp_path: Path,
    who: str,
) -> None:
    """Of a server or of a restore, whatever that one does; what a restore makes while it runs is safe by the lock."""
    file, told, target = (tmp_path / name for name in ("a.backup", "erased.jsonl", "new.db"))
    HERE.json("backup", "--database", str(database), "--to", str(file))
    told.write_text(ERASED)
    restored = ("restore", str(file), "--to", str(target), "--force")
    HERE.json(*restored)
    leave(tmp_path, renewal, *restored, "--tombstones", str(told))
    if who == "server":
        await (await SqliteStore.open(target)).close()
    else:
        HERE.json(*restored, "--dry-run")
    assert not left_overs(tmp_path)


@pytest.mark.slow
@steps
def test_a_restore_killed_at_any_line(database: Path, tmp_path: Path, step: int) -> None:  # noqa: F811
    """The old database ends with a log, as that of a server that was killed."""
    file, told = tmp_path / "chat.backup", tmp_path / "erased.jsonl"
    target = tmp_path / "target.db"
    log = target.with_name("target.db-wal")
    HERE.json("backup", "--database", str(database), "--to", str(file))
    told.write_text(ERASED)
    arguments = (
        "restore", str(file), "--to", str(target), "--force", "--verify", "--tombstones", str(told),
    )  # fmt: skip
    HERE.json(*arguments)
    new = content(target)
    with sqlite3.connect(database) as writing:
        writing.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        writing.execute("DELETE FROM revisions")
        writing.commit()
        old_bytes = database.read_bytes(), database.with_name("old.db-wal").read_bytes()
    writing.close()
    old = content(database)
    assert old != new
    came = set()

    def put_old() -> None:
        log.unlink(missing_ok=True)
        target.write_bytes(old_bytes[0])
        log.write_bytes(old_bytes[1])

    def check() -> None:
        found = content(target)
        assert found in (old, new)
        came.add(found == new)
        put_old()

    put_old()
    kills = kill_at_lines(step, lambda: HERE.json(*arguments), check)
    assert kills > 200 // step
    assert came == {False, True}
    HERE.json(*arguments)
    assert content(target) == new
    assert not left_overs(tmp_path)
