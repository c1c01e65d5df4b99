"""Which preferences of a person hold when: a newer one of a topic takes the place of what it contradicts. Pure.

Nothing is written when one takes the place of another: it follows from what is stored. So when the newer one goes, with
the message it was read from, the older one holds again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from backscroll_sidecar.preferences.preference import Kept, Preference
from backscroll_sidecar.preferences.topics import Topic, Topics

_ALWAYS_MS = -(2**62)
_NEVER_MS = 2**62


class Status(StrEnum):
    """Whether a preference holds."""

    CURRENT = "current"
    UPCOMING = "upcoming"
    PAST = "past"


class Judged(NamedTuple):
    """A preference with whether it holds, until when, and the id of what stands in its place."""

    preference: Preference
    status: Status
    valid_until_ms: int | None
    superseded_by: str


class _Span(NamedTuple):
    """A preference with its window and what comes before what: set before read, of the channel, newer."""

    preference: Preference
    from_ms: int
    until_ms: int
    rank: tuple[bool, bool, int, int]


class Timeline:
    """The preferences that concern one place, and which of them hold at a moment.

    `preferences`: of one person, those of one channel and those that hold everywhere, in the order of being shown.
    """

    def __init__(self, preferences: Sequence[Preference], topics: Topics) -> None:
        self.preferences = preferences
        self._rivals = _rivals(preferences, topics)
        spans = list(map(_span, preferences))
        self._bounds = sorted(
            {at for one in spans for at in (one.from_ms, one.until_ms)} - {_ALWAYS_MS, _NEVER_MS}
        )

    def stretch(self, at_ms: int) -> int:
        """The number of the stretch of time that a moment is in: within one nothing begins or ends."""
        return bisect_right(self._bounds, at_ms)

    def holding(self, at_ms: int) -> list[Preference]:
        """Those that hold at a moment."""
        statuses = (self._status(i, at_ms)[0] for i in range(len(self.preferences)))
        pairs = zip(self.preferences, statuses, strict=True)
        return [one for one, status in pairs if status is Status.CURRENT]

    def judged(self, at_ms: int) -> list[Judged]:
        """All of them at a moment."""
        return [self._judged(i, at_ms) for i in range(len(self.preferences))]

    def _judged(self, index: int, at_ms: int) -> Judged:
        one = self.preferences[index]
        status, rival = self._status(index, at_ms)
        until_ms = one.kept.valid_until_ms
        mine = _span(one)
        for other in self._rivals.get(index, ()):
            span = _span(other)
            is_for_good = span.until_ms == _NEVER_MS and span.rank > mine.rank
            begins = max(mine.from_ms, _ALWAYS_MS + 1)  # from the same millisecond on it never held
            if is_for_good and begins <= span.from_ms < (
                _NEVER_MS if until_ms is None else until_ms
            ):
                until_ms, rival = span.from_ms, rival or other
        return Judged(one, status, until_ms, "" if rival is None else rival.id)

    def _status(self, index: int, at_ms: int) -> tuple[Status, Preference | None]:
        mine = _span(self.preferences[index])
        if at_ms < mine.from_ms:
            return Status.UPCOMING, None
        if at_ms >= mine.until_ms:
            return Status.PAST, None
        spans = map(_span, self._rivals.get(index, ()))
        winners = [
            one for one in spans if one.from_ms <= at_ms < one.until_ms and one.rank > mine.rank
        ]
        if winners:
            return Status.PAST, max(winners, key=lambda one: one.rank).preference
        return Status.CURRENT, None


def _span(one: Preference) -> _Span:
    from_ms = _ALWAYS_MS if one.kept.valid_from_ms is None else one.kept.valid_from_ms
    until_ms = _NEVER_MS if one.kept.valid_until_ms is None else one.kept.valid_until_ms
    return _Span(one, from_ms, until_ms, (one.is_set, bool(one.channel), from_ms, one.number))


def _rivals(preferences: Sequence[Preference], topics: Topics) -> dict[int, list[Preference]]:
    """By index: those that cannot hold beside it."""
    families: dict[str, list[int]] = defaultdict(list)
    for i, one in enumerate(preferences):
        if one.kept.topic:
            families[topics.of(one.kept.topic).family].append(i)
    rivals: dict[int, list[Preference]] = {}
    for members in families.values():
        for i in members:
            mine = preferences[i]
            topic = topics.of(mine.kept.topic)
            others = (preferences[j] for j in members if j != i)
            found = [one for one in others if contradicts(mine.kept, one.kept, topic)]
            if found:
                rivals[i] = found
    return rivals


def contradicts(one: Kept, other: Kept, topic: Topic) -> bool:
    """Whether two cannot hold at once. `topic`: of the first."""
    is_same = one.value.casefold() == other.value.casefold()
    if one.topic == other.topic:
        return is_same or not topic.has_many
    return is_same and other.topic == topic.opposite
