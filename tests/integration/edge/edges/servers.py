"""Servers behind either edge, and builders behind them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from backscroll_sidecar.edge.call_pipeline import CallRecord
from backscroll_sidecar.edge.listeners import EdgeName
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.server import RunningServer, start_server
from tests.integration.edge.edges.callers import TRANSPORTS, Client, OnTheLoop, serials
from tests.kit.patience import patience


class Slow:
    """A builder that says when it was asked, answers when it is told to, and tells what became of it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error or StoreUnavailable("it ended well")
        self.go = asyncio.Event()
        self.running = self.started = self.cancelled = 0

    async def build(self, request: Any, **_: Any) -> Any:
        self.started += 1
        self.running += 1
        try:
            await self.go.wait()
            raise self.error
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1


class Failing:
    """A builder that fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def build(self, request: Any, **_: Any) -> Any:
        raise self.error


@dataclass
class Edge:
    """One server behind one edge, at both of this machine's kinds of addresses."""

    name: EdgeName
    running: RunningServer
    records: list[CallRecord] = field(default_factory=list)

    def target(self, transport: str) -> str:
        return self.running.addresses[TRANSPORTS.index(transport)]

    @asynccontextmanager
    async def client(
        self,
        make: Callable[..., Client] = OnTheLoop,
        transport: str = "tcp",
        *args: Any,
        **more: Any,
    ) -> AsyncIterator[Client]:
        client = make(self.target(transport), *args, **more)
        try:
            yield client
        finally:
            await client.close()


@asynccontextmanager
async def edge_of(name: EdgeName, app: Any, folder: Path, **options: Any) -> AsyncIterator[Edge]:
    """Serve an app over TCP and a unix socket."""
    records: list[CallRecord] = []
    listen: list[str] = options.pop(
        "listen", ["127.0.0.1:0", f"unix:{folder}/{name}-{next(serials)}.sock"]
    )
    running = await start_server(app, listen=listen, edge=name, observe=records.append, **options)
    try:
        yield Edge(name, running, records)
    finally:
        await running.stop(0)


async def until(condition: Callable[[], object]) -> None:
    """Wait for what another task does."""
    async with patience():
        while not condition():  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.005)
