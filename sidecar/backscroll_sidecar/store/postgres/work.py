"""Work that follows from messages and is not done yet, by the server that got them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import Left
from backscroll_sidecar.store.postgres import work_statements as sql
from backscroll_sidecar.store.postgres.arrays import columns
from backscroll_sidecar.store.postgres.connections import Connection
from backscroll_sidecar.store.postgres.loss_statements import LET_TURNS_OF


async def begin(
    connection: Connection, tenant: str, holder: str, rows: Iterable[tuple[str, int]]
) -> None:
    """Note new rows, in their own transaction."""
    if stretches := _stretches(rows):
        await connection.execute(sql.BEGIN_WORK, tenant, holder, *columns(stretches))


async def end(
    connection: Connection, tenant: str, holder: str, done: Mapping[str, Iterable[int]]
) -> None:
    """Forget what is done, by channel."""
    rows = ((channel, seq) for channel, seqs in done.items() for seq in seqs)
    if stretches := _stretches(rows):
        await connection.execute(sql.END_WORK, tenant, holder, *columns(stretches))


async def others(connection: Connection, holder: str) -> Mapping[str, Sequence[str]]:
    """Which other servers have work, and for which tenants."""
    found: dict[str, list[str]] = {}
    for other, tenant in await connection.fetch(sql.OTHERS_AT_WORK, holder):
        found.setdefault(other, []).append(tenant)
    return found


async def take_over(connection: Connection, tenant: str, holder: str, other: str) -> Sequence[Left]:
    """Make another server's work one's own. Turns that it held up may write again."""
    async with connection.transaction():
        await connection.execute(LET_TURNS_OF, tenant, f"{other}:")
        rows = await connection.fetch(sql.LEFT_BY, tenant, other)
        channels = [*{channel for channel, _, _ in rows}]
        await connection.execute(sql.ADOPT, tenant, holder, other, channels)
        await connection.execute(sql.DROP_ADOPTED, tenant, other, channels)
    return [Left(ChannelKey(tenant, channel), first, last) for channel, first, last in rows]


def _stretches(rows: Iterable[tuple[str, int]]) -> list[tuple[str, int, int]]:
    """Rows as stretches of their channels, both ends included."""
    found: list[tuple[str, int, int]] = []
    for channel, seq in sorted(rows):
        if found and found[-1][0] == channel and found[-1][2] >= seq - 1:
            found[-1] = (channel, found[-1][1], seq)
        else:
            found.append((channel, seq, seq))
    return found
