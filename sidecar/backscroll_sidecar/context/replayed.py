"""What another way of choosing makes of a recorded build: the difference of two records. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from backscroll_sidecar.domain import Fate
from backscroll_sidecar.ports import UsageRecord, unpack_candidates

Place = tuple[str, int]
"""The channel of a message, empty for the build's own, and its arrival number."""


@dataclass(frozen=True, slots=True)
class Line:
    """A message that came or went. None: it was no candidate."""

    place: Place
    score_before: float | None
    score_after: float | None
    fate_before: Fate | None
    fate_after: Fate | None


@dataclass(frozen=True, slots=True)
class Replayed:
    """A recorded build, asked again.

    Attributes
    ----------
    after : what came of it; None: it was not asked again.
    left_out : why it was not; empty: it was.
    came, went : lines that the other one shows, or does not show.
    kept_count : lines that both show.
    gone_count, recalled_count, edited_count : its candidates that were erased since, recalled since, ever edited.
    """

    before: UsageRecord
    after: UsageRecord | None = None
    left_out: str = ""
    came: tuple[Line, ...] = ()
    went: tuple[Line, ...] = ()
    kept_count: int = 0
    gone_count: int = 0
    recalled_count: int = 0
    edited_count: int = 0


@dataclass(slots=True)
class ReplaySummary:
    """What replays came to."""

    replayed: int = 0
    same: int = 0
    came: int = 0
    went: int = 0
    kept: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    left_out: Counter[str] = field(default_factory=Counter)

    def add(self, one: Replayed) -> None:
        """Count one."""
        if one.after is None:
            self.left_out[one.left_out] += 1
            return
        self.replayed += 1
        self.same += not one.came and not one.went
        self.came += len(one.came)
        self.went += len(one.went)
        self.kept += one.kept_count
        self.tokens_before += one.before.tokens
        self.tokens_after += one.after.tokens


def difference(before: UsageRecord, after: UsageRecord, changes: tuple[int, int, int]) -> Replayed:
    """What the second record shows that the first does not, and the other way round, best first."""
    first, second = _scored(before), _scored(after)
    shown = {place for place, (_, fate) in first.items() if fate is Fate.SELECTED}
    shows = {place for place, (_, fate) in second.items() if fate is Fate.SELECTED}

    def lines(places: set[Place], scored: Mapping[Place, tuple[float, Fate]]) -> tuple[Line, ...]:
        order = sorted(places, key=lambda place: (-scored[place][0], place))
        return tuple(_line(place, first.get(place), second.get(place)) for place in order)

    return Replayed(
        before,
        after,
        "",
        lines(shows - shown, second),
        lines(shown - shows, first),
        len(shown & shows),
        *changes,
    )


def _line(
    place: Place, before: tuple[float, Fate] | None, after: tuple[float, Fate] | None
) -> Line:
    score_before, fate_before = before or (None, None)
    score_after, fate_after = after or (None, None)
    return Line(place, score_before, score_after, fate_before, fate_after)


def _scored(record: UsageRecord) -> dict[Place, tuple[float, Fate]]:
    packed = unpack_candidates(record.candidates)
    own = {("", one.seq): (one.score, one.fate) for one in packed}
    return own | {(one.channel, one.seq): (one.score, one.fate) for one in record.foreign}
