"""What a group of changes is cut into, and what must be looked up before each run is decided. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from backscroll_sidecar.domain import Role
from backscroll_sidecar.ports import (
    AliasChange,
    AppendChange,
    Change,
    EditChange,
    EraseChange,
    MembersChange,
    RecordChange,
    RetractChange,
    VectorsChange,
)
from backscroll_sidecar.store.decide.echoes import ECHO_MS, may_be_echo
from backscroll_sidecar.store.facts import Needs, messages_named, scope_of


def runs(changes: Sequence[Change]) -> Iterator[Sequence[Change]]:
    """Split a group so that every erasure stands alone: what it hits is only known once the others are written.

    What a retraction or an edit leaves of the records is not known sooner either.
    """
    start = 0
    takes_records = False
    for at, change in enumerate(changes):
        if isinstance(change, EraseChange):
            if at > start:
                yield changes[start:at]
            yield changes[at : at + 1]
            start, takes_records = at + 1, False
            continue
        if takes_records and _keeps_records(change):
            yield changes[start:at]
            start, takes_records = at, False
        takes_records = takes_records or _takes_records(change)
    if start < len(changes):
        yield changes[start:]


def _takes_records(change: Change) -> bool:
    return isinstance(change, RetractChange | EditChange) or (
        isinstance(change, AppendChange) and bool(change.replaces)
    )


def _keeps_records(change: Change) -> bool:
    return isinstance(change, RecordChange) or (
        isinstance(change, AppendChange) and bool(change.records)
    )


def needs_of(changes: Iterable[Change]) -> Needs:
    """What `decide` must know to decide these changes."""
    needs = Needs()
    for change in changes:
        tenant, channel = here = change.key
        match change:
            case AppendChange():
                needs.places[here] = None
                _need_for_append(needs, change)
            case EditChange():
                needs.ids[tenant, channel, change.message.id] = None
            case RetractChange():
                needs.ids[tenant, channel, change.message_id] = None
            case AliasChange():
                needs.ids[tenant, channel, change.message_id] = None
                needs.ids[tenant, channel, change.alias_id] = None
                needs.aliased[tenant, channel, change.alias_id] = None
            case VectorsChange():
                for vector in change.vectors:
                    needs.ids[tenant, channel, vector.message_id] = None
            case MembersChange():
                needs.places[here] = None
                for member in change.members:
                    needs.people[tenant, channel, member.user_id] = None
            case RecordChange():
                _need_for_record(needs, change)
            case _:
                pass
    return needs


def _need_for_append(needs: Needs, change: AppendChange) -> None:
    tenant, channel = change.key
    for record in change.records:
        _need_for_record(needs, record)
    if change.replaces:
        needs.ids[tenant, channel, change.replaces] = None
    needs.newest_ms = max(needs.newest_ms, *change.rank_times_ms, 0)
    for message in change.messages:
        needs.ids[tenant, channel, message.id] = None
        needs.people[tenant, channel, message.author.id] = None
        if message.dedupe_key:
            needs.dedupe_keys[tenant, channel, message.dedupe_key] = None
        reply = message.reply
        if reply is not None and reply.message_id != message.id:
            needs.replying[tenant, channel, message.id] = None
            needs.parents[tenant, channel, reply.message_id] = None
            if change.turn is not None:
                needs.answered[tenant, channel, reply.message_id] = None
        if message.role is Role.ASSISTANT and may_be_echo(message, change):
            needs.aliased[tenant, channel, message.id] = None
            needs.speaking[tenant, channel, message.author.id] = None
            needs.since_ms = min(needs.since_ms, change.received_at_ms - ECHO_MS)


def _need_for_record(needs: Needs, change: RecordChange) -> None:
    if change.limit or change.after or change.body is None:
        needs.scopes[scope_of(change)] = None
    if change.if_version is not None:
        needs.versions[(*scope_of(change), change.id)] = None
    needs.ids.update(dict.fromkeys(messages_named(change)))
