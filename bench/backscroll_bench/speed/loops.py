"""The event loops of both sides: uvloop where it is installed, as the server's, and all of them on one core.

Backscroll's loop keeps to it by its setting, those of the bench's own servers from here. Otherwise a round tells, too,
where the system happened to put them. The load generator goes where the system likes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from backscroll_sidecar.concurrency.threads import CORES, keep_on_core

T = TypeVar("T")

LOOP_CORE: int | None = min(CORES) if len(CORES) > 1 else None
"""None: there is no choice here."""


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a new loop."""
    try:
        import uvloop
    except ModuleNotFoundError:
        return asyncio.run(main)
    return uvloop.run(main)


def keep_loop() -> None:
    """Keep the calling thread, an event loop's, where Backscroll's is kept."""
    if LOOP_CORE is not None:
        keep_on_core(LOOP_CORE)


def core_setting() -> str:
    """The line of settings that keeps Backscroll's there."""
    return "" if LOOP_CORE is None else f"event_loop_core = {LOOP_CORE}\n"
