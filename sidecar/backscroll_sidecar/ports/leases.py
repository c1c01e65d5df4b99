"""Names that one server at a time holds, where several share a store."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol


class Leases(Protocol):
    """What a server holds until it lets go, or dies and is not heard of for a while. All raise `StoreUnavailable`."""

    async def take(self, tenant: str, name: str, lasts_ms: int, holding: int) -> bool:
        """Hold a name for so long; False: another server does, or may. What one holds it may take again.

        `holding` is a number that this server has not used before.
        """

    async def prolong(self, tenant: str, names: Collection[str], lasts_ms: int) -> Sequence[str]:
        """Hold these for so long from now; those that this server held until now."""

    async def give_back(self, tenant: str, name: str, holding: int) -> None:
        """Let go of what was taken under this number. Of what was taken since nothing changes."""
