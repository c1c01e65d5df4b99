"""What channels lost while turns were open, so that no turn brings it back.

A turn holds texts of its channel in memory while a model answers. An erasure deletes its row and cannot reach those;
what the turn writes afterwards is therefore dropped by the writer, the one place that knows what came before what.
A row that an erasure deleted is gone for the next process. Where several servers share a store, it is the store that
keeps what went, and tells this guard of the others' (`SharedWrites.new_losses`).
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import Change, Loss, kept_by_turns, loss_of

REMEMBERED = 2_048
"""Erasures and retractions kept in mind. A turn that began before the oldest of them counts as hit by one."""


class ErasureGuard:
    """Erasures and retractions in the order of their commits. Used by the writer alone, on its event loop."""

    def __init__(self) -> None:
        self._count = 0
        self._recent: deque[tuple[int, Loss]] = deque(maxlen=REMEMBERED)
        self._held: Counter[str] = Counter()
        self._is_committing = False
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
        kept = kept_by_turns(change)
        if any(self._lost(change.key, mark.since, names) for mark, names in kept):
            return False
        if (loss := loss_of(change)) is not None:
            self._note(loss)
            self._is_committing = True
        return True

    def note(self, losses: Iterable[Loss]) -> None:
        """Take note of what other servers took away; the caches know it by now."""
        for loss in losses:
            self._note(loss)
        if not self._is_committing:  # else no reader may see yet what is being committed here
            self.published = self._count

    def publish(self) -> None:
        """Everything noted so far is committed and published."""
        self.published = self._count
        self._is_committing = False

    def _note(self, loss: Loss) -> None:
        self._count += 1
        self._recent.append((self._count, loss))

    def _lost(self, key: ChannelKey, since: int, named_ids: Sequence[str] = ()) -> bool:
        if key.tenant in self._held or since < self._count - len(self._recent):
            return True
        for number, loss in reversed(self._recent):
            if number <= since:
                return False
            if loss.hits(key, named_ids):
                return True
        return False
