"""One group commit: lock its channels, look up what it names, let `decide` decide, write its plan.

All of a transaction is of one tenant, so that it asks one shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from backscroll_sidecar.domain import MessageState
from backscroll_sidecar.ports import (
    EVERYWHERE,
    OF_TENANT,
    Applied,
    Change,
    EraseChange,
    EventsChange,
    Loss,
    SegmentsChange,
    SignalChange,
    UsageChange,
    kept_by_turns,
    loss_of,
)
from backscroll_sidecar.store.codec import encode_content, encode_place, encode_row
from backscroll_sidecar.store.decide import decide, needs_of, runs
from backscroll_sidecar.store.encoding import (
    decode_person,
    encode_event,
    encode_person,
    encode_revision,
)
from backscroll_sidecar.store.facts import (
    Facts,
    Holder,
    Named,
    Needs,
    Person,
    Plan,
    dedupe_digest,
    named_among,
)
from backscroll_sidecar.store.postgres import alias_statements as alias_sql
from backscroll_sidecar.store.postgres import event_statements as event_sql
from backscroll_sidecar.store.postgres import journal, lookups, losses, records, usage, work
from backscroll_sidecar.store.postgres import statements as sql
from backscroll_sidecar.store.postgres.arrays import columns, wanted
from backscroll_sidecar.store.postgres.connections import Connection
from backscroll_sidecar.store.postgres.erasing import erase_or_try
from backscroll_sidecar.store.postgres.losses import Told

_UNSEEN = (EventsChange, SegmentsChange, UsageChange, SignalChange)
"""Changes that touch nothing in caches."""


def by_tenant(changes: Sequence[Change]) -> dict[str, list[int]]:
    """Where in the group each tenant's changes are."""
    places: dict[str, list[int]] = {}
    for place, change in enumerate(changes):
        places.setdefault(change.key.tenant, []).append(place)
    return places


async def apply_changes(
    connection: Connection, tenant: str, changes: Sequence[Change], told: Told, holder: str
) -> tuple[list[Applied], range]:
    """Apply changes of one tenant, in the transaction of the connection, for the server `holder`.

    Also returns the numbers of the losses among them.
    """
    channels = _channels_of(changes)
    is_held = await losses.hold(connection, tenant, changes, locks_tenant=EVERYWHERE in channels)
    last_seqs, versions = await _hold(connection, tenant, channels)
    foreign, last_loss = await _new_losses(connection, tenant, changes, told)
    refused = {
        place: answer
        for place, change in enumerate(changes)
        if (is_held or foreign)
        and (answer := losses.undone(change, foreign, is_held=is_held)) is not None
    }
    admitted = [change for place, change in enumerate(changes) if place not in refused]
    applied: list[Applied] = []
    taken: list[str] = []
    for run in runs(admitted):
        if isinstance(run[0], EraseChange):
            applied.append(await erase_or_try(connection, run[0]))
            continue
        needs = needs_of(run)
        facts = await find_facts(connection, tenant, needs)
        facts.last_seqs.update(
            (here, seq) for here in needs.places if (seq := last_seqs.get(here[1])) is not None
        )
        plan = decide(run, facts)
        taken += await write_plan(connection, tenant, plan)
        last_seqs.update((channel, seq) for (_, channel), seq in plan.last_seqs.items())
        applied += plan.applied
    if OF_TENANT.intersection(taken) and EVERYWHERE not in versions:
        versions |= (await _hold(connection, tenant, {EVERYWHERE: 1}))[1]
    done = list(zip(admitted, applied, strict=True))
    came = [(change.key.channel, row.seq) for change, one in done for row in one.stored]
    await work.begin(connection, tenant, holder, came)
    await journal.write(connection, tenant, done, versions, taken)
    own = await losses.write(connection, tenant, admitted, last_loss)
    answers = iter(applied)
    return [
        refused.get(place) or replace(next(answers), version=versions.get(change.key.channel, 0))
        for place, change in enumerate(changes)
    ], own


async def _new_losses(
    connection: Connection, tenant: str, changes: Sequence[Change], told: Told
) -> tuple[list[Loss], int]:
    """Losses of others that this server does not know yet, and the number of the last; none if no change needs them."""
    if not any(loss_of(one) or any(True for _ in kept_by_turns(one)) for one in changes):
        return [], 0
    known = told.counts.get(tenant)
    if known is None:
        return [], await losses.count(connection, tenant)
    found, last = await losses.since(connection, tenant, known)
    return told.foreign(tenant, found), last


def _channels_of(changes: Sequence[Change]) -> dict[str, int]:
    """The channels that a group locks, each with 1 if something changes that caches hold."""
    seen: dict[str, int] = {}
    for change in changes:
        if isinstance(change, EventsChange) and not change.events:
            continue
        channel = change.key.channel
        seen[channel] = seen.get(channel, 0) or int(not isinstance(change, _UNSEEN))
        of_tenant = journal.touches_tenant(change)
        if of_tenant is not False:  # held first, so that two groups never wait for each other
            seen[EVERYWHERE] = seen.get(EVERYWHERE, 0) or int(bool(of_tenant))
    return seen


async def _hold(
    connection: Connection, tenant: str, changes: Mapping[str, int]
) -> tuple[dict[str, int | None], dict[str, int]]:
    """Lock the channels until the commit. Returns the last number of each, and the version of those that change."""
    last_seqs: dict[str, int | None] = {}
    versions: dict[str, int] = {}
    if changes:
        rows = await connection.fetch(sql.LOCK_CHANNELS, tenant, [*changes], [*changes.values()])
        for channel, last_seq, version in rows:
            last_seqs[channel] = last_seq
            if changes[channel]:
                versions[channel] = version
    return last_seqs, versions


# --- looking up ----------------------------------------------------------------------------------


async def find_facts(connection: Connection, tenant: str, needs: Needs) -> Facts:
    """One statement for each kind of fact, however large the group; none if nothing is asked."""
    facts = Facts()
    taken: list[Named] = []
    if needs.ids:
        # Nearly all ids are new, and nobody answers them yet: one statement says so.
        found = await connection.fetch(sql.FIND_TAKEN, tenant, *wanted(needs.ids))
        taken = [(tenant, channel, id_) for channel, id_ in found]
        if taken:
            facts.rows.update(await lookups.find_rows(connection, tenant, taken))
            erased = await connection.fetch(sql.FIND_ERASED, tenant, *wanted(taken))
            facts.erased.update(((tenant, channel, id_), whole) for channel, id_, whole in erased)
            await lookups.find_aliases(connection, tenant, named_among(taken, facts), facts)
    if needs.dedupe_keys:
        facts.holders.update(await _find_holders(connection, tenant, needs.dedupe_keys))
    if needs.parents:
        await _find_parents(connection, tenant, needs, facts)
    if taken:
        unknown = named_among(taken, facts)
        await lookups.find_followers(connection, tenant, needs, unknown, facts)
    await lookups.find_said(connection, tenant, needs, facts)
    if needs.people:
        facts.people.update(await _find_people(connection, tenant, needs.people))
    facts.scopes.update(await records.find_scopes(connection, tenant, needs.scopes))
    facts.versions.update(await records.find_versions(connection, tenant, needs.versions))
    return facts


async def _find_parents(connection: Connection, tenant: str, needs: Needs, facts: Facts) -> None:
    unknown = await _look_for_parents(connection, tenant, needs.parents, facts)
    if unknown:
        aliases = await lookups.find_aliases(connection, tenant, unknown, facts)
        if aliases:
            messages = [(*alias[:2], id_) for alias, id_ in aliases.items()]
            await _look_for_parents(connection, tenant, messages, facts)
    if not needs.replying:
        return
    children = await connection.fetch(sql.FIND_CHILDREN, tenant, *wanted(needs.replying))
    facts.children.update((tenant, channel, id_) for channel, id_ in children)
    if facts.children:
        above = wanted(dict.fromkeys([*needs.parents, *facts.parents]))
        edges = await connection.fetch(sql.FIND_EDGES, tenant, *above)
        facts.edges.update({(tenant, channel, id_): up for channel, id_, up in edges})


async def _look_for_parents(
    connection: Connection, tenant: str, parents: Iterable[Named], facts: Facts
) -> list[Named]:
    """Find when parents are ranked. Returns those that have no row in their channel."""
    unknown: list[Named] = []
    for channel, id_, rank_time_ms, elsewhere in await connection.fetch(
        sql.FIND_PARENTS, tenant, *wanted(parents)
    ):
        named = (tenant, channel, id_)
        if rank_time_ms is not None:
            facts.parents[named] = rank_time_ms
            continue
        unknown.append(named)
        if elsewhere:
            facts.strangers.add(named)
    return unknown


async def _find_holders(
    connection: Connection, tenant: str, keys: Iterable[Named]
) -> Mapping[Named, Holder]:
    keys = list(keys)
    by_digest = {(channel, dedupe_digest(key)): key for _, channel, key in keys}
    digests = [(tenant, *one) for one in by_digest]
    holders: dict[Named, Holder] = {}
    for channel, digest, id_, whole in await connection.fetch(
        sql.FIND_ERASED_HOLDERS, tenant, *wanted(digests)
    ):
        holders[tenant, channel, by_digest[channel, digest]] = Holder(id_, True, whole)
    for channel, key, id_, state in await connection.fetch(sql.FIND_HOLDERS, tenant, *wanted(keys)):
        holders[tenant, channel, key] = Holder(id_, state == MessageState.RECALLED)
    return holders


async def _find_people(
    connection: Connection, tenant: str, ids: Iterable[Named]
) -> dict[Named, Person]:
    people: dict[Named, Person] = {}
    for channel, *row in await connection.fetch(sql.FIND_PEOPLE, tenant, *wanted(ids)):
        person = decode_person(tuple(row))
        people[tenant, channel, person.member.user_id] = person
    return people


# --- writing -------------------------------------------------------------------------------------


async def write_plan(connection: Connection, tenant: str, plan: Plan) -> list[str]:
    """Write rows first, then what refers to them. Returns the kind of each record that went with a message's text."""
    taken: list[str] = []
    run = connection.execute
    if plan.last_seqs:
        seqs = [(channel, seq) for (_, channel), seq in plan.last_seqs.items()]
        await run(sql.PUT_LAST_SEQS, tenant, *columns(seqs))
    if plan.restored:
        await run(sql.DROP_TOMBSTONES, tenant, *wanted(plan.restored))
    if plan.inserted:
        new = [encode_row(tenant, record)[1:] for record in plan.inserted.values()]
        await run(sql.INSERT_MESSAGES, tenant, *columns(new))
    if plan.updated:
        old = [
            (
                *encode_place(record.stored),
                record.edited_at_ms,
                *encode_content(record.stored),
                channel,
                record.stored.seq,
            )
            for (_, channel, _), record in plan.updated.items()
        ]
        await run(sql.UPDATE_MESSAGES, tenant, *columns(old))
    await _write_segments(connection, tenant, plan)
    if plan.aliases:
        aliases = [(channel, alias, id_) for (_, channel, alias), id_ in plan.aliases.items()]
        await run(alias_sql.PUT_ALIASES, tenant, *columns(aliases))
    if plan.emptied:
        await run(sql.EMPTY_REVISIONS, tenant, *wanted(plan.emptied))
        await run(sql.DELETE_VECTORS, tenant, *wanted(plan.emptied))
    if plan.old_revisions:
        revisions = [
            (*named[1:], *encode_revision(one))
            for named, some in plan.old_revisions.items()
            for one in some
        ]
        await run(sql.INSERT_REVISIONS, tenant, *columns(revisions))
    await _write_vectors(connection, tenant, plan)
    if plan.people:
        people = [(named[1], *encode_person(person)) for named, person in plan.people.items()]
        await run(sql.PUT_MEMBERS, tenant, *columns(people))
    await records.write(connection, plan.records)
    await records.touch(connection, tenant, plan.touched)
    if plan.emptied:  # retracted: behind the records, which came earlier in the run
        taken += await records.forget_retracted(connection, tenant, plan.emptied)
    if plan.old_revisions:
        taken += await records.forget_edited(connection, tenant, plan.old_revisions)
    if plan.events:
        events = [
            (channel, context_id, *encode_event(event))
            for (_, channel), context_id, event in plan.events
        ]
        await run(event_sql.PUT_EVENTS, tenant, *columns(events))
    await usage.write(connection, tenant, plan)
    return taken


async def _write_segments(connection: Connection, tenant: str, plan: Plan) -> None:
    """Keep those that are true of the rows as they now stand; drop those that hold a row that changed."""
    for change in plan.segments:
        for one in change.segments:
            stretch = (*change.key, one.first_seq, one.last_seq)
            said = (one.row_count, one.revisions, one.recalled)
            found = await connection.fetchrow(sql.STRETCH, *stretch)
            if found is not None and tuple(found) == said:
                await connection.execute(sql.DROP_SEGMENTS, *stretch)
                kept = (*change.key, change.format, *stretch[2:], *said, one.columns, one.bodies)
                await connection.execute(sql.PUT_SEGMENT, *kept)
    rows = [(channel, record.stored.seq) for (_, channel, _), record in plan.updated.items()]
    if rows:
        await connection.execute(sql.DROP_SEGMENTS_OF_ROWS, tenant, *columns(rows))


async def _write_vectors(connection: Connection, tenant: str, plan: Plan) -> None:
    """Write vectors that came with messages, and those made for them. A made one replaces one of another size."""
    for statement, vectors in (
        (sql.PUT_VECTORS, plan.vectors),
        (sql.PUT_MADE_VECTORS, plan.embedded),
    ):
        for rows in _each_once(
            (channel, id_, revision, embedder_id, len(values) // 4, values)
            for (_, channel, id_), some in vectors.items()
            for revision, embedder_id, values in some
        ):
            await connection.execute(statement, tenant, *columns(rows))


def _each_once(
    rows: Iterable[tuple[str, str, int, str, int, bytes]],
) -> list[list[tuple[str, str, int, str, int, bytes]]]:
    """The rows in so few lots that none holds two of one name: a statement writes a row once."""
    lots: list[dict[tuple[str, str, int, str], tuple[str, str, int, str, int, bytes]]] = []
    for row in rows:
        lot = next((one for one in lots if row[:4] not in one), None)
        if lot is None:
            lots.append(lot := {})
        lot[row[:4]] = row
    return [list(lot.values()) for lot in lots]
