"""What each commit changed in a channel, so that other servers read only that."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping, Sequence

import asyncpg
import msgspec

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import StoreMoved
from backscroll_sidecar.ports import (
    EVERYWHERE,
    OF_TENANT,
    AppendChange,
    Applied,
    Change,
    EditChange,
    EraseChange,
    KeptVector,
    Missed,
    RecordChange,
    RetractChange,
    StoredVector,
    Versions,
)
from backscroll_sidecar.store.codec import decode_rows
from backscroll_sidecar.store.encoding import decode_member
from backscroll_sidecar.store.postgres import change_statements as sql
from backscroll_sidecar.store.postgres import lookups
from backscroll_sidecar.store.postgres import loss_statements as loss_sql
from backscroll_sidecar.store.postgres.arrays import changed, columns
from backscroll_sidecar.store.postgres.connections import Connection, snapshot
from backscroll_sidecar.store.postgres.failures import CANNOT_WRITE

KEPT_VERSIONS = 256
"""Kept for each channel. A server that is further behind loads the channel anew."""
MOST_ROWS = 2_000
"""Read one by one at most. With more of them it is cheaper to load the channel anew."""

MOST_LOST = 2**20
"""More erasures and edits of a tenant than a crash can lose."""

_NO_LINEAGE: tuple[type[asyncpg.PostgresError], ...] = (
    asyncpg.FeatureNotSupportedError,
    *CANNOT_WRITE,
)
"""Of a standby, or a full disk: what is there is answered with."""


class _Entry(msgspec.Struct, omit_defaults=True):
    """What a commit changed in a channel: numbers and ids."""

    rows: list[tuple[int, int]] = msgspec.field(default_factory=list)
    """Stretches of arrival numbers, both ends included."""
    vectors: list[int] = msgspec.field(default_factory=list)
    members: list[str] = msgspec.field(default_factory=list)
    aliases: list[tuple[str, str]] = msgspec.field(default_factory=list)
    records: list[tuple[str, str, str, bool]] = msgspec.field(default_factory=list)
    """Kind, owner, id, and whether it is there."""


_decoder = msgspec.json.Decoder(_Entry)


# --- writing -------------------------------------------------------------------------------------


def touches_tenant(change: Change) -> bool | None:
    """Whether a change touches what caches hold by tenant; None: that is known only after it."""
    match change:
        case EraseChange():
            return not change.is_dry_run
        case RecordChange():
            return change.kind in OF_TENANT
        case AppendChange():
            if any(one.kind in OF_TENANT for one in change.records):
                return True
            return None if change.replaces else False
        case EditChange() | RetractChange():
            return None
    return False


async def write(
    connection: Connection,
    tenant: str,
    done: Sequence[tuple[Change, Applied]],
    versions: Mapping[str, int],
    taken: Iterable[str],
) -> None:
    """Note what was done. `versions`: the channels' versions now; `taken`: kinds of records that went with a text."""
    entries: dict[str, _Entry] = {}
    erased: set[str] = set()
    for change, applied in done:
        channel = change.key.channel
        if applied.is_erasure:
            erased |= {channel, EVERYWHERE}
        _add(entries.setdefault(channel, _Entry()), applied)
        of_tenant = tuple(one for one in applied.records if one.kind in OF_TENANT)
        if of_tenant and channel != EVERYWHERE:
            _add(entries.setdefault(EVERYWHERE, _Entry()), Applied(records=of_tenant))
    if OF_TENANT.intersection(taken):
        erased.add(EVERYWHERE)
    if erased:
        await connection.execute(sql.FORGET_CHANGES, tenant, sorted(erased))
    rows = [
        (channel, versions[channel], msgspec.json.encode(entry).decode())
        for channel, entry in entries.items()
        if channel in versions and channel not in erased
    ]
    if rows:
        await connection.execute(sql.PUT_CHANGES, tenant, *columns(rows), KEPT_VERSIONS)


def _add(entry: _Entry, applied: Applied) -> None:
    for row in applied.stored:
        if entry.rows and entry.rows[-1][1] + 1 == row.seq:
            entry.rows[-1] = (entry.rows[-1][0], row.seq)
        else:
            entry.rows.append((row.seq, row.seq))
    entry.vectors += [one.vector.seq for one in applied.vectors]
    entry.members += [one.user_id for one in applied.members]
    entry.aliases += applied.aliases
    entry.records += [
        (one.kind, one.owner, one.id, one.body is not None) for one in applied.records
    ]


# --- reading -------------------------------------------------------------------------------------


async def versions(connection: Connection, tenant: str, channels: Sequence[str]) -> Versions:
    """Versions of those channels that ever held anything, and the number of losses. Raises `StoreMoved`."""
    try:
        found = await _versions(connection, sql.VERSIONS, tenant, channels)
        if found.lineage is None:
            await _begin_lineage(connection, tenant)
            found = await _versions(connection, sql.VERSIONS, tenant, channels)
    except _NO_LINEAGE:
        found = await _versions(connection, sql.VERSIONS_ALONE, tenant, channels)
    return found


async def _versions(
    connection: Connection, statement: str, tenant: str, channels: Sequence[str]
) -> Versions:
    by_channel: dict[str, int] = {}
    loss_count, lineage = 0, None
    for channel, number, beside in await connection.fetch(statement, tenant, list(channels)):
        if channel is None:
            loss_count, lineage = number, beside
        else:
            by_channel[channel] = number
    if loss_count < 0:
        raise StoreMoved
    return Versions(by_channel, loss_count, lineage)


async def _begin_lineage(connection: Connection, tenant: str) -> None:
    """From now on what was lost is told apart from what comes, unless another server did so just now."""
    async with connection.transaction(isolation="read_committed"):
        await connection.execute(loss_sql.BEGIN_TENANT, tenant)
        await connection.execute(loss_sql.LOCK_TENANT, tenant)
        begun = await connection.execute(sql.BEGIN_LINEAGE, tenant, secrets.randbits(62))
        if changed(begun):
            await connection.execute(loss_sql.SKIP_LOSSES, tenant, [1, MOST_LOST])


async def missed(connection: Connection, key: ChannelKey, version: int) -> Missed | None:
    """What came after a version, as of one moment; None: the channel must be loaded anew."""
    async with snapshot(connection):
        found_now = await _versions(connection, sql.VERSIONS_ALONE, key.tenant, [key.channel])
        now = found_now.by_channel.get(key.channel, 0)
        found = await connection.fetch(sql.CHANGES_SINCE, *key, version)
        if [number for number, _ in found] != list(range(version + 1, now + 1)):
            return None
        entries = [_decoder.decode(body) for _, body in found]
        seqs = {
            seq for one in entries for first, last in one.rows for seq in range(first, last + 1)
        }
        embedded = {seq for one in entries for seq in one.vectors}
        if len(seqs) + len(embedded) > MOST_ROWS:
            return None
        return Missed(now, await _applied(connection, key, entries, seqs, embedded))


async def _applied(
    connection: Connection,
    key: ChannelKey,
    entries: Sequence[_Entry],
    seqs: set[int],
    embedded: set[int],
) -> Applied:
    stored = decode_rows(
        await connection.fetch(sql.ROWS_BY_SEQ, *key, sorted(seqs)) if seqs else (), key.channel
    )
    users = sorted({user_id for one in entries for user_id in one.members})
    people = await connection.fetch(sql.MEMBERS_BY_ID, *key, users) if users else ()
    vectors = await connection.fetch(sql.VECTORS_BY_SEQ, *key, sorted(embedded)) if embedded else ()
    return Applied(
        stored=tuple(await lookups.with_aliases(connection, key, stored)),
        members=tuple(decode_member(tuple(row)) for row in people),
        vectors=tuple(KeptVector(embedder, StoredVector(*row)) for embedder, *row in vectors),
        aliases=tuple(alias for one in entries for alias in one.aliases),
        records=tuple(
            RecordChange(key, kind, id_, b"" if is_kept else None, owner=owner)
            for one in entries
            for kind, owner, id_, is_kept in one.records
        ),
        is_foreign=True,
    )
