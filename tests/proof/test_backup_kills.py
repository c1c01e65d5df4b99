"""backup and restore killed at any line: what is there is the old file or the new one, whole."""

import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest

from backscroll_sidecar.store.backups import backup, files, restore
from backscroll_sidecar.store.sqlite import renewal, snapshot
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
    assert not list(tmp_path.glob(".*.part"))


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
    assert not list(tmp_path.glob("*restoring*"))
