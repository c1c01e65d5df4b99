"""Locks by name, of one server and of several."""

import asyncio
from collections.abc import Collection, Sequence

import pytest

from backscroll_sidecar.concurrency import locks as module
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.errors import StoreUnavailable


class FakeLeases:
    """Of one store; `server` is who asks."""

    def __init__(self, held: dict[tuple[str, str], str], server: str) -> None:
        self.held, self.server = held, server
        self.is_down = False

    async def take(self, tenant: str, name: str, lasts_ms: int) -> bool:
        del lasts_ms
        if self.is_down:
            raise StoreUnavailable("down")
        await asyncio.sleep(0)
        return self.held.setdefault((tenant, name), self.server) == self.server

    async def prolong(self, tenant: str, names: Collection[str], lasts_ms: int) -> Sequence[str]:
        del lasts_ms
        return [name for name in names if self.held.get((tenant, name)) == self.server]

    async def give_back(self, tenant: str, name: str) -> None:
        if self.held.get((tenant, name)) == self.server:
            del self.held[tenant, name]


@pytest.fixture
def held() -> dict[tuple[str, str], str]:
    return {}


async def crossed(*all_locks: Locks) -> list[str]:
    """What tasks do that hold one name for a while: each should end what it began."""
    done: list[str] = []

    async def work(locks: Locks, who: str) -> None:
        async with locks.hold("a", "turn", "1"):
            done.append(who)
            await asyncio.sleep(0.005)
            done.append(who)

    await asyncio.gather(
        *(work(locks, f"{n}{m}") for n, locks in enumerate(all_locks) for m in range(3))
    )
    return done


async def test_one_at_a_time(held: dict[tuple[str, str], str]) -> None:
    for some in (
        [Locks()],
        [Locks(FakeLeases(held, "one")), Locks(FakeLeases(held, "two"))],
    ):
        done = await crossed(*some)
        assert done[::2] == done[1::2]
        for locks in some:
            await locks.close()
    assert not held


async def test_names_and_tenants_are_apart(held: dict[tuple[str, str], str]) -> None:
    locks = Locks(FakeLeases(held, "one"))
    async with (
        locks.hold("a", "x", "y"), locks.hold("a", "x"), locks.hold("b", "x"), locks.hold("a", "xy"),
    ):  # fmt: skip
        assert len(held) == 4
    await locks.close()


async def test_a_store_that_is_down_holds_nobody_up(held: dict[tuple[str, str], str]) -> None:
    leases = FakeLeases(held, "one")
    locks = Locks(leases)
    leases.is_down = True
    with pytest.raises(StoreUnavailable):
        async with locks.hold("a", "x"):
            pass
    leases.is_down = False
    async with asyncio.timeout(5), locks.hold("a", "x"):
        pass
    await locks.close()


async def test_who_gives_up_waiting_holds_nothing(held: dict[tuple[str, str], str]) -> None:
    held["a", '["x"]'] = "another"
    locks = Locks(FakeLeases(held, "one"))
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05), locks.hold("a", "x"):
            pass
    del held["a", '["x"]']
    async with asyncio.timeout(5), locks.hold("a", "x"):
        pass
    await locks.close()


async def test_what_another_took_over_is_not_given_back(
    held: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """This server was stopped for longer than a lease lasts."""
    monkeypatch.setattr(module, "PROLONGED_S", 0.01)
    locks = Locks(FakeLeases(held, "one"))
    async with locks.hold("a", "x"):
        held["a", '["x"]'] = "another"
        await asyncio.sleep(0.05)
    await locks.close()
    assert held == {("a", '["x"]'): "another"}
