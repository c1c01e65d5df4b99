"""Recorded builds of an experiment as columns: what a report is made of. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int64
from backscroll_sidecar.domain import Rung
from backscroll_sidecar.learning.experiment_report import ArmReport, ExperimentReport, report
from backscroll_sidecar.ports import SignalKind, StoredUsage


@dataclass(slots=True, eq=False)
class Builds:
    """Builds of some arms, a row each.

    Attributes
    ----------
    names : of the arms; builds of others are not taken.
    contexts : shown messages of builds that were answered, by context id.
    signals : by arm and kind, what was read from what people wrote next.
    """

    names: Sequence[str]
    contexts: dict[str, frozenset[int]] = field(default_factory=dict)
    signals: dict[tuple[str, SignalKind], int] = field(default_factory=dict)
    _rows: list[tuple[StoredUsage, float]] = field(default_factory=list)
    _listed: list[tuple[StoredUsage, float]] = field(default_factory=list)
    _shadows: list[tuple[StoredUsage, float]] = field(default_factory=list)

    def add(self, one: StoredUsage, recall: float) -> None:
        """Take a build; `recall`: whether it shows what its question answers, NaN where that is not known."""
        if one.record.trial.shadow_of:
            self._shadows.append((one, recall))
            return
        self.contexts[one.record.context_id] = frozenset(one.record.context)
        if one.record.trial.arm in self.names:
            rows = self._listed if one.record.trial.is_listed else self._rows
            rows.append((one, recall))

    @property
    def has_drawn(self) -> bool:
        """Whether there are builds of channels whose arm was drawn."""
        return bool(self._rows)

    def compared(self, weights: Sequence[float], drawn_since_ms: int) -> ExperimentReport:
        """All arms. `weights`: what share of the channels each should have, since `drawn_since_ms`."""
        is_drawn = np.array(
            [one.record.created_at_ms >= drawn_since_ms for one, _ in self._rows], np.bool_
        )
        return self._report(self._rows, weights, is_drawn)

    def listed(self) -> Sequence[ArmReport]:
        """The arms that listed channels are in, by builds of these alone."""
        found = self._report(self._listed, [0.0] * len(self.names), None)
        return [arm for arm in found.arms if arm.builds]

    def _report(
        self,
        rows: Sequence[tuple[StoredUsage, float]],
        weights: Sequence[float],
        is_drawn: Bool | None,
    ) -> ExperimentReport:
        places = {name: place for place, name in enumerate(self.names)}
        arm = np.array([places[one.record.trial.arm] for one, _ in rows], np.int64)
        return report(
            self.names, weights, arm, *_columns(rows), fallbacks=_fallbacks(rows), is_drawn=is_drawn
        )

    def shadow(self, name: str) -> ArmReport | None:
        """The arm that was built behind the answers; None: it never was."""
        rows = [row for row in self._shadows if row[0].record.trial.arm == name]
        if not rows:
            return None
        same = np.array([self._same(one) for one, _ in rows], np.float64)
        arm = np.zeros(len(rows), np.int64)
        found = report(
            (name,), (1.0,), arm, *_columns(rows), fallbacks=_fallbacks(rows), same_messages=same
        )
        return found.arms[0]

    def _same(self, one: StoredUsage) -> float:
        """The messages shown by it and by the answer, as a share of those shown by either."""
        answered = self.contexts.get(one.record.trial.shadow_of)
        if answered is None:
            return math.nan
        shown = frozenset(one.record.context)
        either = len(shown | answered)
        return len(shown & answered) / either if either else 1.0


def _columns(
    rows: Sequence[tuple[StoredUsage, float]],
) -> tuple[Int64, Float64, Float64, Float64, Float64]:
    """Channel, milliseconds, tokens, accuracy, recall."""
    numbers: dict[str, int] = {}
    channel = [numbers.setdefault(one.channel, len(numbers)) for one, _ in rows]
    rated = (one.success_indicator for one, _ in rows)
    return (
        np.array(channel, np.int64),
        np.array([one.record.build_us / 1e3 for one, _ in rows], np.float64),
        np.array([one.record.tokens for one, _ in rows], np.float64),
        np.array([math.nan if value is None else value for value in rated], np.float64),
        np.array([recall for _, recall in rows], np.float64),
    )


def _fallbacks(rows: Sequence[tuple[StoredUsage, float]]) -> Float64:
    return np.array([one.record.rung is not Rung.RANKED for one, _ in rows], np.float64)


def recall_of(one: StoredUsage, parents: Mapping[tuple[str, str], int]) -> float:
    """Whether a build shows what its question answers: 1 or 0; NaN where that is not known, or was to the build.

    `parents`: arrival numbers of what triggers answer, by channel and trigger.
    """
    record = one.record
    seq = None if record.knows_parent else parents.get((one.channel, record.trigger_message_id))
    return math.nan if seq is None else float(seq in record.context)


def wanted_triggers(builds: Collection[StoredUsage]) -> dict[str, list[str]]:
    """By channel: triggers of builds that did not know what their question answers."""
    found: dict[str, dict[str, None]] = {}
    for one in builds:
        record = one.record
        if not record.knows_parent and record.trigger_message_id:
            found.setdefault(one.channel, {})[record.trigger_message_id] = None
    return {channel: list(triggers) for channel, triggers in found.items()}
