"""History in dictionaries: for tests, demos and as the plain twin of the SQLite store. Nothing outlives the process.

Decides through the same `decide` as SQLite; only looking up and writing down are its own, and they are the plainest
that are right. Safe from any task of one event loop: no method gives way half-way.
"""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from backscroll_sidecar.domain import ChannelKey, MessageState, Role
from backscroll_sidecar.ports import (
    ANY_ERASURE,
    ANY_RETRACTION,
    CHAIN_PREFIX,
    NAMING_CHANNELS,
    NAMING_PEOPLE,
    SESSION,
    Applied,
    Change,
    EraseChange,
    EraseReceipt,
    RecordChange,
    RecordedEvent,
    StoredRecord,
    about_message,
    about_text,
    about_user,
    count_by_store,
)
from backscroll_sidecar.store.decide import decide, needs_of, runs
from backscroll_sidecar.store.decide.names import taken_from
from backscroll_sidecar.store.facts import (
    PURGED_AT_ONCE,
    Facts,
    Holder,
    MessageRow,
    Named,
    Needs,
    Place,
    Plan,
    dedupe_digest,
    scope_of,
)
from backscroll_sidecar.store.memory.reads import (
    Channel,
    InMemoryReader,
    KeptRecord,
    RecordKey,
    Tombstone,
)
from backscroll_sidecar.turn_ids import answer_marks, is_said


class InMemoryStore(InMemoryReader):
    """`HistoryStore` in memory."""

    maintenance = None
    keeps_segments = False
    shared = None
    leases = None
    work = None

    def __init__(self) -> None:
        super().__init__()
        self._homes: dict[Place, set[str]] = defaultdict(set)
        """(tenant, message id): the channels that have a row of it."""

    async def close(self) -> None:
        self._closed = True

    async def moved_to(self) -> str:
        return ""

    def let_go(self) -> None:
        """Nothing: there are no files."""

    async def apply(self, changes: Sequence[Change]) -> Sequence[Applied]:
        self._check_open()
        applied: list[Applied] = []
        for run in runs(changes):
            if isinstance(run[0], EraseChange):
                applied.append(self._erase_or_try(run[0]))
                continue
            plan = decide(run, self._facts(needs_of(run)))
            self._write(plan)
            applied += plan.applied
        return applied

    def _facts(self, needs: Needs) -> Facts:
        facts = Facts()
        for here in needs.places:
            facts.last_seqs[here] = self._at(here).last_seq
        for named in needs.ids:
            channel = self._at(named[:2])
            if named[2] in channel.by_id:
                facts.rows[named] = channel.by_id[named[2]]
            if named[2] in channel.erased:
                facts.erased[named] = channel.erased[named[2]].with_channel
            self._find_alias(named, facts)
        for named in needs.dedupe_keys:
            if (holder := self._holder(named)) is not None:
                facts.holders[named] = holder
        self._find_replies(needs, facts)
        self._find_followers(needs, facts)
        self._find_said(needs, facts)
        for named in needs.people:
            if (person := self._at(named[:2]).people.get(named[2])) is not None:
                facts.people[named] = person
        for scope in needs.scopes:
            facts.scopes[scope] = {
                key[4]: one.stored.expires_at_ms
                for key, one in self._records.items()
                if key[:4] == scope
            }
        for name in needs.versions:
            if (kept := self._records.get(name)) is not None:
                facts.versions[name] = (kept.stored.version, kept.stored.expires_at_ms)
        return facts

    def _find_replies(self, needs: Needs, facts: Facts) -> None:
        for tenant, channel_id, parent in needs.parents:
            homes = self._homes.get((tenant, parent), set())
            true_id = self._find_alias((tenant, channel_id, parent), facts)
            record = self._at((tenant, channel_id)).by_id.get(true_id)
            if record is not None:
                facts.parents[tenant, channel_id, true_id] = record.stored.rank_time_ms
            elif homes:
                facts.strangers.add((tenant, channel_id, parent))
        facts.children.update(n for n in needs.replying if self._at(n[:2]).children.get(n[2]))
        if facts.children:
            facts.edges.update(self._edges(needs))

    def _find_alias(self, named: Named, facts: Facts) -> str:
        """The id of the message that has this one; what is known of it becomes known."""
        channel = self._at(named[:2])
        true_id = channel.aliases.get(named[2])
        if true_id is None:
            return named[2]
        facts.aliases[named] = true_id
        facts.rows[(*named[:2], true_id)] = channel.by_id[true_id]
        return true_id

    def _find_followers(self, needs: Needs, facts: Facts) -> None:
        for here in dict.fromkeys(named[:2] for named in needs.ids):
            channel = self._at(here)
            ahead = [
                id_
                for *place, id_ in needs.ids
                if tuple(place) == tuple(here) and id_ not in channel.by_id
            ]
            while ahead:
                parent = ahead.pop()
                children = list(channel.children.get(parent, ()))
                if children and (*here, parent) not in facts.followers:
                    facts.followers[(*here, parent)] = children
                    facts.rows.update({(*here, id_): channel.by_id[id_] for id_ in children})
                    ahead += children

    def _find_said(self, needs: Needs, facts: Facts) -> None:
        for tenant, channel_id, author_id in needs.speaking:
            channel = self._at((tenant, channel_id))
            facts.said[tenant, channel_id, author_id] = [
                record
                for id_, record in channel.by_id.items()
                if is_said(id_)
                and record.stored.message.author.id == author_id
                and id_ not in channel.aliases.values()
            ]
        for tenant, channel_id, question in needs.answered:
            channel = self._at((tenant, channel_id))
            for row in channel.told(channel.live()):
                message = row.message
                if message.reply is None or message.reply.message_id != question:
                    continue
                what = (tenant, channel_id, question, message.author.id)
                marks = answer_marks((message.id, *row.alias_ids))
                for mark in marks:
                    facts.answers.setdefault((*what, mark), message.id)
                if not marks and message.role is Role.ASSISTANT and not is_said(message.id):
                    facts.early.setdefault(what, []).append(channel.by_id[message.id])

    def _holder(self, named: Named) -> Holder | None:
        channel, key = self._at(named[:2]), named[2]
        if (message_id := channel.dedupe_keys.get(key)) is not None:
            state = channel.by_id[message_id].stored.state
            return Holder(message_id, gone=state is MessageState.RECALLED)
        for message_id, one in channel.erased.items():
            if one.digest == dedupe_digest(key):
                return Holder(message_id, gone=True, restorable=one.with_channel)
        return None

    def _edges(self, needs: Needs) -> Iterator[tuple[Named, str]]:
        for tenant, channel_id in dict.fromkeys(named[:2] for named in needs.parents):
            for message_id, record in self._at((tenant, channel_id)).by_id.items():
                if (reply := record.stored.message.reply) is not None:
                    yield (tenant, channel_id, message_id), reply.message_id

    def _write(self, plan: Plan) -> None:
        for here, last_seq in plan.last_seqs.items():
            channel = self._channels.setdefault(here, Channel())
            channel.last_seq, channel.is_known = last_seq, True
        for (tenant, channel_id, message_id), record in plan.inserted.items():
            channel, message = self._channels[tenant, channel_id], record.stored.message
            channel.erased.pop(message_id, None)
            channel.by_id[message_id] = record
            self._homes[tenant, message_id].add(channel_id)
            if message.dedupe_key:
                channel.dedupe_keys[message.dedupe_key] = message_id
            if message.reply is not None:
                channel.children[message.reply.message_id].add(message_id)
        for named, record in plan.updated.items():
            channel = self._channels[named[:2]]
            before, now = channel.by_id[named[2]].stored.message, record.stored.message
            channel.by_id[named[2]] = record
            if before.reply is not None and before.reply is not now.reply:
                assert now.reply is not None
                channel.children[before.reply.message_id].discard(named[2])
                channel.children[now.reply.message_id].add(named[2])
        for named, message_id in plan.aliases.items():
            self._channels[named[:2]].aliases[named[2]] = message_id
        self._write_vectors(plan)
        for named, person in plan.people.items():
            self._channels[named[:2]].people[named[2]] = person
        for here, context_id, event in plan.events:
            events = self._channels.setdefault(here, Channel()).events
            if (context_id, event.id) not in events:
                self._event_count += 1
                recorded = RecordedEvent(self._event_count, context_id, event)
                events[context_id, event.id] = recorded
        self._write_records(plan)
        touched = {change.key for change in plan.usage}
        self._usage.write(plan, {here: self._at(here).by_id.values() for here in touched})

    def _write_records(self, plan: Plan) -> None:
        for change in plan.records:
            self._write_record(change)
        for (*here, session_id), at_ms in plan.touched.items():
            for key, kept in self._records.items():
                if key[:4] == (*here, SESSION, session_id):
                    later_ms = max(kept.stored.updated_at_ms, at_ms)
                    touched = replace(kept.stored, updated_at_ms=later_ms)
                    self._records[key] = kept._replace(stored=touched)
        for named in plan.emptied:
            self._forget_records(
                named[:2], {about_message(named[2]), about_text(named[2]), ANY_RETRACTION}
            )

        for named in plan.old_revisions:
            self._forget_records(named[:2], {about_text(named[2])})

    def _write_vectors(self, plan: Plan) -> None:
        for named in plan.emptied:
            self._drop_vectors(self._channels[named[:2]], named[2])
        for named, vectors in plan.vectors.items():
            for revision, embedder_id, values in vectors:
                kept = self._channels[named[:2]].vectors
                kept.setdefault((named[2], revision, embedder_id), values)
        for named, made in plan.embedded.items():
            for revision, embedder_id, values in made:
                kept, key = self._channels[named[:2]].vectors, (named[2], revision, embedder_id)
                if len(kept.get(key, b"")) != len(values):
                    kept[key] = values

    def _write_record(self, change: RecordChange) -> None:
        scope, at_ms = scope_of(change), change.at_ms
        if change.body is None:
            self._drop([k for k in self._records if k[:4] == scope and change.id in ("", k[4])])
            return
        self._drop([key for key in self._expired(at_ms) if key[:4] == scope])
        before = self._records.get((*scope, change.id))
        self._record_count += before is None
        stored = StoredRecord(
            self._record_count if before is None else before.stored.number,
            change.key.channel,
            change.owner,
            change.id,
            change.body,
            at_ms if before is None else before.stored.created_at_ms,
            at_ms,
            change.expires_at_ms,
            1 if before is None else before.stored.version + 1,
        )
        self._records[(*scope, change.id)] = KeptRecord(stored, change.named_ids)
        of_tenant = [key for key in self._expired(at_ms) if key[0] == change.key.tenant]
        self._drop(of_tenant[:PURGED_AT_ONCE])

    def _expired(self, at_ms: int) -> list[RecordKey]:
        """The records whose time is over, the oldest end first."""
        ends = {
            key: (one.stored.expires_at_ms, one.stored.number) for key, one in self._records.items()
        }
        return sorted((key for key in ends if 0 < ends[key][0] <= at_ms), key=ends.__getitem__)

    def _drop(self, keys: Iterable[RecordKey]) -> None:
        for key in keys:
            del self._records[key]

    def _forget_records(self, here: Place, names: set[str] | None) -> list[str]:
        """Delete the records of a channel that are about one of these, None: all of them; the kind of each."""
        gone = [
            key
            for key, one in self._records.items()
            if key[:2] == here and (names is None or names & {*one.named_ids})
        ]
        gone += [key for key in self._later_in_chains(gone) if key not in gone]
        self._drop(gone)
        return [kind for _, _, kind, *_ in gone]

    def _later_in_chains(self, gone: Iterable[RecordKey]) -> list[RecordKey]:
        """The records that go on from these."""
        first: dict[tuple[str, str, str], int] = {}
        for key in gone:
            one = self._records[key]
            for name in filter(_is_chain, one.named_ids):
                chain = (*key[:2], name)
                first[chain] = min(first.get(chain, one.stored.number), one.stored.number)
        return [
            key
            for key, one in self._records.items()
            for name in filter(_is_chain, one.named_ids)
            if one.stored.number > first.get((*key[:2], name), one.stored.number)
        ]

    def _erase_records(self, change: EraseChange, ids: set[str]) -> list[str]:
        if change.is_of_channel:
            return self._forget_records(change.key, None)
        either = ANY_RETRACTION if change.is_expiry else ANY_ERASURE
        names = {either, *map(about_message, ids), *map(about_text, ids)}
        if change.message_ids:
            return self._forget_records(change.key, names)
        return self._forget_records(change.key, {*names, about_user(change.user_id)})

    def _take_names(self, change: EraseChange) -> int:
        """See `sqlite.records.take_names`."""
        if change.message_ids or (change.is_of_channel and change.is_of_many):
            return 0
        kinds = NAMING_CHANNELS if change.is_of_channel else NAMING_PEOPLE
        count = 0
        for key, one in self._records.items():
            is_reached = (
                key[0] == change.key.tenant if change.is_of_channel else key[:2] == change.key
            )
            body = taken_from(one.stored.body, change) if is_reached and key[2] in kinds else None
            if body is not None:
                stored = replace(one.stored, body=body, version=one.stored.version + 1)
                self._records[key] = one._replace(stored=stored)
                count += 1
        return count

    def _erase_or_try(self, change: EraseChange) -> Applied:
        if not change.is_dry_run:
            return self._erase(change)
        copied = copy.deepcopy(self)
        tried = copied._erase(change).receipt  # noqa: SLF001 - it is one of us
        return Applied(receipt=EraseReceipt(tried.counts if tried else {}, is_dry_run=True))

    def _erase(self, change: EraseChange) -> Applied:
        channel = self._at(change.key)
        whole = change.is_of_channel
        asked = {channel.aliases.get(one, one) for one in change.message_ids}
        victims = [
            record
            for message_id, record in channel.by_id.items()
            if whole
            or message_id in asked
            or (not change.message_ids and record.stored.message.author.id == change.user_id)
        ]
        ids = {record.stored.message.id for record in victims}
        for message_id in channel.erased.keys() & change.message_ids:
            channel.erased[message_id] = replace(channel.erased[message_id], with_channel=False)
        aliases = {alias_id for alias_id, id_ in channel.aliases.items() if id_ in ids}
        numbered = [(record.stored.message.id, record.stored.seq) for record in victims]
        told = [key for key, one in channel.events.items() if whole or one.event.message_id in ids]
        vectors = sum(key[0] in ids for key in channel.vectors)
        for record in victims:
            self._forget(change.key, channel, record, with_channel=whole)
        for key in told:
            del channel.events[key]
        gone = 0
        if whole:
            gone = len(channel.people)
            channel.people.clear()
        elif not change.message_ids:
            gone = channel.people.pop(change.user_id, None) is not None
        kinds = self._erase_records(change, ids)
        counts = {
            "aliases": sum(self._forget_aliases(channel, id_) for id_ in ids),
            "events": len(told),
            "members": int(gone),
            "messages": len(victims),
            "revisions": sum(len(record.older) for record in victims),
            "segments": 0,
            "vectors": vectors,
            **count_by_store(kinds),
            "names": self._take_names(change),
            **self._usage.erase(change, numbered, ids | aliases),
        }
        erased_ids = tuple(record.stored.message.id for record in victims)
        return Applied(erased_ids=erased_ids, receipt=EraseReceipt(counts))

    def _forget(
        self, key: ChannelKey, channel: Channel, record: MessageRow, *, with_channel: bool
    ) -> None:
        message = record.stored.message
        del channel.by_id[message.id]
        restorable = with_channel and record.stored.state is not MessageState.RECALLED
        channel.erased[message.id] = Tombstone(dedupe_digest(message.dedupe_key), restorable)
        channel.dedupe_keys.pop(message.dedupe_key, None)
        self._homes[key.tenant, message.id].discard(key.channel)
        if message.reply is not None:
            channel.children[message.reply.message_id].discard(message.id)
        self._drop_vectors(channel, message.id)

    def _forget_aliases(self, channel: Channel, message_id: str) -> int:
        gone = [alias_id for alias_id, id_ in channel.aliases.items() if id_ == message_id]
        for alias_id in gone:
            del channel.aliases[alias_id]
            channel.erased[alias_id] = replace(channel.erased[message_id], digest="")
        return len(gone)

    def _drop_vectors(self, channel: Channel, message_id: str) -> None:
        for key in [key for key in channel.vectors if key[0] == message_id]:
            del channel.vectors[key]


def _is_chain(name: str) -> bool:
    return name.startswith(CHAIN_PREFIX)
