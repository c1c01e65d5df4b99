"""Serves an application over HTTP at bound addresses, on the server's own event loop, and drains it."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Iterable
from itertools import chain

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from backscroll_sidecar.edge.bind_policy import UNIX_PREFIX, Address, Reach
from backscroll_sidecar.edge.http.extra import SETTING
from backscroll_sidecar.edge.http.requests import ABORT
from backscroll_sidecar.edge.http2.server import BACKLOG, listening_at, listening_path
from backscroll_sidecar.edge.listeners import TlsFiles
from backscroll_sidecar.edge.unix_sockets import UnixSockets
from backscroll_sidecar.errors import StartRefused

MOST_CONNECTIONS = 20_000
"""Beyond, requests are answered 503."""
KEEP_ALIVE_S = 75
"""Longer than clients keep theirs, so that none sends into a connection that we close."""
HEAD_S = 20.0
"""What a request's head gets to be whole, and a connection until its first one begins."""
UNREAD_S = 60.0
"""Who takes nothing of an answer for so long has left, though the connection says otherwise."""
TICK_S = 0.02
BREAK_OFF_S = 1.0
"""What requests get to end by themselves once they are cancelled."""


class HttpServer:
    """All HTTP addresses of one server. Belongs to the running event loop.

    Parameters
    ----------
    addresses : where; port 0 takes a free one.
    tls : for all addresses but unix sockets.

    Attributes
    ----------
    addresses
        Those that were bound, with their ports.
    urls
        The same as a browser takes them.

    Raises
    ------
    StartRefused
        A file of `tls` cannot be used, or an address is taken or not ours.
    """

    def __init__(
        self, app: ASGIApp, addresses: Iterable[Address], tls: TlsFiles | None = None
    ) -> None:
        self._tls = None if tls is None else _tls_context(tls)
        self._plain, self._secured = (_server(app, context) for context in (None, self._tls))
        self._sockets: dict[uvicorn.Server, list[socket.socket]] = {
            self._plain: [],
            self._secured: [],
        }
        self._unix = UnixSockets(SETTING)
        self._ticking: list[asyncio.Task[None]] = []
        bound = [self._bind(address) for address in addresses]
        scheme = "http" if tls is None else "https"
        self.addresses = tuple(bound)
        self.urls = tuple(
            one if one.startswith(UNIX_PREFIX) else f"{scheme}://{one}" for one in bound
        )

    async def start(self) -> None:
        """Take requests."""
        for server, sockets in self._sockets.items():
            if sockets:
                await server.startup(sockets)
                self._ticking.append(asyncio.create_task(server.main_loop()))

    async def stop(self, grace_s: float) -> None:
        """Take no new requests, let running ones end for `grace_s`, then break them off. Idempotent."""
        self._unix.remove()
        for ticking in self._ticking:
            ticking.cancel()
        started = [server for server in self._sockets if server.started]
        for server in started:
            for listening in server.servers:
                listening.close()
        for one in chain.from_iterable(self._sockets.values()):
            one.close()
        await asyncio.gather(*(_drain(server.server_state, grace_s) for server in started))

    def _bind(self, address: Address) -> str:
        try:
            if address.reach is Reach.SOCKET:
                self._sockets[self._plain].append(self._unix.bind(address, listening_path))
                self._unix.keep(address)
                return address.target
            bound = listening_at(address.host, address.port)
        except OSError as error:
            said = f" ({error.strerror})" if error.strerror else ""
            raise StartRefused(
                SETTING, f"cannot be served: {address.target} is taken or not ours{said}"
            ) from None
        self._sockets[self._plain if self._tls is None else self._secured].extend(bound)
        return Address(address.host, bound[0].getsockname()[1], address.reach).target


class Connection(H11Protocol):
    """uvicorn's over h11. One that brings no request, or takes no answer, is ended after a while."""

    _ending: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.app_state = {**self.app_state, ABORT: transport.abort}
        self._ending = self.loop.call_later(HEAD_S, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if bool(self.cycle) and not self.cycle.response_complete:
            self._end_timer("_ending")
        elif self._ending is None and not self.transport.is_closing():
            # Half a head, or a body that nobody reads any more.
            self._ending = self.loop.call_later(HEAD_S, self.transport.abort)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD_S, self.transport.abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        self._end_timer("_unread")

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_timer("_ending")
        self._end_timer("_unread")
        super().connection_lost(exc)

    def _end_timer(self, name: str) -> None:
        timer = getattr(self, name)
        if timer is not None:
            timer.cancel()
            setattr(self, name, None)


def _server(app: ASGIApp, context: ssl.SSLContext | None) -> uvicorn.Server:
    config = uvicorn.Config(
        app,
        http=Connection,  # what is installed beside must not decide
        ws="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_S,
        backlog=BACKLOG,
        ssl_context_factory=None if context is None else lambda *_: context,
    )
    config.load()
    logging.getLogger("uvicorn.error").setLevel(logging.WARNING)
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    return server


async def _drain(state: ServerState, grace_s: float) -> None:
    """Let requests end, then cancel them, then close what is left."""
    for connection in list(state.connections):
        connection.shutdown()
    if await _emptied(state, grace_s):
        return
    for task in list(state.tasks):
        task.cancel()
    if not await _emptied(state, BREAK_OFF_S):
        for connection in list(state.connections):
            connection.transport.abort()
        await _emptied(state, BREAK_OFF_S)


async def _emptied(state: ServerState, longest_s: float) -> bool:
    """Whether all requests end in this time."""
    loop = asyncio.get_running_loop()
    end_s = loop.time() + longest_s
    while state.connections or state.tasks:
        if loop.time() >= end_s:
            return False
        await asyncio.sleep(TICK_S)
    return True


def _tls_context(tls: TlsFiles) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(tls.cert, tls.key, password="")
    except OSError as error:  # ssl.SSLError is one
        raise StartRefused("tls_cert", f"or tls_key cannot be used: {error}") from None
    if tls.client_ca is not None:
        try:
            context.load_verify_locations(tls.client_ca)
        except OSError as error:
            raise StartRefused("tls_client_ca", f"cannot be used: {error}") from None
        context.verify_mode = ssl.CERT_REQUIRED
    context.set_alpn_protocols(["http/1.1"])
    return context
