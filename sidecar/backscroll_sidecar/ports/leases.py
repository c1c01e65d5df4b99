"""Names that one server at a time holds, where several share a store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol


class Leases(Protocol):
    """What a server holds until it lets go, or is not heard of for a while. All raise `StoreUnavailable`."""

    async def take(self, tenant: str, name: str, lasts_ms: int) -> bool:
        """Hold a name for so long; False: another server does. What one holds it may take again, which prolongs it."""

    async def prolong(self, tenant: str, names: Collection[str], lasts_ms: int) -> Sequence[str]:
        """Hold these for so long from now; those that this server held until now."""

    async def give_back(self, tenant: str, name: str) -> None:
        """Let go. Of what another one holds by now nothing changes."""
