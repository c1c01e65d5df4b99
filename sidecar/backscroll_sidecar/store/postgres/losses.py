"""What was taken away from a tenant, on any server: no turn of any server brings it back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import Gone
from backscroll_sidecar.ports import EVERYWHERE, Applied, Change, Loss, kept_by_turns, loss_of
from backscroll_sidecar.store.postgres import loss_statements as sql
from backscroll_sidecar.store.postgres.connections import Connection

KEPT = 2_048
"""Kept for each tenant. A server that is further behind treats its turns as hit."""


Numbered = tuple[int, Loss]


class Told:
    """The last loss of each tenant that this server was told of, and which later losses are its own."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._own: dict[str, set[int]] = {}

    def note_own(self, tenant: str, numbers: Iterable[int]) -> None:
        """Note the losses that this server wrote."""
        if tenant in self.counts:
            self._own.setdefault(tenant, set()).update(numbers)

    def forget_own(self, tenant: str, numbers: Iterable[int]) -> None:
        """Their commit failed, so others may get these numbers. If it succeeded after all, this does no harm."""
        self._own.get(tenant, set()).difference_update(numbers)

    def foreign(self, tenant: str, found: Iterable[Numbered]) -> list[Loss]:
        """The losses that others wrote."""
        own = self._own.get(tenant, ())
        return [loss for number, loss in found if number not in own]

    def tell(self, tenant: str, found: Sequence[Numbered], count: int) -> list[Loss]:
        """The losses of others up to this number, each told once."""
        told = [one for one in found if one[0] > self.counts.get(tenant, count)]
        losses = self.foreign(tenant, told)
        self.counts[tenant] = max(count, self.counts.get(tenant, 0))
        own = self._own.get(tenant, set())
        own -= {number for number in own if number <= count}
        return losses


async def hold(
    connection: Connection, tenant: str, changes: Sequence[Change], *, locks_tenant: bool
) -> bool:
    """Keep losses from being committed while turns write; True: turns must not write. Comes before channels are locked.

    `locks_tenant`: the group will lock the tenant's row. It does so here, since two that share it would deadlock.
    """
    if not any(True for change in changes for _ in kept_by_turns(change)):
        return False
    statement = sql.LOCK_TENANT if locks_tenant else sql.SHARE_TENANT
    is_held = await connection.fetchval(statement, tenant)
    if is_held is None:
        await connection.execute(sql.BEGIN_TENANT, tenant)
        is_held = await connection.fetchval(statement, tenant)
    return bool(is_held)


async def count(connection: Connection, tenant: str) -> int:
    """How many losses a tenant has had."""
    return int(await connection.fetchval(sql.LOSS_COUNT, tenant))


async def since(connection: Connection, tenant: str, number: int) -> tuple[list[Numbered], int]:
    """The losses after a number, and the number of the last. If some are no longer kept, everything counts as lost."""
    rows = await connection.fetch(sql.LOSSES_SINCE, tenant, number)
    if not rows:
        return [], number
    found = [
        (at, Loss(ChannelKey(tenant, channel), frozenset(orjson.loads(names))))
        for at, channel, names in rows
    ]
    if rows[0][0] > number + 1:
        found.insert(0, (number + 1, Loss(ChannelKey(tenant, EVERYWHERE))))
    return found, rows[-1][0]


async def write(connection: Connection, tenant: str, changes: Iterable[Change], last: int) -> range:
    """Note what these changes take away, after the last loss. Returns the numbers of the new ones."""
    taken = [loss for change in changes if (loss := loss_of(change)) is not None]
    if taken:
        channels = [loss.key.channel for loss in taken]
        names = [orjson.dumps(sorted(loss.names)).decode() for loss in taken]
        await connection.execute(sql.PUT_LOSSES, tenant, last, channels, names, KEPT)
    return range(last + 1, last + 1 + len(taken))


def undone(change: Change, losses: Sequence[Loss], *, is_held: bool) -> Applied | None:
    """The refusal of a turn's change that brings back what others took or are taking away; None: it brings nothing."""
    for _, names in kept_by_turns(change):
        if is_held or any(loss.hits(change.key, names) for loss in losses):
            return Applied(error=Gone("what the turn was about was erased or recalled"))
    return None
