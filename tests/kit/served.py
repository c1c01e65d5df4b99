"""A whole server on a real socket, in this process, with the Python client in front."""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from backscroll import AsyncClient, Client
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.ports import ChatModel, Clock, Embedder
from backscroll_sidecar.server import RunningServer, start_server
from backscroll_sidecar.telemetry.spans import Spans
from backscroll_sidecar.wiring import App, open_app
from tests.kit.postgres import database_url


@asynccontextmanager
async def running(
    database: Path | str = ":memory:",
    *,
    clock: Clock | None = None,
    model: ChatModel | None = None,
    embedder: Embedder | str = "none",
    spans: Spans | None = None,
    **settings: object,
) -> AsyncIterator[tuple[RunningServer, App]]:
    """Serve on a free port until the block ends; `clock`, `model` and `spans` as in `open_app`.

    `embedder` is one, or the setting; none unless a test wants one.
    """
    named = embedder if isinstance(embedder, str) else "none"
    given = None if isinstance(embedder, str) else embedder
    configured = Settings(database=database_url(database), embedder=named, **settings)
    async with open_app(configured, clock, model, given, spans=spans) as app:
        server = await start_server(app, listen=["127.0.0.1:0"])
        try:
            yield server, app
        finally:
            await server.stop()


@asynccontextmanager
async def served(
    database: Path | str = ":memory:",
    *,
    clock: Clock | None = None,
    model: ChatModel | None = None,
    embedder: Embedder | str = "none",
    **settings: object,
) -> AsyncIterator[tuple[AsyncClient, App]]:
    """The same with a client."""
    async with (
        running(database, clock=clock, model=model, embedder=embedder, **settings) as (server, app),
        AsyncClient(server.addresses[0], timeout_s=120.0) as client,
    ):
        yield client, app


@contextmanager
def in_background(**given: object) -> Iterator[Client]:
    """The same on a thread of its own, for tests that are no coroutines."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="served", daemon=True)
    thread.start()
    opened = running(**given)
    try:
        server, _ = asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result()
        try:
            with Client(server.addresses[0], timeout_s=120.0) as client:
                yield client
        finally:
            ending = opened.__aexit__(None, None, None)
            asyncio.run_coroutine_threadsafe(ending, loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
