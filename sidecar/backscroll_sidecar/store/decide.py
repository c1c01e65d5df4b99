"""What a run of changes does, decided once for every store (laws 1 and 5). Pure: facts in, plan out.

A store looks up `needs_of(run)`, calls `decide`, writes down the plan. Later changes of a run see earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from backscroll_sidecar.domain import (
    AppendOutcome,
    AppendResult,
    Author,
    Event,
    Member,
    Message,
    MessageState,
    Role,
    StoredMessage,
    WarningCode,
)
from backscroll_sidecar.errors import BackscrollError, Conflict, Gone, NotFound, Reason
from backscroll_sidecar.ports import (
    AliasChange,
    AppendChange,
    Applied,
    Change,
    EditChange,
    EventsChange,
    IndexChange,
    KeptVector,
    MembersChange,
    RecallChange,
    RecordChange,
    SegmentsChange,
    StoredVector,
    TurnChange,
    VectorsChange,
)
from backscroll_sidecar.store.facts import (
    Facts,
    Holder,
    Named,
    Person,
    Place,
    Plan,
    Record,
    bare,
    drawer_of,
    float32_bytes,
    messages_named,
)
from backscroll_sidecar.store.people import seen_writing, upserted
from backscroll_sidecar.store.places import Places
from backscroll_sidecar.store.replies import ReplyWatch
from backscroll_sidecar.store.revisions import emptied, is_known_edit, judge_known
from backscroll_sidecar.store.said import Said

EDITED = "message.edited"
RECALLED = "message.recalled"
_STORED, _LIVE, _PARTIAL = AppendOutcome.STORED, MessageState.LIVE, MessageState.PARTIAL
_ASSISTANT = Role.ASSISTANT
_NOTHING = Applied()


def decide(changes: Sequence[Change], facts: Facts) -> Plan:
    """What these changes do.

    Parameters
    ----------
    changes : sequence of Change
        A run without erasures, in the order in which they came.
    facts : Facts
        Everything `needs_of(changes)` asked for, as it stands before the run.

    Returns
    -------
    Plan
        One `Applied` a change, and what to write. A change that is refused writes nothing.
    """
    run = _Run(facts)
    for change in changes:
        run.plan.applied.append(run.apply(change))
    return run.plan


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


class _Run:
    """The facts of one run, brought forward change by change, and the plan that grows with them."""

    def __init__(self, facts: Facts) -> None:
        self.plan = Plan()
        self._facts = facts
        self._records = dict(facts.records)
        self._holders = dict(facts.holders)
        self._people = dict(facts.people)
        self._last_seqs = dict(facts.last_seqs)
        self._drawers = {drawer: dict(ids) for drawer, ids in facts.drawers.items()}
        self._replies = ReplyWatch(facts, self._records)
        self._places = Places(facts, self._records, self.plan)
        self._said = Said(facts, self._records)

    def apply(self, change: Change) -> Applied:
        match change:
            case AppendChange():
                return self._append(change)
            case EditChange():
                return self._edit(change)
            case RecallChange():
                return self._recall(change)
            case AliasChange():
                return self._alias(change)
            case MembersChange():
                return self._members(change)
            case VectorsChange():
                return self._embedded(change)
            case RecordChange():
                return self._record(change)
            case _:
                return self._keep(change)

    def _keep(self, change: Change) -> Applied:
        """What is only to be written down."""
        match change:
            case EventsChange():
                here = change.key
                self.plan.events += [(here, change.context_id, "", e) for e in change.events]
            case TurnChange():
                self.plan.turns.append(change)
            case IndexChange():
                self.plan.indexes[(*change.key, change.record.embedder_id)] = change.record
            case SegmentsChange():
                self.plan.segments.append(change)
            case _:
                raise ValueError("an erasure is a run of its own")
        return _NOTHING

    # --- append ------------------------------------------------------------------------------

    def _append(self, change: AppendChange) -> Applied:
        tenant, channel = here = change.key
        records, erased, inserted = self._records, self._facts.erased, self.plan.inserted
        replies, places, received_at_ms = self._replies, self._places, change.received_at_ms
        aliases, followers = places.aliases, places.followers
        out = _Appended()
        results, stored = out.results, out.stored
        seq = self._last_seqs.get(here, 0)
        items = zip(change.messages, change.analyses, change.rank_times_ms, strict=True)
        for message, analysis, rank_time_ms in items:
            reply = message.reply
            if reply is not None and aliases:
                message, analysis = places.resolved(here, message, analysis)  # noqa: PLW2901
                reply = message.reply
            message_id = message.id
            named = (tenant, channel, message_id)
            if (
                named in records
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
                places.note(here, message_id, reply.message_id)
                if not warnings:
                    rank_time_ms = places.rank_ms(here, reply, rank_time_ms)  # noqa: PLW2901
            row = StoredMessage(
                bare(message, channel), analysis, seq, rank_time_ms, 0,
                _PARTIAL if message.is_partial else _LIVE,
            )  # fmt: skip
            record = records[named] = inserted[named] = Record(
                row, received_at_ms, message.sent_at_ms
            )
            stored.append(row)
            if named in followers:
                out.moved += places.settle(named)
            if change.turn is not None:
                self._said.note(here, record)
            if message.embeddings:
                self.plan.vectors[named] = [(0, embedding) for embedding in message.embeddings]
                out.vectors += _given(message, row)
            results.append(AppendResult(message_id, _STORED, warnings, None, "", "", seq))
            self._seen_writing(
                (tenant, channel, message.author.id), message.author, rank_time_ms, out
            )
        if stored:
            self._last_seqs[here] = self.plan.last_seqs[here] = seq
        return out.applied()

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
            first = self._said.first_answer(here, message)
            if first:
                return AppendResult(message.id, AppendOutcome.CONFLICT, duplicate_of=first)
            return None
        record = self._said.echoed(here, change, message)
        if record is None:
            return None
        stored = record.stored
        self._said.note_alias(here, stored.message.id)
        out.moved += self._places.alias(here, message.id, stored.message.id)
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

    def _refusal(self, here: Place, message: Message, restores: bool) -> AppendResult | None:
        """Why this item is not stored; None: it is new, or may come back."""
        named = (*here, message.id)
        if (record := self._records.get(named)) is not None:
            return judge_known(message, record)
        restorable = self._facts.erased.get(named)
        if restorable is not None and not (restores and restorable):
            return AppendResult(message.id, AppendOutcome.GONE)
        if named in self._places.aliases:
            return self._known_by_alias(here, message)
        if not message.dedupe_key:
            return None
        holder = self._holders.get((*here, message.dedupe_key))
        if holder is None or (restores and holder.restorable):
            return None
        held = self._records.get((*here, holder.message_id))
        gone = holder.gone if held is None else held.stored.state is MessageState.RECALLED
        return AppendResult(
            message.id,
            AppendOutcome.GONE if gone else AppendOutcome.DUPLICATE,
            (WarningCode.DEDUPE_KEY_SEEN,),
            duplicate_of=holder.message_id,
        )

    # --- edit, recall, alias -----------------------------------------------------------------

    def _known_by_alias(self, here: Place, message: Message) -> AppendResult:
        true_id = self._places.true_id(here, message.id)
        stored = self._records[(*here, true_id)].stored
        gone = stored.state is MessageState.RECALLED
        outcome = AppendOutcome.GONE if gone else AppendOutcome.DUPLICATE
        return AppendResult(message.id, outcome, duplicate_of=true_id, seq=stored.seq)

    def _alias(self, change: AliasChange) -> Applied:
        here, alias_id = change.key, change.alias_id
        true_id = self._places.true_id(here, change.message_id)
        record = self._records.get((*here, true_id))
        if record is None or record.stored.state is MessageState.RECALLED:
            return Applied(error=self._missing((*here, true_id)))
        if true_id == self._places.true_id(here, alias_id):
            return _NOTHING  # known already
        alias = (*here, alias_id)
        restorable = self._facts.erased.get(alias, True)  # it may have gone with its channel
        if alias in self._records or alias in self._places.aliases or not restorable:
            taken = Conflict("alias_id is the id of another message", field="alias_id")
            return Applied(error=taken)
        if alias in self._facts.erased:
            self.plan.restored[alias] = None
        self._said.note_alias(here, true_id)
        moved = self._places.alias(here, alias_id, true_id)
        moved.sort(key=lambda row: row.seq)
        return Applied(stored=tuple(moved), aliases=((alias_id, true_id),))

    def _edit(self, change: EditChange) -> Applied:
        here = change.key
        named = (*here, self._places.true_id(here, change.message.id))
        record = self._records.get(named)
        if record is None or record.stored.state is MessageState.RECALLED:
            return Applied(error=self._missing(named))
        stored, edit = record.stored, change.message
        if is_known_edit(record, change):
            return _NOTHING
        revision = stored.revision + 1
        replaced = next(record.contents())
        edited = replace(
            stored,
            message=replace(stored.message, parts=edit.parts, mentions=edit.mentions),
            analysis=change.analysis,
            revision=revision,
        )
        older = (*record.older, replaced)
        self._change(named, Record(edited, record.received_at_ms, change.edited_at_ms, older))
        self.plan.old_revisions.setdefault(named, []).append(replaced)
        if edit.embeddings:
            vectors = self.plan.vectors.setdefault(named, [])
            vectors += [(revision, embedding) for embedding in edit.embeddings]
        self._tell(named, EDITED, revision, change.edited_at_ms)
        return Applied(stored=(edited,), vectors=tuple(_given(edit, edited)))

    def _recall(self, change: RecallChange) -> Applied:
        here = change.key
        named = (*here, self._places.true_id(here, change.message_id))
        record = self._records.get(named)
        if record is None:
            return Applied(error=self._missing(named))
        if record.stored.state is MessageState.RECALLED:
            return _NOTHING
        recalled = emptied(record)
        self._change(named, recalled)
        if new := self.plan.old_revisions.get(named):
            self.plan.old_revisions[named] = list(recalled.older[-len(new) :])
        self.plan.vectors.pop(named, None)
        self.plan.embedded.pop(named, None)
        for index in [index for index in self.plan.indexes if index[:2] == named[:2]]:
            del self.plan.indexes[index]
        self.plan.emptied[named] = None
        self._tell(named, RECALLED, recalled.stored.revision, change.recalled_at_ms)
        return Applied(stored=(recalled.stored,))

    # --- vectors -----------------------------------------------------------------------------

    def _embedded(self, change: VectorsChange) -> Applied:
        kept: list[KeptVector] = []
        for vector in change.vectors:
            named = (change.key.tenant, change.key.channel, vector.message_id)
            record = self._records.get(named)
            if record is None or record.stored.state is MessageState.RECALLED:
                continue
            stored = record.stored
            if stored.revision == vector.revision:
                made = (vector.revision, change.embedder_id, vector.values)
                self.plan.embedded.setdefault(named, []).append(made)
                kept.append(
                    KeptVector(
                        change.embedder_id,
                        StoredVector(stored.seq, vector.message_id, vector.values),
                    )
                )
        return Applied(vectors=tuple(kept))

    def _missing(self, named: Named) -> BackscrollError:
        if named in self._records or named in self._facts.erased:
            return Gone("the message was recalled or erased")
        return NotFound("no such message in this channel", reason=Reason.MESSAGE_NOT_FOUND)

    def _change(self, named: Named, record: Record) -> None:
        self._records[named] = record
        self.plan.put(named, record)

    def _tell(self, named: Named, type_: str, revision: int, at_ms: int) -> None:
        tenant, channel, message_id = named
        event = Event(
            id=f"{type_}:{message_id}:{revision}",
            type=type_,
            level="agent",
            at_ms=at_ms,
            payload={"message_id": message_id, "revision": revision},
        )
        self.plan.events.append(((tenant, channel), "", message_id, event))

    # --- records -----------------------------------------------------------------------------

    def _record(self, change: RecordChange) -> Applied:
        for named in messages_named(change):
            record = self._records.get(named)
            if record is None or record.stored.state is MessageState.RECALLED:
                return Applied(error=self._missing(named))
        ids = self._drawers.get(
            drawer_of(change), {}
        )  # of no drawer that nobody asks for anything is known
        live = {id_ for id_, ends_ms in ids.items() if not 0 < ends_ms <= change.at_ms}
        if change.body is None:
            gone = [id_ for id_ in ids if change.id in ("", id_)]
            for id_ in gone:
                del ids[id_]
            self.plan.records.append(change)
            return Applied(record=change, deleted_records=len(live.intersection(gone)))
        if change.limit and len(live | {change.id}) > change.limit:
            return Applied(error=Conflict(f"there are {len(live)} already, and no more may be"))
        ids[change.id] = change.expires_at_ms
        self.plan.records.append(change)
        return Applied(record=change)

    # --- people ------------------------------------------------------------------------------

    def _members(self, change: MembersChange) -> Applied:
        here = change.key
        self.plan.last_seqs[here] = self._last_seqs.setdefault(here, 0)
        changed: dict[str, Member] = {}
        for given in change.members:
            person = self._people.get((*here, given.user_id))
            member = self._put(here, person, upserted(person, given, change.at_ms))
            if member is not None:
                changed[member.user_id] = member
        return Applied(members=tuple(changed.values()))

    def _put(self, here: Place, before: Person | None, after: Person) -> Member | None:
        """Keep the person; return the member if others can see a difference."""
        if after is before:
            return None
        named = (*here, after.member.user_id)
        self._people[named] = self.plan.people[named] = after
        return None if before is not None and before.member is after.member else after.member


def _given(message: Message, stored: StoredMessage) -> list[KeptVector]:
    """The vectors a caller sent with a message or an edit; of several by one embedder the first."""
    first = {one.embedder_id: one for one in reversed(message.embeddings)}
    return [
        KeptVector(name, StoredVector(stored.seq, message.id, float32_bytes(first[name])))
        for name in sorted(first)
    ]
