"""The bounded queue in front of the writer: bounded in rows and in bytes, and so is the line before it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from dataclasses import dataclass

import msgspec

from backscroll_sidecar.errors import Overloaded
from backscroll_sidecar.ports import (
    AppendChange,
    Applied,
    Change,
    EditChange,
    EventsChange,
    MembersChange,
    RecordChange,
    SignalChange,
    UsageChange,
    VectorsChange,
)

ITEM_BYTES = 1_024


class Pending(msgspec.Struct, frozen=True, eq=False):
    """A change on its way to the store, and who waits for it (nobody waits for events)."""

    change: Change
    items: int
    bytes: int
    future: asyncio.Future[Applied] | None


def pend(change: Change, future: asyncio.Future[Applied] | None = None) -> Pending:
    """A change with its size: how many rows it is about, at least 1, and about how much memory it holds.

    That is a flat sum a row, and its texts as Python stores them.
    """
    items, texts = 1, 0
    match change:
        case AppendChange():
            items = len(change.messages)
            texts = sum([analysis.text.__sizeof__() for analysis in change.analyses])
            texts += sum([len(record.body or b"") for record in change.records])
        case MembersChange():
            items = len(change.members)
        case EventsChange():
            items = len(change.events)
        case VectorsChange():
            items = len(change.vectors)
            texts = sum([len(vector.values) for vector in change.vectors])
        case EditChange():
            texts = change.analysis.text.__sizeof__()
        case RecordChange():
            texts = len(change.body or b"")
        case UsageChange():
            texts = len(change.record.candidates)
        case SignalChange():
            items = len(change.signals)
            texts = sum([one.text.__sizeof__() for one in change.signals])
        case _:
            pass
    items = max(items, 1)
    return Pending(change, items, items * ITEM_BYTES + texts, future)


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """Bounds of the queue. A change larger than the queue is let in alone, when it is empty.

    `max_waiting` is how many callers may stand in line for room (the next is refused at once), `max_wait_s` how
    long each of them does.
    """

    max_items: int = 20_000
    max_bytes: int = 64 * 1024 * 1024
    max_waiting: int = 1_000
    max_wait_s: float = 2.0


USUAL_LIMITS = QueueLimits()


@dataclass(frozen=True, slots=True, eq=False)
class _Place:
    """A place in line: `turn` is done once `pending` was moved to the queue."""

    pending: Pending
    turn: asyncio.Future[None]

    @property
    def granted(self) -> bool:
        return self.turn.done() and not self.turn.cancelled()


class WriteQueue:
    """Changes that wait for their commit, first come first served. Belongs to one event loop."""

    def __init__(self, limits: QueueLimits) -> None:
        self._limits = limits
        self._queue: deque[Pending] = deque()
        self._line: deque[_Place] = deque()
        self._work = asyncio.Event()
        self.items = 0
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._queue)

    async def put(self, pending: Pending, deadline_s: float | None = None) -> None:
        """Queue a change, standing in line for a bounded time when there is no room.

        When this raises, whatever it raises, the change is not queued, except for a cancellation that comes after
        the change was let in: then the commit goes on without its caller.

        Raises
        ------
        Overloaded
            No room in time, or the line itself is too long.
        """
        if self.put_at_once(pending):
            return
        wait_s = self._limits.max_wait_s
        if deadline_s is not None:
            wait_s = min(wait_s, deadline_s - time.monotonic())
        if wait_s <= 0 or len(self._line) >= self._limits.max_waiting:
            raise Overloaded("the write queue is full")
        place = _Place(pending, asyncio.get_running_loop().create_future())
        self._line.append(place)
        try:
            async with asyncio.timeout(wait_s):
                await place.turn
        except TimeoutError:
            if not place.granted:
                raise Overloaded("the write queue is full") from None
        finally:
            if not place.granted:
                with contextlib.suppress(ValueError):  # the line may have moved past it
                    self._line.remove(place)
                self._admit()

    def put_at_once(self, pending: Pending) -> bool:
        """Queue a change if there is room for it and nobody stands in line."""
        if self._line or not self._fits(pending):
            return False
        self._push(pending)
        return True

    def put_nowait(self, pending: Pending) -> bool:
        """Queue a change nobody waits for, if the queue is less than half full and nobody stands in line."""
        room = (
            not self._line
            and self.items + pending.items <= self._limits.max_items // 2
            and self.bytes + pending.bytes <= self._limits.max_bytes // 2
        )
        if room:
            self._push(pending)
        return room

    async def wait(self) -> None:
        """Return when there is work, or after `wake`."""
        await self._work.wait()

    async def gather(self, rounds: int, items: int) -> None:
        """Return when nothing came for so many rounds of the loop, or when so many items are queued."""
        seen, quiet = self.items, 0
        while quiet < rounds and self.items < items:
            await asyncio.sleep(0)
            quiet = quiet + 1 if self.items == seen else 0
            seen = self.items

    def wake(self) -> None:
        """Let `wait` return from now on, work or not."""
        self._work.set()

    def take(self, max_items: int, max_bytes: int) -> list[Pending]:
        """Take the next group: as many changes as fit both bounds, at least one; then let the line move up."""
        group: list[Pending] = []
        items = size = 0
        while self._queue:
            head = self._queue[0]
            if group and (items + head.items > max_items or size + head.bytes > max_bytes):
                break
            group.append(self._queue.popleft())
            items += head.items
            size += head.bytes
        self.items -= items
        self.bytes -= size
        self._admit()
        if not self._queue:
            self._work.clear()
        return group

    def clear(self) -> list[Pending]:
        """Empty the queue and the line; return what was in them, in order."""
        left = list(self._queue)
        self._queue.clear()
        self.items = self.bytes = 0
        while self._line:
            place = self._line.popleft()
            left.append(place.pending)
            self._grant(place)
        return left

    def _fits(self, pending: Pending) -> bool:
        return not self._queue or (
            self.items + pending.items <= self._limits.max_items
            and self.bytes + pending.bytes <= self._limits.max_bytes
        )

    def _push(self, pending: Pending) -> None:
        self._queue.append(pending)
        self.items += pending.items
        self.bytes += pending.bytes
        self._work.set()

    def _admit(self) -> None:
        while self._line and self._fits(self._line[0].pending):
            place = self._line.popleft()
            # A turn already cancelled belongs to a caller who is about to leave the line empty-handed.
            if not place.turn.cancelled():
                self._grant(place)
                self._push(place.pending)

    @staticmethod
    def _grant(place: _Place) -> None:
        if not place.turn.done():
            place.turn.set_result(None)
