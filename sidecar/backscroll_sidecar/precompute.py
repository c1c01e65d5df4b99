"""What the next question about a channel needs, done in the background a moment after its messages came in.

    publish → the channel is due → nothing comes for a moment → load it if it is new → link and render its newest rows

Nobody waits for it and nothing depends on it: a question that comes sooner does the same work itself. Not at
the commit: to keep a channel hot that nobody asks about cost a message of an import a quarter to four fifths more.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from backscroll_sidecar.channels import Channels, ChannelView
from backscroll_sidecar.concurrency.background import in_background
from backscroll_sidecar.concurrency.offload import INLINE_US
from backscroll_sidecar.context.rendered_lines import (
    first_wanted,
    missing_lately,
    render_ahead,
)
from backscroll_sidecar.context.reply_ranker import (
    INLINE_ROWS,
    catch_up,
    names_before,
    older_of_speakers,
)
from backscroll_sidecar.context.selection import cut
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.lines.line_source import USUAL, Wanted
from backscroll_sidecar.lines.rendering import AnswerCodec
from backscroll_sidecar.ports import Applied

log = logging.getLogger(__name__)

QUIET_S = 0.5
"""A channel is due when nothing came for so long: in the middle of an import all of it would be in vain."""
FAST_ROWS = 500
"""While so many come in `QUIET_S`, to whatever channels, all of it waits: they need the processor it would take. Where
that never ends, who asks first does the work, as in a channel that was not quiet yet."""
LEAST_ROWS, MOST_ROWS = 64, 4_096
"""A new channel with fewer rows is loaded fast enough when somebody asks; one with more is being imported."""
RENDERED_AT_ONCE = 4
"""Lines that are rendered before others get their turn: 120 to 410 microseconds with all they need, the most of random
Chinese; of long ones no more than are rendered in `INLINE_US`."""
CLOSE_S = 5.0
MOST_DUE = 1_024
"""More channels do not wait; the one that is quiet the longest is left to who asks."""


@dataclass(slots=True)
class _Due:
    """Rows that came or changed since the channel was last looked at, and when the last of them did."""

    rows: int
    last_s: float


class Precompute:
    """Loads new channels, links and renders newest rows, one channel at a time. Owned by the event loop; a publisher.

    A channel that is not in memory is loaded only if it began here (its first message was published) and only while
    half of the memory for channels is free: nothing in use goes for it. Lines are rendered as the last question about
    their channel wanted them; before the first one as in the channel of the same tenant that was made ready last.
    """

    def __init__(self, channels: Channels, codec: AnswerCodec) -> None:
        self._channels = channels
        self._codec = codec
        self._wanted: dict[str, Wanted] = {}
        self._due: OrderedDict[ChannelKey, _Due] = OrderedDict()
        self._came = asyncio.Event()
        self._rows, self._since_s, self._fast_until_s = 0, 0.0, 0.0
        self._task: asyncio.Task[None] | None = None
        self._work: asyncio.Future[None] | None = None

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Remember that a channel changed. Cheap."""
        if applied.is_erasure:
            self._due.pop(key, None)
        elif applied.stored:
            now_s = time.monotonic()
            self._count(len(applied.stored), now_s)
            due = self._due.get(key)
            if due is None:
                first = applied.stored[0]
                if self._channels.hot(key) is None and (first.seq != 1 or first.revision):
                    return
                due = self._due[key] = _Due(0, 0.0)
                if len(self._due) > MOST_DUE:
                    self._due.popitem(last=False)
            due.rows += len(applied.stored)
            due.last_s = now_s
            self._due.move_to_end(key)
            self._came.set()

    def _count(self, rows: int, now_s: float) -> None:
        """See whether messages come in fast."""
        if now_s - self._since_s >= QUIET_S:
            self._rows, self._since_s = 0, now_s
        self._rows += rows
        if self._rows >= FAST_ROWS:
            self._fast_until_s = now_s + QUIET_S

    async def start(self) -> None:
        """Start the task, once."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="backscroll-precompute")

    async def close(self) -> None:
        """Stop; what is under way ends first. Before the store is closed. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait({task, *([self._work] if self._work else [])}, timeout=CLOSE_S)

    async def _run(self) -> None:
        while True:
            await self._came.wait()
            self._came.clear()
            while self._due:
                key, due = next(iter(self._due.items()))
                ready_s = max(due.last_s + QUIET_S, self._fast_until_s)
                if (rest_s := ready_s - time.monotonic()) > 0:
                    await asyncio.sleep(rest_s)
                    continue
                del self._due[key]
                self._work = asyncio.ensure_future(self._prepare(key, due.rows))
                await asyncio.shield(self._work)

    async def _prepare(self, key: ChannelKey, rows: int) -> None:
        try:
            if self._channels.hot(key) is None:
                if not LEAST_ROWS <= rows <= MOST_ROWS or not self._channels.has_room:
                    return
                await self._channels.view(key)
        except BackscrollError as error:
            log.warning("a channel cannot be made ready: %s", error.message)
            return
        if (channel := self._channels.hot(key)) is not None:
            view = channel.view()
            if view.replies.missing(view.count) > INLINE_ROWS:  # else who asks is done as soon
                await self.make_ready(view)

    async def make_ready(self, view: ChannelView) -> None:
        """Do what the next question will most likely need, so that it finds it done. Raises nothing."""
        try:
            with in_background():
                await catch_up(view, view.count)
            names_before(view, view.count)
            await asyncio.sleep(0)
            await self._write(view)
            self._channels.weigh(view.key)
        except Exception:
            log.exception("a channel could not be made ready; who asks does it")

    async def _write(self, view: ChannelView) -> None:
        """Render the newest lines as the next question will most likely want them, the newest first, and
        behind them the older ones that it is ranked with if one of the last speakers asks.

        It is taken to be asked on the heels of the last line: then the same lines have their dates. Where nobody ever
        asked it is done once: who goes on not asking shall not take memory from those who do.
        """
        tenant, lines = view.key.tenant, view.lines
        wanted = lines.wanted
        if wanted is not None:
            self._wanted[tenant] = wanted
        elif lines.nbytes:
            return
        if not (view.count and self._channels.has_room):
            return
        if wanted is None:
            wanted = first_wanted(view, self._wanted.get(tenant, USUAL))
        asked_at_ms, older = view.columns.time_ms.item(-1), older_of_speakers(view)
        await asyncio.sleep(0)
        table = lines.table(wanted.table_style)
        rows = missing_lately(view, wanted, asked_at_ms, older)
        while len(rows):
            await asyncio.sleep(0)
            some = rows[:RENDERED_AT_ONCE]
            count = render_ahead(view, some, wanted, asked_at_ms, self._codec, INLINE_US)
            cut(view, np.sort(some[:count]))
            if lines.table(wanted.table_style) is not table:
                return  # it was full and has begun anew: the next time all find room
            rows = rows[count:]
