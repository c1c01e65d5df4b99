"""While `backscroll migrate` moves a history: a server of the new database waits for it, one of the old leaves."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from backscroll_sidecar.cli import service_manager
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.errors import StoreMoved, StoreUnavailable

if TYPE_CHECKING:
    from backscroll_sidecar.ports import HistoryStore
    from backscroll_sidecar.server import RunningServer

LOOK_S, ARRIVAL_LOOK_S = 0.2, 0.05
"""How often a server looks whether its history moved, and one that waits for a migration whether that ended."""
FAULT_S = 5.0
"""A look that failed in a way nobody knows is logged, and not repeated before."""
PORT_S = 15.0
"""So long a server that waited for a migration waits for the one before it to let go of the port."""
log = logging.getLogger("backscroll.serve")


async def arrived(
    settings: Settings, get_ready: Callable[[], Awaitable[None]], stopping: asyncio.Event
) -> bool:
    """Wait for the migration that fills the database to end; False: there is none.

    `get_ready` is done before: bots wait behind the arrival.
    """
    if not await is_arriving(settings):
        return False
    said = "waits for a migration that fills the database"
    log.warning(said, extra={"database": settings.database_name})
    service_manager.starting(said)
    await get_ready()
    told_s = time.monotonic()
    phase: str | None = "arriving"
    while not stopping.is_set() and phase == "arriving":
        if time.monotonic() - told_s > service_manager.EXTENDED_S / 4:
            service_manager.starting(said)
            told_s = time.monotonic()
        await asyncio.sleep(ARRIVAL_LOOK_S)
        with contextlib.suppress(StoreUnavailable):  # that it cannot be asked now says nothing
            phase = await _phase(settings)
    if not stopping.is_set() and phase is None:
        raise StoreUnavailable("the migration that filled the database was taken back: it is empty")
    return True


async def is_arriving(settings: Settings) -> bool:
    """Whether a migration fills the database; who opens it says what else is wrong with it."""
    with contextlib.suppress(StoreUnavailable):
        return await _phase(settings) == "arriving"
    return False


async def _phase(settings: Settings) -> str | None:
    from backscroll_sidecar.store.opening import move_of

    said = await move_of(settings.store_url)
    return None if said is None else said.phase


async def until_free(settings: Settings) -> None:
    """Let the server that had the history before let go of the addresses."""
    from backscroll_sidecar.edge.bind_policy import parse_address

    ends_s = time.monotonic() + PORT_S
    addresses = list(map(parse_address, (*settings.listen, *settings.http_listen)))
    while any(one.is_taken() for one in addresses):
        if time.monotonic() > ends_s:
            return  # to bind them says what is wrong
        await asyncio.sleep(ARRIVAL_LOOK_S)


async def leave(store: HistoryStore, running: RunningServer, stopping: asyncio.Event) -> None:
    """Stop once the history has moved to another database: nothing is answered from here any more."""
    moved_to = ""
    while not moved_to:
        await asyncio.sleep(LOOK_S)
        try:
            moved_to = await store.moved_to()
        except StoreUnavailable:
            pass  # it is asked again
        except Exception:
            log.exception("whether this history moved could not be asked; it is asked again")
            await asyncio.sleep(FAULT_S)
    running.refuse(StoreMoved())
    store.let_go()
    log.warning("this history moved to %s: the server stops", moved_to)
    stopping.set()
