"""What every store does with erasures of several channels, and of none (N-10)."""

from msgspec.json import decode, encode

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.history.erasing import summed
from backscroll_sidecar.history.tombstones import Erasure
from backscroll_sidecar.ports import (
    EVERYWHERE,
    EraseChange,
    HistoryStore,
    about_user,
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
    applied = await store.apply(erasure.changes(channels, is_dry_run=is_dry_run))
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

    async def test_a_person_whose_id_holds_control_characters(self, store: HistoryStore) -> None:
        odd = "u\x1a0\t"
        await store.apply([record("a", b"1", names=(about_user(odd),)), record("b", b"2")])
        assert await store.channels_to_erase(ROOM.tenant, odd) == [ROOM.channel]
        person = Erasure(tenant=ROOM.tenant, user_id=odd, all_channels=True, erased_at_ms=NOON_MS)
        await erased(store, person)
        assert [one.id for one in await store.records(ROOM, "pin", NOON_MS)] == ["b"]
        assert await store.channels_to_erase(ROOM.tenant, odd) == []

    async def test_what_only_names_a_person_stays_without_the_name(
        self, store: HistoryStore
    ) -> None:
        """N-10: an owner with the title, a place in lists, a participant of a space; twice it finds nothing."""
        session = {
            "owner_id": ALICE, "title": "Alice's room", "policy": {"allowed_author_ids": [ALICE, "u-bob"]},
        }  # fmt: skip
        other = session | {
            "owner_id": "u-bob",
            "title": "Bob's room",
            "policy": {"default_id": ALICE},
        }
        space = {
            "slug": "s", "role_config_json": f'{{"host":"{ALICE}"}}', "policy": {"preferred_ids": [ALICE]},
            "participants": [{"id": ALICE, "name": "Alice"}, {"id": "u-bob", "name": "Bob"}],
        }  # fmt: skip
        await store.apply([
            record("", encode(session), kind="session", owner="s1"),
            record("", encode(other), kind="session", owner="s2", key=OTHER_ROOM),
            record("", encode(space), kind="space", owner="s", key=place(EVERYWHERE)),
        ])  # fmt: skip
        assert await store.channels_to_erase(ROOM.tenant, ALICE) == [OTHER, ROOM.channel]
        person = Erasure(tenant=ROOM.tenant, user_id=ALICE, all_channels=True, erased_at_ms=NOON_MS)
        assert await erased(store, person, is_dry_run=True) == {"names": 3}
        assert await erased(store, person) == {"names": 3}
        nobody = f"erased-{NOON_MS}"
        (found,) = await store.records(ROOM, "session", NOON_MS)
        assert (decode(found.body), found.version) == (
            {"policy": {"allowed_author_ids": [nobody, "u-bob"]}}, 2,
        )  # fmt: skip
        (found,) = await store.records(OTHER_ROOM, "session", NOON_MS)
        assert decode(found.body) == other | {"policy": {"default_id": nobody}}
        (found,) = await store.records(place(EVERYWHERE), "space", NOON_MS)
        assert decode(found.body) == {
            "slug": "s", "role_config_json": "", "policy": {"preferred_ids": [nobody]},
            "participants": [{"id": "u-bob", "name": "Bob"}],
        }  # fmt: skip
        assert await erased(store, person) == {}
        assert await store.channels_to_erase(ROOM.tenant, ALICE) == []

    async def test_what_only_names_a_channel_stays_without_the_name(
        self, store: HistoryStore
    ) -> None:
        """N-10: of other channels and of the tenant; what is called as the channel is and is none stays."""
        sharing = {
            "profile": "room",
            "sharing": {"shares_with": ["room", "x"], "reads_from": ["room"]},
        }
        experiment = {
            "allowed": ["room"],
            "denied": ["x"],
            "arms": [{"name": "room"}],
            "description": "room",
        }
        await store.apply([
            record("", encode(sharing), kind="channel_settings", key=OTHER_ROOM),
            record("e", encode(experiment), kind="experiment", key=place(EVERYWHERE)),
            record("e", encode(experiment), kind="experiment", key=place(EVERYWHERE, "other")),
        ])  # fmt: skip
        room = Erasure(tenant=ROOM.tenant, channel=ROOM.channel, erased_at_ms=NOON_MS)
        assert await erased(store, room) == {"names": 2}
        nobody = f"erased-{NOON_MS}"
        (found,) = await store.records(OTHER_ROOM, "channel_settings", NOON_MS)
        assert decode(found.body) == {
            "profile": "room", "sharing": {"shares_with": [nobody, "x"], "reads_from": [nobody]},
        }  # fmt: skip
        (found,) = await store.records(place(EVERYWHERE), "experiment", NOON_MS)
        assert decode(found.body) == experiment | {"allowed": [nobody]}
        (found,) = await store.records(place(EVERYWHERE, "other"), "experiment", NOON_MS)
        assert decode(found.body) == experiment
        assert await erased(store, room) == {}

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
