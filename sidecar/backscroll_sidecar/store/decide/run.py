"""What a run of changes does, decided once for every store. Pure: facts in, plan out.

A store looks up `needs_of(run)`, calls `decide`, writes down the plan. Later changes of a run see earlier ones.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from backscroll_sidecar.domain import (
    Event,
    Member,
    MessageState,
)
from backscroll_sidecar.errors import BackscrollError, Conflict
from backscroll_sidecar.ports import (
    AliasChange,
    AppendChange,
    Applied,
    Change,
    EditChange,
    EventsChange,
    KeptVector,
    MembersChange,
    RecordChange,
    RetractChange,
    SegmentsChange,
    SignalChange,
    StoredVector,
    UsageChange,
    VectorsChange,
)
from backscroll_sidecar.store.decide.appends import KEPT, Appends
from backscroll_sidecar.store.decide.people import added, upserted
from backscroll_sidecar.store.decide.records import missing_message
from backscroll_sidecar.store.decide.revisions import emptied, is_known_edit
from backscroll_sidecar.store.facts import (
    Facts,
    MessageRow,
    Named,
    Person,
    Place,
    Plan,
)

EDITED = "message.edited"
RECALLED = "message.recalled"
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


class _Run(Appends):
    """The facts of one run, brought forward change by change, and the plan that grows with them."""

    def apply(self, change: Change) -> Applied:
        match change:
            case AppendChange():
                return self._append_for(change)
            case EditChange():
                return self._edit(change)
            case RetractChange():
                return self._retract(change)
            case AliasChange():
                return self._alias(change)
            case MembersChange():
                return self._members(change)
            case VectorsChange():
                return self._embedded(change)
            case RecordChange():
                return self._records.apply(change)
            case EventsChange():
                here = change.key
                self.plan.events += [(here, change.context_id, event) for event in change.events]
            case SegmentsChange():
                self.plan.segments.append(change)
            case UsageChange():
                self.plan.usage.append(change)
            case SignalChange():
                self.plan.signals.append(change)
            case _:
                raise ValueError("an erasure is a run of its own")
        return _NOTHING

    # --- append, edit, retract, alias -----------------------------------------------------------------

    def _append_for(self, change: AppendChange) -> Applied:
        """Append; what it replaces goes with what is stored, and stays where nothing is."""
        applied = self.append(change)
        is_stored = applied.error is None and all(
            one.outcome in KEPT and change.replaces not in (one.message_id, one.duplicate_of)
            for one in applied.append_results
        )
        if not change.replaces or not is_stored:
            return applied
        retract = RetractChange(change.key, change.replaces, change.received_at_ms)
        rows = {row.seq: row for row in (*applied.stored, *self._retract(retract).stored)}
        return replace(applied, stored=tuple(rows[seq] for seq in sorted(rows)))

    def _alias(self, change: AliasChange) -> Applied:
        here, alias_id = change.key, change.alias_id
        true_id = self._positions.true_id(here, change.message_id)
        record = self._rows.get((*here, true_id))
        if record is None or record.stored.state is MessageState.RECALLED:
            return Applied(error=self._missing((*here, true_id)))
        if true_id == self._positions.true_id(here, alias_id):
            return _NOTHING  # known already
        alias = (*here, alias_id)
        restorable = self._facts.erased.get(alias, True)  # it may have gone with its channel
        if alias in self._rows or alias in self._positions.aliases or not restorable:
            taken = Conflict(
                "alias_id is the id of another message: if it is a copy of this one, recall it",
                field="alias_id",
            )
            return Applied(error=taken)
        if alias in self._facts.erased:
            self.plan.restored[alias] = None
        self._echoes.note_alias(here, true_id)
        moved = self._positions.alias(here, alias_id, true_id)
        moved.sort(key=lambda row: row.seq)
        return Applied(stored=tuple(moved), aliases=((alias_id, true_id),))

    def _edit(self, change: EditChange) -> Applied:
        here = change.key
        named = (*here, self._positions.true_id(here, change.message.id))
        record = self._rows.get(named)
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
        self._change(named, MessageRow(edited, record.received_at_ms, change.edited_at_ms, older))
        self.plan.old_revisions.setdefault(named, []).append(replaced)
        self._tell(named, EDITED, revision, change.edited_at_ms)
        return Applied(stored=(edited,), vectors=tuple(self._give(named, edit, edited)))

    def _retract(self, change: RetractChange) -> Applied:
        here = change.key
        named = (*here, self._positions.true_id(here, change.message_id))
        record = self._rows.get(named)
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
        self.plan.emptied[named] = None
        self._tell(named, RECALLED, recalled.stored.revision, change.retracted_at_ms)
        return Applied(stored=(recalled.stored,))

    # --- vectors -----------------------------------------------------------------------------

    def _embedded(self, change: VectorsChange) -> Applied:
        kept: list[KeptVector] = []
        for vector in change.vectors:
            named = (change.key.tenant, change.key.channel, vector.message_id)
            record = self._rows.get(named)
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
        return missing_message(named, self._rows, self._facts.erased)

    def _change(self, named: Named, record: MessageRow) -> None:
        self._rows[named] = record
        self.plan.put(named, record)

    def _tell(self, named: Named, type_: str, revision: int, at_ms: int) -> None:
        tenant, channel, message_id = named
        event = Event(
            id=f"{type_}:{message_id}:{revision}",
            type=type_,
            level="agent",
            at_ms=at_ms,
            payload={"message_id": message_id, "revision": revision},
            message_id=message_id,
        )
        self.plan.events.append(((tenant, channel), "", event))

    # --- people ------------------------------------------------------------------------------

    def _members(self, change: MembersChange) -> Applied:
        here = change.key
        self.plan.last_seqs[here] = self._last_seqs.setdefault(here, 0)
        changed: dict[str, Member] = {}
        tell = added if change.only_adds else upserted
        for given in change.members:
            person = self._people.get((*here, given.user_id))
            member = self._put(here, person, tell(person, given, change.at_ms))
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
