"""History in dictionaries: for tests, demos and as the plain twin of the SQLite store. Nothing outlives the process.

Decides through the same `decide` as SQLite; only looking up and writing down are its own, and they are the plainest
that are right. Safe from any task of one event loop: no method gives way half-way.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from backscroll_sidecar.domain import ChannelKey, MessageState
from backscroll_sidecar.ports import Applied, Change, EraseChange, EraseReceipt, TurnChange
from backscroll_sidecar.store.decide import decide
from backscroll_sidecar.store.facts import (
    TURNS_PURGED_AT_ONCE,
    Facts,
    Holder,
    Named,
    Needs,
    Place,
    Plan,
    Record,
    dedupe_digest,
    float32_bytes,
    named_in_turns,
    needs_of,
    runs,
)
from backscroll_sidecar.store.memory_reads import Channel, MemoryReader
from backscroll_sidecar.turn_ids import is_reply, is_said


class MemoryStore(MemoryReader):
    """`HistoryStore` in memory."""

    def __init__(self) -> None:
        super().__init__()
        self._homes: dict[Place, set[str]] = defaultdict(set)
        """(tenant, message id): the channels that have a row of it."""

    async def close(self) -> None:
        self._closed = True

    async def apply(self, changes: Sequence[Change]) -> Sequence[Applied]:
        self._check_open()
        applied: list[Applied] = []
        for run in runs(changes):
            if isinstance(run[0], EraseChange):
                applied.append(self._erase(run[0]))
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
            if named[2] in channel.records:
                facts.records[named] = channel.records[named[2]]
            if named[2] in channel.erased:
                facts.erased.add(named)
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
        return facts

    def _find_replies(self, needs: Needs, facts: Facts) -> None:
        for tenant, channel_id, parent in needs.parents:
            homes = self._homes.get((tenant, parent), set())
            true_id = self._find_alias((tenant, channel_id, parent), facts)
            record = self._at((tenant, channel_id)).records.get(true_id)
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
        facts.records[(*named[:2], true_id)] = channel.records[true_id]
        return true_id

    def _find_followers(self, needs: Needs, facts: Facts) -> None:
        for here in dict.fromkeys(named[:2] for named in needs.ids):
            channel = self._at(here)
            ahead = [
                id_
                for *place, id_ in needs.ids
                if tuple(place) == tuple(here) and id_ not in channel.records
            ]
            while ahead:
                parent = ahead.pop()
                children = list(channel.children.get(parent, ()))
                if children and (*here, parent) not in facts.followers:
                    facts.followers[(*here, parent)] = children
                    facts.records.update({(*here, id_): channel.records[id_] for id_ in children})
                    ahead += children

    def _find_said(self, needs: Needs, facts: Facts) -> None:
        for tenant, channel_id, author_id in needs.speaking:
            channel = self._at((tenant, channel_id))
            facts.said[tenant, channel_id, author_id] = [
                record
                for id_, record in channel.records.items()
                if is_said(id_)
                and record.stored.message.author.id == author_id
                and id_ not in channel.aliases.values()
            ]
        for tenant, channel_id, question in needs.answered:
            for row in self._at((tenant, channel_id)).live():
                reply, author_id = row.message.reply, row.message.author.id
                if reply is not None and reply.message_id == question and is_reply(row.message.id):
                    facts.answers.setdefault(
                        (tenant, channel_id, question, author_id), row.message.id
                    )

    def _holder(self, named: Named) -> Holder | None:
        channel, key = self._at(named[:2]), named[2]
        if (message_id := channel.dedupe_keys.get(key)) is not None:
            state = channel.records[message_id].stored.state
            return Holder(message_id, gone=state is MessageState.RECALLED)
        for message_id, digest in channel.erased.items():
            if digest == dedupe_digest(key):
                return Holder(message_id, gone=True)
        return None

    def _edges(self, needs: Needs) -> Iterator[tuple[Named, str]]:
        for tenant, channel_id in dict.fromkeys(named[:2] for named in needs.parents):
            for message_id, record in self._at((tenant, channel_id)).records.items():
                if (reply := record.stored.message.reply) is not None:
                    yield (tenant, channel_id, message_id), reply.message_id

    def _write(self, plan: Plan) -> None:
        for here, last_seq in plan.last_seqs.items():
            channel = self._channels.setdefault(here, Channel())
            channel.last_seq, channel.is_known = last_seq, True
        for (tenant, channel_id, message_id), record in plan.inserted.items():
            channel, message = self._channels[tenant, channel_id], record.stored.message
            channel.records[message_id] = record
            self._homes[tenant, message_id].add(channel_id)
            if message.dedupe_key:
                channel.dedupe_keys[message.dedupe_key] = message_id
            if message.reply is not None:
                channel.children[message.reply.message_id].add(message_id)
        for named, record in plan.updated.items():
            channel = self._channels[named[:2]]
            before, now = channel.records[named[2]].stored.message, record.stored.message
            channel.records[named[2]] = record
            if before.reply is not None and before.reply is not now.reply:
                assert now.reply is not None
                channel.children[before.reply.message_id].discard(named[2])
                channel.children[now.reply.message_id].add(named[2])
        for named, message_id in plan.aliases.items():
            self._channels[named[:2]].aliases[named[2]] = message_id
        self._write_vectors(plan)
        for named, person in plan.people.items():
            self._channels[named[:2]].people[named[2]] = person
        for here, context_id, message_id, event in plan.events:
            events = self._channels.setdefault(here, Channel()).events
            events.setdefault((context_id, event.id), (message_id, event))
        self._write_turns(plan)

    def _write_turns(self, plan: Plan) -> None:
        for turn in plan.turns:
            self._keep_turn(turn)
        for tenant, channel_id, message_id in plan.emptied:
            word = named_in_turns(message_id)
            for name, turn in list(self._turns.items()):
                if turn.key == ChannelKey(tenant, channel_id) and word in turn.body:
                    del self._turns[name]

    def _write_vectors(self, plan: Plan) -> None:
        for named in plan.emptied:
            self._drop_vectors(self._channels[named[:2]], named[2])
            self._channels[named[:2]].indexes.clear()
        for named, vectors in plan.vectors.items():
            for revision, embedding in vectors:
                kept = self._channels[named[:2]].vectors
                key = (named[2], revision, embedding.embedder_id)
                kept.setdefault(key, float32_bytes(embedding))
        for named, made in plan.embedded.items():
            for revision, embedder_id, values in made:
                kept, key = self._channels[named[:2]].vectors, (named[2], revision, embedder_id)
                if len(kept.get(key, b"")) != len(values):
                    kept[key] = values
        for tenant, channel_id, embedder_id in plan.indexes:
            channel = self._channels.setdefault((tenant, channel_id), Channel())
            record = plan.indexes[tenant, channel_id, embedder_id]
            channel.indexes[embedder_id] = record

    def _keep_turn(self, turn: TurnChange) -> None:
        tenant = turn.key.tenant
        self._turns[tenant, turn.turn_id] = turn
        expired = sorted(
            (kept.expires_at_ms, turn_id)
            for (of, turn_id), kept in self._turns.items()
            if of == tenant and kept.expires_at_ms <= turn.at_ms
        )
        for _, turn_id in expired[:TURNS_PURGED_AT_ONCE]:
            del self._turns[tenant, turn_id]

    def _erase(self, change: EraseChange) -> Applied:
        channel = self._at(change.key)
        whole = not change.message_ids and not change.user_id
        asked = {channel.aliases.get(one, one) for one in change.message_ids}
        victims = [
            record
            for message_id, record in channel.records.items()
            if whole
            or message_id in asked
            or (not change.message_ids and record.stored.message.author.id == change.user_id)
        ]
        ids = {record.stored.message.id for record in victims}
        told = [key for key, (about, _) in channel.events.items() if whole or about in ids]
        for record in victims:
            self._forget(change.key, channel, record)
        channel.indexes.clear()
        for key in told:
            del channel.events[key]
        turns = [key for key, turn in self._turns.items() if turn.key == change.key]
        for named in turns:
            del self._turns[named]
        gone = 0
        if whole:
            gone = len(channel.people)
            channel.people.clear()
        elif not change.message_ids:
            gone = channel.people.pop(change.user_id, None) is not None
        counts = {
            "aliases": sum(self._forget_aliases(channel, id_) for id_ in ids),
            "events": len(told),
            "members": int(gone),
            "messages": len(victims),
            "revisions": sum(len(record.older) for record in victims),
            "turns": len(turns),
        }
        erased_ids = tuple(record.stored.message.id for record in victims)
        return Applied(erased_ids=erased_ids, receipt=EraseReceipt(counts))

    def _forget(self, key: ChannelKey, channel: Channel, record: Record) -> None:
        message = record.stored.message
        del channel.records[message.id]
        channel.erased[message.id] = dedupe_digest(message.dedupe_key)
        channel.dedupe_keys.pop(message.dedupe_key, None)
        self._homes[key.tenant, message.id].discard(key.channel)
        if message.reply is not None:
            channel.children[message.reply.message_id].discard(message.id)
        self._drop_vectors(channel, message.id)

    def _forget_aliases(self, channel: Channel, message_id: str) -> int:
        gone = [alias_id for alias_id, id_ in channel.aliases.items() if id_ == message_id]
        for alias_id in gone:
            del channel.aliases[alias_id]
            channel.erased[alias_id] = ""
        return len(gone)

    def _drop_vectors(self, channel: Channel, message_id: str) -> None:
        for key in [key for key in channel.vectors if key[0] == message_id]:
            del channel.vectors[key]
