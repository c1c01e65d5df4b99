"""What the next question needs is there before it comes, and is left alone where that is not worth it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring.layout import SLOT
from backscroll_scoring.link_columns import WINDOW
from backscroll_sidecar import precompute
from backscroll_sidecar.channels import Channels, ChannelView
from backscroll_sidecar.channels.line_cache import MAX_TABLE_BYTES
from backscroll_sidecar.concurrency.offload import INLINE_US
from backscroll_sidecar.context import rendered_lines
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.rendered_lines import AHEAD_BYTES, missing_lately
from backscroll_sidecar.context.reply_ranker import linked
from backscroll_sidecar.domain import (
    Author,
    ChannelKey,
    MessageState,
    Role,
    SpeakerStyle,
    StoredMessage,
    TimeStyle,
)
from backscroll_sidecar.edge.convert.built import AnswerFields
from backscroll_sidecar.lines.line_source import USUAL
from backscroll_sidecar.lines.rendering import RENDER_US, RENDER_US_PER_CHAR, RenderStyle
from backscroll_sidecar.ports import Applied
from backscroll_sidecar.precompute import LEAST_ROWS, Precompute
from tests.kit.chats import ANN, BEN, BOT, CAT, KEY, NOON_MS, PlainCodec, say, stored_in_order
from tests.kit.rooms import ShelfReader, broken_store
from tests.property.test_assembly import Talk, answer_of, same_anywhere

ASKED = BuildRequest(KEY, "when?", ANN, asked_at_ms=NOON_MS, self_ids=("bot",), profile="room")

NEW, OLD, LAST = (ChannelKey("default", name) for name in ("new", "old", "last"))


def rows(key: ChannelKey, count: int = 300) -> list[StoredMessage]:
    return stored_in_order([
        say(f"m{n}", (ANN, BEN)[n % 2], f"line {n}?", count - n, channel=key.channel)
        for n in range(count)
    ])  # fmt: skip


class Place:
    """Channels over a shelf that holds `NEW`, `OLD` and `LAST`, and what prepares them."""

    def __init__(self, max_bytes: int = 1 << 30) -> None:
        self.reader = ShelfReader([row for key in (NEW, OLD, LAST) for row in rows(key)])
        self.channels = Channels(self.reader, PlainCodec(), max_bytes=max_bytes)
        self.ahead = Precompute(self.channels, AnswerFields())

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        self.channels.publish(key, applied)
        self.ahead.publish(key, applied)

    def is_ready(self, key: ChannelKey) -> bool:
        channel = self.channels.hot(key)
        return channel is not None and channel.view().replies.missing(len(channel)) == 0

    async def until_ready(self, key: ChannelKey) -> None:
        async with asyncio.timeout(120):
            while not self.is_ready(key):  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.002)

    async def until_all_were_looked_at(self) -> None:
        """Channels are taken in the order in which they became quiet: this one is the last."""
        self.publish(LAST, Applied(stored=tuple(rows(LAST))))
        await self.until_ready(LAST)


@asynccontextmanager
async def opened(place: Place):
    await place.ahead.start()
    yield place
    await place.ahead.close()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precompute, "QUIET_S", 0.01)


async def test_a_new_channel_is_loaded_and_linked_before_anybody_asks():
    async with opened(Place()) as place:
        here = rows(NEW)
        for start in range(0, len(here), 50):
            place.publish(NEW, Applied(stored=tuple(here[start : start + 50])))
        assert len(place.channels) == 0  # the import itself pays nothing
        await place.until_ready(NEW)
        assert place.reader.loads == 1


async def test_it_waits_while_messages_come_in_fast(monkeypatch: pytest.MonkeyPatch):
    """An import into one channel does not share the processor with what may come later for another."""
    monkeypatch.setattr(precompute, "FAST_ROWS", 100)
    async with opened(Place()) as place:
        monkeypatch.setattr(precompute, "QUIET_S", 60)
        place.publish(OLD, Applied(stored=tuple(rows(OLD, 101))[1:]))
        monkeypatch.setattr(precompute, "QUIET_S", 0.01)
        monkeypatch.setattr(precompute, "FAST_ROWS", 1_000)
        place.publish(NEW, Applied(stored=tuple(rows(NEW))))
        await asyncio.sleep(0.1)
        assert place.reader.loads == 0


async def test_it_finds_what_who_asks_would_have_found():
    """Law 2."""
    async with opened(Place()) as place:
        place.publish(NEW, Applied(stored=tuple(rows(NEW))))
        await place.until_ready(NEW)
        before = place.channels.hot(NEW).view()
        place.channels.drop(NEW)
        view = await place.channels.view(NEW)
        found, anew = before.replies.state, linked(view, view.count)
        for name in ("rows", "chances", "starts", "together"):
            assert (getattr(found.links, name) == getattr(anew.links, name)).all()
        assert (found.flags == anew.flags).all()


async def test_a_hot_channel_is_linked_after_many_rows_not_after_one():
    """A bot that appends one line and asks at once does not meet a thread at work."""
    async with opened(Place()) as place:
        await place.channels.view(OLD)
        more = [replace(row, seq=301 + n) for n, row in enumerate(rows(OLD, 20))]
        more = [
            replace(row, message=replace(row.message, id=f"more{n}")) for n, row in enumerate(more)
        ]
        place.publish(OLD, Applied(stored=tuple(more[:-1])))
        await place.until_ready(OLD)
        place.publish(OLD, Applied(stored=tuple(more[-1:])))
        await place.until_all_were_looked_at()
        assert place.channels.hot(OLD).view().replies.missing(320) == 1


async def test_what_is_not_worth_it_stays_cold(monkeypatch):
    """Channels that began earlier, small ones, imports, and those that were erased from."""
    monkeypatch.setattr(precompute, "MOST_ROWS", 310)
    keys = [ChannelKey("default", name) for name in ("edited", "small", "import", "erased")]
    async with opened(Place()) as place:
        edited, small, large, erased = keys
        place.publish(OLD, Applied(stored=tuple(rows(OLD)[9:])))
        place.publish(edited, Applied(stored=tuple(replace(one, revision=1) for one in rows(OLD))))
        place.publish(small, Applied(stored=tuple(rows(small, LEAST_ROWS - 1))))
        place.publish(large, Applied(stored=tuple(rows(large, 311))))
        place.publish(erased, Applied(stored=tuple(rows(erased))))
        place.publish(erased, Applied(erased_ids=("m1",)))
        await place.until_all_were_looked_at()
        assert place.reader.loads == len(place.channels) == 1


async def test_lines_are_written_before_anybody_asks():
    """The newest ones, as a group's first question wants them, and then as the last question wanted them."""
    async with opened(Place()) as place:
        place.publish(NEW, Applied(stored=tuple(rows(NEW))))
        await place.until_ready(NEW)
        await place.until_all_were_looked_at()
        await place.ahead.close()  # once it is done with the other one
        assert place.channels.nbytes == sum(place.channels.hot(key).nbytes for key in (NEW, LAST))
        view = place.channels.hot(NEW).view()
        now_ms = int(view.columns.time_ms[-1])
        assert not len(missing_lately(view, USUAL, now_ms))
        later = USUAL._replace(time_style=TimeStyle.ISO_DATE)
        assert len(missing_lately(view, later, now_ms)) == WINDOW
        view.lines.wanted = later
        await place.ahead.make_ready(view)
        assert not len(missing_lately(view, later, now_ms))
        other = await place.channels.view(OLD)
        await place.ahead.make_ready(other)  # nobody asked there, so as asked elsewhere
        assert not len(missing_lately(other, later, now_ms))


async def test_a_first_answer_has_lines_rendered_ahead():
    """Law 2: many lines that no question has shown, an edit and a rename in between: the answer of a new room."""
    lines = [
        say(f"m{n}", (BEN, CAT, BOT)[n % 3], f"line {n} /\n猫", 60_000 - n,
            role=Role.ASSISTANT if n % 3 == 2 else Role.USER)
        for n in range(48)
    ]  # fmt: skip
    for request in (ASKED, replace(ASKED, time_style=TimeStyle.ISO_DATE)):
        talk = Talk.of(lines)
        ahead = Precompute(talk.room.channels, AnswerFields())
        await talk.room.channels.view(KEY)
        await answer_of(talk.room, request)
        for change in (dict, partial(talk.edit, "m40", "/other"), partial(talk.rename, "u2", "Bo")):
            change()
            await ahead.make_ready(talk.room.channels.hot(KEY).view())
            with patch.object(rendered_lines, "_rendered") as rendered:
                first = await answer_of(talk.room, request)
            rendered.assert_not_called()
            anew = talk.fresh()
            await anew.channels.view(KEY)
            assert same_anywhere(first) == same_anywhere(await answer_of(anew, request))


async def test_who_never_asks_takes_no_more_memory():
    """Law 9: the lines of a channel that nobody asks about are written once, and none where memory is short."""
    place = Place()
    view = await place.channels.view(OLD)
    await place.ahead.make_ready(view)
    before = view.lines.nbytes
    more = [
        replace(row, seq=301 + n, message=replace(row.message, id=f"more{n}"))
        for n, row in enumerate(rows(OLD, 50))
    ]
    place.channels.publish(OLD, Applied(stored=tuple(more)))
    view = place.channels.hot(OLD).view()
    await place.ahead.make_ready(view)
    assert view.replies.missing(350) == 0
    assert view.lines.nbytes == before
    view.lines.wanted = USUAL
    await place.ahead.make_ready(view)
    assert view.lines.nbytes > before
    short = Place(max_bytes=1)
    view = await short.channels.view(OLD)
    await short.ahead.make_ready(view)
    assert view.replies.missing(300) == view.lines.nbytes == 0


@pytest.mark.parametrize("character", ["猫", "😀", "\x01", "a"])
async def test_no_text_makes_a_table_begin_anew(character):
    """Whatever its characters take in all forms: what is rendered ahead stays."""
    place = Place()
    place.reader.stored = [
        replace(one, analysis=replace(one.analysis, text=character * 320)) for one in rows(NEW, 100)
    ]
    view = await place.channels.view(NEW)
    await place.ahead.make_ready(view)
    left = missing_lately(view, USUAL, int(view.columns.time_ms[-1]))
    written = AHEAD_BYTES // len(character.encode() * 320)
    assert left[:1].tolist() == [99 - min(written, 100)][: 100 - written]


async def test_lines_of_one_person_are_written_without_speakers():
    """N-07, and what nobody will be shown is not written at all."""
    place = Place()
    alone = [
        replace(one, message=replace(one.message, author=Author(ANN, "Ann")))
        for one in rows(NEW, 150)
    ]
    alone[-1] = replace(alone[-1], state=MessageState.RECALLED)
    place.reader.stored = alone
    view = await place.channels.view(NEW)
    await place.ahead.make_ready(view)
    now_ms, by_role = (
        int(view.columns.time_ms[-1]),
        USUAL._replace(style=RenderStyle(SpeakerStyle.ROLE)),
    )
    assert not len(missing_lately(view, by_role, now_ms))
    assert len(missing_lately(view, USUAL, now_ms)) == WINDOW - 1


async def test_older_lines_of_who_spoke_lately_are_written_too():
    """0014: a question of theirs is ranked with those, and who asks is mostly one of them."""
    place = Place()
    long = rows(NEW, 300)
    for at in (30, 299):
        long[at] = replace(long[at], message=replace(long[at].message, author=Author("u9", "Eve")))
    place.reader.stored = long
    view = await place.channels.view(NEW)
    await place.ahead.make_ready(view)
    lines, of_history = np.array([29, 30, 200], np.int32), np.zeros(3, np.bool_)
    dated_before_ms = USUAL.dated_before_ms(view.columns.time_ms.item(-1))
    columns, *_ = view.lines.table(USUAL.table_style).lay_out(
        np.arange(3), lines, of_history, of_history.astype(np.uint32), view.seq, view.columns.time_ms,
        dated_before_ms,
    )  # fmt: skip
    assert (columns[SLOT] >= 0).tolist() == [False, True, True]


async def test_long_lines_do_not_fill_a_table(monkeypatch: pytest.MonkeyPatch):
    """The newest are rendered, as many as `AHEAD_BYTES` allow, and none that takes too long (law 9)."""
    place, real = Place(), precompute.render_ahead
    at_once: list[float] = []

    def spy(view: ChannelView, rows: NDArray[np.int32], *rest: Any) -> int:
        count = real(view, rows, *rest)
        at_once.append(
            sum(RENDER_US + RENDER_US_PER_CHAR * len(view.texts[row]) for row in rows[:count])
        )
        return count

    monkeypatch.setattr(precompute, "render_ahead", spy)
    long = [
        replace(one, analysis=replace(one.analysis, text="ha " * (300 if n != 95 else 400)))
        for n, one in enumerate(rows(NEW, 100))
    ]
    place.reader.stored = long
    view = await place.channels.view(NEW)
    await place.ahead.make_ready(view)
    left = missing_lately(view, USUAL, int(view.columns.time_ms[-1]))
    assert left[0] == 99 - AHEAD_BYTES // 900 - 1  # one of them is too long
    assert 0 < max(at_once) <= INLINE_US
    assert view.lines.nbytes < MAX_TABLE_BYTES


async def test_nothing_in_use_goes_for_it():
    """The byte limit: with less than half of it free, channels nobody asked for stay on the disk."""
    size = Place()
    await size.channels.view(OLD)
    async with opened(Place(max_bytes=2 * size.channels.nbytes - 1)) as place:
        await place.channels.view(OLD)
        place.publish(NEW, Applied(stored=tuple(rows(NEW))))
        more = tuple(replace(row, seq=row.seq + 300) for row in rows(OLD))
        place.ahead.publish(OLD, Applied(stored=more))  # the last one, here
        await place.until_ready(OLD)
        assert place.reader.loads == len(place.channels) == 1


async def test_a_store_that_fails_costs_nothing_else():
    """Law 5."""
    async with opened(Place()) as place:
        await place.channels.view(LAST)
        place.reader.error = broken_store()
        place.publish(NEW, Applied(stored=tuple(rows(NEW))))
        await place.until_all_were_looked_at()
        assert place.channels.hot(NEW) is None


async def test_close_waits_for_what_is_under_way():
    """Nothing is read from a store that was closed."""
    place = Place()
    await place.ahead.start()
    place.reader.delay_s = 0.05
    place.publish(NEW, Applied(stored=tuple(rows(NEW))))
    while place.ahead._work is None:  # noqa: ASYNC110 - no event tells
        await asyncio.sleep(0.002)
    await place.ahead.close()
    assert place.is_ready(NEW)
    await place.ahead.close()
