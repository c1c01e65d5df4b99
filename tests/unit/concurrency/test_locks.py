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
        self.down: Exception | None = None
        self.prolonged = 0
        self.unheard: BaseException | None = None
        self.holdings: dict[tuple[str, str], int] = {}

    async def take(self, tenant: str, name: str, lasts_ms: int, holding: int) -> bool:
        del lasts_ms
        self._check()
        await asyncio.sleep(0)
        is_ours = self.held.setdefault((tenant, name), self.server) == self.server
        if is_ours:
            self.holdings[tenant, name] = holding
        if self.unheard is not None:
            raise self.unheard
        return is_ours

    async def prolong(self, tenant: str, names: Collection[str], lasts_ms: int) -> Sequence[str]:
        del lasts_ms
        self._check()
        self.prolonged += 1
        return [name for name in names if self.held.get((tenant, name)) == self.server]

    async def give_back(self, tenant: str, name: str, holding: int) -> None:
        self._check()
        place = tenant, name
        if self.held.get(place) == self.server and self.holdings[place] == holding:
            del self.held[place]

    def _check(self) -> None:
        if self.down is not None:
            raise self.down


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
    leases.down = StoreUnavailable("down")
    with pytest.raises(StoreUnavailable):
        async with locks.hold("a", "x"):
            pass
    leases.down = None
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


async def test_what_cannot_be_given_back_is_given_back_later(
    held: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server that lives would keep it from all others."""
    monkeypatch.setattr(module, "PROLONGED_S", 0.01)
    leases = FakeLeases(held, "one")
    locks = Locks(leases)
    async with locks.hold("a", "x"):
        leases.down = StoreUnavailable("down")
    await asyncio.sleep(0.05)
    assert held
    leases.down = None
    async with asyncio.timeout(5):
        while held:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
    await locks.close()


@pytest.mark.parametrize("unheard", [StoreUnavailable("gone"), asyncio.CancelledError()])
async def test_what_may_have_been_taken_is_given_back(
    held: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch, unheard: BaseException
) -> None:
    """The connection broke, or the caller left, before the store's answer came."""
    monkeypatch.setattr(module, "PROLONGED_S", 0.01)
    leases = FakeLeases(held, "one")
    leases.unheard = unheard
    locks = Locks(leases)
    with pytest.raises(type(unheard)):
        await locks.try_to_take("a", "x")
    assert held
    async with asyncio.timeout(5):
        while held:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
    await locks.close()


async def test_what_is_taken_again_without_an_answer_stays_held(
    held: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A job asks for its lease before each round."""
    monkeypatch.setattr(module, "PROLONGED_S", 0.01)
    leases = FakeLeases(held, "one")
    locks = Locks(leases)
    assert await locks.try_to_take("a", "x")
    leases.unheard = StoreUnavailable("gone")
    with pytest.raises(StoreUnavailable):
        await locks.try_to_take("a", "x")
    leases.unheard = None
    await asyncio.sleep(0.1)
    assert held
    locks.give_back("a", "x")
    await locks.close()
    assert not held


async def test_no_error_of_the_store_ends_what_prolongs(
    held: dict[tuple[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver has errors of its own."""
    monkeypatch.setattr(module, "PROLONGED_S", 0.01)
    leases = FakeLeases(held, "one")
    locks = Locks(leases)
    assert await locks.try_to_take("a", "x")
    assert await locks.try_to_take("a", "y")
    leases.down = RuntimeError("another operation is in progress")
    locks.give_back("a", "y")
    await asyncio.sleep(0.05)
    assert len(held) == 2
    leases.down = None
    async with asyncio.timeout(5):
        while len(held) == 2:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
    prolonged = leases.prolonged
    async with asyncio.timeout(5):
        while leases.prolonged == prolonged:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
    await locks.close()
    assert not held


async def test_a_late_return_of_what_was_taken_again(held: dict[tuple[str, str], str]) -> None:
    """What one call gives back and the next one takes may reach the store in the other order."""
    leases = FakeLeases(held, "one")
    locks = Locks(leases)
    assert await locks.try_to_take("a", "x")
    locks.give_back("a", "x")  # by a task that has not run yet
    taking = asyncio.create_task(locks.try_to_take("a", "x"))
    giving = leases.give_back
    gone: list[object] = []

    async def late(*args: object) -> None:
        await taking
        gone.append(args)
        await giving(*args)  # type: ignore[arg-type]

    leases.give_back = late  # type: ignore[method-assign]
    async with asyncio.timeout(5):
        while not gone:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)
    assert held
    locks.give_back("a", "x")
    await locks.close()
    assert not held
