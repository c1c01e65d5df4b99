"""Segments: a cache of rows that a store may keep, and must never keep beyond a change of one of them (law 2)."""

import pytest

from backscroll_sidecar.ports import Change, EraseChange, HistoryStore, Segment, SegmentsChange
from tests.contract.store.builders import (
    NOON_MS,
    OTHER_ROOM,
    ROOM,
    append,
    edit,
    message,
    put,
    recall,
)

FORMAT = "test"


def segment(first: int, last: int, *, revisions: int = 0, recalled: int = 0) -> Segment:
    """Of all rows from `first` to `last`."""
    body = f"{first}-{last}".encode()
    return Segment(first, last, last - first + 1, revisions, recalled, b"\x00columns", body)


def erase(id_: str) -> EraseChange:
    return EraseChange(ROOM, (id_,), "", NOON_MS)


def keep(*segments: Segment, key=ROOM) -> SegmentsChange:
    return SegmentsChange(key, FORMAT, segments)


async def loaded(store: HistoryStore, format: str = FORMAT) -> list[str]:
    """What a load returns: segments by their bodies, rows by their ids."""
    parts = (await store.load_channel(ROOM, format)).parts
    return [
        one
        for part in parts
        for one in (
            [part.bodies.decode()] if isinstance(part, Segment) else [r.message.id for r in part]
        )
    ]


async def filled(store: HistoryStore) -> None:
    await put(store, *(message(f"m{n}", f"line {n}") for n in range(1, 10)))


ROWS = [f"m{n}" for n in range(1, 10)]


class SegmentContract:
    """`keeps_segments` is False for a store that reads rows whatever it was given."""

    keeps_segments = True

    async def test_segments_stand_for_their_rows(self, store: HistoryStore) -> None:
        """Law 2, S5-33: a load gives segments, and rows between and behind them, in order of `seq`; only of the format
        that is asked for."""
        await filled(store)
        await store.apply([keep(segment(2, 4), segment(6, 8))])
        expected = ["m1", "2-4", "m5", "6-8", "m9"] if self.keeps_segments else ROWS
        assert await loaded(store) == expected
        for other in ("", "another"):
            assert await loaded(store, other) == ROWS

    async def test_a_new_segment_takes_the_place_of_those_it_overlaps(
        self, store: HistoryStore
    ) -> None:
        """A tail grows: the shorter segment goes."""
        await filled(store)
        await store.apply([keep(segment(1, 2), segment(3, 4))])
        await store.apply([keep(segment(2, 6))])
        expected = ["m1", "2-6", "m7", "m8", "m9"] if self.keeps_segments else ROWS
        assert await loaded(store) == expected

    @pytest.mark.parametrize(
        "change",
        [edit("m3", "other"), recall("m3"), erase("m3"), EraseChange(ROOM, (), "u-alice", NOON_MS)],
        ids=["edit", "recall", "erase", "erase-user"],
    )
    async def test_a_change_drops_the_segment(self, store: HistoryStore, change: Change) -> None:
        """Law 2, N-10: with the commit of an edit, a recall or an erasure the segment that holds the row is gone."""
        await filled(store)
        await store.apply([keep(segment(1, 4), segment(5, 9))])
        await store.apply([change])
        left = await loaded(store)
        assert "1-4" not in left
        if isinstance(change, EraseChange) and not change.message_ids:
            assert left == []
        elif self.keeps_segments:
            assert left[-1] == "5-9"

    @pytest.mark.parametrize("change", [edit("m3", "other"), recall("m3"), erase("m3")])
    async def test_a_segment_made_before_a_change_is_not_kept(
        self, store: HistoryStore, change: Change
    ) -> None:
        """Law 2: what was packed before the change and comes after it, even in the same group, is left out."""
        await filled(store)
        await store.apply([change, keep(segment(1, 4))])
        assert "1-4" not in await loaded(store)
        await store.apply([keep(segment(1, 4))])
        assert "1-4" not in await loaded(store)

    async def test_a_segment_and_a_change_behind_it(self, store: HistoryStore) -> None:
        """Law 2: in one group, the segment first."""
        await filled(store)
        await store.apply([keep(segment(1, 4)), edit("m3", "other")])
        assert await loaded(store) == ROWS
        await store.apply([keep(segment(1, 4, revisions=1))])
        assert await loaded(store) == (["1-4", *ROWS[4:]] if self.keeps_segments else ROWS)

    async def test_appends_leave_segments_alone(self, store: HistoryStore) -> None:
        """New rows come behind all segments; another channel has none of this one's."""
        await filled(store)
        await store.apply([keep(segment(1, 9)), append(message("m10"))])
        assert await loaded(store) == (["1-9", "m10"] if self.keeps_segments else [*ROWS, "m10"])
        await put(store, *(message(f"m{n}") for n in range(1, 10)), key=OTHER_ROOM)
        parts = (await store.load_channel(OTHER_ROOM, FORMAT)).parts
        assert not any(isinstance(part, Segment) for part in parts)

    async def test_the_channels_of_the_newest_segments(self, store: HistoryStore) -> None:
        """Law 2: newest first, each channel once, of one format only: what a start loads before anybody asks."""
        await filled(store)
        await put(store, *(message(f"m{n}") for n in range(1, 10)), key=OTHER_ROOM)
        assert not await store.lately_kept(FORMAT, 9)
        await store.apply([keep(segment(1, 4), key=OTHER_ROOM), keep(segment(1, 4), segment(5, 9))])
        both = [ROOM, OTHER_ROOM] if self.keeps_segments else []
        assert await store.lately_kept(FORMAT, 9) == both
        assert await store.lately_kept(FORMAT, 2) == both[:1]
        assert not await store.lately_kept(FORMAT, 0)
        assert not await store.lately_kept("another", 9)
        await store.apply([keep(segment(5, 9), key=OTHER_ROOM)])
        assert await store.lately_kept(FORMAT, 9) == both[::-1]
