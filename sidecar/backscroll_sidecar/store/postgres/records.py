"""Records in the database: what a group writes, what readers ask."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import asyncpg

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import (
    ANY_ERASURE,
    ANY_RETRACTION,
    EraseChange,
    RecordChange,
    StoredRecord,
    about_message,
    about_text,
    about_user,
)
from backscroll_sidecar.store.decide.names import taken_from
from backscroll_sidecar.store.facts import (
    PURGED_AT_ONCE,
    Named,
    RecordName,
    RecordScope,
    scope_of,
)
from backscroll_sidecar.store.postgres import record_statements as sql
from backscroll_sidecar.store.postgres.arrays import columns, spelled, unspelled, wanted
from backscroll_sidecar.store.postgres.connections import Connection

# --- writing -------------------------------------------------------------------------------------


async def find_scopes(
    connection: Connection, tenant: str, scopes: Iterable[RecordScope]
) -> dict[RecordScope, dict[str, int]]:
    """The ids in each scope, with the time each expires."""
    found: dict[RecordScope, dict[str, int]] = {scope: {} for scope in scopes}
    if found:
        places = columns((*place, spelled(owner)) for _, *place, owner in found)
        for channel, kind, owner, id_, expires_at_ms in await connection.fetch(
            sql.RECORDS_IN_SCOPES, tenant, *places
        ):
            found[tenant, channel, kind, unspelled(owner)][unspelled(id_)] = expires_at_ms
    return found


async def find_versions(
    connection: Connection, tenant: str, names: Iterable[RecordName]
) -> dict[RecordName, tuple[int, int]]:
    """The version of each existing record, with the time it expires."""
    if not (names := list(names)):
        return {}
    asked = columns((*place, spelled(owner), spelled(id_)) for _, *place, owner, id_ in names)
    rows = await connection.fetch(sql.RECORD_VERSIONS, tenant, *asked)
    return {
        (tenant, channel, kind, unspelled(owner), unspelled(id_)): (version, expires_at_ms)
        for channel, kind, owner, id_, version, expires_at_ms in rows
    }


async def touch(connection: Connection, tenant: str, sessions: Mapping[Named, int]) -> None:
    """Note when messages came to these sessions."""
    if sessions:
        rows = [(channel, spelled(id_), at_ms) for (_, channel, id_), at_ms in sessions.items()]
        await connection.execute(sql.TOUCH_SESSIONS, tenant, *columns(rows))


async def write(connection: Connection, changes: Sequence[RecordChange]) -> None:
    """Keep and delete records in this order. Keeping one also deletes expired ones."""
    for change in changes:
        *place, owner = scope_of(change)
        scope, id_ = (*place, spelled(owner)), spelled(change.id)
        if change.body is None:
            if change.id:
                await connection.execute(sql.DELETE_ONE, *scope, id_)
            else:
                await connection.execute(sql.DELETE_SCOPE, *scope)
            continue
        await connection.execute(sql.DELETE_EXPIRED_IN_SCOPE, *scope, change.at_ms)
        await connection.execute(
            sql.PUT_RECORD,
            *(
                *scope,
                id_,
                change.body,
                change.at_ms,
                change.expires_at_ms,
                list(map(spelled, change.named_ids)),
            ),
        )
        await connection.execute(sql.PURGE_EXPIRED, change.key.tenant, change.at_ms, PURGED_AT_ONCE)


async def forget_retracted(
    connection: Connection, tenant: str, messages: Iterable[Named]
) -> list[str]:
    """Delete records about these messages. Returns the kind of each."""
    return await _forget(
        connection,
        tenant,
        [
            (tenant, channel, name)
            for _, channel, id_ in messages
            for name in (about_message(id_), about_text(id_), ANY_RETRACTION)
        ],
    )


async def forget_edited(
    connection: Connection, tenant: str, messages: Iterable[Named]
) -> list[str]:
    """Delete records about what these messages said before. Returns the kind of each."""
    names = [(tenant, channel, about_text(id_)) for _, channel, id_ in messages]
    return await _forget(connection, tenant, names)


async def erase(connection: Connection, change: EraseChange, victims: Iterable[str]) -> list[str]:
    """Delete records about these messages, the user, or all of a channel. Returns the kind of each."""
    here = change.key
    if change.is_of_channel:
        return [kind for (kind,) in await connection.fetch(sql.DELETE_OF_CHANNEL, *here)]
    names = [(*here, ANY_RETRACTION if change.is_expiry else ANY_ERASURE)]
    names += [(*here, name) for id_ in victims for name in (about_message(id_), about_text(id_))]
    if not change.message_ids:
        names.append((*here, about_user(change.user_id)))
    return await _forget(connection, here.tenant, names)


async def take_names(connection: Connection, change: EraseChange) -> int:
    """Take an erased person or channel out of records that only name them. Returns how many changed."""
    here = change.key
    if change.message_ids or (change.is_of_channel and change.is_of_many):
        return 0  # no other record names a message, and of a tenant nothing is left
    if change.is_of_channel:
        rows = await connection.fetch(sql.NAMING_CHANNELS, here.tenant)
    else:
        rows = await connection.fetch(sql.NAMING_PEOPLE, *here)
    after = [(taken_from(body, change), *where) for body, *where in rows]
    changed = [row for row in after if row[0] is not None]
    if changed:
        await connection.execute(sql.REPLACE_BODIES, here.tenant, *columns(changed))
    return len(changed)


async def _forget(connection: Connection, tenant: str, names: Iterable[Named]) -> list[str]:
    named = [(tenant, channel, spelled(name)) for _, channel, name in dict.fromkeys(names)]
    rows = await connection.fetch(sql.DELETE_NAMING, tenant, *wanted(named))
    return [kind for (kind,) in rows]


# --- reading -------------------------------------------------------------------------------------


async def records(
    connection: Connection,
    key: ChannelKey,
    kind: str,
    now_ms: int,
    *,
    owner: str | None = None,
    after: int = 0,
    limit: int = 1_000,
) -> list[StoredRecord]:
    """A page of one kind, in order of creation."""
    whose = None if owner is None else spelled(owner)
    values = (*key, kind, whose, after, now_ms, max(limit, 0))
    return [_stored(row) for row in await connection.fetch(sql.RECORDS, *values)]


async def newest_records(
    connection: Connection, key: ChannelKey, kind: str, owner: str, now_ms: int, limit: int
) -> list[StoredRecord]:
    """The last records of an owner."""
    values = (*key, kind, spelled(owner), now_ms, max(limit, 0))
    return [_stored(row) for row in await connection.fetch(sql.NEWEST_RECORDS, *values)]


async def record(
    connection: Connection, key: ChannelKey, kind: str, owner: str, id: str, now_ms: int
) -> StoredRecord | None:
    """The record of this name, if it is there."""
    values = (*key, kind, spelled(owner), spelled(id), now_ms)
    found = await connection.fetchrow(sql.RECORD, *values)
    return None if found is None else _stored(found)


async def records_of_ids(
    connection: Connection,
    key: ChannelKey,
    kind: str,
    owner: str,
    ids: Sequence[str],
    now_ms: int,
) -> list[StoredRecord]:
    """In order of creation."""
    values = (*key, kind, spelled(owner), list(map(spelled, ids)), now_ms)
    return [_stored(row) for row in await connection.fetch(sql.RECORDS_OF_IDS, *values)]


async def records_about(
    connection: Connection, key: ChannelKey, kind: str, names: Sequence[str], now_ms: int
) -> list[StoredRecord]:
    """In order of creation."""
    values = (*key, kind, now_ms, list(map(spelled, names)))
    return [_stored(row) for row in await connection.fetch(sql.RECORDS_ABOUT, *values)]


async def updated_records(
    connection: Connection,
    tenant: str,
    kind: str,
    now_ms: int,
    limit: int,
    *,
    before: tuple[int, int] | None = None,
    channel: str | None = None,
    id: str | None = None,
) -> list[StoredRecord]:
    """A page, the one updated last first."""
    of_id = None if id is None else spelled(id)
    values = (tenant, kind, now_ms, *(before or (2**62, 0)), channel, of_id, max(limit, 0))
    return [_stored(row) for row in await connection.fetch(sql.UPDATED_RECORDS, *values)]


async def records_of_owner(
    connection: Connection, tenant: str, kind: str, owner: str, now_ms: int
) -> list[StoredRecord]:
    """By channel."""
    rows = await connection.fetch(sql.RECORDS_OF_OWNER, tenant, kind, spelled(owner), now_ms)
    return [_stored(row) for row in rows]


async def record_owners(
    connection: Connection, tenant: str, kind: str, after: str | None, limit: int
) -> list[str]:
    """A page of names."""
    behind = None if after is None else spelled(after)
    rows = await connection.fetch(sql.RECORD_OWNERS, tenant, kind, behind, max(limit, 0))
    return [unspelled(owner) for (owner,) in rows]


def _stored(row: asyncpg.Record) -> StoredRecord:
    number, channel, owner, id_, *rest = row
    return StoredRecord(number, channel, unspelled(owner), unspelled(id_), *rest)
