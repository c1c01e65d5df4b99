"""A server whose records of builds go wrong, in a process of its own.

Its kinds: "none": builds are not recorded; "good": they are; "slow": each write of records takes `SLOW_S`; "blocked":
none ever ends, so the queue fills and records are dropped; "dead": each fails.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from backscroll_bench.speed.children import until_input_ends
from backscroll_bench.speed.loops import keep_loop, run
from backscroll_sidecar.config.settings import MemorySettings, Settings
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.ports import Applied, Change, HistoryStore, UsageChange
from backscroll_sidecar.server import start_server
from backscroll_sidecar.telemetry import logs
from backscroll_sidecar.wiring import open_app

MODULE = "backscroll_bench.speed.sinks"
SLOW_S = 0.05


async def _no_fault() -> None:
    pass


async def _slow() -> None:
    await asyncio.sleep(SLOW_S)


async def _blocked() -> None:
    await asyncio.Event().wait()


async def _dead() -> None:
    raise StoreUnavailable("no room for records")


FAULTS: Mapping[str, Callable[[], Awaitable[None]]] = {
    "none": _no_fault,
    "good": _no_fault,
    "slow": _slow,
    "blocked": _blocked,
    "dead": _dead,
}


def _break(store: HistoryStore, fault: Callable[[], Awaitable[None]]) -> None:
    """Have each write that holds records go through the fault first."""
    apply = store.apply

    async def broken(changes: Sequence[Change]) -> Sequence[Applied]:
        if any(isinstance(one, UsageChange) for one in changes):
            await fault()
        return await apply(changes)

    store.apply = broken  # type: ignore[method-assign]


async def main(kind: str, database: Path) -> None:
    """Serve until the parent lets this process go."""
    keep_loop()
    memory = MemorySettings(enable_async_data_collection=kind != "none")
    async with open_app(Settings(database=database, embedder="none", memory=memory)) as app:
        _break(app.store, FAULTS[kind])
        server = await start_server(app, listen=["127.0.0.1:0"])
        await until_input_ends(int(server.addresses[0].rpartition(":")[2]))
        await server.stop(0)


if __name__ == "__main__":
    with Path(os.devnull).open("w") as nowhere:
        logs.configure("error", stream=nowhere)  # a line for each failure is part of what it costs
        run(main(sys.argv[1], Path(sys.argv[2])))
