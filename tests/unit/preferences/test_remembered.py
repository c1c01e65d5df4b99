"""What is remembered of preferences is never older than what was acknowledged (law 1), and never another tenant's."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.history.publishing import FanOut
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import EVERYWHERE, EraseChange
from backscroll_sidecar.preferences import remembered as module
from backscroll_sidecar.preferences.preference import Kept
from backscroll_sidecar.preferences.remembered import RememberedPreferences
from backscroll_sidecar.preferences.service import PreferenceService
from backscroll_sidecar.store.memory import InMemoryStore
from backscroll_sidecar.wiring import SystemClock

ROOM = ChannelKey("a", "room")


class SlowStore(InMemoryStore):
    """Reads what there is, and answers when it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.go.set()

    async def records_of_owner(self, *args: object) -> object:
        found = await super().records_of_owner(*args)  # type: ignore[arg-type]
        await self.go.wait()
        return found

    async def record_owners(self, *args: object) -> object:
        found = await super().record_owners(*args)  # type: ignore[arg-type]
        await self.go.wait()
        return found


@pytest.fixture
async def store() -> SlowStore:
    return SlowStore()


class Memory:
    """What is kept and what is remembered of it, over one writer."""

    def __init__(self, store: SlowStore) -> None:
        publishers = FanOut()
        self.writer = Writer(store, publishers)
        self.service = PreferenceService(store, self.writer, SystemClock())
        self.remembered = RememberedPreferences(store, SystemClock())
        publishers.add(self.remembered)
        self.delete = self.service.delete

    async def set(self, tenant: str, user: str, channel: str, text: str, id: str = "") -> None:
        await self.service.set(tenant, user, channel, Kept(text), id)

    def known(self, key: ChannelKey, user: str) -> tuple[str, ...] | None:
        return self.remembered.known(key, user, "", 0)

    async def read(self, key: ChannelKey, user: str) -> tuple[str, ...]:
        return await self.remembered.read(key, user, "", 0)


@pytest.fixture
async def preferences(store: SlowStore) -> AsyncIterator[Memory]:
    made = Memory(store)
    await made.writer.start()
    yield made
    await made.writer.close()


async def lines(preferences: Memory, key: ChannelKey = ROOM, user: str = "u1") -> list[str]:
    known = preferences.known(key, user)
    return list(await preferences.read(key, user) if known is None else known)


@pytest.mark.parametrize("change", ["set", "delete", "erase"])
async def test_a_read_under_way_does_not_hide_a_change(
    store: SlowStore, preferences: Memory, change: str
) -> None:
    """It began before the change and ends after it: the next build reads again."""
    await preferences.set("a", "u1", "", "old", "p")
    assert await lines(preferences, user="u2") == []
    store.go.clear()
    reading = asyncio.create_task(preferences.read(ROOM, "u1"))
    await asyncio.sleep(0)
    if change == "set":
        await preferences.set("a", "u1", "", "new", "p")
    elif change == "delete":
        await preferences.delete("a", "u1")
    else:
        await preferences.writer.submit(EraseChange(ChannelKey("a", EVERYWHERE), (), "u1", 0))
    store.go.set()
    assert await reading == ("old",)
    assert await lines(preferences) == (["new"] if change == "set" else [])


async def test_who_gets_a_first_one_while_owners_are_read_is_seen(
    store: SlowStore, preferences: Memory
) -> None:
    """The first build of a tenant reads who has any."""
    store.go.clear()
    reading = asyncio.create_task(preferences.read(ROOM, "u2"))
    await asyncio.sleep(0)
    await preferences.set("a", "u1", "room", "new")
    store.go.set()
    assert await reading == ()
    assert await lines(preferences) == ["new"]


async def test_tenants_never_meet(preferences: Memory) -> None:
    """Law 6: the same user and channel."""
    await preferences.set("a", "u1", "", "of a", "p")
    await preferences.set("b", "u1", "", "of b", "p")
    other = ChannelKey("b", "room")
    for _ in range(2):
        assert await lines(preferences) == ["of a"]
        assert await lines(preferences, other) == ["of b"]
    assert await preferences.delete("a", "u1") == 1
    assert await lines(preferences) == []
    assert await lines(preferences, other) == ["of b"]


async def test_few_are_remembered(preferences: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The memory is bounded; who asked last stays."""
    monkeypatch.setattr(module, "REMEMBERED_USERS", 2)
    for user in ("u1", "u2", "u3"):
        await preferences.set("a", user, "", user)
        assert await lines(preferences, user=user) == [user]
        if user != "u1":
            assert preferences.known(ROOM, "u1") == ("u1",) or user == "u3"
    assert preferences.known(ROOM, "u2") is None
    assert preferences.known(ROOM, "u1") == ("u1",)
