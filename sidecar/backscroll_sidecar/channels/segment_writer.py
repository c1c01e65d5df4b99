"""Writes segments of channels in the background, so that the next load reads arrays instead of rows.

    publish, load → the channel is due → rows that no segment holds → a segment in a thread → SegmentsChange → writer

Nothing depends on it: what has no segment is read from its rows.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.channels import reply_snapshot
from backscroll_sidecar.channels.cache import Channels
from backscroll_sidecar.channels.channel import HotChannel
from backscroll_sidecar.channels.segment_ranges import SegmentRange, rows_for_segment
from backscroll_sidecar.channels.segments import SEGMENT_ROWS, batch_of_rows, pack
from backscroll_sidecar.channels.view import ChannelView
from backscroll_sidecar.concurrency.background import in_background
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import Applied, Segment, SegmentsChange

log = logging.getLogger(__name__)

LEAST_ROWS = 64
"""Fewer rows are not worth a segment."""
LOOK_S, QUIET_S = 1.0, 10.0
"""A channel is due when `SEGMENT_ROWS` rows are loose, or some are and nothing came for `QUIET_S`."""
CLOSE_S = 5.0

MERGED = 8
"""Full segments in a row that become one, so that shared words and people are read once."""

Submit = Callable[[SegmentsChange], Awaitable[Applied]]


@dataclass(slots=True)
class _Due:
    """Rows that came or changed since the channel was last looked at, and when the last of them did."""

    rows: int
    last_s: float


class SegmentWriter:
    """Writes segments of rows that have none. Owned by the event loop; also a publisher of the writer.

    Parameters
    ----------
    channels : the channels in memory; they tell of loads.
    submit : makes segments durable: the one writer's `submit`.
    """

    def __init__(self, channels: Channels, submit: Submit) -> None:
        self._channels = channels
        self._submit = submit
        self._due: dict[ChannelKey, _Due] = {}
        self._task: asyncio.Task[None] | None = None
        channels.on_load = self._loaded

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Remember that a channel in memory changed. Cheap."""
        if applied.stored and self._channels.hot(key) is not None:
            due = self._due.setdefault(key, _Due(0, 0.0))
            due.rows += len(applied.stored)
            due.last_s = time.monotonic()

    def _loaded(self, key: ChannelKey, rows: int) -> None:
        """A load read so many rows that no segment has: the next one shall not.

        Not at once: those who wait for the load come first, and what they find out about the rows is kept with them.
        """
        if rows >= LEAST_ROWS:
            self._due[key] = _Due(0, time.monotonic())

    async def start(self) -> None:
        """Start the task, once."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="backscroll-segment-writer")

    async def close(self) -> None:
        """Write what is due, for a few seconds at most, and stop. Before the writer is drained. Idempotent."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait({task})
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self.write_all()

    async def write_all(self) -> None:
        """Write everything that has no segment now."""
        while self._due:
            await self._write_due(next(iter(self._due)), is_quiet=True)

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            for key, due in list(self._due.items()):
                is_quiet = time.monotonic() - due.last_s >= QUIET_S
                if is_quiet or due.rows >= SEGMENT_ROWS:
                    await self._write_due(key, is_quiet=is_quiet)

    async def _write_due(self, key: ChannelKey, *, is_quiet: bool) -> None:
        """Write all full segments of a channel; the rows behind them, too, when no more are expected soon."""
        due = self._due.pop(key)
        channel = self._channels.hot(key)
        least = LEAST_ROWS if is_quiet else SEGMENT_ROWS
        try:
            while channel is not None and channel is self._channels.hot(key):
                view, held = channel.view(), tuple(channel.segment_ranges)
                rows = await asyncio.to_thread(
                    rows_for_segment, view.seq, held, least, SEGMENT_ROWS, MERGED
                )
                if rows is None:
                    return
                if channel.generation == view.generation:  # else they are not what was looked at
                    await self._write(key, channel, view, rows)
        except asyncio.CancelledError:
            self._due[key] = due  # `close` writes the rest
            raise
        except BackscrollError as error:
            log.warning("segments cannot be stored: %s", error.message)
        except Exception:
            log.exception("a segment could not be made; its rows are read instead")

    async def _write(
        self, key: ChannelKey, channel: HotChannel, view: ChannelView, rows: NDArray[np.intp]
    ) -> None:
        """One segment. It counts as there from now on: what changes its rows from here on takes it away again."""
        revised = dict(channel.revised)
        span = SegmentRange(view.seq[rows[0]].item(), view.seq[rows[-1]].item())
        others = [one for one in channel.segment_ranges if not span.holds(one.first_seq)]
        channel.segment_ranges = [*others, span]
        segment = await asyncio.to_thread(_packed, key, view, rows, revised)
        await self._submit(SegmentsChange(key, self._channels.segment_format, (segment,)))


def _packed(
    key: ChannelKey, view: ChannelView, rows: NDArray[np.intp], revised: dict[int, int]
) -> Segment:
    with in_background():
        behind = np.count_nonzero(view.seq > view.seq[rows[-1]])
        links = (
            reply_snapshot.packed(view, revised) if behind < LEAST_ROWS else reply_snapshot.NOTHING
        )
        return pack(key, batch_of_rows(view, rows, revised), links)
