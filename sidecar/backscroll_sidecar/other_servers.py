"""What the parts need because other servers may share the store; put in its places by `wiring.py`."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass

from backscroll_sidecar.concurrency.jobs import Jobs
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.history.publishing import FanOut
from backscroll_sidecar.history.replicas import Replicas
from backscroll_sidecar.history.unfinished import Unfinished, Worker
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import HistoryStore, LooksElsewhere

RESTART_S = 15.0
"""Seconds that a turn waits for a database on another machine to be there again."""


def patience_s(store: HistoryStore) -> float:
    """How long what a turn has to store waits for a store that is away: a database starts again, a file does not."""
    return 0.0 if store.shared is None else RESTART_S


def locks_of(store: HistoryStore, stack: AsyncExitStack) -> Locks:
    """What one task at a time does, of all servers that share the store, which is closed behind them."""
    stack.push_async_callback(store.close)
    locks = Locks(store.leases)
    stack.push_async_callback(locks.close)
    return locks


@dataclass(frozen=True, slots=True)
class OtherServers:
    """What there is to do because of them; where the store is this server's alone only `jobs`, and all are its own."""

    jobs: Jobs
    replicas: Replicas | None = None
    unfinished: Unfinished | None = None

    @classmethod
    def of(
        cls,
        store: HistoryStore,
        publishers: FanOut,
        writer: Writer,
        locks: Locks,
        stack: AsyncExitStack,
    ) -> OtherServers:
        """Those that share a store, if any can."""
        if store.shared is None or store.work is None:
            return cls(Jobs(locks))
        replicas = Replicas(store.shared, publishers, writer.note_losses)
        jobs = Jobs(locks, replicas.catch_up)
        unfinished = Unfinished(store.work, store, jobs)
        stack.push_async_callback(unfinished.close)
        return cls(jobs, replicas, unfinished)

    async def follow(
        self, publishers: FanOut, lookers: Iterable[LooksElsewhere], workers: Iterable[Worker]
    ) -> None:
        """Have caches brought up to what others wrote, and workers begin with what others left.

        `lookers` use channels that no call names.
        """
        if self.replicas is None or self.unfinished is None:
            return
        publishers.add(workers=[self.unfinished, self.replicas])  # the caches know by then
        for looker in lookers:
            looker.follow(self.replicas.catch_up)
        self.unfinished.follow(*workers)
        await self.unfinished.start()
