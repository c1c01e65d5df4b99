"""How long a test waits for what comes at once on a quiet machine."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

PATIENCE_S = 60.0
"""Enough for a busy machine."""
SPENT_S = 3.0
_in_vain: list[float] = []


@asynccontextmanager
async def patience() -> AsyncIterator[None]:
    """End the block with `TimeoutError` when it takes too long.

    Who waited in vain once waits less from then on: one fault in a server fails many tests, each by its whole wait.
    """
    seconds = SPENT_S if _in_vain else PATIENCE_S
    try:
        async with asyncio.timeout(seconds):
            yield
    except TimeoutError:
        _in_vain.append(seconds)
        raise
