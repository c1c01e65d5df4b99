"""What builds ask of experiments and rollouts: by what settings a channel's contexts are built."""

from __future__ import annotations

from typing import Protocol

import msgspec

from backscroll_sidecar.domain import ChannelKey, Degradation, Layout, Overrides

CONTROL, HOLDOUT = "control", "holdout"
"""Recorded as arms of channels that have none."""


class ArmSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """By what an arm builds. Empty or None: as without it."""

    profile: str = ""
    overrides: Overrides = Overrides()
    layout: Layout | None = None


class Placement(msgspec.Struct, frozen=True):
    """Where a channel is.

    Attributes
    ----------
    experiment_id : empty: in no experiment.
    arm : its name, `CONTROL` or `HOLDOUT`.
    is_listed : by the list of channels that are in anyhow: nobody drew its arm.
    sets : fields that any arm of the experiment sets: "profile", "layout", those of `Overrides`. A request that gives
        one of them takes no part.
    shadow : an arm that is built behind the answer; None: none is.
    lost : why it is where it is though it may belong elsewhere.
    """

    experiment_id: str = ""
    arm: str = ""
    settings: ArmSettings = ArmSettings()
    is_listed: bool = False
    sets: frozenset[str] = frozenset()
    shadow: Placement | None = None
    lost: tuple[Degradation, ...] = ()


NOWHERE = Placement()


class StoredExperiments(Protocol):
    """Where it is known in which arm a channel is."""

    def known(self, key: ChannelKey) -> Placement | None:
        """Where the channel is now; None: that must be read."""

    async def read(self, key: ChannelKey) -> Placement:
        """The same, read. Raises `StoreUnavailable`."""

    def count(self, key: ChannelKey, placement: Placement, *, takes_part: bool) -> None:
        """A build was made there; without `takes_part` it said itself what the arms set."""


class ShadowSink(Protocol):
    """Counts builds behind the answers."""

    def count_shadow(self, outcome: str) -> None:
        """One was built, dropped or failed."""
