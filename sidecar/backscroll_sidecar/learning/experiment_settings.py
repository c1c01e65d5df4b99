"""An experiment as it is kept: what is tried where, from when to when. Pure."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.learning import buckets
from backscroll_sidecar.ports import CONTROL, HOLDOUT, ArmSettings

FOREVER_MS = 2**63 - 1


class AssignedBy(StrEnum):
    """Who puts channels into arms. Stored by these words."""

    HASH = "hash"
    RESOLVER = "resolver"


class ExperimentState(StrEnum):
    """Whether builds go by an experiment."""

    SCHEDULED = "scheduled"
    RUNNING = "running"
    STOPPED = "stopped"


class PlannedArm(msgspec.Struct, frozen=True, omit_defaults=True):
    """One way of building that is tried, and its part of the channels beside the others'."""

    name: str
    weight: float = 1.0
    settings: ArmSettings = ArmSettings()


class ExperimentSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """All that is kept of an experiment beside its id; most fields are those of `buckets.Experiment`.

    Attributes
    ----------
    shadow : built behind the answers of channels in an arm.
    starts_at_ms, stops_at_ms : from when to when builds go by it; None: it runs until it is stopped.
    comparable_since_ms : since when its arms are what they are.
    assigned_since_ms : since when channels are put into them as now.
    """

    arms: tuple[PlannedArm, ...]
    coverage: float = 1.0
    holdout: float = 0.0
    allowed: tuple[str, ...] = ()
    denied: tuple[str, ...] = ()
    shadow: PlannedArm | None = None
    assigned_by: AssignedBy = AssignedBy.HASH
    starts_at_ms: int = 0
    stops_at_ms: int | None = None
    description: str = ""
    bucket_version: int = 1
    comparable_since_ms: int = 0
    assigned_since_ms: int = 0

    @property
    def end_ms(self) -> int:
        """When it stops, exclusive; far away where that is open."""
        return FOREVER_MS if self.stops_at_ms is None else self.stops_at_ms

    @property
    def has_control(self) -> bool:
        """Whether channels outside its one arm are there to be compared with it."""
        return len(self.arms) == 1

    def drawer(self, id: str) -> buckets.Experiment:
        """What puts channels into its arms. Raises `ValueError` for fields outside their range."""
        return buckets.Experiment(
            id,
            tuple(buckets.Arm(arm.name, arm.weight) for arm in self.arms),
            self.coverage,
            self.holdout,
            frozenset(self.allowed),
            frozenset(self.denied),
            bucket_version=self.bucket_version,
        )

    def state_at(self, now_ms: int) -> ExperimentState:
        """Whether builds go by it."""
        if now_ms >= self.end_ms:
            return ExperimentState.STOPPED
        is_scheduled = now_ms < self.starts_at_ms
        return ExperimentState.SCHEDULED if is_scheduled else ExperimentState.RUNNING

    def overlaps(self, other: ExperimentSettings) -> bool:
        """Whether there is a moment at which both run."""
        starts_ms = max(self.starts_at_ms, other.starts_at_ms)
        return starts_ms < min(self.end_ms, other.end_ms)

    def stopped_at(self, now_ms: int) -> ExperimentSettings:
        """The same, over by then at the latest."""
        return msgspec.structs.replace(self, stops_at_ms=min(self.end_ms, now_ms))


def with_times(
    after: ExperimentSettings,
    before: ExperimentSettings | None,
    now_ms: int,
    starts_at_ms: int | None,
) -> ExperimentSettings:
    """What is put, with its times by the server's clock. `before`: what it replaces; `starts_at_ms`: as asked for.

    Raises `InvalidRequest` where it would stop before it starts.
    """
    if before is None:
        starts = max(now_ms, starts_at_ms or 0)
        comparable = assigned = starts
    else:
        has_begun = before.starts_at_ms <= now_ms
        starts = before.starts_at_ms
        if starts_at_ms is not None:
            starts = max(starts_at_ms, before.starts_at_ms if has_begun else now_ms)
        changed = now_ms if has_begun else starts
        comparable = before.comparable_since_ms if _builds_alike(before, after) else changed
        assigned = before.assigned_since_ms if _assigns_alike(before, after) else changed
        if not has_begun:
            comparable = assigned = starts
    if after.end_ms <= starts:
        raise InvalidRequest("it stops before it starts", field="experiment.stops_at_ms")
    return msgspec.structs.replace(
        after,
        starts_at_ms=starts,
        comparable_since_ms=comparable,
        assigned_since_ms=max(assigned, comparable),
    )


def _builds_alike(before: ExperimentSettings, after: ExperimentSettings) -> bool:
    """Whether the arms are the same: what was built by them can be added up."""
    names = ("arms", "shadow", "assigned_by", "bucket_version")
    return all(getattr(before, name) == getattr(after, name) for name in names)


def _assigns_alike(before: ExperimentSettings, after: ExperimentSettings) -> bool:
    names = ("coverage", "holdout", "allowed", "denied")
    return all(getattr(before, name) == getattr(after, name) for name in names)


def moved_share(
    id: str, before: ExperimentSettings | None, after: ExperimentSettings, now_ms: int
) -> float:
    """The share of channels, lists aside, that were in an arm or held out and would be elsewhere, 0 to 1.

    What has not begun moves nobody. Between hash and resolver nobody can tell: that is all of them.
    """
    if before is None or before.starts_at_ms > now_ms:
        return 0.0
    if before.assigned_by is not after.assigned_by:
        return 1.0
    if after.assigned_by is AssignedBy.RESOLVER:
        return 0.0
    return buckets.moved_share(before.drawer(id), after.drawer(id))


def shares(settings: ExperimentSettings, id: str) -> dict[str, float]:
    """What share of the channels each arm should have, control and holdout among them; arms without channels left out.

    Of a resolver's arms: their parts of all weights.
    """
    if settings.assigned_by is AssignedBy.RESOLVER:
        total = sum(arm.weight for arm in settings.arms)
        return {arm.name: arm.weight / total for arm in settings.arms}
    drawer = settings.drawer(id)
    found = dict.fromkeys([*(arm.name for arm in settings.arms), CONTROL, HOLDOUT], 0)
    for step in range(buckets.STEPS):
        name, _ = drawer.at_step(step)
        if name or settings.has_control:
            found[name or CONTROL] += 1
    return {name: count / buckets.STEPS for name, count in found.items() if count}
