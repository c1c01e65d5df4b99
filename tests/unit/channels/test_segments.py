"""Segments: what is packed comes back, what is damaged is refused, and the next load reads them instead of rows."""

import asyncio
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring.links import first_row
from backscroll_sidecar.channels import Channels, HotChannel, SegmentWriter
from backscroll_sidecar.channels.segment_writer import LEAST_ROWS
from backscroll_sidecar.channels.segments import (
    SEGMENT_ROWS,
    BadSegmentError,
    batch_of_rows,
    pack,
    unpack,
)
from backscroll_sidecar.context.reply_ranker import linked
from backscroll_sidecar.domain import ToolCallPart, ToolResultPart
from backscroll_sidecar.ports import Applied, Change, Segment, SegmentsChange
from backscroll_sidecar.store.sqlite import SqliteStore
from tests.contract.store.builders import ROOM, append, edit, message, recall
from tests.kit.chats import BOT, KEY, PlainCodec, say, stored_in_order
from tests.kit.examples import examples, seeds
from tests.property.test_channels import Truth, rows_of


def segments_of(channel: HotChannel, size: int) -> list[Segment]:
    """All rows in order of arrival, `size` a segment."""
    view = channel.view()
    order = np.argsort(view.seq, kind="stable")
    pieces = [order[start : start + size] for start in range(0, len(order), size)]
    return [pack(KEY, batch_of_rows(view, rows, channel.revised)) for rows in pieces]


def loaded(segments: list[Segment], rows: list = ()) -> HotChannel:
    channel = HotChannel(KEY, PlainCodec())
    channel.load([unpack(KEY, segment) for segment in segments])
    channel.publish(Applied(stored=tuple(rows)))
    return channel


@settings(max_examples=examples(100))
@given(st.data())
def test_a_channel_of_segments_equals_one_of_rows(data):
    """Law 2: late rows, late parents, circles, edits and recalls: a load from segments finds what a load from rows
    does, and packs into the same segments again."""
    truth, draw = Truth(), data.draw
    live = HotChannel(KEY, PlainCodec())
    for _ in range(draw(st.integers(1, 8))):
        steps = ["append", "append", "edit", "recall"] if truth.rows else ["append"]
        live.publish(getattr(truth, draw(st.sampled_from(steps)))(draw))
    size = draw(st.integers(1, 9))
    segments = segments_of(live, size)
    expected = rows_of(HotChannel(KEY, PlainCodec(), list(truth.rows.values())).view())
    again = loaded(segments)
    assert rows_of(again.view()) == expected
    assert [(s.row_count, s.revisions, s.recalled) for s in segments_of(again, size)] == [
        (s.row_count, s.revisions, s.recalled) for s in segments
    ]
    kept = draw(st.integers(0, len(segments)))
    held = {seq for s in segments[:kept] for seq in range(s.first_seq, s.last_seq + 1)}
    rest = [row for row in truth.rows.values() if row.seq not in held]
    assert rows_of(loaded(segments[:kept], rest).view()) == expected


def test_tool_rounds_come_back():
    """S3-15: calls and results are one round after a load from segments, too."""
    stored = stored_in_order([
        say("q", text="weather?", ago_ms=9),
        say("c", BOT, parts=(ToolCallPart("k1", "look"),), ago_ms=8),
        say("r", BOT, parts=(ToolResultPart("k1", "look", "sunny"),), ago_ms=7),
    ])  # fmt: skip
    rounds = loaded(segments_of(HotChannel(KEY, PlainCodec(), stored), 2)).view().tool_exchanges
    assert sorted(rounds.exchange("r")) == ["c", "r"]
    assert rounds.ids("q") is None


STORED = stored_in_order([say(f"m{n}", text=f"line {n} 猫", ago_ms=99 - n, reply_to="m0")
                          for n in range(40)])  # fmt: skip
(SEGMENT,) = segments_of(HotChannel(KEY, PlainCodec(), STORED), 40)


@given(st.sampled_from(["columns", "bodies"]), st.data())
def test_a_segment_with_another_bit_is_refused(name, data):
    """Law 2: no text that nobody sent, no number that leads somewhere else."""
    whole = getattr(SEGMENT, name)
    damaged = bytearray(whole)
    damaged[data.draw(st.integers(0, len(whole) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    for bad in (bytes(damaged), cut, whole + b"\0", b""):
        with pytest.raises(BadSegmentError):
            unpack(KEY, replace(SEGMENT, **{name: bad}))


@pytest.mark.parametrize("name", ["first_seq", "last_seq", "row_count", "revisions", "recalled"])
def test_a_segment_with_another_number_is_refused(name):
    with pytest.raises(BadSegmentError):
        unpack(KEY, replace(SEGMENT, **{name: getattr(SEGMENT, name) + 1}))


def test_a_segment_of_another_channel_is_refused():
    for key in (KEY._replace(channel="other"), KEY._replace(tenant="other")):
        with pytest.raises(BadSegmentError):
            unpack(key, SEGMENT)


class Shop:
    """A store, hot channels and a segment_writer over it."""

    def __init__(self, store: SqliteStore) -> None:
        self.store, self.codec = store, PlainCodec()
        self.channels = Channels(store, self.codec)
        self.segment_writer = SegmentWriter(self.channels, self.apply)

    async def apply(self, change: Change) -> Applied:
        (applied,) = await self.store.apply([change])
        self.channels.publish(change.key, applied)
        self.segment_writer.publish(change.key, applied)
        return applied

    async def parts(self) -> list[int]:
        """Rows of each part that a load reads; of segments negative."""
        rows = await self.store.load_channel(ROOM, self.channels.segment_format)
        return [-p.row_count if isinstance(p, Segment) else len(p) for p in rows.parts]

    async def read(self) -> list[dict]:
        """The channel as a load reads it."""
        self.channels.drop(ROOM)
        view = await self.channels.view(ROOM)
        assert view is not None
        return rows_of(view)


@pytest.fixture
async def shop(tmp_path: Path):
    store = await SqliteStore.open(tmp_path / "history.db", durability="normal")
    yield Shop(store)
    await store.close()


def lines(first: int, count: int) -> Change:
    return append(*(message(f"m{n}", f"line {n}", at=n) for n in range(first, first + count)))


async def test_a_second_load_reads_segments(shop: Shop) -> None:
    """S5-33, law 2: rows that a load read one by one are segments for the next one, and what it finds is the same."""
    for first in range(0, 2_500, 500):
        await shop.apply(lines(first, 500))
    before = await shop.read()
    assert await shop.parts() == [2_500]
    await shop.segment_writer.write_all()
    assert await shop.parts() == [-SEGMENT_ROWS, -SEGMENT_ROWS, -(2_500 - 2 * SEGMENT_ROWS)]
    assert await shop.read() == before
    await shop.apply(lines(2_500, LEAST_ROWS - 1))
    await shop.segment_writer.write_all()
    assert await shop.parts() == [-1_024, -1_024, -452, LEAST_ROWS - 1]
    await shop.apply(lines(3_000, 1))
    await shop.segment_writer.write_all()
    assert await shop.parts() == [-1_024, -1_024, -(452 + LEAST_ROWS)]
    hot = rows_of(shop.channels.hot_view(ROOM))
    assert await shop.read() == hot


async def test_changes_take_segments_away_and_they_come_again(shop: Shop) -> None:
    """Law 2: edits and recalls of packed rows are seen by the next load, packed again or not."""
    await shop.apply(lines(0, 300))
    await shop.read()
    await shop.segment_writer.write_all()
    assert await shop.parts() == [-300]
    for change in (edit("m7", "something else"), recall("m8")):
        await shop.apply(change)
        assert await shop.parts() == [300]
        hot = rows_of(shop.channels.hot_view(ROOM))
        assert await shop.read() == hot
        await shop.segment_writer.write_all()
        assert await shop.parts() == [-300]
        assert await shop.read() == hot


async def test_full_segments_become_one(shop: Shop) -> None:
    """Eight in a row are one, so that a long channel is a few large pieces."""
    await shop.apply(lines(0, 100))
    await shop.read()
    await shop.apply(lines(100, SEGMENT_ROWS - 100))
    for first in range(SEGMENT_ROWS, 8 * SEGMENT_ROWS, SEGMENT_ROWS):
        await shop.segment_writer.write_all()
        assert await shop.parts() == [-SEGMENT_ROWS] * (first // SEGMENT_ROWS)
        await shop.apply(lines(first, SEGMENT_ROWS))
    before = shop.channels.hot_view(ROOM).seq.tolist()
    await shop.segment_writer.write_all()
    assert await shop.parts() == [-8 * SEGMENT_ROWS]
    await shop.read()
    assert shop.channels.hot_view(ROOM).seq.tolist() == before


async def test_many_rows_at_once_are_one_segment(shop: Shop) -> None:
    """What an import brought is one piece from the beginning."""
    for first in range(0, 9_000, 1_000):
        await shop.apply(lines(first, 1_000))
    before = await shop.read()
    await shop.segment_writer.write_all()
    assert await shop.parts() == [-9_000]
    assert await shop.read() == before


async def test_a_damaged_segment_costs_a_slow_load_only(shop: Shop) -> None:
    """Law 5: the rows are the truth."""
    await shop.apply(lines(0, 100))
    before = await shop.read()
    bad = Segment(1, 100, 100, 0, 0, b"\x00" * 40, b"")
    await shop.apply(SegmentsChange(ROOM, shop.channels.segment_format, (bad,)))
    assert await shop.parts() == [-100]
    assert await shop.read() == before


def spoil(path: Path, kind: str, seed: int) -> None:
    """Damage segments in the file, as a disk or a careless hand does."""
    random = np.random.default_rng(seed)
    with closing(sqlite3.connect(path)) as file, file:
        found = file.execute(
            "SELECT rowid, columns, bodies FROM segments ORDER BY rowid"
        ).fetchall()
        rowid, *blobs = found[random.integers(len(found))]
        name = ("columns", "bodies")[random.integers(2)]
        whole = blobs[name == "bodies"]
        if kind == "swapped":
            (one, *first), (other, *second) = found[0], found[-1]
            for row, pair in ((one, second), (other, first)):
                file.execute(
                    "UPDATE segments SET columns = ?, bodies = ? WHERE rowid = ?", (*pair, row)
                )
            return
        bad = bytearray(whole)
        if kind == "a bit":
            bad[random.integers(len(bad))] ^= 1 << int(random.integers(8))
        elif kind == "cut":
            bad = bad[: random.integers(len(bad))]
        elif kind == "a text":
            name, bad = "bodies", bytearray(blobs[1].replace(b"line ", b"evil ", 1))
        file.execute(f"UPDATE segments SET {name} = ? WHERE rowid = ?", (bytes(bad), rowid))


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> tuple[Path, list[dict]]:
    """A file with a full segment and one of 176 rows, and the channel as a load reads it."""
    path = tmp_path_factory.mktemp("packed") / "history.db"

    async def fill() -> list[dict]:
        shop = Shop(await SqliteStore.open(path, durability="normal"))
        await shop.apply(lines(0, 1_200))
        await shop.read()
        await shop.segment_writer.write_all()
        assert await shop.parts() == [-SEGMENT_ROWS, -176]
        rows = await shop.read()
        await shop.store.close()
        return rows

    return path, asyncio.run(fill())


@pytest.mark.parametrize("seed", seeds(8, 3))
@pytest.mark.parametrize("kind", ["a bit", "cut", "a text", "swapped"])
async def test_damage_on_disk_changes_no_answer(
    packed, tmp_path: Path, kind: str, seed: int, caplog
) -> None:
    """Read from its rows, named and counted, and made anew: the next load finds whole segments."""
    whole, before = packed
    path = Path(shutil.copy(whole, tmp_path))
    spoil(path, kind, seed)
    shop = Shop(await SqliteStore.open(path, durability="normal"))
    try:
        assert await shop.read() == before
        assert shop.channels.damaged_segments == 1
        assert "room" in caplog.text
        await shop.segment_writer.write_all()
        assert await shop.read() == before
        assert shop.channels.damaged_segments == 1
        assert sum(await shop.parts()) == -1_200
    finally:
        await shop.store.close()


async def test_another_encoding_reads_rows(shop: Shop) -> None:
    """What was encoded by another codec, or an older program, is not looked at."""
    await shop.apply(lines(0, 100))
    await shop.read()
    await shop.segment_writer.write_all()
    shop.codec.version = "newer"
    other = Shop(shop.store)
    other.codec.version = "newer"
    other.channels = Channels(shop.store, other.codec)
    assert await other.parts() == [100]


async def test_what_a_build_found_out_is_there_after_the_next_load(shop: Shop) -> None:
    """Law 2: the rows a build looked through are looked through again only when one of the channel is another."""
    await shop.apply(lines(0, 900))
    await shop.read()
    linked(shop.channels.hot_view(ROOM), 900)
    await shop.segment_writer.write_all()
    await shop.read()
    assert shop.channels.hot_view(ROOM).replies.missing(900) == 0
    await shop.apply(edit("m7", "something else"))
    await shop.read()
    assert shop.channels.hot_view(ROOM).replies.missing(900) == 900 - first_row(900)
