"""Where the channels of one experiment are, remembered: a build asks for it and must not wait. Pure but for that."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import msgspec

from backscroll_sidecar.domain import Degradation, Overrides
from backscroll_sidecar.learning.buckets import Membership
from backscroll_sidecar.learning.experiment_settings import AssignedBy, ExperimentSettings, shares
from backscroll_sidecar.ports import CONTROL, NOWHERE, ArmSettings, Placement

MOST_KEPT = 20_000
"""Channels whose place is remembered, of one experiment; beyond it begins anew."""
_PLAIN = ArmSettings()
_PLAIN_OVERRIDES = msgspec.structs.asdict(Overrides())


class Placing:
    """Puts channels where they are in one experiment.

    Attributes
    ----------
    id, settings : of the experiment.
    """

    def __init__(self, id: str, settings: ExperimentSettings) -> None:
        self.id = id
        self.settings = settings
        self._drawer = settings.drawer(id)
        self._arms = {arm.name: arm.settings for arm in settings.arms}
        self._sets = fields_set(self._arms.values())
        self._kept: dict[str, Placement] = {}
        behind = settings.shadow
        self._shadow = (
            None
            if behind is None
            else Placement(id, behind.name, behind.settings, sets=fields_set([behind.settings]))
        )

    @property
    def asks_resolver(self) -> bool:
        """Whether somebody else says where channels are."""
        return self.settings.assigned_by is AssignedBy.RESOLVER

    @cached_property
    def shares(self) -> dict[str, float]:
        """What share of the channels each arm should have."""
        return shares(self.settings, self.id)

    @property
    def times(self) -> tuple[int, int]:
        """When it begins, and when it is over."""
        return self.settings.starts_at_ms, self.settings.end_ms

    def runs_at(self, now_ms: int) -> bool:
        """Whether builds go by it."""
        return self.settings.starts_at_ms <= now_ms < self.settings.end_ms

    def is_denied(self, channel: str) -> bool:
        """Whether it is in no arm, whoever says so."""
        return channel in self._drawer.denied

    def of(self, channel: str) -> Placement:
        """Where a channel is by its hash."""
        found = self._kept.get(channel)
        if found is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            found = self._kept[channel] = self._drawn(channel)
        return found

    def _drawn(self, channel: str) -> Placement:
        drawn = self._drawer.assign(channel)
        if drawn.membership is Membership.DENIED:
            return NOWHERE
        if drawn.membership is Membership.OUTSIDE:
            return self.in_arm(CONTROL) if self.settings.has_control else NOWHERE
        return self.in_arm(drawn.arm, is_listed=drawn.membership is Membership.ALLOWED)

    def in_arm(self, name: str, *, is_listed: bool = False) -> Placement:
        """The place of a channel in this arm; control and holdout have no settings and no shadow."""
        is_arm = name in self._arms
        return Placement(
            self.id,
            name,
            self._arms.get(name, _PLAIN),
            is_listed,
            self._sets,
            self._shadow if is_arm else None,
        )

    def by_resolver(self, name: str | None) -> Placement:
        """Where a channel is that the resolver put into this arm; nowhere, and why, where there is no such arm."""
        if not name:
            return NOWHERE
        if name not in self._arms:
            return unplaced("UNKNOWN_ARM")
        return self.in_arm(name)


def unplaced(reason: str) -> Placement:
    """A channel is built as without the experiment, because its arm is not known."""
    return Placement(lost=(Degradation("route", reason, "experiments"),))


def fields_set(arms: Iterable[ArmSettings]) -> frozenset[str]:
    """What any of these arms sets: "profile", "layout", fields of `Overrides`."""
    found: set[str] = set()
    for arm in arms:
        found |= {"profile"} if arm.profile else set()
        found |= {"layout"} if arm.layout is not None else set()
        given = msgspec.structs.asdict(arm.overrides)
        found |= {name for name, value in given.items() if value != _PLAIN_OVERRIDES[name]}
    return frozenset(found)
