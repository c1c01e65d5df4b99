"""Who a call belongs to. The tenant comes from the credential, never from a request."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Protocol

from backscroll_sidecar.domain import DEFAULT_TENANT
from backscroll_sidecar.errors import StartRefused, Unauthenticated

HASH_PREFIX = "sha256:"
_SCHEME = "bearer "


Metadata = Iterable[tuple[str, str | bytes]]
"""What came beside a request: names in lower case, and values."""


class Tenants(Protocol):
    """Tells the tenant of a call. A pure look-up: no I/O, no waiting."""

    def resolve(self, metadata: Metadata) -> str:
        """Return the tenant.

        Raises
        ------
        Unauthenticated
            There is no credential, or one that is not known.
        """


class OneTenant:
    """No authentication: every caller that reaches a loopback address or the socket is the default tenant."""

    def resolve(self, metadata: Metadata) -> str:  # noqa: ARG002
        return DEFAULT_TENANT


class TokenTenants:
    """Callers prove themselves by ``authorization: Bearer TOKEN``.

    Only digests are kept and looked up: neither memory nor the time of an answer tells a token.

    Parameters
    ----------
    tokens
        Tenants by token; a token may be given as ``sha256:`` and its digest in hexadecimal.
    """

    def __init__(self, tokens: Mapping[str, str]) -> None:
        if not tokens:
            raise StartRefused("tokens_file", "holds no token")
        self._tenants: dict[bytes, str] = {}
        for token, tenant in tokens.items():
            if not tenant.strip():
                raise StartRefused("tokens_file", "has a token without a tenant")
            self._tenants[_digest(token)] = tenant

    def resolve(self, metadata: Metadata) -> str:
        found = [value for name, value in metadata if name == "authorization"]
        if not found:
            raise Unauthenticated("this server needs 'authorization: Bearer TOKEN'")
        value = found[0]
        if len(found) == 1 and isinstance(value, str) and value[: len(_SCHEME)].lower() == _SCHEME:
            token = value[len(_SCHEME) :].strip()
            tenant = self._tenants.get(sha256(token.encode(errors="replace")).digest())
            if tenant is not None:
                return tenant
        raise Unauthenticated("the token is not known")


def read_tokens(path: Path) -> Mapping[str, str]:
    """Read a tokens file: a TOML table ``[tokens]`` of tenants by token (or by ``sha256:`` and its digest).

    Raises
    ------
    StartRefused
        The file cannot be read or is no such table.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8")).get("tokens")
    except (OSError, ValueError) as error:
        raise StartRefused("tokens_file", f"cannot be read: {error}") from None
    if not isinstance(table, dict) or not all(isinstance(one, str) for one in table.values()):
        raise StartRefused("tokens_file", 'is no table [tokens] with lines "TOKEN" = "TENANT"')
    return table


def _digest(token: str) -> bytes:
    if token.startswith(HASH_PREFIX):
        try:
            digest = bytes.fromhex(token.removeprefix(HASH_PREFIX))
        except ValueError:
            digest = b""
        if len(digest) != sha256().digest_size:
            raise StartRefused("tokens_file", "has a digest that is not 64 hexadecimal digits")
        return digest
    if not token or token.strip() != token or not (token.isascii() and token.isprintable()):
        raise StartRefused("tokens_file", "has a token that no header can carry")
    return sha256(token.encode()).digest()
