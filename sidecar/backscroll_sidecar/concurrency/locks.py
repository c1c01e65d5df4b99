"""Locks by name: one task at a time holds a name, of all servers that share a store.

In one server they are locks in memory. With a shared store whoever holds one of them also holds a lease there. It is
prolonged until the lock is given back; that of a server that died ends by itself. A lease of a server that lives may
stand for long: so what could not be given back, or may have been taken without an answer, is given back later.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

import orjson

from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import Leases

log = logging.getLogger(__name__)

LASTS_MS = 5_000
"""A lease of a server that died."""
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
        self._numbers = itertools.count(1)
        self._taken: defaultdict[str, dict[str, int]] = defaultdict(dict)
        self._owed: defaultdict[str, dict[str, int]] = defaultdict(dict)
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
        """The same; False: another server holds it. What this one holds already stays held, whatever comes of it."""
        if self._leases is None:
            return True
        spelled = _spelled(name)
        holding = self._taken[tenant].get(spelled) or next(self._numbers)
        if self._prolonging is None:
            self._prolonging = asyncio.create_task(self._prolong())
        try:
            if not await self._leases.take(tenant, spelled, LASTS_MS, holding):
                return False
        except BaseException:
            self._owe(tenant, spelled, holding)  # it may have been taken
            raise
        self._owed[tenant].pop(spelled, None)
        self._taken[tenant][spelled] = holding
        return True

    def give_back(self, tenant: str, *name: str) -> None:
        """Let go, behind whoever calls."""
        spelled = _spelled(name)
        holding = self._taken[tenant].pop(spelled, None)
        if holding is None:
            return
        task = asyncio.create_task(self._give_back(tenant, spelled, holding))
        self._giving.add(task)
        task.add_done_callback(self._giving.discard)

    async def close(self) -> None:
        """Give back what is held. Idempotent."""
        if self._prolonging is not None:
            self._prolonging.cancel()
            self._prolonging = None
        for some in (self._owed, self._taken):
            await self._give_all_back(some)
        if self._giving:
            await asyncio.wait(self._giving)

    async def _give_all_back(self, some: Mapping[str, dict[str, int]]) -> None:
        for tenant, names in tuple(some.items()):
            for name in tuple(names):
                if (holding := names.pop(name, None)) is not None:
                    await self._give_back(tenant, name, holding)

    async def _give_back(self, tenant: str, spelled: str, holding: int) -> None:
        assert self._leases is not None
        try:
            await self._leases.give_back(tenant, spelled, holding)
        except BackscrollError as error:
            log.warning("a lease cannot be given back yet: %s", error.message)
            self._owe(tenant, spelled, holding)
        except Exception:
            log.exception("a lease could not be given back; it is tried again")
            self._owe(tenant, spelled, holding)

    def _owe(self, tenant: str, spelled: str, holding: int) -> None:
        """Give it back later, by the newest of its numbers, unless it is held."""
        if spelled not in self._taken[tenant]:
            self._owed[tenant][spelled] = max(holding, self._owed[tenant].get(spelled, 0))

    async def _prolong(self) -> None:
        assert self._leases is not None
        while True:
            await asyncio.sleep(PROLONGED_S)
            await self._give_all_back(self._owed)
            for tenant, names in [(one, dict(some)) for one, some in self._taken.items() if some]:
                try:
                    held = await self._leases.prolong(tenant, list(names), LASTS_MS)
                except BackscrollError as error:
                    log.warning("leases cannot be prolonged: %s", error.message)
                    continue
                except Exception:
                    log.exception("leases could not be prolonged; it is tried again")
                    continue
                for name in names.keys() - held:
                    self._lose(tenant, name, names[name])

    def _lose(self, tenant: str, name: str, holding: int) -> None:
        """Another server took over, unless it was given back just now. What both write is stored once."""
        if self._taken[tenant].get(name) == holding:
            del self._taken[tenant][name]
            log.warning("another server took over what this one held")


def _spelled(name: Name) -> str:
    """Names of several parts as one, so that no two are the same."""
    return orjson.dumps(name).decode()
