"""How much time a build has, and when a stage must be given up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from types import CoroutineType, coroutine
from typing import Any, TypeVar

from backscroll_sidecar.ports import Clock

RESERVE_S = 0.008
RESERVE_SHARE = 0.2
MOST_RESERVE_SHARE = 0.5

T = TypeVar("T")

OWN_FAULTS = (Exception, SystemExit, asyncio.CancelledError)
"""What anybody's code may raise: an entry point that ends the program, a task of its own that was cancelled."""


def is_call_ending(error: BaseException) -> bool:
    """Whether it is the call itself that was cancelled, and not something that a part of it waited for."""
    task = asyncio.current_task()
    is_cancelled = isinstance(error, asyncio.CancelledError)
    return is_cancelled and task is not None and task.cancelling() > 0


def reserve_s(time_left_s: float) -> float:
    """What of the caller's time is kept for handing the answer over.

    8 ms, or 20 % of the time where that is more, but at most half of it: who waits is woken up to 2 ms late, what is
    left of a build takes .6 to 5 ms, and the answer has a way to go. (With 5 ms, .6 to 2 % of the answers to callers
    with 20 ms came in their last one; tests/proof/test_deadlines.py.)
    """
    share_s = max(RESERVE_S, RESERVE_SHARE * time_left_s)
    return min(share_s, MOST_RESERVE_SHARE * time_left_s)


class Deadline:
    """The time one build may take: the caller's and the server's limit, less a reserve for the answer.

    Awaits are cut off at the deadline; a stage of pure computation is skipped when `allows` says that its usual cost no
    longer fits.
    """

    __slots__ = ("_clock", "_end_s")

    def __init__(self, clock: Clock, timeout_s: float, time_left_s: float | None) -> None:
        self._clock = clock
        usable_s = timeout_s
        if time_left_s is not None:
            usable_s = min(timeout_s, time_left_s - reserve_s(time_left_s))
        self._end_s = clock.monotonic_s() + max(0.0, usable_s)

    def left_s(self) -> float:
        """Seconds left, never negative."""
        return max(0.0, self._end_s - self._clock.monotonic_s())

    def allows(self, cost_us: float) -> bool:
        """Whether work that usually takes this long still fits."""
        return cost_us * 1e-6 <= self._end_s - self._clock.monotonic_s()

    async def bound(
        self, work: Awaitable[T], share: float = 1.0, meanwhile: Callable[[], None] | None = None
    ) -> T:
        """Await `work` for this share of what is left; raises `TimeoutError` after that.

        A coroutine is begun without a limit, which could not cut it off before it waits, and mostly it never does: the
        limit costs 9 us. If it waits, `meanwhile` is called first.
        """
        begun: Awaitable[T] = work
        if isinstance(work, CoroutineType):
            try:
                waits_for = work.send(None)
            except StopIteration as done:
                value: T = done.value
                return value
            begun = _continued(work, waits_for)
            try:
                if meanwhile is not None:
                    meanwhile()
            except BaseException:
                work.close()
                raise
        async with asyncio.timeout(share * self.left_s()):
            return await begun


@coroutine
def _continued(work: Coroutine[Any, Any, T], waits_for: object) -> Generator[Any, Any, T]:
    """The rest of a coroutine that waits for this already."""
    while True:
        try:
            sent = yield waits_for
        except BaseException as error:  # noqa: BLE001 - cancelled or not: the coroutine decides
            step = partial(work.throw, error)
        else:
            step = partial(work.send, sent)
        try:
            waits_for = step()
        except StopIteration as done:
            value: T = done.value
            return value
