"""A cache of one value a channel: loaded on first use, told of every commit, least recently used dropped first.

A commit published during a load is applied after it. Applying is idempotent, so the load may have seen it.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar, Generic, TypeVar

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import Applied

log = logging.getLogger(__name__)

T = TypeVar("T")


class ChannelCache(Generic[T]):
    """One `T` a channel, the least recently used dropped first. A publisher of the writer; owned by one event loop.

    Parameters
    ----------
    max_size : of all together, as `_size_of` counts. One channel that is larger alone stays beside the others and does
        not count: the one such used last.
    max_count : how many there may be.
    """

    setting: ClassVar[str] = ""
    """The setting that `max_size` comes from: named in the log when one channel is larger alone."""

    def __init__(self, max_size: int, max_count: int = 2**31) -> None:
        self._max_size = max_size
        self._max_count = max_count
        self._kept: OrderedDict[ChannelKey, T] = OrderedDict()
        self._sizes: dict[ChannelKey, int] = {}
        self._size = 0
        self._large: set[ChannelKey] = set()
        self._warned = False
        self._loads: dict[ChannelKey, asyncio.Task[T]] = {}
        self._meanwhile: dict[ChannelKey, list[Applied]] = {}

    def _take(self, key: ChannelKey, kept: T, applied: Applied) -> bool:
        """Apply a commit; False: load it anew."""
        raise NotImplementedError

    def _size_of(self, kept: T) -> int:
        """The size of one."""
        raise NotImplementedError

    def _loaded(self, key: ChannelKey, kept: T) -> None:
        """Called after a load."""

    def _dropped(self, key: ChannelKey, kept: T) -> None:
        """Called after a drop."""

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Apply a committed change, if the channel is in memory."""
        if key in self._loads:
            self._meanwhile.setdefault(key, []).append(applied)
        elif (kept := self._kept.get(key)) is not None:
            if self._take(key, kept, applied):
                self.weigh(key)
            else:
                self.drop(key)

    def drop(self, key: ChannelKey) -> None:
        """Forget one; its next use loads it again."""
        kept = self._kept.pop(key, None)
        self._size -= self._sizes.pop(key, 0)
        self._large.discard(key)
        if kept is not None:
            self._dropped(key, kept)

    async def _get(self, key: ChannelKey, read: Callable[[], Awaitable[T]]) -> T:
        """The one in memory, or read from the store, one load at a time. Who gives up does not stop the load."""
        kept = self._kept.get(key)
        if kept is not None:
            self._kept.move_to_end(key)
            return kept
        task = self._loads.get(key)
        if task is None:
            task = self._loads[key] = asyncio.create_task(self._load(key, read))
            task.add_done_callback(retrieve_exception)
        return await asyncio.shield(task)

    async def _load(self, key: ChannelKey, read: Callable[[], Awaitable[T]]) -> T:
        try:
            kept = await read()
            while not all(self._take(key, kept, one) for one in self._meanwhile.pop(key, [])):
                kept = await read()
        finally:
            self._loads.pop(key, None)
            self._meanwhile.pop(key, None)
        self._kept[key] = kept
        self.weigh(key)
        self._loaded(key, kept)
        return kept

    def weigh(self, key: ChannelKey) -> None:
        """Count one that was loaded or grew. Over a limit, the least recently used goes."""
        if key not in self._kept:
            return
        size = self._size_of(self._kept[key])
        self._size += size - self._sizes.get(key, 0)
        self._sizes[key] = size
        if size > self._max_size:
            self._large.add(key)
            self._warn(size)
        else:
            self._large.discard(key)
        while len(self._large) > 1:
            self.drop(next(one for one in self._kept if one in self._large))
        while len(self._kept) > self._max_count or self._counted > self._max_size:
            self.drop(next(iter(self._kept)))

    @property
    def _counted(self) -> int:
        """The size of all that the limit is for."""
        return self._size - sum(self._sizes[one] for one in self._large)

    def _warn(self, size: int) -> None:
        """Say it once."""
        if self.setting and not self._warned:
            self._warned = True
            log.warning(
                "one channel takes %d bytes of memory, and %s is %d: it stays beside the others, "
                "but no second one that large does",
                size,
                self.setting,
                self._max_size,
            )


def retrieve_exception(task: asyncio.Task[Any]) -> None:
    """Retrieve an error that nobody may await any more, since every waiter may have given up."""
    if not task.cancelled():
        task.exception()
