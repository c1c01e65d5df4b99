"""What changes of records do in a run of changes. Pure: `decide` has the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backscroll_sidecar.domain import MessageState
from backscroll_sidecar.errors import BackscrollError, Conflict, Gone, NotFound, Reason
from backscroll_sidecar.ports import VERSION_FIELD, Applied, RecordChange
from backscroll_sidecar.store.facts import (
    Facts,
    MessageRow,
    Named,
    Plan,
    RecordName,
    messages_named,
    scope_of,
)


def missing_message(
    named: Named, rows: Mapping[Named, MessageRow], erased: Mapping[Named, bool]
) -> BackscrollError:
    """Why there is no live message of this name."""
    if named in rows or named in erased:
        return Gone("the message was recalled or erased", field="message_id")
    return NotFound(
        "no such message in this channel", field="message_id", reason=Reason.MESSAGE_NOT_FOUND
    )


class Records:
    """The records of one run, brought forward change by change, and the plan that grows with them.

    `rows`: the messages of the run as they stand, which appends bring forward.
    """

    def __init__(self, facts: Facts, rows: Mapping[Named, MessageRow], plan: Plan) -> None:
        self._erased = facts.erased
        self._rows = rows
        self._plan = plan
        self._scopes = {scope: dict(ids) for scope, ids in facts.scopes.items()}
        self._versions = dict(facts.versions)

    def refusal(
        self, changes: Sequence[RecordChange], coming: frozenset[str] = frozenset()
    ) -> BackscrollError | None:
        """Why one of them cannot be made; None: all can. `coming`: messages of its channel that the change stores."""
        for change in changes:
            error = self._refusal(change, coming)
            if error is not None:
                return error
        return None

    def _refusal(self, change: RecordChange, coming: frozenset[str]) -> BackscrollError | None:
        for named in messages_named(change):
            record = self._rows.get(named)
            if named[2] not in coming and (
                record is None or record.stored.state is MessageState.RECALLED
            ):
                return missing_message(named, self._rows, self._erased)
        name = (*scope_of(change), change.id)
        if change.if_version is not None and change.if_version != self._version(name, change.at_ms):
            return Conflict("it was changed meanwhile: read it again", field=VERSION_FIELD)
        if change.body is None:
            return None
        live = self._live(change)
        if change.after and change.after not in live:
            return Gone("what it goes on from is gone")
        if change.limit and len(live | {change.id}) > change.limit:
            return Conflict(f"there are {len(live)} already, and no more may be")
        return None

    def make(self, changes: Sequence[RecordChange]) -> int:
        """Make these, none of which is refused; how many records they delete."""
        return sum(map(self._make, changes))

    def apply(self, change: RecordChange) -> Applied:
        """What one that stands alone does."""
        error = self.refusal((change,))
        if error is not None:
            return Applied(error=error)
        return Applied(deleted_records=self.make((change,)), records=(change,))

    def _make(self, change: RecordChange) -> int:
        scope, live = scope_of(change), self._live(change)
        ids = self._scopes.get(scope, {})  # empty where `needs_of` did not ask
        self._plan.records.append(change)
        name = (*scope, change.id)
        if change.body is None:
            gone = [id_ for id_ in ids if change.id in ("", id_)]
            for id_ in gone:
                del ids[id_]
                self._versions.pop((*scope, id_), None)
            return len(live.intersection(gone))
        self._versions[name] = (self._version(name, change.at_ms) + 1, change.expires_at_ms)
        ids[change.id] = change.expires_at_ms
        return 0

    def _live(self, change: RecordChange) -> set[str]:
        ids = self._scopes.get(scope_of(change), {})
        return {id_ for id_, ends_ms in ids.items() if not 0 < ends_ms <= change.at_ms}

    def _version(self, name: RecordName, at_ms: int) -> int:
        """The version of a record; 0: there is none, or its time is over."""
        version, ends_ms = self._versions.get(name, (0, 0))
        return 0 if 0 < ends_ms <= at_ms else version
