"""Locks by name: one task at a time holds a name, of all servers that share a store.

In one server they are locks in memory. With a shared store whoever holds one of them also holds a lease there. It is
prolonged until the lock is given back; that of a server that died or was stopped ends by itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import orjson

from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import Leases

log = logging.getLogger(__name__)

LASTS_MS = 5_000
"""A lease of a server that is not heard of any more."""
PROLONGED_S = 1.5
"""A third of it: two failures are no loss."""
FIRST_WAIT_S, LONGEST_WAIT_S = 0.02, 0.25
"""Between two tries to take what another server holds."""

Name = tuple[str, ...]


class Locks:
    """Locks by tenant and name. Owned by one event loop. `leases` None: the store is this server's alone."""

    def __init__(self, leases: Leases | None = None) -> None:
        self._leases = leases
        self._locks: WeakValueDictionary[Name, asyncio.Lock] = WeakValueDictionary()
        self._taken: defaultdict[str, set[str]] = defaultdict(set)
        self._prolonging: asyncio.Task[None] | None = None
        self._giving: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def hold(self, tenant: str, *name: str) -> AsyncIterator[None]:
        """Hold a name as long as the block runs; whoever holds it now is waited for. Raises `StoreUnavailable`."""
        async with self._locks.setdefault((tenant, *name), asyncio.Lock()):
            await self.take(tenant, *name)
            try:
                yield
            finally:
                self.give_back(tenant, *name)

    async def take(self, tenant: str, *name: str) -> None:
        """Hold a name that nobody else in this server holds; other servers are waited for.

        Give it back. Raises `StoreUnavailable`.
        """
        wait_s = FIRST_WAIT_S
        while not await self.try_to_take(tenant, *name):
            await asyncio.sleep(wait_s)
            wait_s = min(2 * wait_s, LONGEST_WAIT_S)

    async def try_to_take(self, tenant: str, *name: str) -> bool:
        """The same; False: another server holds it."""
        if self._leases is None:
            return True
        spelled = _spelled(name)
        if not await self._leases.take(tenant, spelled, LASTS_MS):
            return False
        self._taken[tenant].add(spelled)
        if self._prolonging is None:
            self._prolonging = asyncio.create_task(self._prolong())
        return True

    def give_back(self, tenant: str, *name: str) -> None:
        """Let go, behind whoever calls."""
        spelled = _spelled(name)
        if self._leases is None or spelled not in self._taken[tenant]:
            return
        self._taken[tenant].discard(spelled)
        task = asyncio.create_task(self._give_back(tenant, spelled))
        self._giving.add(task)
        task.add_done_callback(self._giving.discard)

    async def close(self) -> None:
        """Give back what is held. Idempotent."""
        if self._prolonging is not None:
            self._prolonging.cancel()
            self._prolonging = None
        for tenant, names in self._taken.items():
            for name in tuple(names):
                names.discard(name)
                await self._give_back(tenant, name)
        if self._giving:
            await asyncio.wait(self._giving)

    async def _give_back(self, tenant: str, spelled: str) -> None:
        assert self._leases is not None
        try:
            await self._leases.give_back(tenant, spelled)
        except BackscrollError as error:  # it ends by itself
            log.warning("a lease cannot be given back: %s", error.message)

    async def _prolong(self) -> None:
        assert self._leases is not None
        while True:
            await asyncio.sleep(PROLONGED_S)
            for tenant, names in [(one, tuple(some)) for one, some in self._taken.items() if some]:
                try:
                    held = await self._leases.prolong(tenant, names, LASTS_MS)
                except BackscrollError as error:
                    log.warning("leases cannot be prolonged: %s", error.message)
                    continue
                self._lose(tenant, set(names).difference(held))

    def _lose(self, tenant: str, names: Iterable[str]) -> None:
        """Another server took over: this one was not heard of for too long. What both write is stored once."""
        for name in names:
            self._taken[tenant].discard(name)
            log.warning("another server took over what this one held")


def _spelled(name: Name) -> str:
    """Names of several parts as one, so that no two are the same."""
    return orjson.dumps(name).decode()
