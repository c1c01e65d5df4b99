"""One group commit, in the writer's thread: look up what it names, let `decide` decide, write its plan."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TypeVar

from backscroll_sidecar.domain import MessageState
from backscroll_sidecar.ports import Applied, Change, EraseChange, EraseReceipt, count_by_store
from backscroll_sidecar.store.codec import encode_content, encode_place, encode_row
from backscroll_sidecar.store.decide import decide, needs_of, runs
from backscroll_sidecar.store.encoding import (
    Row,
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
    Place,
    Plan,
    dedupe_digest,
    named_among,
)
from backscroll_sidecar.store.sqlite import alias_statements as alias_sql
from backscroll_sidecar.store.sqlite import event_statements as event_sql
from backscroll_sidecar.store.sqlite import lookups, records, usage
from backscroll_sidecar.store.sqlite import statements as sql
from backscroll_sidecar.store.sqlite.connection import transaction
from backscroll_sidecar.store.sqlite.names import wanted
from backscroll_sidecar.store.sqlite.wiping import note_deletion

N = TypeVar("N", Place, Named)
T = TypeVar("T")

ROWS_A_STATEMENT = 50
MAX_KNOWN = 20_000
"""People, and channels: some 10 MB."""


class Known:
    """People and last numbers as the last groups left them, so that the next group need not read them again.

    True as long as nobody else writes: the lock of the database sees to that. Used in the writer's thread alone.
    """

    def __init__(self) -> None:
        self.last_seqs: dict[Place, int] = {}
        self.people: dict[Named, Person] = {}

    def take(self, plan: Plan) -> None:
        """Learn what a run wrote."""
        if len(self.people) > MAX_KNOWN or len(self.last_seqs) > MAX_KNOWN:
            self.clear()
        self.last_seqs.update(plan.last_seqs)
        self.people.update(plan.people)

    def clear(self) -> None:
        """Know nothing any more: what was learnt may have been deleted, or taken back with its transaction."""
        self.last_seqs.clear()
        self.people.clear()


def apply_group(
    connection: sqlite3.Connection, changes: Sequence[Change], known: Known
) -> list[Applied]:
    """Make the changes durable in one transaction."""
    applied: list[Applied] = []
    try:
        with transaction(connection):
            for run in runs(changes):
                if isinstance(run[0], EraseChange):
                    applied.append(_erase_or_try(connection, run[0]))
                    known.clear()
                    continue
                plan = decide(run, find_facts(connection, needs_of(run), known))
                write_plan(connection, plan)
                known.take(plan)
                applied += plan.applied
    except BaseException:
        known.clear()
        raise
    return applied


# --- looking up ----------------------------------------------------------------------------------


def find_facts(connection: sqlite3.Connection, needs: Needs, known: Known) -> Facts:
    """One statement a kind of fact, however large the group; none where nothing is asked, or all is known."""
    facts = Facts()
    facts.last_seqs.update(_of(known.last_seqs, needs.places))
    if unknown := needs.places.keys() - facts.last_seqs.keys():
        rows = connection.execute(sql.FIND_LAST_SEQS, (wanted(unknown),))
        facts.last_seqs.update({(tenant, channel): seq for tenant, channel, seq in rows})
    taken: list[Named] = []
    if needs.ids:
        # Nearly all ids are new, and nobody answers them yet: one statement says so.
        taken = connection.execute(sql.FIND_TAKEN, (wanted(needs.ids),)).fetchall()
        if taken:
            ids = wanted(taken)
            facts.rows.update(lookups.find_rows(connection, ids))
            for *named, with_channel in connection.execute(sql.FIND_ERASED, (ids,)):
                tenant, channel, message_id = named
                facts.erased[tenant, channel, message_id] = bool(with_channel)
            lookups.find_aliases(connection, named_among(taken, facts), facts)
    if needs.dedupe_keys:
        facts.holders.update(_find_holders(connection, needs.dedupe_keys))
    if needs.parents:
        _find_parents(connection, needs, facts)
    if taken:
        lookups.find_followers(connection, needs, named_among(taken, facts), facts)
    lookups.find_said(connection, needs, facts)
    facts.people.update(_of(known.people, needs.people))
    if people := needs.people.keys() - facts.people.keys():
        facts.people.update(_find_people(connection, people))
    facts.scopes.update(records.find_scopes(connection, needs.scopes))
    facts.versions.update(records.find_versions(connection, needs.versions))
    return facts


def _find_parents(connection: sqlite3.Connection, needs: Needs, facts: Facts) -> None:
    unknown = _look_for_parents(connection, needs.parents, facts)
    if unknown:
        aliases = lookups.find_aliases(connection, unknown, facts)
        _look_for_parents(connection, [(*alias[:2], aliases[alias]) for alias in aliases], facts)
    facts.children.update(connection.execute(sql.FIND_CHILDREN, (wanted(needs.replying),)))
    if facts.children:
        above = wanted(dict.fromkeys([*needs.parents, *facts.parents]))
        edges = connection.execute(sql.FIND_EDGES, (above,))
        facts.edges.update({(tenant, channel, id_): up for tenant, channel, id_, up in edges})


def _look_for_parents(
    connection: sqlite3.Connection, parents: Iterable[Named], facts: Facts
) -> list[Named]:
    """Find when they are ranked; those that have no row in their channel."""
    unknown: list[Named] = []
    for *named, rank_time_ms, elsewhere in connection.execute(sql.FIND_PARENTS, (wanted(parents),)):
        tenant, channel, message_id = named
        if rank_time_ms is not None:
            facts.parents[tenant, channel, message_id] = rank_time_ms
            continue
        unknown.append((tenant, channel, message_id))
        if elsewhere:
            facts.strangers.add((tenant, channel, message_id))
    return unknown


def _of(known: Mapping[N, T], wanted_names: Iterable[N]) -> dict[N, T]:
    return {name: known[name] for name in wanted_names if name in known}


def _find_holders(connection: sqlite3.Connection, keys: Iterable[Named]) -> dict[Named, Holder]:
    keys = list(keys)
    by_digest = {(tenant, channel, dedupe_digest(key)): key for tenant, channel, key in keys}
    holders = {
        (tenant, channel, by_digest[tenant, channel, digest]): Holder(
            message_id, gone=True, restorable=bool(with_channel)
        )
        for tenant, channel, digest, message_id, with_channel in connection.execute(
            sql.FIND_ERASED_HOLDERS, (wanted(by_digest),)
        )
    }
    for tenant, channel, key, message_id, state in connection.execute(
        sql.FIND_HOLDERS, (wanted(keys),)
    ):
        holders[tenant, channel, key] = Holder(message_id, gone=state == MessageState.RECALLED)
    return holders


def _find_people(connection: sqlite3.Connection, ids: Iterable[Named]) -> dict[Named, Person]:
    people: dict[Named, Person] = {}
    for tenant, channel, *columns in connection.execute(sql.FIND_PEOPLE, (wanted(ids),)):
        person = decode_person(tuple(columns))
        people[tenant, channel, person.member.user_id] = person
    return people


# --- writing -------------------------------------------------------------------------------------


def write_plan(connection: sqlite3.Connection, plan: Plan) -> None:
    """Rows first, then what refers to them."""
    many = connection.executemany
    if plan.last_seqs:
        seqs = [(*here, seq) for here, seq in plan.last_seqs.items()]
        _write_rows(connection, sql.PUT_LAST_SEQ, seqs)
    if plan.restored:
        many(sql.DROP_TOMBSTONE, plan.restored)
    if plan.inserted:
        new = [encode_row(named[0], record) for named, record in plan.inserted.items()]
        _write_rows(connection, sql.INSERT_MESSAGE, new)
    if plan.updated:
        many(
            sql.UPDATE_MESSAGE,
            [
                (
                    *encode_place(record.stored),
                    record.edited_at_ms,
                    *encode_content(record.stored),
                    *named[:2],
                    record.stored.seq,
                )
                for named, record in plan.updated.items()
            ],
        )
    _write_segments(connection, plan)
    if plan.aliases:
        many(alias_sql.PUT_ALIAS, [(*named, id_) for named, id_ in plan.aliases.items()])
    if plan.emptied:
        emptied = wanted(plan.emptied)
        connection.execute(sql.EMPTY_REVISIONS, (emptied,))
        connection.execute(sql.DELETE_VECTORS, (emptied,))
    if plan.old_revisions:
        many(
            sql.INSERT_REVISION,
            [
                (*named, *encode_revision(old))
                for named, revisions in plan.old_revisions.items()
                for old in revisions
            ],
        )
    _write_vectors(connection, plan)
    if plan.people:
        people = [(*named[:2], *encode_person(person)) for named, person in plan.people.items()]
        _write_rows(connection, sql.PUT_MEMBER, people)
    records.write(connection, plan.records)
    records.touch(connection, plan.touched)
    if plan.emptied:  # retracted: behind the records, which came earlier in the run
        note_deletion(connection)
        records.forget_retracted(connection, plan.emptied)
    if plan.old_revisions:
        records.forget_edited(connection, plan.old_revisions)
    if plan.events:
        many(
            event_sql.PUT_EVENT,
            [(*here, context_id, *encode_event(event)) for here, context_id, event in plan.events],
        )
    usage.write(connection, plan)


def _write_segments(connection: sqlite3.Connection, plan: Plan) -> None:
    """Keep those that are true of the rows as they now stand; drop those that hold a row that changed."""
    for change in plan.segments:
        here = (change.key.tenant, change.key.channel)
        for one in change.segments:
            stretch = (*here, one.first_seq, one.last_seq)
            said = (one.row_count, one.revisions, one.recalled)
            if connection.execute(sql.STRETCH, stretch).fetchone() == said:
                connection.execute(sql.DROP_SEGMENTS, stretch)
                kept = (*here, change.format, *stretch[2:], *said, one.columns, one.bodies)
                connection.execute(sql.PUT_SEGMENT, kept)
    drop_segments(
        connection,
        ((*named[:2], record.stored.seq) for named, record in plan.updated.items()),
    )


def drop_segments(connection: sqlite3.Connection, rows: Iterable[tuple[str, str, int]]) -> int:
    """Drop those that hold one of these rows (tenant, channel, seq); how many there were."""
    return connection.executemany(sql.DROP_SEGMENTS, [(*row, row[2]) for row in rows]).rowcount


def _write_rows(connection: sqlite3.Connection, statement: str, rows: Sequence[Row]) -> None:
    """Many rows a statement: each statement asks for Python's lock again, and the event loop may have it for 5 ms."""
    for start in range(0, len(rows), ROWS_A_STATEMENT):
        some = rows[start : start + ROWS_A_STATEMENT]
        connection.execute(sql.for_rows(statement, len(some)), tuple(chain.from_iterable(some)))


def _write_vectors(connection: sqlite3.Connection, plan: Plan) -> None:
    """Vectors that came with messages, and those made for them."""
    for statement, vectors in (
        (sql.PUT_VECTOR, plan.vectors),
        (sql.PUT_MADE_VECTOR, plan.embedded),
    ):
        rows = [
            (*named, revision, embedder_id, len(values) // 4, values)
            for named, some in vectors.items()
            for revision, embedder_id, values in some
        ]
        if rows:
            connection.executemany(statement, rows)


# --- erasing -------------------------------------------------------------------------------------


def _erase_or_try(connection: sqlite3.Connection, change: EraseChange) -> Applied:
    if not change.is_dry_run:
        return erase(connection, change)
    connection.execute("SAVEPOINT dry_run")
    try:
        tried = erase(connection, change).receipt
    finally:
        connection.execute("ROLLBACK TO dry_run")
        connection.execute("RELEASE dry_run")
    return Applied(receipt=EraseReceipt(tried.counts if tried else {}, is_dry_run=True))


def erase(connection: sqlite3.Connection, change: EraseChange) -> Applied:
    """Delete rows and leave tombstones. What `change` names is looked up among the rows as they stand."""
    here = change.key
    victims = _victims(connection, change)
    many = connection.executemany
    rows = [(*here, message_id) for _, message_id, _, _ in victims]
    aliases = lookups.aliases_of(connection, rows)
    is_whole = change.is_of_channel
    gone: list[Row] = []
    for _, message_id, dedupe_key, state in victims:
        comes_back = is_whole and state != MessageState.RECALLED
        gone.append((*here, message_id, change.at_ms, dedupe_digest(dedupe_key), comes_back))
        gone += [
            (*here, alias_id, change.at_ms, "", comes_back)
            for alias_id in aliases.get(message_id, ())
        ]
    many(sql.INSERT_TOMBSTONE, gone)
    if change.message_ids:  # named now: what went with its channel before does not come back either
        named = wanted((*here, message_id) for message_id in change.message_ids)
        connection.execute(sql.SEAL_TOMBSTONES, (named,))
    counts = {"revisions": many(sql.ERASE_REVISIONS, rows).rowcount}
    counts["aliases"] = many(alias_sql.ERASE_ALIASES, rows).rowcount
    counts["vectors"] = many(sql.ERASE_VECTORS, rows).rowcount
    counts["events"] = many(event_sql.ERASE_EVENTS, rows).rowcount
    counts["messages"] = many(sql.ERASE_MESSAGE, [(*here, seq) for seq, *_ in victims]).rowcount
    counts["segments"] = drop_segments(connection, ((*here, seq) for seq, *_ in victims))
    ids = [message_id for _, message_id, *_ in victims]
    counts |= count_by_store(records.erase(connection, change, ids))
    counts["names"] = records.take_names(connection, change)
    numbered = [(message_id, seq) for seq, message_id, *_ in victims]
    counts |= usage.erase(connection, change, numbered, (row[2] for row in gone))
    counts["members"] = 0
    if is_whole:
        counts["events"] += connection.execute(event_sql.ERASE_ALL_EVENTS, here).rowcount
        counts["members"] = connection.execute(sql.ERASE_ALL_MEMBERS, here).rowcount
    elif not change.message_ids:
        erased = connection.execute(sql.ERASE_MEMBER, (*here, change.user_id))
        counts["members"] = erased.rowcount
    # With no victims there is nothing executemany could count.
    counts = {name: max(count, 0) for name, count in sorted(counts.items())}
    if any(counts.values()):
        note_deletion(connection)
    return Applied(erased_ids=tuple(ids), receipt=EraseReceipt(counts))


def _victims(
    connection: sqlite3.Connection, change: EraseChange
) -> list[tuple[int, str, str, int]]:
    here = change.key
    if change.message_ids:
        true_ids = lookups.true_ids(connection, here, change.message_ids).values()
        named = wanted((*here, message_id) for message_id in true_ids)
        return connection.execute(sql.VICTIMS_BY_ID, (named,)).fetchall()
    if change.user_id:
        return connection.execute(sql.VICTIMS_BY_AUTHOR, (*here, change.user_id)).fetchall()
    return connection.execute(sql.VICTIMS_ALL, here).fetchall()
