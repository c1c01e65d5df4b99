"""A server with HTTP on a free port, in this process, and an HTTP client in front."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2

from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.server import RunningServer, start_server
from backscroll_sidecar.wiring import App, open_app


@dataclass(frozen=True, slots=True)
class OverHttp:
    """The parts of one served server."""

    http: httpx2.AsyncClient
    url: str
    server: RunningServer
    app: App

    async def call(self, name: str, body: Mapping[str, Any], **headers: str) -> httpx2.Response:
        """A call of the contract as JSON, by ``Service/Method``."""
        return await self.http.post(f"/backscroll.v1.{name}", json=body, headers=headers)


@asynccontextmanager
async def over_http(
    *, listen: str = "127.0.0.1:0", settings: Mapping[str, Any] | None = None, model: Any = None, **options: Any
) -> AsyncIterator[OverHttp]:  # fmt: skip
    """Serve until the block ends; `options` are those of `start_server`."""
    given = {"database": ":memory:", "embedder": "none", **(settings or {})}
    async with open_app(Settings(**given), model=model) as app:
        server = await start_server(app, listen=["127.0.0.1:0"], http_listen=[listen], **options)
        try:
            url = server.http_urls[0]
            async with httpx2.AsyncClient(base_url=url, timeout=60.0, trust_env=False) as http:
                yield OverHttp(http, url, server, app)
        finally:
            await server.stop(0)
