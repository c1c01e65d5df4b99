"""What the figures of a report cannot tell, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from backscroll_sidecar.learning.experiment_report import ArmReport
from backscroll_sidecar.ports import HOLDOUT

LEAST_CHANNELS, LEAST_RATED = 20, 30
"""Below these an interval says little: channels of an arm, and builds of it with explicit feedback."""


def notes(
    arms: Sequence[ArmReport],
    listed: Sequence[ArmReport],
    shadow: ArmReport | None,
    alarm_probability: float | None,
    *,
    is_cut: bool,
    has_older_arms: bool,
) -> Iterator[str]:
    """Notes in the order of their weight.

    `listed`: arms by builds of listed channels. `alarm_probability`: that of the sample ratio where it is alarming;
    `is_cut`: there are more builds than were read; `has_older_arms`: some were made by other settings of the same arms.
    """
    if alarm_probability is not None:
        yield (
            f"sample ratio alarm (p = {alarm_probability:.2g}): the arms do not have the channels that their weights "
            "ask for, so differences between them mean nothing"
        )
    if not any(arm.builds for arm in (*arms, *listed)):
        yield "there is no data: no build of this experiment is recorded"
        return
    if has_older_arms:
        yield "the arms changed in this time: older builds were made by other settings"
    for arm in arms:
        yield from _too_little(arm)
    if all(arm.recall is None for arm in arms):
        yield "recall is unknown: no trigger got its reply edge after its build"
    else:
        yield "recall is of triggers whose reply edge was stored after the build, such as by an import"
    if listed:
        yield "listed channels are told apart: nobody drew their arm, so they do not compare with others"
    if shadow is not None:
        yield f"{shadow.name} was built in idle moments: its times do not compare with the others'"
    if is_cut:
        yield "these are the newest builds only; there are more"


def _too_little(arm: ArmReport) -> Iterator[str]:
    if not arm.builds:
        if arm.name != HOLDOUT:
            yield f"{arm.name}: no builds"
        return
    if arm.channels < LEAST_CHANNELS:
        yield f"{arm.name}: too little data, {arm.channels} of at least {LEAST_CHANNELS} channels"
    rated = 0 if arm.accuracy is None else arm.accuracy.count
    if rated < LEAST_RATED:
        yield (
            f"{arm.name}: too little explicit feedback, {rated} of at least {LEAST_RATED} builds are rated"
        )
