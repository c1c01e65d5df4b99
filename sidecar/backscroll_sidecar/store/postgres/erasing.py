"""What an erasure takes, in the transaction of its group."""

from __future__ import annotations

from collections.abc import Mapping

from backscroll_sidecar.domain import MessageState
from backscroll_sidecar.ports import Applied, EraseChange, EraseReceipt, count_by_store
from backscroll_sidecar.store.facts import dedupe_digest
from backscroll_sidecar.store.postgres import alias_statements as alias_sql
from backscroll_sidecar.store.postgres import event_statements as event_sql
from backscroll_sidecar.store.postgres import lookups, records, usage
from backscroll_sidecar.store.postgres import statements as sql
from backscroll_sidecar.store.postgres.arrays import changed, columns
from backscroll_sidecar.store.postgres.connections import Connection


class _Tried(Exception):
    """Rolls a dry run back."""


async def erase_or_try(connection: Connection, change: EraseChange) -> Applied:
    """Erase; a dry run only says what would go."""
    if not change.is_dry_run:
        return await erase(connection, change)
    counts: Mapping[str, int] = {}
    try:
        async with connection.transaction():
            receipt = (await erase(connection, change)).receipt
            counts = receipt.counts if receipt else {}
            raise _Tried
    except _Tried:
        return Applied(receipt=EraseReceipt(counts, is_dry_run=True))


async def erase(connection: Connection, change: EraseChange) -> Applied:
    """Delete rows and leave tombstones. The rows that `change` names are looked up as they stand."""
    here, run = change.key, connection.execute
    victims = await _victims(connection, change)
    ids = [id_ for _, id_, _, _ in victims]
    aliases = await lookups.aliases_of(connection, here, ids)
    is_whole = change.is_of_channel
    gone: list[tuple[str, str, int, str, bool]] = []
    for _, id_, dedupe_key, state in victims:
        comes_back = is_whole and state != MessageState.RECALLED
        gone.append((here.channel, id_, change.at_ms, dedupe_digest(dedupe_key), comes_back))
        gone += [
            (here.channel, alias, change.at_ms, "", comes_back) for alias in aliases.get(id_, ())
        ]
    if gone:
        await run(sql.INSERT_TOMBSTONES, here.tenant, *columns(gone))
    if change.message_ids:  # named now: what went with its channel before does not come back either
        await run(sql.SEAL_TOMBSTONES, *here, change.message_ids)
    seqs = [seq for seq, *_ in victims]
    counts = {
        "revisions": changed(await run(sql.ERASE_REVISIONS, *here, ids)),
        "aliases": changed(await run(alias_sql.ERASE_ALIASES, *here, ids)),
        "vectors": changed(await run(sql.ERASE_VECTORS, *here, ids)),
        "events": changed(await run(event_sql.ERASE_EVENTS, *here, ids)),
        "messages": changed(await run(sql.ERASE_MESSAGES, *here, seqs)),
        "segments": 0,
        "members": 0,
    }
    if seqs:
        rows = columns([(here.channel, seq) for seq in seqs])
        counts["segments"] = changed(await run(sql.DROP_SEGMENTS_OF_ROWS, here.tenant, *rows))
    counts |= count_by_store(await records.erase(connection, change, ids))
    counts["names"] = await records.take_names(connection, change)
    numbered = [(id_, seq) for seq, id_, *_ in victims]
    counts |= await usage.erase(connection, change, numbered, [row[1] for row in gone])
    if is_whole:
        counts["events"] += changed(await run(event_sql.ERASE_ALL_EVENTS, *here))
        counts["members"] = changed(await run(sql.ERASE_ALL_MEMBERS, *here))
    elif not change.message_ids:
        counts["members"] = changed(await run(sql.ERASE_MEMBER, *here, change.user_id))
    return Applied(erased_ids=tuple(ids), receipt=EraseReceipt(dict(sorted(counts.items()))))


async def _victims(connection: Connection, change: EraseChange) -> list[tuple[int, str, str, int]]:
    here = change.key
    if change.message_ids:
        true_ids = await lookups.true_ids(connection, here, change.message_ids)
        found = await connection.fetch(sql.VICTIMS_BY_ID, *here, [*true_ids.values()])
    elif change.user_id:
        found = await connection.fetch(sql.VICTIMS_BY_AUTHOR, *here, change.user_id)
    else:
        found = await connection.fetch(sql.VICTIMS_ALL, *here)
    return [(seq, id_, dedupe_key, state) for seq, id_, dedupe_key, state in found]
