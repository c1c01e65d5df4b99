"""Jobs behind the answers: which of them one server at a time does, of all that share a store.

Whoever does a job holds its lease until it stops. Where it dies another server's turn comes, and with it a round at
once. Where the store is one server's alone every job is its own, and nothing is asked.
"""

from __future__ import annotations

import asyncio
import logging
from enum import StrEnum
from typing import Final

from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import CatchUp, nothing_to_catch_up

log = logging.getLogger(__name__)

TRIED_S = 3.0
"""So often a server asks whether a job is its own by now."""
OF_ALL_TENANTS = ""
"""Stands for the tenant of a lease on what is of all tenants."""


class Job(StrEnum):
    """What one server at a time does. Each is also the name of its task."""

    RETENTION = "backscroll-retention"
    TRIALS = "backscroll-trials"
    TUNING = "backscroll-tuning"
    PERIODS = "backscroll-periods"
    EMBEDDING_ALL = "backscroll-embedding-all"


PER_SERVER: Final = {
    "backscroll-writer": "its own writes",
    "backscroll-let-turns": "its own erasures",
    "backscroll-usage": "the builds that it made",
    "backscroll-shadows": "builds beside those that it made",
    "backscroll-precompute": "its caches",
    "backscroll-secure-delete": "its files; in PostgreSQL there are none",
    "backscroll-segment-writer": "segments of the channels that it has in memory",
    "backscroll-backlog": "the messages that it got",
    "backscroll-periods-here": "the channels in which it got messages",
    "backscroll-preferences": "the messages that it got",
    "backscroll-preferences-model": "the messages that it got",
    "backscroll-unfinished": "what it has begun, and what others left",
    "backscroll-follow-ups": "the messages that it got",
}
"""The tasks that every server has, each about what is its own."""


class Jobs:
    """Whose turn it is. Owned by one event loop.

    Attributes
    ----------
    locks : names that one task at a time holds, of all servers.
    catch_up : brings caches up to what other servers wrote, before a job reads them.
    is_alone : whether the store is this server's alone.
    """

    def __init__(self, locks: Locks, catch_up: CatchUp = nothing_to_catch_up) -> None:
        self.locks = locks
        self.catch_up = catch_up
        self.is_alone = catch_up is nothing_to_catch_up

    async def turn(self, job: Job, *of: str) -> None:
        """Return once this server does the job, or still does: asked before each round. `of`: one of several such."""
        while True:
            try:
                if await self.locks.try_to_take(OF_ALL_TENANTS, "job", job, *of):
                    return
            except BackscrollError as error:  # then nobody can do it now
                log.debug("whose turn it is cannot be asked now: %s", error.message)
            except Exception:
                log.exception("whose turn it is could not be asked; it is asked again")
            await asyncio.sleep(TRIED_S)


ALONE = Jobs(Locks())
"""The jobs of a server that shares its store with nobody."""
