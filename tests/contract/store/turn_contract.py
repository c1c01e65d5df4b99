"""What every store does with turns of StreamChat (laws 1, 2 and 6; N-10)."""

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

    async def test_the_last_word_on_a_turn_counts(self, store: HistoryStore) -> None:
        """In a group and later, its lifetime included; as often as it is said."""
        await store.apply([turn("t1", b"one", lives=5), turn("t1", b"two", lives=10)])
        assert await kept_turn(store, "default", "t1", NOON_MS + 9) == (ROOM, b"two")
        for _ in range(2):
            await store.apply([turn("t1", b"three", lives=20)])
            assert await kept_turn(store, "default", "t1", NOON_MS + 19) == (ROOM, b"three")

    async def test_a_turn_already_over_is_not_kept(self, store: HistoryStore) -> None:
        """Its own commit removes it."""
        await store.apply([turn("t1", lives=0)])
        assert await kept_turn(store, "default", "t1", NOON_MS - 1) is None

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
