"""What went of a tenant, whoever took it: no turn of any server brings it back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import orjson

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import Gone
from backscroll_sidecar.ports import EVERYWHERE, Applied, Change, Loss, kept_by_turns, loss_of
from backscroll_sidecar.store.postgres import loss_statements as sql
from backscroll_sidecar.store.postgres.connections import Connection

KEPT = 2_048
"""Of a tenant: a server that is further behind counts its turns as hit."""


Numbered = tuple[int, Loss]


class Seen:
    """Up to which loss of each tenant this server knows them, and those of others that nobody was told of yet."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self._untold: dict[str, list[Loss]] = {}

    def take(self, tenant: str, found: Iterable[Numbered], count: int) -> None:
        """Learn of others' losses, and of how many there are with this server's."""
        known = self.counts.get(tenant)
        if known is not None:
            new = [loss for number, loss in found if number > known]
            self._untold.setdefault(tenant, []).extend(new)
        self.counts[tenant] = max(count, known or 0)

    def told(self, tenant: str) -> list[Loss]:
        """Those of others, once."""
        return self._untold.pop(tenant, [])


async def hold(connection: Connection, tenant: str, changes: Sequence[Change]) -> None:
    """Before channels are locked: keep losses from being committed while turns write."""
    if not any(True for change in changes for _ in kept_by_turns(change)):
        return
    if await connection.fetchval(sql.HOLD_TENANT, tenant) is None:
        await connection.execute(sql.BEGIN_TENANT, tenant)
        await connection.fetchval(sql.HOLD_TENANT, tenant)


async def count(connection: Connection, tenant: str) -> int:
    """How many a tenant has had."""
    return int(await connection.fetchval(sql.LOSS_COUNT, tenant))


async def since(connection: Connection, tenant: str, number: int) -> tuple[list[Numbered], int]:
    """Those behind a number, and the number of the last. Where some are kept no longer, everything counts as lost."""
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


async def write(connection: Connection, tenant: str, changes: Iterable[Change], last: int) -> int:
    """Note what these take away, behind the last; the number of the last one then."""
    taken = [loss for change in changes if (loss := loss_of(change)) is not None]
    if taken:
        channels = [loss.key.channel for loss in taken]
        names = [orjson.dumps(sorted(loss.names)).decode() for loss in taken]
        await connection.execute(sql.PUT_LOSSES, tenant, last, channels, names, KEPT)
    return last + len(taken)


def undone(change: Change, losses: Sequence[Numbered]) -> Applied | None:
    """What a change of a turn is answered that would bring back what others took away; None: it would not."""
    for _, names in kept_by_turns(change):
        if any(loss.hits(change.key, names) for _, loss in losses):
            return Applied(error=Gone("what the turn was about was erased or recalled"))
    return None
