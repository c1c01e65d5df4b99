"""A whole server on a real socket, in this process, with the Python client in front."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from backscroll import AsyncClient
from backscroll_sidecar.server import start_server
from backscroll_sidecar.settings import Settings
from backscroll_sidecar.wiring import App, open_app


@asynccontextmanager
async def served(
    database: Path | str = ":memory:", **settings: object
) -> AsyncIterator[tuple[AsyncClient, App]]:
    """Serve on a free port until the block ends."""
    async with open_app(Settings(database=str(database), **settings)) as app:
        running = await start_server(app, listen=["127.0.0.1:0"])
        try:
            async with AsyncClient(running.addresses[0], timeout_s=20.0) as client:
                yield client, app
        finally:
            await running.stop()
