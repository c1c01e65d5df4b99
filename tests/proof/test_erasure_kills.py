"""An erasure killed at any line: each channel has lost all or nothing, and the same erasure again finishes it."""

import shutil
import sqlite3
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from backscroll_sidecar.history.tombstones import Erasure
from backscroll_sidecar.store.sqlite import files, group, migrate, reads, records, usage
from tests.integration.cli.test_backup import content, database  # noqa: F401 - a fixture
from tests.kit.killed_lines import killed_at

EVERY, SOME = 1, 17
WHEN_MS = 4_000_000_000_000


@pytest.mark.slow
@pytest.mark.parametrize("is_person", [True, False], ids=["person", "tenant"])
@pytest.mark.parametrize(
    "step", [pytest.param(EVERY, marks=[pytest.mark.proof, pytest.mark.timeout(3_600)]), SOME]
)
def test_an_erasure_killed_at_any_line(
    database: Path,  # noqa: F811
    tmp_path: Path,
    step: int,
    *,
    is_person: bool,
) -> None:
    with closing(sqlite3.connect(database)) as connection:
        (author_id,) = connection.execute("SELECT min(author_id) FROM messages").fetchone()
    user_id = author_id if is_person else ""
    erasure = Erasure(
        tenant="default",
        user_id=user_id,
        all_channels=is_person,
        whole_tenant=not is_person,
        erased_at_ms=WHEN_MS,
    )

    def erase(path: Path) -> None:
        with closing(files.connect_writer(path, "full", migrate.known())) as connection:
            channels = reads.channels_to_erase(connection, "default", user_id)
            for change in erasure.changes(channels):
                group.apply_group(connection, [change], group.Known())

    whole = tmp_path / "whole.db"
    shutil.copy(database, whole)
    erase(whole)
    wanted = content(whole)
    assert wanted != content(database)
    for kills in count():
        half = tmp_path / f"half-{kills}.db"
        shutil.copy(database, half)
        if not killed_at(1 + kills * step, (group, records, usage), lambda: erase(half)):  # noqa: B023 - called at once
            break
        erase(half)
        assert content(half) == wanted
    assert kills > 100 // step
