"""What every store does with erasures of several channels, and of none (N-10)."""

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.history.erasing import changes_of, summed
from backscroll_sidecar.history.tombstones import Erasure
from backscroll_sidecar.ports import (
    EVERYWHERE,
    EraseChange,
    HistoryStore,
)
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    edit,
    everything,
    message,
    put,
    record,
    rows,
)
from tests.contract.store.usage_contract import signal, tell, usage

ALICE = "u-alice"
ABOUT_ALICE = f"u:{ALICE}"
OTHER = OTHER_ROOM.channel
PLACES = ("by-feedback", "by-record", "by-usage", OTHER, ROOM.channel)


def place(name: str, tenant: str = ROOM.tenant) -> ChannelKey:
    return ChannelKey(tenant, name)


KEYS = tuple(place(name) for name in (*PLACES, "bobs", EVERYWHERE))
IDS = ("m1", "m2")


async def talk_of_alice(store: HistoryStore) -> None:
    """She wrote in two channels, and left traces of other kinds in three; Bob is everywhere."""
    for key in (ROOM, OTHER_ROOM):
        await put(store, message("m1", author=ALICE), message("m2", author="u-bob"), key=key)
        await store.apply([edit("m1", "other words", key=key)])
    await put(store, message("m2", author="u-bob"), key=place("bobs"))
    await put(store, message("m2", author="u-bob"), key=place("by-usage"))
    await put(store, message("m2", author="u-bob"), key=place("by-feedback"))
    await store.apply([
        record("p", names=(ABOUT_ALICE,), key=place("by-record"), kind="preference"),
        record("p", names=(ABOUT_ALICE,), key=place(EVERYWHERE), kind="preference"),
        record("s", key=place(EVERYWHERE), kind="space"),
        usage("c1", key=place("by-usage"), user_id=ALICE),
        usage("c2", key=place("by-feedback"), user_id="u-bob"),
        tell("c2", signal(ALICE), key=place("by-feedback")),
    ])  # fmt: skip


async def erased(store: HistoryStore, erasure: Erasure, *, is_dry_run: bool = False) -> dict:
    channels = await store.channels_to_erase(erasure.tenant, erasure.user_id)
    applied = await store.apply(changes_of(erasure, channels, is_dry_run=is_dry_run))
    counts = summed(one.receipt for one in applied).counts
    return {name: count for name, count in counts.items() if count}


class ErasureContract:
    """Obligations of erasures that reach beyond one channel."""

    async def test_where_a_person_left_anything(self, store: HistoryStore) -> None:
        """N-10: messages, membership, builds, feedback, records; nobody: every channel that holds anything."""
        await talk_of_alice(store)
        assert await store.channels_to_erase(ROOM.tenant, ALICE) == sorted(PLACES)
        assert await store.channels_to_erase(ROOM.tenant, "") == sorted([*PLACES, "bobs"])
        assert await store.channels_to_erase("other", ALICE) == []
        assert await store.channels_to_erase(ROOM.tenant, "nobody") == []

    async def test_a_person_goes_from_all_channels(self, store: HistoryStore) -> None:
        """N-10: a dry run tells the same counts and changes nothing; the second time nothing is left."""
        await talk_of_alice(store)
        person = Erasure(tenant=ROOM.tenant, user_id=ALICE, all_channels=True, erased_at_ms=NOON_MS)
        before = await everything(store, KEYS, IDS)
        told = await erased(store, person, is_dry_run=True)
        assert await everything(store, KEYS, IDS) == before
        assert told == await erased(store, person)
        assert told == {
            "messages": 2, "revisions": 2, "events": 2, "members": 2, "preferences": 2,
            "usage_records": 1, "signals": 1,
        }  # fmt: skip
        assert await store.channels_to_erase(ROOM.tenant, ALICE) == []
        assert list(await rows(store)) == ["m2"]
        assert await erased(store, person) == {}

    async def test_a_person_goes_from_one_channel(self, store: HistoryStore) -> None:
        """N-10: what is of another channel, or of none, stays as it is."""
        await talk_of_alice(store)
        here = place("by-record")
        elsewhere = tuple(key for key in KEYS if key != here)
        before = await everything(store, elsewhere, IDS)
        person = Erasure(
            tenant=here.tenant, channel=here.channel, user_id=ALICE, erased_at_ms=NOON_MS
        )
        assert await erased(store, person) == {"preferences": 1}
        assert await everything(store, elsewhere, IDS) == before
        assert await store.channels_to_erase(ROOM.tenant, ALICE) == sorted(
            {*PLACES} - {here.channel}
        )

    async def test_a_tenant_goes(self, store: HistoryStore) -> None:
        """N-10: what belongs to no channel, too; another tenant keeps everything."""
        await talk_of_alice(store)
        other = place("room", "other")
        await put(store, message("m1", author=ALICE), key=other)
        tenant = Erasure(tenant=ROOM.tenant, whole_tenant=True, erased_at_ms=NOON_MS)
        told = await erased(store, tenant, is_dry_run=True)
        assert told == await erased(store, tenant)
        assert (told["messages"], told["sessions"], told["usage_records"]) == (7, 1, 2)
        assert await store.channels_to_erase(ROOM.tenant, "") == []
        assert await store.records(place(EVERYWHERE), "space", NOON_MS) == []
        assert list(await rows(store, key=other)) == ["m1"]

    async def test_a_dry_run_leaves_its_neighbours_in_the_group(self, store: HistoryStore) -> None:
        await put(store, message("m1", author=ALICE))
        trial = EraseChange(ROOM, (), ALICE, NOON_MS, is_dry_run=True)
        kept = record("later", names=(ABOUT_ALICE,))
        applied = await store.apply([record("before"), trial, kept])
        assert [one.error for one in applied] == [None] * 3
        assert not applied[1].is_erasure
        found = await store.records(ROOM, "pin", NOON_MS)
        assert [one.id for one in found] == ["before", "later"]
        assert list(await rows(store)) == ["m1"]
