"""What a change takes from a channel, and what of a turn it would be brought back by. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports.changes import (
    AppendChange,
    Change,
    EditChange,
    EraseChange,
    EventsChange,
    RecordChange,
    RetractChange,
    SignalChange,
    TurnMark,
    UsageChange,
)
from backscroll_sidecar.ports.records import EVERYWHERE, about_message, about_text


class Loss(NamedTuple):
    """What went of a channel: what has one of these names; none: whatever is of it."""

    key: ChannelKey
    names: frozenset[str] = frozenset()

    def hits(self, key: ChannelKey, named_ids: Sequence[str]) -> bool:
        """Whether it takes what is of this channel and has these names."""
        is_there = self.key in (key, (key.tenant, EVERYWHERE))
        return is_there and (not self.names or not self.names.isdisjoint(named_ids))


def loss_of(change: Change) -> Loss | None:
    """What a change takes away; None: nothing."""
    match change:
        case EraseChange(message_ids=ids) if change.is_expiry:
            names = [*map(about_message, ids), *map(about_text, ids)]
        case EraseChange():
            return None if change.is_dry_run else Loss(change.key)
        case RetractChange(_, message_id):
            names = [about_message(message_id), about_text(message_id)]
        case EditChange():
            names = [about_text(change.message.id)]
        case AppendChange() if change.replaces:
            names = [about_message(change.replaces), about_text(change.replaces)]
        case _:
            return None
    return Loss(change.key, frozenset(names))


def kept_by_turns(change: Change) -> Iterator[tuple[TurnMark, Sequence[str]]]:
    """What turns keep with a change: when each read, and the names of what it keeps."""
    match change:
        case RecordChange() if change.turn is not None:
            yield change.turn, change.named_ids
        case SignalChange() if change.turn is not None:
            yield change.turn, [about_message(one.message_id) for one in change.signals]
        case AppendChange():
            if change.turn is not None:
                yield change.turn, ()
            for record in change.records:
                if (mark := record.turn or change.turn) is not None:
                    yield mark, record.named_ids
        case EventsChange() | UsageChange() if change.turn is not None:
            yield change.turn, ()
