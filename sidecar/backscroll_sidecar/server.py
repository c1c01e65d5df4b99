"""The gRPC server: where it listens, who may call, when it says SERVING, how it stops.

    check addresses → register services → bind → start, NOT_SERVING → warm up → SERVING → … → NOT_SERVING → drain

It opens no store and closes none: `wiring` hands it an `App` and closes that afterwards.
"""

from __future__ import annotations

import os
import socket
import ssl
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Protocol

import grpc
import structlog

from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.rpc.context import Builder, Chat, ContextServicer
from backscroll_sidecar.rpc.exposure import Address, Reach, check_exposure, check_metrics
from backscroll_sidecar.rpc.guard import CallRecord, Guard, log_call
from backscroll_sidecar.rpc.history import HistoryServicer
from backscroll_sidecar.rpc.limits import MAX_RECEIVE_BYTES
from backscroll_sidecar.rpc.platform import Health, add_platform
from backscroll_sidecar.rpc.registration import add_servicer
from backscroll_sidecar.rpc.start_errors import StartRefused
from backscroll_sidecar.rpc.tenants import OneTenant, Tenants, TokenTenants
from backscroll_sidecar.telemetry.metrics import BuildNumbers, Cache, Metrics, MetricsServer

log = structlog.get_logger("backscroll.server")

OPTIONS = (
    ("grpc.so_reuseport", 0),  # else a second server on the port binds, silently
    ("grpc.max_receive_message_length", MAX_RECEIVE_BYTES),
    ("grpc.server.max_pending_requests", 20_000),  # else bursts of streams are refused unseen
    ("grpc.server.max_pending_requests_hard_limit", 40_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 30_000),
)
"""NOTES, gRPC: each was measured."""


class App(Protocol):
    """What the services are made of; `wiring` builds it."""

    @property
    def history(self) -> HistoryService:
        """Stores and reads messages."""

    @property
    def builder(self) -> Builder:
        """Builds contexts."""

    @property
    def chat(self) -> Chat:
        """Runs turns."""

    @property
    def builds(self) -> BuildNumbers:
        """What builds came to."""

    @property
    def features(self) -> Cache:
        """The features of texts that were analysed before."""

    async def warm_up(self) -> None:
        """Compile, load and check what the first request must not wait for."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files. With `client_ca`, clients need a certificate that one of these authorities signed."""

    cert: Path
    key: Path
    client_ca: Path | None = None


class RunningServer:
    """A server that answers.

    Attributes
    ----------
    addresses
        Where, in the order asked for, with the ports that were bound.
    missed_deadlines
        Calls by RPC that were not answered in their caller's time (N-09).
    """

    def __init__(
        self, server: grpc.aio.Server, health: Health, guard: Guard, addresses: Sequence[str]
    ) -> None:
        self._server = server
        self.missed_deadlines = guard.missed_deadlines
        self._health = health
        self.addresses = tuple(addresses)

    async def wait(self) -> None:
        """Return when the server has stopped."""
        await self._server.wait_for_termination()

    async def stop(self, grace_s: float = 5.0) -> None:
        """Say NOT_SERVING, take no new calls, let running ones end for `grace_s`, then break them off. Idempotent."""
        await self._health.leave()
        await self._server.stop(grace_s)


async def start_server(
    app: App,
    *,
    listen: Sequence[str],
    tls: TlsFiles | None = None,
    tokens: Mapping[str, str] | None = None,
    observe: Callable[[CallRecord], None] = log_call,
    warmed_up: Callable[[], None] = lambda: None,
) -> RunningServer:
    """Start to serve and return once the server says SERVING.

    Parameters
    ----------
    app
        What answers. It is neither opened nor closed here. While it warms up, health says NOT_SERVING and every
        call is UNAVAILABLE.
    listen
        ``host:port``, ``[v6]:port`` or ``unix:path``; port 0 takes a free one.
    tls
        For all addresses but unix sockets.
    tokens
        Tenants by token (`read_tokens` reads them from a file). None: everybody is the default tenant.
    observe
        Told of every call once it is over.
    warmed_up
        Called right before the server says SERVING, for what nobody's call shall wait for.

    Raises
    ------
    StartRefused
        An address is unsafe, taken or none; a file cannot be read (P-28).
    """
    addresses = check_exposure(listen, has_tls=tls is not None, has_tokens=tokens is not None)
    tenants: Tenants = OneTenant() if tokens is None else TokenTenants(tokens)
    credentials = None if tls is None else _credentials(tls)
    guard = Guard(tenants, observe)
    server = grpc.aio.server(options=OPTIONS)
    services = [
        add_servicer(server, ContextServicer(app.builder, app.chat, version("backscroll")), guard),
        add_servicer(server, HistoryServicer(app.history), guard),
    ]
    health = Health(services)
    add_platform(server, health, services)
    await health.say(serving=False)
    bound = [_bind(server, address, credentials) for address in addresses]
    running = RunningServer(server, health, guard, bound)
    await server.start()
    try:
        await app.warm_up()
        warmed_up()
    except BaseException:
        await running.stop(grace_s=0)
        raise
    guard.ready = True
    await health.say(serving=True)
    log.info("server.serving", addresses=running.addresses, tls=tls is not None)
    return running


def serve_metrics(app: App, running: RunningServer, listen: str) -> MetricsServer:
    """Answer scrapes at an address of this machine's own until the result is closed (S5-33).

    Raises
    ------
    StartRefused
        The network could reach the address, or it is taken, or it is none.
    """
    address = check_metrics(listen)
    metrics = Metrics(app.builds, app.features, lambda: running.missed_deadlines)
    try:
        return MetricsServer(address.host, address.port, metrics)
    except OSError as error:
        raise StartRefused("metrics_listen", f"cannot be served: {error}") from None


def _bind(
    server: grpc.aio.Server, address: Address, credentials: grpc.ServerCredentials | None
) -> str:
    """Bind one address and return it with its port."""
    try:
        if address.reach is Reach.SOCKET:
            return _bind_socket(server, address)
        if credentials is None:
            port = server.add_insecure_port(address.target)
        else:
            port = server.add_secure_port(address.target, credentials)
    except RuntimeError:
        raise StartRefused(
            "listen", f"cannot be served: {address.target} is taken or not ours"
        ) from None
    return Address(address.host, port, address.reach).target


def _bind_socket(server: grpc.aio.Server, address: Address) -> str:
    """Bind a unix socket that only this user can open; one that a dead server left behind is replaced."""
    path = Path(address.host)
    if path.exists():
        if not path.is_socket():
            raise StartRefused("listen", f"cannot be served: {path} is no socket")
        if _answers(path):
            raise StartRefused("listen", f"cannot be served: {path} is taken")
    before = os.umask(0o077)
    try:
        server.add_insecure_port(address.target)
    finally:
        os.umask(before)
    return address.target


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(0.5)
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _credentials(tls: TlsFiles) -> grpc.ServerCredentials:
    """Read and check the files; gRPC itself would not say what is wrong with them."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.cert, tls.key, password="")
        pair = (tls.key.read_bytes(), tls.cert.read_bytes())
    except OSError as error:  # ssl.SSLError is one
        raise StartRefused("tls_cert", f"or tls_key cannot be used: {error}") from None
    if tls.client_ca is None:
        return grpc.ssl_server_credentials([pair])
    try:
        authorities = tls.client_ca.read_bytes()
        ssl.create_default_context(cadata=authorities.decode())
    except (OSError, ValueError) as error:
        raise StartRefused("tls_client_ca", f"cannot be used: {error}") from None
    return grpc.ssl_server_credentials([pair], authorities, require_client_auth=True)
