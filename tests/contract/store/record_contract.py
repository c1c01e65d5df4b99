"""What every store does with records: small things kept beside the messages (laws 1, 2 and 6; N-10)."""

from dataclasses import replace

import pytest
from msgspec import structs

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import Conflict, Gone, NotFound
from backscroll_sidecar.ports import (
    ANY_ERASURE,
    ANY_RETRACTION,
    EVERYWHERE,
    EraseChange,
    HistoryStore,
    StoredRecord,
    about_chain,
    about_message,
    about_text,
    about_user,
)
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    append,
    dropped_record,
    edit,
    message,
    put,
    recall,
    record,
)

BODIES = [b"", b"\x00\xff\n'; DROP TABLE records; --", "群😀".encode(), bytes(range(256)) * 4096]
NOWHERE = ChannelKey("default", EVERYWHERE)
ALICE = about_user("u-alice")


async def bodies(
    store: HistoryStore, kind: str = "pin", key: ChannelKey = ROOM, owner: str | None = None
) -> dict[str, bytes]:
    found = await store.records(key, kind, NOON_MS, owner=owner)
    return {one.id: one.body for one in found}


class RecordContract:
    """Obligations of `apply`, `records`, `records_of_owner` and `record_owners`."""

    @pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
    async def test_a_record_is_read_back_byte_for_byte(
        self, store: HistoryStore, body: bytes
    ) -> None:
        """Law 2: nothing else of the channel is touched by it, and no other kind, owner or channel has it."""
        change = record("r1", body)
        (applied,) = await store.apply([change])
        assert (applied.error, applied.stored, applied.is_erasure) == (None, (), False)
        assert applied.records == (change,)
        (found,) = await store.records(ROOM, "pin", NOON_MS)
        assert replace(found, number=1) == StoredRecord(
            1, ROOM.channel, "", "r1", body, NOON_MS, NOON_MS, 0
        )
        assert await bodies(store, "preference") == {}
        assert await bodies(store, owner="u-alice") == {}
        assert await bodies(store, key=OTHER_ROOM) == {}
        assert await store.channel_info(ROOM) is None

    async def test_the_last_word_counts_and_the_place_stays(self, store: HistoryStore) -> None:
        """In a group and later: a replaced record keeps the time of its creation and its place."""
        await store.apply([record("a", b"1"), record("b"), record("a", b"2", at=1)])
        await store.apply([record("a", b"3", at=2), record("c")])
        found = await store.records(ROOM, "pin", NOON_MS)
        assert [(one.id, one.created_at_ms, one.updated_at_ms) for one in found] == [
            ("a", NOON_MS, NOON_MS + 2), ("b", NOON_MS, NOON_MS), ("c", NOON_MS, NOON_MS),
        ]  # fmt: skip
        assert found[0].body == b"3"
        loaded = [await store.load_channel(key) for key in (ROOM, OTHER_ROOM)]
        assert [one.pinned for one in loaded] == [("a", "b", "c"), ()]

    @pytest.mark.parametrize("mark", ["\0", "\x1a", "\x1a0", "\0\x1a1", "\uffff"])
    async def test_names_may_hold_what_no_caller_sends(
        self, store: HistoryStore, mark: str
    ) -> None:
        """The server's own owners and ids have a mark that no id of a caller's has."""
        owner, id_, chain = f"{mark}s1", f"{mark}all", about_chain("a")
        await store.apply(
            [
                record(id_, b"1", owner=owner, limit=2),
                record("b", owner=owner, names=(chain,), limit=2),
                record("c", owner="s1"),
            ]
        )
        (refused,) = await store.apply([record("d", owner=owner, limit=2)])
        assert isinstance(refused.error, Conflict)
        page = await store.records(ROOM, "pin", NOON_MS, owner=owner)
        assert [(one.owner, one.id) for one in page] == [(owner, id_), (owner, "b")]
        assert set(await store.record_owners(ROOM.tenant, "pin", None, 9)) == {owner, "s1"}
        one = await store.record(ROOM, "pin", owner, id_, NOON_MS)
        assert one is not None
        newest = await store.newest_records(ROOM, "pin", owner, NOON_MS, 1)
        named = await store.records_of_ids(ROOM, "pin", owner, ["b", "x"], NOON_MS)
        about = await store.records_about(ROOM, "pin", [chain], NOON_MS)
        of_id = await store.updated_records(ROOM.tenant, "pin", NOON_MS, 9, id=id_)
        of_owner = await store.records_of_owner(ROOM.tenant, "pin", owner, NOON_MS)
        assert [one.id for one in (*newest, *named, *about, *of_id)] == ["b", "b", "b", id_]
        assert [one.id for one in of_owner] == [id_, "b"]
        changed = structs.replace(record(id_, b"2", owner=owner), if_version=one.version)
        (applied,) = await store.apply([changed])
        assert applied.error is None
        await store.apply([dropped_record(id_, owner=owner)])
        assert await store.record(ROOM, "pin", owner, id_, NOON_MS) is None
        await store.apply([dropped_record("", owner=owner)])
        assert [one.id for one in await store.records(ROOM, "pin", NOON_MS)] == ["c"]

    async def test_records_are_read_by_pages(self, store: HistoryStore) -> None:
        """In order of creation, whosever they are; of one owner where asked."""
        owners = ["", "u-alice", "u-bob"]
        await store.apply([record(f"r{n}", owner=owners[n % 3]) for n in range(9)])
        seen: list[str] = []
        after = 0
        while page := await store.records(ROOM, "pin", NOON_MS, after=after, limit=2):
            seen += [one.id for one in page]
            after = page[-1].number
        assert seen == [f"r{n}" for n in range(9)]
        first = await store.records(ROOM, "pin", NOON_MS, owner="u-bob", limit=2)
        assert [one.id for one in first] == ["r2", "r5"]
        last = await store.records(ROOM, "pin", NOON_MS, owner="u-bob", after=first[-1].number)
        assert [one.id for one in last] == ["r8"]
        assert await store.records(ROOM, "pin", NOON_MS, limit=0) == []

    async def test_deleting_one_and_all(self, store: HistoryStore) -> None:
        """How many went is told; what is not there is no error; other owners keep theirs."""
        await store.apply([record(id_, owner="u-bob") for id_ in "abc"] + [record("a")])
        gone = []
        for id_ in ("a", "a", "", ""):
            (applied,) = await store.apply([dropped_record(id_, owner="u-bob")])
            assert len(applied.records) == 1
            gone.append(applied.deleted_records)
        assert gone == [1, 0, 2, 0]
        assert await bodies(store) == {"a": b"body"}

    async def test_no_more_than_the_limit(self, store: HistoryStore) -> None:
        """In the transaction that would pass it: in a group and later; a replaced one is not one more."""
        applied = await store.apply([record(id_, limit=2, owner="u-bob") for id_ in "abca"])
        assert [type(one.error) for one in applied] == [type(None)] * 2 + [Conflict, type(None)]
        applied = await store.apply([
            record("c", limit=2, owner="u-bob"), record("c", limit=2, owner="u-eve"),
            dropped_record("a", owner="u-bob"), record("d", limit=2, owner="u-bob"),
            record("e", owner="u-bob"),
        ])  # fmt: skip
        assert [type(one.error) for one in applied] == [Conflict] + [type(None)] * 4
        assert list(await bodies(store, owner="u-bob")) == ["b", "d", "e"]

    async def test_a_record_ends_at_its_time(self, store: HistoryStore) -> None:
        """To the millisecond; over, it neither counts nor keeps its place, and the table does not grow with use."""
        await store.apply([record("a", lives=10), record("b"), record("c", lives=10)])
        assert len(await store.records(ROOM, "pin", NOON_MS + 9)) == 3
        assert [one.id for one in await store.records(ROOM, "pin", NOON_MS + 10)] == ["b"]
        applied = await store.apply([record("a", at=10, limit=2), record("d", at=10, limit=2)])
        assert [type(one.error) for one in applied] == [type(None), Conflict]
        found = await store.records(ROOM, "pin", NOON_MS)
        assert [(one.id, one.created_at_ms) for one in found] == [
            ("b", NOON_MS),
            ("a", NOON_MS + 10),
        ]
        await store.apply([record(f"r{n:02}", lives=20 + n, owner=f"u{n}") for n in range(40)])
        await store.apply([record("late", at=1_000)])
        assert [o for o in await store.record_owners("default", "pin", None, 99) if o] == [
            f"u{n}" for n in range(16, 40)
        ]

    async def test_the_newest_of_an_owner(self, store: HistoryStore) -> None:
        """The last ones first, of one channel, kind and owner; none that have expired."""
        await store.apply([record(f"r{n}", owner="u-bob") for n in range(5)])
        await store.apply([
            record("r5", owner="u-bob", key=OTHER_ROOM), record("r6", owner="u-alice"),
            record("r7", owner="u-bob", kind="else"), record("r8", owner="u-bob", lives=5),
        ])  # fmt: skip
        for limit in (0, 2, 99):
            found = await store.newest_records(ROOM, "pin", "u-bob", NOON_MS + 5, limit)
            assert [one.id for one in found] == ["r4", "r3", "r2", "r1", "r0"][:limit]

    async def test_records_of_some_ids_and_about_some_things(self, store: HistoryStore) -> None:
        """Of one channel and kind, in order of creation; none that have expired."""
        await put(store, message("m1"), message("m2"))
        first, second = about_message("m1"), about_message("m2")
        await store.apply([
            record("b", names=(first, second)), record("a", names=(second,)), record("c"),
            record("a", owner="u-bob", names=(first,)), record("a", kind="else", names=(first,)),
            record("d", lives=5, names=(first,)),
        ])  # fmt: skip
        await put(store, message("m1"), key=OTHER_ROOM)
        await store.apply([record("a", key=OTHER_ROOM, names=(first,))])
        now_ms = NOON_MS + 5
        found = await store.records_of_ids(ROOM, "pin", "", ["a", "d", "b", "none"], now_ms)
        assert [one.id for one in found] == ["b", "a"]
        assert await store.records_of_ids(ROOM, "pin", "", [], now_ms) == []
        about = await store.records_about(ROOM, "pin", [first, about_user("u-bob")], now_ms)
        assert [(one.id, one.owner) for one in about] == [("b", ""), ("a", "u-bob")]
        both = await store.records_about(ROOM, "pin", [second, first], now_ms)
        assert [(one.id, one.owner) for one in both] == [("b", ""), ("a", ""), ("a", "u-bob")]
        assert await store.records_about(ROOM, "pin", [], now_ms) == []

    async def test_owners_and_what_is_theirs(self, store: HistoryStore) -> None:
        """Across channels, what holds everywhere first; never another tenant's, another kind's."""
        abroad = ChannelKey("b", ROOM.channel)
        await store.apply([
            record("r1", owner="u-bob", key=OTHER_ROOM), record("r2", owner="u-bob", key=NOWHERE),
            record("r3", owner="u-bob"), record("r4", owner="u-bob", key=abroad),
            record("r5", owner="u-bob", kind="else"), record("r6", owner="u-alice"),
            record("r7", owner="u-bob", key=NOWHERE), record("r8", owner="u-bob", lives=5),
        ])  # fmt: skip
        found = await store.records_of_owner("default", "pin", "u-bob", NOON_MS + 5)
        assert [(one.channel, one.id) for one in found] == [
            (EVERYWHERE, "r2"), (EVERYWHERE, "r7"), (OTHER_ROOM.channel, "r1"), (ROOM.channel, "r3"),
        ]  # fmt: skip
        assert await store.record_owners("default", "pin", None, 9) == ["u-alice", "u-bob"]
        assert await store.record_owners("default", "pin", None, 1) == ["u-alice"]
        assert await store.record_owners("default", "pin", "u-alice", 9) == ["u-bob"]
        assert await store.record_owners("b", "else", None, 9) == []

    async def test_a_record_names_messages_that_are_there(self, store: HistoryStore) -> None:
        """Neither unknown nor recalled nor erased ones, in a group and later; users need not be known."""
        await put(store, message("m1"), message("gone"), message("taken back"))
        await store.apply([EraseChange(ROOM, ("gone",), "", NOON_MS), recall("taken back")])
        applied = await store.apply([
            append(message("m2"), message("m3")), recall("m3"),
            *(record(m, names=(about_message(m),)) for m in ("m1", "m2", "m3", "m4", "gone", "taken back")),
            record("user", names=("u:nobody",)), record("m1", names=(about_message("m1"),), key=OTHER_ROOM),
        ])  # fmt: skip
        kinds = [type(one.error) for one in applied[2:]]
        assert kinds == [
            type(None), type(None), Gone, NotFound, Gone, Gone, type(None), NotFound,
        ]  # fmt: skip
        assert list(await bodies(store)) == ["m1", "m2", "user"]
        assert await bodies(store, key=OTHER_ROOM) == {}

    @pytest.mark.parametrize(
        ("message_ids", "user_id", "left"),
        [
            ((), "", ["everywhere", "else", "elsewhere"]),
            ((), "u-alice", ["m2", "bob", "everywhere", "else", "elsewhere"]),
            ((), "u-bob", ["m1", "both", "alice", "everywhere", "else", "elsewhere"]),
            (("m1",), "", ["m2", "alice", "bob", "everywhere", "else", "elsewhere"]),
        ],
        ids=["channel", "alice", "bob", "message"],
    )
    async def test_an_erasure_deletes_what_is_about_it(
        self, store: HistoryStore, message_ids: tuple[str, ...], user_id: str, left: list[str]
    ) -> None:
        """N-10: of a message, of a user here, of a channel, and of these alone; the receipt counts."""
        await put(store, message("m1"), message("m2", author="u-bob"))
        await put(store, message("m1"), key=OTHER_ROOM)
        await store.apply([
            record("m1", names=("m:m1",)), record("m2", names=("m:m2",)),
            record("both", names=("m:m1", "m:m2", ALICE)),
            record("alice", names=(ALICE,)), record("bob", names=("u:u-bob", "u:u-alic")),
            record("everywhere", names=(ALICE,), key=NOWHERE), record("else", key=NOWHERE),
            record("elsewhere", names=("m:m1", ALICE), key=OTHER_ROOM),
        ])  # fmt: skip
        if user_id == "u-bob":
            left = [one for one in left if one != "both"]
        erasure = EraseChange(ROOM, message_ids, user_id, NOON_MS)
        for count in (8 - len(left), 0):
            (applied,) = await store.apply([erasure])
            assert applied.receipt is not None
            assert applied.receipt.counts["pins"] == count
            found = [
                id_ for key in (ROOM, NOWHERE, OTHER_ROOM) for id_ in await bodies(store, key=key)
            ]
            assert found == left

    async def test_a_recall_deletes_what_names_the_message(self, store: HistoryStore) -> None:
        """In a group and later; a record replaced since is about what it now names."""
        await put(store, *(message(f"m{n}") for n in range(4)), message("m", author="u-bob"))
        await store.apply([
            record("a", names=("m:m1",)), record("b", names=("m:m2",)), record("c", names=("m:m1",)),
        ])  # fmt: skip
        applied = await store.apply([
            record("c", names=("m:m3",)), record("d", names=("m:m1", "m:m2")), recall("m1"), recall("m0"),
            record("e", names=("m:m2",), limit=3),
        ])  # fmt: skip
        assert [one.error for one in applied] == [None] * 5
        assert list(await bodies(store)) == ["b", "c", "e"]
        await store.apply([recall("m3"), record("f", limit=3)])
        assert list(await bodies(store)) == ["b", "e", "f"]

    async def test_some_go_with_whatever_goes(self, store: HistoryStore) -> None:
        """N-10: with any erasure or any retraction of their channel, whatever else they name."""
        await put(store, message("m1"), message("m2"))
        some = {"erased": ANY_ERASURE, "retracted": ANY_RETRACTION, "neither": ALICE}
        for key in (ROOM, OTHER_ROOM):
            await store.apply([record(id_, names=(name,), key=key) for id_, name in some.items()])
        await store.apply([record("both", names=(ANY_ERASURE, ANY_RETRACTION))])
        await store.apply([recall("m1")])
        assert list(await bodies(store)) == ["erased", "neither"]
        (applied,) = await store.apply([EraseChange(ROOM, ("nobody",), "", NOON_MS)])
        assert applied.receipt is not None
        assert applied.receipt.counts["pins"] == 1
        assert list(await bodies(store)) == ["neither"]
        assert list(await bodies(store, key=OTHER_ROOM)) == list(some)

    async def test_what_a_message_says_is_named_apart(self, store: HistoryStore) -> None:
        """N-10: such a record goes with an edit, too, in its transaction; one that comes behind it in a group stays."""
        await put(store, message("m1"), message("m2"), message("m3"))
        for id_, of in {"one": "m1", "two": "m2", "three": "m3"}.items():
            await store.apply(
                [
                    record(id_, names=(about_text(of),)),
                    record(f"{id_} itself", names=(about_message(of),)),
                ]
            )
        await store.apply([edit("m1", "other words"), record("behind", names=(about_text("m1"),))])
        assert "one" not in await bodies(store)
        assert {"one itself", "behind", "two"} <= (await bodies(store)).keys()
        await store.apply([edit("m1", "other words")])  # the same again changes nothing
        assert "behind" in await bodies(store)
        await store.apply([recall("m2")])
        await store.apply([EraseChange(ROOM, ("m3",), "", NOON_MS)])
        assert list(await bodies(store)) == ["one itself", "behind"]

    @pytest.mark.parametrize("how", ["edit", "recall", "erase", "erase all of a user"])
    async def test_a_record_takes_those_that_go_on_from_it(
        self, store: HistoryStore, how: str
    ) -> None:
        """Not those before it, of another chain or in another place; what goes on from one that is gone is refused."""
        await put(store, message("m1"), message("m2"), message("m3", author="u9"))
        for channel in (ROOM, NOWHERE):
            for chain in ("a", "b"):
                for number, of in enumerate(["m1", "m3", "m2"], 1):
                    names = (about_chain(chain), *([about_text(of)] if channel == ROOM else []))
                    if chain == "a" or of != "m3":
                        await store.apply([record(f"{chain}{number}", key=channel, names=names)])
        change = {
            "edit": edit("m3", "other words"),
            "recall": recall("m3"),
            "erase": EraseChange(ROOM, ("m3",), "", NOON_MS),
            "erase all of a user": EraseChange(ROOM, (), "u9", NOON_MS),
        }[how]
        await store.apply([change])
        assert {*await bodies(store)} == {"a1", "b1", "b3"}
        assert {*await bodies(store, key=NOWHERE)} == {"a1", "a2", "a3", "b1", "b3"}
        late, next_one = (structs.replace(record(f"a{n}"), after=f"a{n - 1}") for n in (3, 2))
        (refused, kept) = await store.apply([late, next_one])
        assert isinstance(refused.error, Gone)
        assert kept.error is None
        assert "a3" not in await bodies(store)

    async def test_records_of_tenants_never_meet(self, store: HistoryStore) -> None:
        """Law 6: the same names; nobody's record expires by another's clock, or goes with another's user."""
        a, b = ChannelKey("a", EVERYWHERE), ChannelKey("b", EVERYWHERE)
        await store.apply(
            [
                record("r", b"a", key=a, lives=9, names=(ALICE,)),
                record("r", b"b", key=b, names=(ALICE,)),
            ]
        )
        await store.apply([record("late", key=b, at=10**9), EraseChange(b, (), "u-alice", 0)])
        assert await bodies(store, key=a) == {"r": b"a"}
        assert await bodies(store, key=b) == {"late": b"body"}

    async def test_hostile_names_are_only_names(self, store: HistoryStore) -> None:
        """Law 4, for whatever a caller names."""
        names = ["'; DROP TABLE records; --", "%", "_", "群😀", "x" * 512, " ", "R", "r", "\x1f"]
        await store.apply([record(n, n.encode(), owner=n, names=(about_user(n),)) for n in names])
        for name in names:
            assert await bodies(store, owner=name) == {name: name.encode()}
        await store.apply([EraseChange(ROOM, (), name, 0) for name in names[:4]])
        assert list(await bodies(store)) == names[4:]
