"""Caches of this server take over what other servers wrote, before anything is answered from them.

A commit of this server is published by its writer, one of another by `catch_up`, which asks the store for the versions
of a channel and its tenant. So what any server acknowledged the next answer of this one knows.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.history.publishing import ChannelPublisher, publish_slices
from backscroll_sidecar.ports import EVERYWHERE, Applied, EraseReceipt, Loss, SharedWrites, Versions

MOST_CHANNELS = 100_000
"""Whose versions are remembered: some 20 MB."""
_LOST = -1
"""Held of commits that the store may have lost, or of none."""
FORGOTTEN = Applied(receipt=EraseReceipt({}), is_foreign=True)
"""Makes caches drop what they have of a channel."""


class _Asking:
    """Asks for versions: of each tenant one statement at a time. Who comes while one runs has a part in the next one.

    So many calls at once cost the database one statement, and none is answered by one that was sent before it came.
    """

    def __init__(self, shared: SharedWrites) -> None:
        self._shared = shared
        self._running: dict[str, asyncio.Task[Versions]] = {}
        self._next: dict[str, tuple[set[str], asyncio.Task[Versions]]] = {}

    async def versions(self, tenant: str, channels: Iterable[str]) -> Versions:
        """Of these channels of a tenant, and maybe of others. Raises `StoreUnavailable`."""
        if tenant not in self._next:
            asked: set[str] = set()
            task = asyncio.create_task(self._ask(tenant, asked, self._running.get(tenant)))
            self._next[tenant] = asked, task
        wanted, task = self._next[tenant]
        wanted.update(channels)
        return await asyncio.shield(task)

    async def _ask(
        self, tenant: str, wanted: set[str], before: asyncio.Task[Versions] | None
    ) -> Versions:
        if before is not None:
            await asyncio.wait({before})
        _, self._running[tenant] = self._next.pop(tenant)
        try:
            return await self._shared.versions(tenant, list(wanted))
        finally:
            if tenant not in self._next:  # else that one takes its place
                del self._running[tenant]


class Replicas:
    """Which version of each channel the caches hold. Owned by one event loop.

    Parameters
    ----------
    shared : the commits of all servers.
    caches : what is told of them.
    note_losses : told what others took away, once the caches know it.
    """

    def __init__(
        self,
        shared: SharedWrites,
        caches: ChannelPublisher,
        note_losses: Callable[[Sequence[Loss]], None],
    ) -> None:
        self._shared = shared
        self._asking = _Asking(shared)
        self._caches = caches
        self._note_losses = note_losses
        self._held: OrderedDict[ChannelKey, int] = OrderedDict()
        self._catching: dict[ChannelKey, asyncio.Task[None]] = {}
        self._lineages: dict[str, int] = {}
        self.taken_over = 0
        """Times that caches took over what another server wrote."""
        self.dropped = 0
        """Times that they dropped a channel since too much was written, or something was erased."""

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Told as the last publisher: of a commit of this server the caches know now."""
        if applied.version and self._held.get(key) == applied.version - 1:
            self._held[key] = applied.version

    async def catch_up(self, tenant: str, channels: Iterable[str]) -> None:
        """Bring the caches up to what is committed of these channels and of their tenant. Raises `StoreUnavailable`."""
        places = list(dict.fromkeys((*channels, EVERYWHERE)))
        now = await self._asking.versions(tenant, places)
        if now.lineage is not None and self._lineages.get(tenant) != now.lineage:
            self._lineages[tenant] = now.lineage
            for key in [one for one in self._held if one.tenant == tenant]:
                self._held[key] = _LOST
        for channel in places:
            await self._bring(ChannelKey(tenant, channel), now.by_channel.get(channel, 0))
        if losses := await self._shared.new_losses(tenant, now.loss_count):
            self._note_losses(losses)

    async def _bring(self, key: ChannelKey, version: int) -> None:
        while self._held.get(key, _LOST) < version:
            task = self._catching.get(key)
            if task is None:
                task = self._catching[key] = asyncio.create_task(self._catch_up(key, version))
            await asyncio.shield(task)
        if key in self._held:
            self._held.move_to_end(key)

    async def _catch_up(self, key: ChannelKey, version: int) -> None:
        try:
            held = self._held.get(key, _LOST)
            lineage = self._lineages.get(key.tenant)
            missed = None if held == _LOST else await self._shared.missed(key, held)
            if lineage != self._lineages.get(key.tenant):
                return  # whoever waits looks again
            if missed is None:
                self.dropped += key in self._held
                self._caches.publish(key, FORGOTTEN)
                self._hold(key, version)
                return
            for part in publish_slices(missed.applied):
                self._caches.publish(key, part)
            self.taken_over += 1
            self._hold(key, missed.version)
        finally:
            del self._catching[key]

    def _hold(self, key: ChannelKey, version: int) -> None:
        self._held[key] = max(version, self._held.get(key, 0))
        self._held.move_to_end(key)
        if len(self._held) > MOST_CHANNELS:
            self._held.popitem(last=False)
