"""Calls that come at once ask for versions together, and none takes an answer from before it came."""

import asyncio
from collections.abc import Sequence

import pytest

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.history.replicas import Replicas
from backscroll_sidecar.ports import Loss, Missed, Versions


class Shared:
    """A store whose statements end when `go` is set; `asked` are those that were sent."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, set[str]]] = []
        self.go = asyncio.Event()
        self.error: Exception | None = None

    async def versions(self, tenant: str, channels: Sequence[str]) -> Versions:
        self.asked.append((tenant, set(channels)))
        await self.go.wait()
        if self.error is not None:
            raise self.error
        return Versions(dict.fromkeys(channels, 1), 0)

    async def missed(self, *_: object) -> Missed | None:
        return None

    async def new_losses(self, *_: object) -> Sequence[Loss]:
        return ()


class Cache:
    def publish(self, *_: object) -> None:
        pass


def replicas(shared: Shared) -> Replicas:
    return Replicas(shared, Cache(), lambda losses: None)


async def asking(one: Replicas, tenant: str, *channels: str) -> asyncio.Task[None]:
    """A call that waits for its statement."""
    task = asyncio.create_task(one.catch_up(tenant, channels))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


async def test_who_comes_meanwhile_shares_the_next_statement():
    shared = Shared()
    one = replicas(shared)
    tasks = [await asking(one, "t", "a")]
    tasks += [await asking(one, "t", f"c{n % 3}") for n in range(50)]
    tasks += [await asking(one, "u", "a")]
    assert shared.asked == [("t", {"a", ""}), ("u", {"a", ""})]
    shared.go.set()
    await asyncio.gather(*tasks)
    assert shared.asked[2:] == [("t", {"c0", "c1", "c2", ""})]


async def test_a_failure_is_everybodys_who_shared_it_and_nobody_elses():
    shared = Shared()
    one = replicas(shared)
    shared.error = StoreUnavailable("gone")
    tasks = [await asking(one, "t", "a") for _ in range(3)]
    shared.go.set()
    assert all(
        isinstance(found, StoreUnavailable)
        for found in await asyncio.gather(*tasks, return_exceptions=True)
    )
    shared.error = None
    await one.catch_up("t", ["a"])


async def test_who_gives_up_stops_nobody():
    shared = Shared()
    one = replicas(shared)
    first, second, third = [await asking(one, "t", "a") for _ in range(3)]
    first.cancel()
    second.cancel()
    shared.go.set()
    await third
    with pytest.raises(asyncio.CancelledError):
        await second
    await one.catch_up("t", ["b"])
    assert shared.asked[-1] == ("t", {"b", ""})
