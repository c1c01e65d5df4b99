"""Records in the database: written in the writer's thread, read in the reader's."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

import orjson

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
from backscroll_sidecar.store.sqlite import record_statements as sql
from backscroll_sidecar.store.sqlite.names import wanted
from backscroll_sidecar.store.sqlite.wiping import note_deletion

# --- writing -------------------------------------------------------------------------------------


def find_scopes(
    connection: sqlite3.Connection, scopes: Iterable[RecordScope]
) -> dict[RecordScope, dict[str, int]]:
    """The ids in each, with the time each expires."""
    return {scope: dict(connection.execute(sql.RECORDS_IN_SCOPE, scope)) for scope in scopes}


def find_versions(
    connection: sqlite3.Connection, names: Iterable[RecordName]
) -> dict[RecordName, tuple[int, int]]:
    """The version of each that is there, with the time it expires."""
    found = {name: connection.execute(sql.RECORD_VERSION, name).fetchone() for name in names}
    return {name: row for name, row in found.items() if row is not None}


def touch(connection: sqlite3.Connection, sessions: Mapping[Named, int]) -> None:
    """Messages came to these sessions at these times."""
    rows = [(at_ms, *named) for named, at_ms in sessions.items()]
    connection.executemany(sql.TOUCH_SESSION, rows)


def write(connection: sqlite3.Connection, changes: Sequence[RecordChange]) -> None:
    """Keep and delete, in this order; a kept one takes expired ones along."""
    for change in changes:
        scope = scope_of(change)
        if change.body is None:
            statement, values = (
                (sql.ONE_RECORD, (*scope, change.id))
                if change.id
                else (sql.RECORDS_OF_SCOPE, scope)
            )
            if _delete(connection, connection.execute(statement, values).fetchall()):
                note_deletion(connection)
            continue
        expired = connection.execute(sql.EXPIRED_IN_SCOPE, (*scope, change.at_ms)).fetchall()
        _delete(connection, expired)
        times = (change.at_ms, change.at_ms, change.expires_at_ms)
        kept = (*scope, change.id, change.body, *times)
        ((number,),) = connection.execute(sql.PUT_RECORD, kept).fetchall()
        here = (*change.key, number)
        connection.execute(sql.DELETE_RECORD_NAMES, here)
        connection.executemany(sql.PUT_RECORD_NAME, [(*here, name) for name in change.named_ids])
        some = (change.key.tenant, change.at_ms, PURGED_AT_ONCE)
        _delete(connection, connection.execute(sql.EXPIRED_RECORDS, some).fetchall())


def forget_retracted(connection: sqlite3.Connection, messages: Iterable[Named]) -> None:
    """Delete what is about these messages."""
    _forget(
        connection,
        [
            (tenant, channel, name)
            for tenant, channel, id_ in messages
            for name in (about_message(id_), about_text(id_), ANY_RETRACTION)
        ],
    )


def forget_edited(connection: sqlite3.Connection, messages: Iterable[Named]) -> None:
    """Delete what is about what these messages said before."""
    _forget(connection, [(tenant, channel, about_text(id_)) for tenant, channel, id_ in messages])


def erase(connection: sqlite3.Connection, change: EraseChange, victims: Iterable[str]) -> list[str]:
    """Delete what is about what goes: these messages, the user, or all of a channel; the kind of each that went."""
    here = (change.key.tenant, change.key.channel)
    if change.is_of_channel:
        return _delete(connection, connection.execute(sql.RECORDS_OF_CHANNEL, here).fetchall())
    names = [(*here, ANY_RETRACTION if change.is_expiry else ANY_ERASURE)]
    names += [(*here, name) for id_ in victims for name in (about_message(id_), about_text(id_))]
    if not change.message_ids:
        names.append((*here, about_user(change.user_id)))
    return _forget(connection, names)


def take_names(connection: sqlite3.Connection, change: EraseChange) -> int:
    """Take the person or the channel that goes from what only names them; from how many records."""
    here = change.key
    if change.message_ids or (change.is_of_channel and change.is_of_many):
        return 0  # a message is named by nothing of others, and of a tenant nothing is left
    if change.is_of_channel:
        rows = connection.execute(sql.NAMING_CHANNELS, (here.tenant,)).fetchall()
    else:
        rows = connection.execute(sql.NAMING_PEOPLE, here).fetchall()
    after = [(taken_from(body, change), *where) for body, *where in rows]
    changed = [row for row in after if row[0] is not None]
    connection.executemany(sql.REPLACE_BODY, changed)
    return len(changed)


def _forget(connection: sqlite3.Connection, names: Iterable[Named]) -> list[str]:
    gone = connection.execute(sql.RECORDS_NAMING, (wanted(names),)).fetchall()
    later = [one for row in gone for one in connection.execute(sql.LATER_IN_CHAIN, row[:3])]
    return _delete(connection, [*dict.fromkeys(gone + later)])


def _delete(connection: sqlite3.Connection, rows: Sequence[tuple[str, str, int, str]]) -> list[str]:
    connection.executemany(sql.DELETE_RECORD, rows)
    connection.executemany(sql.DELETE_RECORD_NAMES, [row[:3] for row in rows])
    return [kind for *_, kind in rows]


# --- reading -------------------------------------------------------------------------------------


def records(
    connection: sqlite3.Connection,
    key: ChannelKey,
    kind: str,
    now_ms: int,
    *,
    owner: str | None = None,
    after: int = 0,
    limit: int = 1_000,
) -> list[StoredRecord]:
    """A page of one kind, in order of creation."""
    statement = sql.RECORDS if owner is None else sql.RECORDS_OF_ONE
    values = {
        **key._asdict(),
        "kind": kind,
        "owner": owner,
        "after": after,
        "now_ms": now_ms,
        "limit": max(limit, 0),
    }
    return [StoredRecord(*row) for row in connection.execute(statement, values)]


def newest_records(
    connection: sqlite3.Connection, key: ChannelKey, kind: str, owner: str, now_ms: int, limit: int
) -> list[StoredRecord]:
    """The last ones."""
    values = {
        **key._asdict(),
        "kind": kind,
        "owner": owner,
        "now_ms": now_ms,
        "limit": max(limit, 0),
    }
    return [StoredRecord(*row) for row in connection.execute(sql.NEWEST_RECORDS, values)]


def record(
    connection: sqlite3.Connection, key: ChannelKey, kind: str, owner: str, id: str, now_ms: int
) -> StoredRecord | None:
    """The one of this name."""
    values = {**key._asdict(), "kind": kind, "owner": owner, "id": id, "now_ms": now_ms}
    found = connection.execute(sql.RECORD, values).fetchone()
    return None if found is None else StoredRecord(*found)


def records_of_ids(
    connection: sqlite3.Connection,
    key: ChannelKey,
    kind: str,
    owner: str,
    ids: Sequence[str],
    now_ms: int,
) -> list[StoredRecord]:
    """In order of creation."""
    values = {
        **key._asdict(),
        "kind": kind,
        "owner": owner,
        "ids": orjson.dumps(list(ids)).decode(),
        "now_ms": now_ms,
    }
    return [StoredRecord(*row) for row in connection.execute(sql.RECORDS_OF_IDS, values)]


def records_about(
    connection: sqlite3.Connection, key: ChannelKey, kind: str, names: Sequence[str], now_ms: int
) -> list[StoredRecord]:
    """In order of creation."""
    values = {
        **key._asdict(),
        "kind": kind,
        "names": orjson.dumps(list(names)).decode(),
        "now_ms": now_ms,
    }
    return [StoredRecord(*row) for row in connection.execute(sql.RECORDS_ABOUT, values)]


def updated_records(
    connection: sqlite3.Connection,
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
    before_ms, before_number = before or (2**62, 0)
    values = {
        "tenant": tenant,
        "kind": kind,
        "now_ms": now_ms,
        "before_ms": before_ms,
        "before_number": before_number,
        "channel": channel,
        "id": id,
        "limit": max(limit, 0),
    }
    return [StoredRecord(*row) for row in connection.execute(sql.UPDATED_RECORDS, values)]


def records_of_owner(
    connection: sqlite3.Connection, tenant: str, kind: str, owner: str, now_ms: int
) -> list[StoredRecord]:
    """By channel."""
    values = {"tenant": tenant, "kind": kind, "owner": owner, "now_ms": now_ms}
    return [StoredRecord(*row) for row in connection.execute(sql.RECORDS_OF_OWNER, values)]


def record_owners(
    connection: sqlite3.Connection, tenant: str, kind: str, after: str | None, limit: int
) -> list[str]:
    """A page of names."""
    values = {"tenant": tenant, "kind": kind, "after": after, "limit": max(limit, 0)}
    return [owner for (owner,) in connection.execute(sql.RECORD_OWNERS, values)]
