"""Which servers are alive: each has a session with the database that lasts as long as its process.

The session holds an advisory lock by the server's number. It ends with the process, however that ends. It lasts while
the process only stands still: stopped, swapped out, on a paused machine. Behind a pool in transaction mode there is no
such session, and every server looks as if it were gone.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from typing import Any

import asyncpg

from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.store.postgres import lease_statements as sql
from backscroll_sidecar.store.postgres.connections import Connection, Connections, is_pooled
from backscroll_sidecar.store.postgres.failures import typed

log = logging.getLogger(__name__)

SETTLES_S = 5.0
"""After the database was away, each server has so long to come back before another takes it for gone."""
LOOKED_AFTER_S = 2.0
ANSWERS_S = 5.0
AGAIN_S = 0.25
"""After a session ended, before the next is made."""


class Presence:
    """The session of this server. Owned by one event loop.

    Parameters
    ----------
    connections : make the session, and are asked if there is none.
    server : the server's number.
    """

    def __init__(self, connections: Connections, server: int) -> None:
        self._connections = connections
        self._server = server
        self._session: Connection | None = None
        self._since_s = 0.0
        self._is_pooled = False
        self._asking = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Make the session, and make it again whenever it ends."""
        self._task = asyncio.create_task(self._stay())

    async def close(self) -> None:
        """End it. Idempotent."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def is_gone(self, server: int) -> bool:
        """Whether another server is gone, as far as that is known. Raises `StoreUnavailable`."""
        if self._is_pooled:
            return not await self._connections.read(lambda one: one.fetchval(sql.STANDS, server))
        session = self._session
        if session is None or time.monotonic() - self._since_s < SETTLES_S:
            return False
        # Asked in the session itself: while that lasts, the database was not away.
        return not await self._ask(session, sql.STANDS, server)

    async def _ask(self, session: Connection, statement: str, *values: int) -> Any:  # noqa: ANN401
        async with self._asking:
            with typed():
                return await session.fetchval(statement, *values, timeout=ANSWERS_S)

    async def _stay(self) -> None:
        while not self._is_pooled:
            try:
                async with self._connections.of_its_own() as session:
                    await self._stand(session)
            except StoreUnavailable as error:
                log.debug("the session of this server ended: %s", error.message)
            except Exception:
                log.exception("the session of this server failed; it is made anew")
            await asyncio.sleep(AGAIN_S)

    async def _stand(self, session: asyncpg.Connection) -> None:
        """Keep the lock while the session lasts. Raises `StoreUnavailable`."""
        with typed():
            self._is_pooled = await is_pooled(session)
        if self._is_pooled:
            return
        lost = asyncio.Event()
        session.add_termination_listener(lambda _: lost.set())
        with typed():
            await session.execute(sql.KEEP)
            await session.execute(sql.STAND, self._server)
        self._session, self._since_s = session, time.monotonic()
        try:
            while not lost.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(lost.wait(), LOOKED_AFTER_S)
                await self._ask(session, sql.ALIVE)
        except StoreUnavailable as error:
            # Whatever lies in between dropped the others, too.
            if isinstance(error.__cause__, TimeoutError):
                await self._connections.renew()
            raise
        finally:
            self._session = None
