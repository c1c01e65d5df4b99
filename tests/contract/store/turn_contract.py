"""What every store does with turns of StreamChat (laws 1, 2 and 6; N-10)."""

from __future__ import annotations

import pytest

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import EraseChange, HistoryStore
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    append,
    kept_turn,
    message,
    put,
    recall,
    rows,
    turn,
)

BODIES = [b"", b"\x00\xff\n'; DROP TABLE turns; --", "群😀".encode(), bytes(range(256)) * 4096]


class TurnContract:
    """Obligations of `apply` and `records_of_owner` for turns."""

    @pytest.mark.parametrize("body", BODIES, ids=range(len(BODIES)))
    async def test_a_turn_is_read_back_byte_for_byte(
        self, store: HistoryStore, body: bytes
    ) -> None:
        """Law 2: with the channel it belongs to; nothing else of the channel is touched by it."""
        (applied,) = await store.apply([turn("t1", body)])
        assert (applied.error, applied.stored, applied.is_erasure) == (None, (), False)
        assert await kept_turn(store, "default", "t1", NOON_MS) == (ROOM, body)
        assert await kept_turn(store, "default", "t2", NOON_MS) is None
        assert await store.channel_info(ROOM) is None

    async def test_the_last_word_on_a_turn_counts(self, store: HistoryStore) -> None:
        """In a group and later, its lifetime included; as often as it is said."""
        await store.apply([turn("t1", b"one", lives=5), turn("t1", b"two", lives=10)])
        assert await kept_turn(store, "default", "t1", NOON_MS + 9) == (ROOM, b"two")
        for _ in range(2):
            await store.apply([turn("t1", b"three", lives=20)])
            assert await kept_turn(store, "default", "t1", NOON_MS + 19) == (ROOM, b"three")

    async def test_a_turn_ends_at_its_time(self, store: HistoryStore) -> None:
        """To the millisecond, whether or not its row is still there."""
        await store.apply([turn("t1", lives=10)])
        assert await kept_turn(store, "default", "t1", NOON_MS + 9) is not None
        assert await kept_turn(store, "default", "t1", NOON_MS + 10) is None

    async def test_keeping_a_turn_removes_a_few_expired_ones(self, store: HistoryStore) -> None:
        """The table does not grow with use, and no commit pays for all of a quiet night: oldest first, so many."""
        many = [turn(f"t{i:02}", lives=100 + i) for i in range(40)]
        await store.apply(many)
        await store.apply([turn("late", at=1_000, lives=100)])
        kept = [t.owner for t in many if await kept_turn(store, "default", t.owner, NOON_MS)]
        assert kept == [t.owner for t in many[16:]]
        await store.apply([turn("late", at=1_001, lives=100), turn("late", at=1_002, lives=100)])
        assert not [t for t in many if await kept_turn(store, "default", t.owner, NOON_MS)]
        assert await kept_turn(store, "default", "late", NOON_MS + 1_050) is not None

    async def test_a_turn_already_over_is_not_kept(self, store: HistoryStore) -> None:
        """Its own commit removes it."""
        await store.apply([turn("t1", lives=0)])
        assert await kept_turn(store, "default", "t1", NOON_MS - 1) is None

    async def test_turns_of_tenants_never_meet(self, store: HistoryStore) -> None:
        """Law 6: the same ids, the same channel; nobody's turn expires by another's clock."""
        a, b = ChannelKey("a", "room"), ChannelKey("b", "room")
        await store.apply([turn("t1", b"a", key=a), turn("t1", b"b", key=b)])
        assert await kept_turn(store, "a", "t1", NOON_MS) == (a, b"a")
        assert await kept_turn(store, "b", "t1", NOON_MS) == (b, b"b")
        assert await kept_turn(store, "default", "t1", NOON_MS) is None
        await store.apply([turn("t2", key=b, at=10**9)])
        assert await kept_turn(store, "b", "t1", NOON_MS) is None
        assert await kept_turn(store, "a", "t1", NOON_MS) is not None
        await store.apply([EraseChange(b, (), "", NOON_MS)])
        assert await kept_turn(store, "b", "t2", NOON_MS) is None
        assert await kept_turn(store, "a", "t1", NOON_MS) is not None

    @pytest.mark.parametrize(
        ("message_ids", "user_id"),
        [((), ""), ((), "u-alice"), ((), "u-nobody"), (("m1",), ""), (("nobody",), "")],
        ids=["channel", "user", "silent user", "message", "unknown message"],
    )
    async def test_erasing_anything_of_a_channel_deletes_its_turns(
        self, store: HistoryStore, message_ids: tuple[str, ...], user_id: str
    ) -> None:
        """N-10: they hold texts as they were; other channels keep theirs, the receipt counts, twice is no error."""
        await put(store, message("m1"))
        await store.apply([turn("t1"), turn("t2"), turn("t3", key=OTHER_ROOM)])
        erasure = EraseChange(ROOM, message_ids, user_id, NOON_MS)
        for count in (2, 0):
            (applied,) = await store.apply([erasure])
            assert applied.receipt is not None
            assert applied.receipt.counts["turns"] == count
            found = [await kept_turn(store, "default", f"t{i}", NOON_MS) for i in (1, 2, 3)]
            assert found == [None, None, (OTHER_ROOM, b"body")]

    async def test_turns_keep_their_place_in_a_group(self, store: HistoryStore) -> None:
        """Before an erasure it goes, after it it stays."""
        applied = await store.apply([
            append(message("m1")), turn("t1"), EraseChange(ROOM, ("m1",), "", NOON_MS),
            turn("t2"), append(message("m2")), recall("m2"),
        ])  # fmt: skip
        assert [a.error for a in applied] == [None] * 6
        assert await kept_turn(store, "default", "t1", NOON_MS) is None
        assert await kept_turn(store, "default", "t2", NOON_MS) == (ROOM, b"body")
        assert list(await rows(store)) == ["m2"]

    @pytest.mark.parametrize("id_", ["m1", 'a"b\\', "群😀%_", "m", "'"])
    async def test_a_recall_deletes_the_turns_that_name_the_message(
        self, store: HistoryStore, id_: str
    ) -> None:
        """N-10: by the whole id, of this channel and tenant, in one group or later; the others stay."""
        abroad = ChannelKey("b", ROOM.channel)
        await put(store, message(id_))
        await store.apply([
            turn("t1", shows=("m0", id_)), turn("t2", shows=("m10",)),
            turn("t3", shows=(id_,), key=OTHER_ROOM), turn("t4", shows=(id_,), key=abroad),
        ])  # fmt: skip
        await store.apply([turn("t5", shows=(id_,)), recall(id_)])
        kept = [
            await kept_turn(store, tenant, turn_id, NOON_MS) is not None
            for tenant, turn_id in [("default", f"t{n}") for n in (1, 2, 3, 5)] + [("b", "t4")]
        ]
        assert kept == [False, True, True, False, True]

    async def test_hostile_turn_ids_are_only_names(self, store: HistoryStore) -> None:
        """Law 4, for the ids a caller sends back."""
        names = ["'; DROP TABLE turns; --", "%", "_", "a/../b", "群😀", "x" * 512, " ", "T1", "t1"]
        await store.apply([turn(name, name.encode()) for name in names])
        for name in names:
            assert await kept_turn(store, "default", name, NOON_MS) == (ROOM, name.encode())
