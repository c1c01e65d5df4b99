"""The vendor client's transport: its HTTP library's pools, over sockets that are read in few steps.

Nothing but the public names of the two libraries is used. Importing this takes the HTTP library's time;
`models.openai` does so when a model is made.
"""

import asyncio
import ssl
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

import httpcore2
import httpx2

from backscroll_sidecar.concurrency.time_slicing import Pacer
from backscroll_sidecar.models.chunk_merger import BrokenChunksError, ChunkMerger

READ_BYTES = 16 * 1024
"""Most bytes that are read and handled in one step: some 60 deltas, a third of a millisecond."""

POOL_CONNECTIONS = 50
"""Connections of one pool, which the library walks in some 80 µs."""
MAX_ERROR_BYTES = 64 * 1024
"""Most bytes that are read of an error."""
KEPT_S = 5.0
"""How long a connection waits for its next call, as in the library's default."""

_ERRORS = tuple(
    (getattr(httpcore2, name), getattr(httpx2, name))
    for name in (
        *("ConnectTimeout", "ReadTimeout", "WriteTimeout", "PoolTimeout", "TimeoutException"),
        *("ConnectError", "ReadError", "WriteError", "NetworkError"),
        *("ProxyError", "UnsupportedProtocol"),
        *("LocalProtocolError", "RemoteProtocolError", "ProtocolError"),
    )
)
"""The pools' errors, each kind before what it is a kind of, and the client's of the same name."""

SocketOptions = Iterable[
    tuple[int, int, int] | tuple[int, int, bytes | bytearray] | tuple[int, int, None, int]
]


class MergingTransport(httpx2.AsyncBaseTransport):
    """Calls over the library's pools, made for many streams at once.

    Answers arrive in as few chunks as reads. Connections are in several small pools: the library looks at all of a
    pool whenever a call begins or ends, which takes 2 ms for 1,000.
    """

    def __init__(self, limits: httpx2.Limits, pacer: Pacer) -> None:
        left, idle = limits.max_connections or 1, limits.max_keepalive_connections or 0
        tls = httpx2.create_ssl_context(trust_env=False)
        self._pools: list[httpcore2.AsyncConnectionPool] = []
        self._free: list[int] = []
        while left > 0:
            size = min(left, POOL_CONNECTIONS)
            # The first pools are filled first, so that kept connections are found.
            self._pools.append(_pool(tls, size, min(size, idle), pacer))
            self._free.append(size)
            left, idle = left - size, max(idle - size, 0)
        self._room = asyncio.Semaphore(sum(self._free))

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        wait_s = request.extensions.get("timeout", {}).get("pool")
        try:
            async with asyncio.timeout(wait_s if self._room.locked() else None):
                await self._room.acquire()
        except TimeoutError:
            raise httpx2.PoolTimeout("every connection is in use", request=request) from None
        place = next(place for place, free in enumerate(self._free) if free)
        self._free[place] -= 1
        leave = partial(self._leave, place)
        try:
            with _errors_of(request):
                response = await self._pools[place].handle_async_request(_plain(request))
        except BaseException:
            leave()
            raise
        return httpx2.Response(
            response.status,
            headers=response.headers,
            stream=_Body(response, request, leave),
            extensions=response.extensions,
        )

    def _leave(self, place: int) -> None:
        self._free[place] += 1
        self._room.release()

    async def aclose(self) -> None:
        for pool in self._pools:
            await pool.aclose()


def _pool(
    tls: ssl.SSLContext, connections: int, kept: int, pacer: Pacer
) -> httpcore2.AsyncConnectionPool:
    return httpcore2.AsyncConnectionPool(
        ssl_context=tls,
        max_connections=connections,
        max_keepalive_connections=kept,
        keepalive_expiry=KEPT_S,
        network_backend=_Backend(pacer),
    )


def _plain(request: httpx2.Request) -> httpcore2.Request:
    """The request as the pool takes it."""
    url = request.url
    return httpcore2.Request(
        request.method,
        httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
        headers=request.headers.raw,
        content=request.stream,
        extensions=request.extensions,
    )


@contextmanager
def _errors_of(request: httpx2.Request) -> Iterator[None]:
    """The pool's errors as those of the same name that the client above knows."""
    try:
        yield
    except Exception as error:
        for theirs, ours in _ERRORS:
            if isinstance(error, theirs):
                raise ours(str(error), request=request) from error
        raise


class _Body(httpx2.AsyncByteStream):
    """The bytes of an answer, and who is told, once, that its connection is free."""

    def __init__(
        self, response: httpcore2.Response, request: httpx2.Request, leave: Callable[[], None]
    ) -> None:
        assert isinstance(response.stream, AsyncIterable)
        self._response, self._stream = response, response.stream
        self._request = request
        self._leave: Callable[[], None] | None = leave

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_ERROR_BYTES if self._response.status >= HTTPStatus.MULTIPLE_CHOICES else None
        with _errors_of(self._request):
            async for piece in self._stream:
                yield piece
                if left is not None and (left := left - len(piece)) <= 0:
                    return  # the beginning of an error is enough; some pages never end

    async def aclose(self) -> None:
        leave, self._leave = self._leave, None
        try:
            await self._response.aclose()
        finally:
            if leave is not None:
                leave()


class _Backend(httpcore2.AsyncNetworkBackend):
    def __init__(self, pacer: Pacer) -> None:
        self._sockets = httpcore2.AnyIOBackend()
        self._pacer = pacer

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's
        local_address: str | None = None,
        socket_options: SocketOptions | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        plain = await self._sockets.connect_tcp(host, port, timeout, local_address, socket_options)
        return _Stream(plain, self._pacer)

    async def sleep(self, seconds: float) -> None:
        await self._sockets.sleep(seconds)


class _Stream(httpcore2.AsyncNetworkStream):
    def __init__(self, stream: httpcore2.AsyncNetworkStream, pacer: Pacer) -> None:
        self._stream = stream
        self._pacer = pacer
        self._merger = ChunkMerger()

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ASYNC109
        while True:
            raw = await self._stream.read(min(max_bytes, READ_BYTES), timeout)
            await self._pacer.wait()  # what this brings is handled in one step
            try:
                merged = self._merger.feed(raw)
            except BrokenChunksError:
                raise httpcore2.RemoteProtocolError("a chunk is longer than it said") from None
            if merged or not raw:
                return merged

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ASYNC109
        self._merger.expect()
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,  # noqa: ASYNC109 - the library's
    ) -> httpcore2.AsyncNetworkStream:
        secured = await self._stream.start_tls(ssl_context, server_hostname, timeout)
        return _Stream(secured, self._pacer)

    def get_extra_info(self, info: str) -> Any:  # noqa: ANN401 - the library's
        return self._stream.get_extra_info(info)
