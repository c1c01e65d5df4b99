"""Recorded builds of an experiment as columns: what a report is made of. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from backscroll_scoring.arrays import Bool, Float64, Int64
from backscroll_sidecar.domain import Rung
from backscroll_sidecar.learning.experiment_report import ArmReport, ExperimentReport, report
from backscroll_sidecar.ports import SignalKind, StoredUsage


class _Row(NamedTuple):
    """What a report takes of a build: a record with its candidates would be a hundred times as large."""

    channel: str
    arm: str
    created_at_ms: int
    build_ms: float
    tokens: int
    accuracy: float
    recall: float
    fell_back: bool


@dataclass(slots=True, eq=False)
class Builds:
    """Builds of some arms, a row each.

    Attributes
    ----------
    names : of the arms; builds of others are not taken.
    has_shadow : builds behind the answers are compared with these; else neither is kept for it.
    signals : by arm and kind, what was read from what people wrote next.
    """

    names: Sequence[str]
    has_shadow: bool = False
    signals: dict[tuple[str, SignalKind], int] = field(default_factory=dict)
    _rows: list[_Row] = field(default_factory=list)
    _listed: list[_Row] = field(default_factory=list)
    _shadows: list[tuple[_Row, str, tuple[int, ...]]] = field(default_factory=list)
    _contexts: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def add(self, one: StoredUsage, recall: float) -> None:
        """Take a build; `recall`: whether it shows what its question answers, NaN where that is not known."""
        record, trial = one.record, one.record.trial
        if trial.shadow_of:
            if self.has_shadow:
                self._shadows.append((_row(one, recall), trial.shadow_of, record.context))
            return
        if self.has_shadow:
            self._contexts[record.context_id] = record.context
        if trial.arm in self.names:
            (self._listed if trial.is_listed else self._rows).append(_row(one, recall))

    @property
    def has_drawn(self) -> bool:
        """Whether there are builds of channels whose arm was drawn."""
        return bool(self._rows)

    def compared(self, weights: Sequence[float], drawn_since_ms: int) -> ExperimentReport:
        """All arms. `weights`: what share of the channels each should have, since `drawn_since_ms`."""
        is_drawn = np.array([one.created_at_ms >= drawn_since_ms for one in self._rows], np.bool_)
        return self._report(self._rows, weights, is_drawn)

    def listed(self) -> Sequence[ArmReport]:
        """The arms that listed channels are in, by builds of these alone."""
        found = self._report(self._listed, [0.0] * len(self.names), None)
        return [arm for arm in found.arms if arm.builds]

    def _report(
        self, rows: Sequence[_Row], weights: Sequence[float], is_drawn: Bool | None
    ) -> ExperimentReport:
        places = {name: place for place, name in enumerate(self.names)}
        arm = np.array([places[one.arm] for one in rows], np.int64)
        return report(
            self.names, weights, arm, *_columns(rows), fallbacks=_fallbacks(rows), is_drawn=is_drawn
        )

    def shadow(self, name: str) -> ArmReport | None:
        """The arm that was built behind the answers; None: it never was."""
        found = [one for one in self._shadows if one[0].arm == name]
        if not found:
            return None
        rows = [row for row, _, _ in found]
        same = np.array([self._same(answer, shown) for _, answer, shown in found], np.float64)
        arm = np.zeros(len(rows), np.int64)
        summed = report(
            (name,), (1.0,), arm, *_columns(rows), fallbacks=_fallbacks(rows), same_messages=same
        )
        return summed.arms[0]

    def _same(self, answer: str, context: Sequence[int]) -> float:
        """The messages shown by it and by the answer, as a share of those shown by either."""
        if answer not in self._contexts:
            return math.nan
        shown, answered = frozenset(context), frozenset(self._contexts[answer])
        either = len(shown | answered)
        return len(shown & answered) / either if either else 1.0


def _row(one: StoredUsage, recall: float) -> _Row:
    record, rated = one.record, one.success_indicator
    return _Row(
        one.channel,
        record.trial.arm,
        record.created_at_ms,
        record.build_us / 1e3,
        record.tokens,
        math.nan if rated is None else rated,
        recall,
        record.rung is not Rung.RANKED,
    )


def _columns(rows: Sequence[_Row]) -> tuple[Int64, Float64, Float64, Float64, Float64]:
    """Channel, milliseconds, tokens, accuracy, recall."""
    numbers: dict[str, int] = {}
    channel = [numbers.setdefault(one.channel, len(numbers)) for one in rows]
    return (
        np.array(channel, np.int64),
        np.array([one.build_ms for one in rows], np.float64),
        np.array([one.tokens for one in rows], np.float64),
        np.array([one.accuracy for one in rows], np.float64),
        np.array([one.recall for one in rows], np.float64),
    )


def _fallbacks(rows: Sequence[_Row]) -> Float64:
    return np.array([one.fell_back for one in rows], np.float64)


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
