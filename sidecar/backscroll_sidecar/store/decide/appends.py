"""What appends do in a run of changes. Pure: `decide` has the rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec.structs import replace

from backscroll_sidecar.domain import (
    AppendOutcome,
    AppendResult,
    Author,
    Member,
    Message,
    MessageState,
    Role,
    StoredMessage,
    WarningCode,
)
from backscroll_sidecar.ports import (
    AppendChange,
    Applied,
    KeptVector,
    StoredVector,
)
from backscroll_sidecar.store.decide.echoes import EchoWatch
from backscroll_sidecar.store.decide.people import seen_writing
from backscroll_sidecar.store.decide.positions import Positions
from backscroll_sidecar.store.decide.records import Records
from backscroll_sidecar.store.decide.replies import ReplyWatch
from backscroll_sidecar.store.decide.revisions import judge_known
from backscroll_sidecar.store.facts import (
    Answer,
    Facts,
    Holder,
    MessageRow,
    Named,
    Place,
    Plan,
    bare,
    float32_bytes,
)

_STORED, _LIVE, _PARTIAL = AppendOutcome.STORED, MessageState.LIVE, MessageState.PARTIAL
_ASSISTANT = Role.ASSISTANT
KEPT = (AppendOutcome.STORED, AppendOutcome.DUPLICATE)


@dataclass(slots=True)
class _Appended:
    """What one append did so far."""

    results: list[AppendResult] = field(default_factory=list)
    stored: list[StoredMessage] = field(default_factory=list)
    moved: list[StoredMessage] = field(default_factory=list)
    people: dict[str, Member] = field(default_factory=dict)
    vectors: list[KeptVector] = field(default_factory=list)
    aliases: list[tuple[str, str]] = field(default_factory=list)

    def applied(self) -> Applied:
        """The same as the answer to it: a row that moved as it stands now."""
        rows = self.stored
        if self.moved:
            last = {row.seq: row for row in [*self.stored, *self.moved]}
            rows = [last[seq] for seq in sorted(last)]
        return Applied(
            tuple(self.results), tuple(rows), (), tuple(self.people.values()), tuple(self.vectors),
            aliases=tuple(self.aliases),
        )  # fmt: skip


class Appends:
    """The facts of one run, brought forward change by change, and the plan that grows with them."""

    def __init__(self, facts: Facts) -> None:
        self.plan = Plan()
        self._facts = facts
        self._rows = dict(facts.rows)
        self._holders = dict(facts.holders)
        self._people = dict(facts.people)
        self._last_seqs = dict(facts.last_seqs)
        self._records = Records(facts, self._rows, self.plan)
        self._replies = ReplyWatch(facts, self._rows)
        self._positions = Positions(facts, self._rows, self.plan)
        self._echoes = EchoWatch(facts, self._rows)

    def append(self, change: AppendChange) -> Applied:
        """Store messages and, with them, what is kept of them; nothing where one of the records is refused."""
        if not change.records:
            return self._answering(change, self._append(change))
        ids = frozenset(message.id for message in change.messages)
        refusal = self._records.refusal(change.records, ids)
        if refusal is not None:
            return Applied(error=refusal)
        applied = self._append(change)
        if any(result.outcome not in KEPT for result in applied.append_results):
            return applied
        deleted = self._records.make(change.records)
        applied = replace(applied, records=change.records, deleted_records=deleted)
        return self._answering(change, applied)

    def _answering(self, change: AppendChange, applied: Applied) -> Applied:
        """Give the records of builds their answers."""
        here = change.key
        if change.context_id:
            ids = {one.id for one in change.messages if one.role is _ASSISTANT}
            said = [one for one in applied.append_results if one.message_id in ids and one.seq]
            if said:
                last = said[-1]
                id_ = last.duplicate_of or last.message_id
                self.plan.answers.append(Answer(here, id_, last.seq, change.context_id, ""))
            return applied
        for row in applied.stored:
            message = row.message
            if message.role is _ASSISTANT and message.reply is not None and not message.is_partial:
                answered = message.reply.message_id
                self.plan.answers.append(Answer(here, message.id, row.seq, "", answered))
        return applied

    def _append(self, change: AppendChange) -> Applied:
        tenant, channel = here = change.key
        known, erased, inserted = self._rows, self._facts.erased, self.plan.inserted
        replies, positions, received_at_ms = self._replies, self._positions, change.received_at_ms
        aliases, followers = positions.aliases, positions.followers
        out = _Appended()
        results, stored = out.results, out.stored
        seq = self._last_seqs.get(here, 0)
        items = zip(change.messages, change.analyses, change.rank_times_ms, strict=True)
        for message, analysis, rank_time_ms in items:
            reply = message.reply
            if reply is not None and aliases:
                message, analysis = positions.resolved(here, message, analysis)  # noqa: PLW2901
                reply = message.reply
            message_id = message.id
            named = (tenant, channel, message_id)
            if (
                named in known
                or named in erased
                or message.dedupe_key
                or named in aliases
                or message.role is _ASSISTANT
            ):
                refusal = self._refused(change, message, out)
                if refusal is not None:
                    results.append(refusal)
                    continue
            seq += 1
            warnings = replies.look(here, message)
            if reply is not None:
                positions.note(here, message_id, reply.message_id)
                if not warnings:
                    rank_time_ms = positions.rank_ms(here, reply, rank_time_ms)  # noqa: PLW2901
            row = StoredMessage(
                bare(message, channel), analysis, seq, rank_time_ms, 0,
                _PARTIAL if message.is_partial else _LIVE,
            )  # fmt: skip
            record = known[named] = inserted[named] = MessageRow(
                row, received_at_ms, message.sent_at_ms
            )
            stored.append(row)
            if named in followers:
                out.moved += positions.settle(named)
            if change.turn is not None:
                self._echoes.note(here, record)
            elif message.role is _ASSISTANT:
                self._echoes.note_early(here, record)
            if message.embeddings:
                out.vectors += self._give(named, message, row)
            results.append(AppendResult(message_id, _STORED, warnings, None, "", "", seq))
            self._seen_writing(
                (tenant, channel, message.author.id), message.author, rank_time_ms, out
            )
        if stored:
            self._last_seqs[here] = self.plan.last_seqs[here] = seq
            sessions = {row.message.session_id for row in stored} - {""}
            touched = {(tenant, channel, id_): received_at_ms for id_ in sessions}
            self.plan.touched.update(touched)
        return out.applied()

    def _give(self, named: Named, message: Message, stored: StoredMessage) -> list[KeptVector]:
        """Keep the vectors a caller sent with a message or an edit; of several by one embedder the first."""
        first = {one.embedder_id: one for one in reversed(message.embeddings)}
        given = [(name, float32_bytes(first[name])) for name in sorted(first)]
        kept = self.plan.vectors.setdefault(named, [])
        kept += [(stored.revision, name, values) for name, values in given]
        seq, id_ = stored.seq, message.id
        return [KeptVector(name, StoredVector(seq, id_, values)) for name, values in given]

    def _refused(
        self, change: AppendChange, message: Message, out: _Appended
    ) -> AppendResult | None:
        """Why this item is not stored; None: it is new, or comes back, and what is known of it changes with it."""
        here = change.key
        refusal = self._refusal(here, message, change.restores_erased)
        if refusal is None and message.role is _ASSISTANT:
            refusal = self._said_before(change, message, out)
        if refusal is not None:
            return refusal
        if message.dedupe_key:
            self._holders[(*here, message.dedupe_key)] = Holder(message.id, gone=False)
        if (named := (*here, message.id)) in self._facts.erased:
            self.plan.restored[named] = None
        return None

    def _seen_writing(self, who: Named, author: Author, at_ms: int, out: _Appended) -> None:
        person = self._people.get(who)
        after = seen_writing(person, author, at_ms)
        if after is not person:
            self._people[who] = self.plan.people[who] = after
            if person is None or person.member is not after.member:
                out.people[author.id] = after.member

    def _said_before(
        self, change: AppendChange, message: Message, out: _Appended
    ) -> AppendResult | None:
        """Why words of the bot are not stored: a turn said them, or answered this question already."""
        here = change.key
        if change.turn is not None:
            first = self._echoes.first_answer(here, message)
            if first and first != change.replaces:
                return AppendResult(message.id, AppendOutcome.CONFLICT, duplicate_of=first)
            return self._came_first(here, message, out)
        record = self._echoes.echoed(here, change, message)
        if record is None:
            return None
        stored = record.stored
        self._echoes.note_alias(here, stored.message.id)
        out.moved += self._positions.alias(here, message.id, stored.message.id)
        out.aliases.append((message.id, stored.message.id))
        who = (*here, message.author.id)
        self._seen_writing(who, message.author, stored.rank_time_ms, out)
        return AppendResult(
            message.id,
            AppendOutcome.DUPLICATE,
            (WarningCode.OWN_REPLY_SEEN,),
            duplicate_of=stored.message.id,
            seq=stored.seq,
        )

    def _came_first(self, here: Place, message: Message, out: _Appended) -> AppendResult | None:
        """A reply whose copy of the platform's is stored already: the reply's id becomes another one of the copy."""
        record = self._echoes.echoed_early(here, message)
        if record is None:
            return None
        first = record.stored.message.id
        self._echoes.note_answer(here, message, first)
        out.moved += self._positions.alias(here, message.id, first)
        out.aliases.append((message.id, first))
        seq = record.stored.seq
        return AppendResult(message.id, AppendOutcome.DUPLICATE, duplicate_of=first, seq=seq)

    def _refusal(self, here: Place, message: Message, restores: bool) -> AppendResult | None:
        """Why this item is not stored; None: it is new, or may come back."""
        named = (*here, message.id)
        if (record := self._rows.get(named)) is not None:
            return judge_known(message, record)
        restorable = self._facts.erased.get(named)
        if restorable is not None and not (restores and restorable):
            return AppendResult(message.id, AppendOutcome.GONE)
        if named in self._positions.aliases:
            return self._known_by_alias(here, message)
        if not message.dedupe_key:
            return None
        holder = self._holders.get((*here, message.dedupe_key))
        if holder is None or (restores and holder.restorable):
            return None
        held = self._rows.get((*here, holder.message_id))
        gone = holder.gone if held is None else held.stored.state is MessageState.RECALLED
        return AppendResult(
            message.id,
            AppendOutcome.GONE if gone else AppendOutcome.DUPLICATE,
            (WarningCode.DEDUPE_KEY_SEEN,),
            duplicate_of=holder.message_id,
        )

    def _known_by_alias(self, here: Place, message: Message) -> AppendResult:
        true_id = self._positions.true_id(here, message.id)
        stored = self._rows[(*here, true_id)].stored
        gone = stored.state is MessageState.RECALLED
        outcome = AppendOutcome.GONE if gone else AppendOutcome.DUPLICATE
        return AppendResult(message.id, outcome, duplicate_of=true_id, seq=stored.seq)
