"""Who a call belongs to. The tenant comes from the credential, never from a request."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Protocol

from backscroll_sidecar.edge.keys import ANYBODY, Key, Table, keys_of
from backscroll_sidecar.errors import StartRefused, Unauthenticated

_SCHEME = "bearer "


Metadata = Iterable[tuple[str, str | bytes]]
"""What came beside a request: names in lower case, and values."""


class Tenants(Protocol):
    """Tells whose a call is, and what it may. A pure look-up: no I/O, no waiting."""

    @property
    def names(self) -> frozenset[str]:
        """All tenants that calls belong to, or have; none where nobody proves anything."""

    def resolve(self, metadata: Metadata) -> Key:
        """Return the key.

        Raises
        ------
        Unauthenticated
            There is no credential, or one that is not known, or its time is over.
        """


class OneTenant:
    """No authentication: every caller that reaches a loopback address or the socket is the default tenant."""

    names: frozenset[str] = frozenset()

    def resolve(self, metadata: Metadata) -> Key:  # noqa: ARG002
        return ANYBODY


class TokenTenants:
    """Callers prove themselves by ``authorization: Bearer TOKEN``.

    Only digests are kept and looked up: neither memory nor the time of an answer tells a token.

    Parameters
    ----------
    tokens
        Tenants, or what a key permits, by token; it may be given as ``sha256:`` and its digest in hexadecimal.
    now_s
        The time, as keys expire by it.
    """

    def __init__(self, tokens: Table, now_s: Callable[[], float] = time.time) -> None:
        self._now_s = now_s
        self._keys: dict[bytes, Key] = {}
        self.names: frozenset[str] = frozenset()
        if not tokens:
            raise StartRefused("tokens_file", "holds no token")
        self.use(tokens)

    def use(self, tokens: Table) -> None:
        """Take these from the next call on, in the place of those before; none at all: nobody may call.

        Raises `StartRefused`; then those before stay.
        """
        self._keys = keys_of(tokens)
        # What was counted of a tenant outlives its keys.
        self.names |= {key.tenant for key in self._keys.values()}

    def resolve(self, metadata: Metadata) -> Key:
        found = [value for name, value in metadata if name == "authorization"]
        if not found:
            raise Unauthenticated("this server needs 'authorization: Bearer TOKEN'")
        value = found[0]
        if len(found) == 1 and isinstance(value, str) and value[: len(_SCHEME)].lower() == _SCHEME:
            token = value[len(_SCHEME) :].strip()
            key = self._keys.get(sha256(token.encode(errors="replace")).digest())
            if key is not None:
                if key.expires_at_ms is not None and key.has_expired(int(self._now_s() * 1_000)):
                    at = datetime.fromtimestamp(key.expires_at_ms / 1_000, UTC)
                    raise Unauthenticated(f"the key expired at {at:%Y-%m-%dT%H:%M:%SZ}")
                return key
        raise Unauthenticated("the token is not known")
