"""A team's own assignment of channels to arms: asked beside the event loop, remembered, and never trusted to answer."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, runtime_checkable

import structlog

from backscroll_sidecar.concurrency.threads import pool
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.learning.placing import Placing, unplaced
from backscroll_sidecar.ports import Clock, Placement

log = structlog.get_logger(__name__)

ANSWER_S = 0.1
"""A build waits so long for the resolver, once for each channel and `FRESH_S`."""
FRESH_S, RETRY_S = 60.0, 5.0
"""How long an answer holds, and how long nobody asks again where there was none."""
MOST_KEPT = 20_000
THREADS = 4


@runtime_checkable
class ArmResolver(Protocol):
    """Says in which arm a channel is. A plain `def` runs in a thread, what waits is an `async def`."""

    def arm(self, tenant: str, experiment_id: str, channel: str, arms: Sequence[str]) -> Any:  # noqa: ANN401
        """The name of one of `arms`; None or an empty text: the channel is not in the experiment."""


class Resolving:
    """Asks a resolver. Belongs to one event loop."""

    def __init__(self, resolver: ArmResolver, clock: Clock) -> None:
        self._resolver = resolver
        self._clock = clock
        self._kept: dict[tuple[Placing, ChannelKey], tuple[Placement, float]] = {}
        self._threads: ThreadPoolExecutor | None = None
        self._free = asyncio.Semaphore(THREADS)

    def known(self, placing: Placing, key: ChannelKey) -> Placement | None:
        """What it said lately; None: it must be asked."""
        kept = self._kept.get((placing, key))
        return kept[0] if kept is not None and self._clock.monotonic_s() < kept[1] else None

    async def ask(self, placing: Placing, key: ChannelKey) -> Placement:
        """Where the channel is; nowhere, and why, where it does not say so in time."""
        arms = tuple(arm.name for arm in placing.settings.arms)
        try:
            async with asyncio.timeout(ANSWER_S):
                name = await self._answer(key.tenant, placing.id, key.channel, arms)
            if name is not None and not isinstance(name, str):
                raise TypeError(f"an arm is a text, not {type(name).__name__}")
            found = placing.by_resolver(name)
        except TimeoutError:
            found = unplaced("RESOLVER_TIMEOUT")
        except Exception as error:  # noqa: BLE001 - anybody's code costs only itself
            log.warning("the resolver of experiments failed", error=repr(error))
            found = unplaced("RESOLVER_FAILED")
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        holds_s = RETRY_S if found.lost else FRESH_S
        self._kept[placing, key] = found, self._clock.monotonic_s() + holds_s
        return found

    async def _answer(self, *asked: Any) -> Any:  # noqa: ANN401
        if inspect.iscoroutinefunction(self._resolver.arm):
            return await self._resolver.arm(*asked)
        await (
            self._free.acquire()
        )  # for a thread that hangs no build waits longer than for an answer
        self._threads = self._threads or pool("backscroll-resolver", THREADS)
        work = self._threads.submit(self._resolver.arm, *asked)
        loop = asyncio.get_running_loop()
        work.add_done_callback(lambda _: loop.call_soon_threadsafe(self._free.release))
        return await asyncio.wrap_future(work)

    def forget(self) -> None:
        """Ask anew: experiments changed."""
        self._kept.clear()

    def close(self) -> None:
        """Wait for nobody."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)
