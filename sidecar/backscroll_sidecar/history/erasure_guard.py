"""What channels lost while turns were open, so that no turn brings it back.

A turn holds texts of its channel in memory while a model answers. An erasure deletes its row and cannot reach those;
what the turn writes afterwards is therefore dropped by the writer, the one place that knows what came before what.
Turns are only open in this process, and a row that an erasure deleted is gone for the next one: nothing of this needs
to be stored.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import (
    EVERYWHERE,
    AppendChange,
    Change,
    EditChange,
    EraseChange,
    EventsChange,
    RecordChange,
    RetractChange,
    SignalChange,
    UsageChange,
    about_message,
    about_text,
)

REMEMBERED = 2_048
"""Erasures and retractions kept in mind. A turn that began before the oldest of them counts as hit by one."""


class ErasureGuard:
    """Erasures and retractions in the order of their commits. Used by the writer alone, on its event loop."""

    def __init__(self) -> None:
        self._count = 0
        self._recent: deque[tuple[int, ChannelKey, frozenset[str]]] = deque(maxlen=REMEMBERED)
        """With the names of what they took; none: whatever is of the channel."""
        self._held: Counter[str] = Counter()
        self.published = 0
        """How many of them every reader sees: what is read from now on holds nothing of what they took."""

    @contextmanager
    def holding(self, tenant: str) -> Iterator[None]:
        """While it lasts, nothing that a turn of the tenant writes is admitted.

        For an erasure goes from channel to channel, and a turn elsewhere may have read what goes next.
        """
        self._held[tenant] += 1
        try:
            yield
        finally:
            self._held[tenant] -= 1
            self._held += Counter()  # without those that are held no longer

    def admits(self, change: Change) -> bool:
        """Take note of a change about to be committed; False: it must not be, it would undo an earlier one."""
        match change:
            case EraseChange(message_ids=ids) if change.is_expiry:
                self._note(change.key, *map(about_message, ids), *map(about_text, ids))
            case EraseChange() if not change.is_dry_run:
                self._note(change.key)
            case RetractChange(_, message_id):
                self._note(change.key, about_message(message_id), about_text(message_id))
            case EditChange():
                self._note(change.key, about_text(change.message.id))
            case RecordChange() if change.turn is not None:
                return not self._lost(change.key, change.turn.since, change.named_ids)
            case SignalChange() if change.turn is not None:
                names = [about_message(one.message_id) for one in change.signals]
                return not self._lost(change.key, change.turn.since, names)
            case AppendChange() if change.records or change.replaces:
                if self._undoes(change):
                    return False
                if change.replaces:
                    self._note(
                        change.key, about_message(change.replaces), about_text(change.replaces)
                    )
            case AppendChange() | EventsChange() | UsageChange() if change.turn is not None:
                return not self._lost(change.key, change.turn.since)
        return True

    def _undoes(self, change: AppendChange) -> bool:
        """Whether it, or one of its records, would bring back what is lost: each by its own names and turn."""
        if change.turn is not None and self._lost(change.key, change.turn.since):
            return True
        marks = [(one.turn or change.turn, one.named_ids) for one in change.records]
        return any(mark and self._lost(change.key, mark.since, names) for mark, names in marks)

    def publish(self) -> None:
        """Everything noted so far is committed and published."""
        self.published = self._count

    def _note(self, key: ChannelKey, *names: str) -> None:
        self._count += 1
        self._recent.append((self._count, key, frozenset(names)))

    def _lost(self, key: ChannelKey, since: int, named_ids: Sequence[str] = ()) -> bool:
        if key.tenant in self._held or since < self._count - len(self._recent):
            return True
        about = frozenset(named_ids)
        for number, where, names in reversed(self._recent):
            if number <= since:
                return False
            is_there = where in (key, (key.tenant, EVERYWHERE))
            if is_there and (not names or not names.isdisjoint(about)):
                return True
        return False
