"""When a server rests: what is measured before shares the machine with what the server does behind its answers."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

from backscroll_bench.speed.stats import Wrong

SETTLE_S, LOOK_S = 600.0, 1.0
IDLE_SHARE = 0.1
"""Less of a core than this for a second: a server that does nothing in the background any more."""


async def settled(pid: int) -> None:
    """Wait until the server does nothing in the background: segments are written, vectors' indexes made, which takes
    a minute where there are many.

    Raises
    ------
    Wrong
        It never comes to rest.
    """
    end_s = time.monotonic() + SETTLE_S
    before = cpu_s(pid)
    while time.monotonic() < end_s:
        await asyncio.sleep(LOOK_S)
        now = cpu_s(pid)
        if now - before < IDLE_SHARE * LOOK_S:
            return
        before = now
    raise Wrong("the server did not come to rest")


def cpu_s(pid: int, *, with_ended: bool = False) -> float:
    """Processor time of a process so far, and of its children that ended; 0 where the system does not tell."""
    stat = Path(f"/proc/{pid}/stat")
    if not stat.exists():
        return 0.0
    fields = stat.read_text("ascii", "replace").rpartition(")")[2].split()
    ticks = sum(map(int, fields[11 : 15 if with_ended else 13]))
    return ticks / os.sysconf("SC_CLK_TCK")
