"""What rooms over HTTP share: callers who leave, answers that are streamed."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

GONE = 499
"""The status of an answer that nobody is there to get."""


ABORT = "abort"
"""The name in a request's state of what ends its connection at once."""


class BrokenOff(Exception):
    """An answer that has begun cannot be finished. Its connection ends, so that nobody takes it for whole."""


class CallerLeft(Exception):
    """Nobody waits for the answer any more."""


def content_type(request: Request) -> str:
    """The body's media type, without its parameters."""
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


@asynccontextmanager
async def while_connected(receive: Receive) -> AsyncIterator[None]:
    """Cancel what runs in the block when the caller leaves. Begin it once the body is read.

    Raises
    ------
    CallerLeft
        The caller has.
    """
    task, has_left = asyncio.current_task(), False
    if task is None:
        raise AssertionError("requests are answered in tasks")

    async def watch() -> None:
        nonlocal has_left
        while (await receive())["type"] != "http.disconnect":
            pass
        has_left = True
        task.cancel()

    watching = asyncio.create_task(watch())
    try:
        yield
    except asyncio.CancelledError:
        if has_left and not task.uncancel():
            raise CallerLeft from None
        raise
    finally:
        watching.cancel()


class Streamed(Response):
    """An answer that is written as it comes. A slow caller slows it down; one who leaves ends it."""

    def __init__(
        self,
        pieces: AsyncGenerator[bytes],
        media_type: str,
        headers: Mapping[str, str] | None = None,
        status_code: int = 200,
    ) -> None:
        told = {"cache-control": "no-cache", "x-accel-buffering": "no", **(headers or {})}
        super().__init__(None, status_code, told, media_type)
        self._pieces = pieces
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = {"type": "http.response.start", "status": self.status_code}
        try:
            async with aclosing(self._pieces) as pieces, while_connected(receive):
                await send({**head, "headers": self.raw_headers})
                async for piece in pieces:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except CallerLeft:
            pass
        except BrokenOff:
            scope["state"][ABORT]()
            while (await receive())["type"] != "http.disconnect":
                pass
