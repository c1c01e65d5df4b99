"""Work of the event loop's that may be too long for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import TypeVar

T = TypeVar("T")

INLINE_US = 300.0
"""What is predicted to take longer leaves the loop. One hop to a thread and back costs 30 to 180 µs."""


async def run(cost_us: float, work: Callable[[], T], executor: Executor | None = None) -> T:
    """Do the work at once, or in a thread where its predicted microseconds would keep others waiting.

    Without an executor it is the loop's own that does it.
    """
    if cost_us <= INLINE_US:
        return work()
    if executor is None:
        return await asyncio.to_thread(work)
    return await asyncio.get_running_loop().run_in_executor(executor, work)
