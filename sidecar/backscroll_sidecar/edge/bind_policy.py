"""Where a server may listen: loopback and unix sockets, and anywhere else only with TLS and a credential."""

from __future__ import annotations

import errno
import ipaddress
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from backscroll_sidecar.errors import StartRefused

UNIX_PREFIX = "unix:"
MAX_PORT = 65_535


class Reach(Enum):
    """Who can reach an address."""

    SOCKET = "unix socket"
    LOOPBACK = "loopback"
    NETWORK = "network"


@dataclass(frozen=True, slots=True)
class Address:
    """One address to listen on. `host` has no brackets; a unix socket has its path there and port 0."""

    host: str
    port: int
    reach: Reach

    @property
    def target(self) -> str:
        """The address as gRPC takes it."""
        if self.reach is Reach.SOCKET:
            return UNIX_PREFIX + self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def is_taken(self) -> bool:
        """Whether something listens at the port, if it names one."""
        if not self.port:
            return False
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((self.host, self.port))
            except OSError as error:
                return error.errno == errno.EADDRINUSE
        return False


def check_exposure(
    listen: Iterable[str], *, has_tls: bool, has_tokens: bool, setting: str = "listen"
) -> list[Address]:
    """Return the addresses to listen on, of a setting.

    Raises
    ------
    StartRefused
        One is no address, or the network could reach it without TLS and a credential.
    """
    addresses = [parse_address(one, setting) for one in listen]
    if not addresses:
        raise StartRefused(setting, "names no address")
    for one in addresses:
        if one.reach is not Reach.NETWORK:
            continue
        where = f"{one.target} can be reached from the network"
        if not has_tls:
            tokens = "" if has_tokens else ", and tokens_file, for callers need a token"
            raise StartRefused(
                "tls_cert",
                f"is not set, but {where}: set tls_cert and tls_key{tokens}; or listen on 127.0.0.1",
            )
        if not has_tokens:
            raise StartRefused(
                "tokens_file",
                f"is not set, but {where}: callers need a token, or listen on 127.0.0.1",
            )
    return addresses


def check_metrics(text: str) -> Address:
    """Return where to be scraped.

    Raises
    ------
    StartRefused
        It is no port of this machine's own: scrapes have neither TLS nor a credential.
    """
    address = parse_address(text, "metrics_listen")
    if address.reach is not Reach.LOOPBACK:
        raise StartRefused(
            "metrics_listen",
            f"is {address.target}, but scrapes have neither TLS nor a credential: take 127.0.0.1",
        )
    return address


def parse_address(text: str, setting: str = "listen") -> Address:
    """Read ``host:port``, ``[v6]:port`` or ``unix:path``."""
    if text.startswith(UNIX_PREFIX):
        path = text.removeprefix(UNIX_PREFIX)
        path = path.removeprefix("//") if path.startswith("///") else path
        if not path or path.startswith("//") or "\0" in path:
            raise StartRefused(setting, "names a unix socket without a path")
        return Address(path, 0, Reach.SOCKET)
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    host = host[1:-1] if bracketed else host
    if not (colon and port.isascii() and port.isdigit()):
        raise _no_address(setting)
    if int(port) > MAX_PORT:
        raise StartRefused(setting, f"has the port {port}, over {MAX_PORT:,}")
    # An address of version 6 without brackets leaves open where it ends; a scheme is none of a host's.
    if bracketed != (":" in host) or any(mark in host for mark in "/[]"):
        raise _no_address(setting)
    return Address(host, int(port), _reach(host))


def _no_address(setting: str) -> StartRefused:
    return StartRefused(setting, "holds something else than host:port, [v6]:port or unix:path")


def _reach(host: str) -> Reach:
    """Loopback only if it is for sure: a name could mean anything tomorrow, but for ``localhost``."""
    if host.lower() == "localhost":
        return Reach.LOOPBACK if _localhost_is_loopback() else Reach.NETWORK
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return Reach.NETWORK
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return Reach.LOOPBACK if (mapped or address).is_loopback else Reach.NETWORK


def _localhost_is_loopback() -> bool:
    """Whether this machine's ``localhost`` is what the word says."""
    try:
        found = socket.getaddrinfo("localhost", None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return all(ipaddress.ip_address(one[4][0]).is_loopback for one in found)
