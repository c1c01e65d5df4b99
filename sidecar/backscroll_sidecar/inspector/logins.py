"""How often one client may try a token at the login."""

from __future__ import annotations

import ipaddress
import math
import time
from collections import OrderedDict
from collections.abc import Callable

AT_ONCE = 10
"""Wrong tokens of a client before it must wait."""
SECONDS_EACH = 6.0
"""How long one of them counts."""
MOST_CLIENTS = 1_000
"""Clients that are remembered at once. Of more, the one that was not seen for longest is forgotten."""


class Tries:
    """Counts tries by client. What is right gives its try back, so that only wrong tokens count.

    A try counts before it is answered: many at once get no further than one behind another.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._free_at_s: OrderedDict[str, float] = OrderedDict()
        """When nothing of a client counts any more; the client that was seen last is the last."""

    def __len__(self) -> int:
        return len(self._free_at_s)

    def take(self, address: str) -> int:
        """One try of this address. Seconds to wait where it has none left, else 0."""
        client, now_s = _client(address), self._now_s()
        counted_s = max(self._free_at_s.get(client, now_s) - now_s, 0.0)
        too_much_s = counted_s - (AT_ONCE - 1) * SECONDS_EACH
        if too_much_s > 0:
            return math.ceil(too_much_s)
        self._free_at_s[client] = now_s + counted_s + SECONDS_EACH
        self._free_at_s.move_to_end(client)
        if len(self._free_at_s) > MOST_CLIENTS:
            self._free_at_s.popitem(last=False)
        return 0

    def give_back(self, address: str) -> None:
        """The token was right."""
        client = _client(address)
        if client in self._free_at_s:
            self._free_at_s[client] -= SECONDS_EACH


def _client(address: str) -> str:
    """Who stands behind an address: of IPv6 a whole network of 64 bits is one client's."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:  # a unix socket has none
        return address
    if isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is None:
        return str(ipaddress.ip_network((found, 64), strict=False))
    return str(found)
