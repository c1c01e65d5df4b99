"""Jobs that one server at a time does, and the place where each is named."""

import ast
import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

import backscroll_sidecar
from backscroll_sidecar.concurrency import jobs as module
from backscroll_sidecar.concurrency.jobs import ALONE, PER_SERVER, Job, Jobs
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.errors import StoreUnavailable
from tests.unit.concurrency.test_locks import FakeLeases

SOURCES = Path(backscroll_sidecar.__file__).parent
LEASES = "concurrency/locks.py"
"""Prolongs the leases of the jobs, too."""


async def taken_by(jobs: Jobs) -> None:
    async with asyncio.timeout(5):
        await jobs.turn(Job.RETENTION)


async def test_one_server_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "TRIED_S", 0.001)
    held: dict[tuple[str, str], str] = {}
    one, two = (Jobs(Locks(FakeLeases(held, name))) for name in ("one", "two"))
    await taken_by(one)
    await taken_by(one)  # its next round
    waiting = asyncio.create_task(taken_by(two))
    await two.turn(Job.TUNING)  # another job
    await asyncio.sleep(0.02)
    assert not waiting.done()
    await one.locks.close()
    await waiting
    await two.locks.close()


@pytest.mark.parametrize("down", [StoreUnavailable("down"), RuntimeError("of the driver")])
async def test_a_store_that_is_down_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, down: Exception
) -> None:
    monkeypatch.setattr(module, "TRIED_S", 0.001)
    leases = FakeLeases({}, "one")
    leases.down = down
    jobs = Jobs(Locks(leases))
    waiting = asyncio.create_task(taken_by(jobs))
    await asyncio.sleep(0.02)
    assert not waiting.done()
    leases.down = None
    await waiting
    await jobs.locks.close()


async def test_alone_every_turn_is_ones_own() -> None:
    for job in Job:
        with pytest.raises(StopIteration):  # nothing is waited for
            ALONE.turn(job).send(None)


def endless(tree: ast.Module) -> set[str]:
    """The functions of a module that never end by themselves."""
    return {
        one.name
        for one in ast.walk(tree)
        if isinstance(one, ast.AsyncFunctionDef)
        and any(
            isinstance(part, ast.While) and isinstance(part.test, ast.Constant) for part in one.body
        )
    }


def tasks() -> Iterator[tuple[str, str]]:
    """Where tasks begin that never end by themselves, and their names."""
    for path in sorted(SOURCES.rglob("*.py")):
        where, text = path.relative_to(SOURCES).as_posix(), path.read_text()
        if where == LEASES or where.startswith(("cli/", "edge/")):  # of the process itself
            continue
        if "create_task" not in text:
            continue
        tree = ast.parse(text)
        for call in ast.walk(tree):
            if not isinstance(call, ast.Call) or ast.unparse(call.func) != "asyncio.create_task":
                continue
            named = next((ast.unparse(one.value) for one in call.keywords if one.arg == "name"), "")
            begun = call.args[0]
            runs = (
                ast.unparse(begun.func).removeprefix("self.") if isinstance(begun, ast.Call) else ""
            )
            if named or runs in endless(tree):
                yield where, named.strip("'")


@pytest.mark.parametrize(("where", "name"), [*tasks()])
def test_every_job_is_named_as_of_one_server_or_of_all(where: str, name: str) -> None:
    jobs = {f"Job.{one.name}" for one in Job}
    assert name in PER_SERVER or name in jobs or name == "job", where


def test_nothing_else_is_named() -> None:
    names = {name for _, name in tasks()}
    assert not PER_SERVER.keys() - names
    assert {f"Job.{one.name}" for one in Job} - names == {"Job.TRIALS", "Job.TUNING"}  # by `job`
