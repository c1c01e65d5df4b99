"""Where the server listens, and what answers there.

Addresses that only this machine can reach, without TLS, are served on the event loop itself (`http2`, decision 0015),
all others by gRPC's own server. Both are given the same endpoints.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import grpc

from backscroll_sidecar.edge.bind_policy import Address, Reach
from backscroll_sidecar.edge.call_pipeline import Endpoint
from backscroll_sidecar.edge.grpc.handlers import Handlers
from backscroll_sidecar.edge.http2.server import (
    LocalServer,
    listening_at,
    listening_path,
)
from backscroll_sidecar.edge.limits import MAX_RECEIVE_BYTES
from backscroll_sidecar.edge.unix_sockets import UnixSockets
from backscroll_sidecar.errors import StartRefused

EdgeName = Literal["auto", "grpc"]
"""What answers on this machine's own addresses: our edge where it can, or gRPC's server as everywhere else."""

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
"""Each was measured."""


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """PEM files. With `client_ca`, clients need a certificate that one of these authorities signed."""

    cert: Path
    key: Path
    client_ca: Path | None = None


class Listeners:
    """All addresses of one server. Belongs to the running event loop.

    Parameters
    ----------
    endpoints : what is answered, everywhere.
    tls : for all addresses but unix sockets.

    Raises
    ------
    StartRefused
        A file of `tls` cannot be used.
    """

    def __init__(
        self, endpoints: Sequence[Endpoint], tls: TlsFiles | None = None, edge: EdgeName = "auto"
    ) -> None:
        self._credentials = None if tls is None else _credentials(tls)
        self._is_ours = edge == "auto"
        self._endpoints = endpoints
        self._local = LocalServer(endpoints, MAX_RECEIVE_BYTES)
        self._grpc: grpc.aio.Server | None = None
        self._unix = UnixSockets("listen")
        self._has_started = False

    def bind(self, address: Address) -> str:
        """Take an address; return it with its port.

        Raises
        ------
        StartRefused
            It is taken or not ours.
        """
        try:
            if address.reach is Reach.SOCKET:
                return self._bind_path(address)
            is_ours = self._is_ours and address.reach is Reach.LOOPBACK
            bind = self._bind_local if is_ours and self._credentials is None else self._bind_grpc
            return Address(address.host, bind(address), address.reach).target
        except (OSError, RuntimeError) as error:
            said = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
            raise StartRefused(
                "listen", f"cannot be served: {address.target} is taken or not ours{said}"
            ) from None

    async def start(self) -> None:
        """Take calls."""
        await self._local.start()
        self._has_started = True
        if self._grpc is not None:
            await self._grpc.start()

    async def stop(self, grace_s: float) -> None:
        """Take no new calls, let running ones end for `grace_s`, then break them off. Idempotent."""
        self._unix.remove()
        stopping = [self._local.stop(grace_s)]
        if self._grpc is not None:
            if not self._has_started:  # gRPC lets go of its ports only when it has
                await self._grpc.start()
            stopping.append(self._grpc.stop(grace_s))
        await asyncio.gather(*stopping)

    async def wait(self) -> None:
        """Return when all have stopped."""
        await self._local.wait_for_termination()
        if self._grpc is not None:
            await self._grpc.wait_for_termination()

    # --- binding ------------------------------------------------------------------------------------

    def _bind_local(self, address: Address) -> int:
        bound = listening_at(address.host, address.port)
        for one in bound:
            self._local.add_socket(one)
        port: int = bound[0].getsockname()[1]
        return port

    def _bind_grpc(self, address: Address) -> int:
        server = self._grpc_server()
        if self._credentials is None or address.reach is Reach.SOCKET:
            return server.add_insecure_port(address.target)
        return server.add_secure_port(address.target, self._credentials)

    def _bind_path(self, address: Address) -> str:
        if self._is_ours:
            self._local.add_socket(self._unix.bind(address, listening_path))
            self._unix.keep(address)
        else:
            self._unix.bind(address, lambda _: self._bind_grpc(address))
        return address.target

    def _grpc_server(self) -> grpc.aio.Server:
        if self._grpc is None:
            self._grpc = grpc.aio.server(options=OPTIONS)
            self._grpc.add_generic_rpc_handlers((Handlers(self._endpoints),))
        return self._grpc


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
