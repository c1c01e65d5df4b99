"""Tuned weights on the wire."""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.v1 import admin_pb2
from backscroll_sidecar.edge.convert.fields import numbers_of
from backscroll_sidecar.learning.adoption import Reason
from backscroll_sidecar.learning.rated_builds import WEIGHTED_PROFILE
from backscroll_sidecar.learning.tuning import Evidence, GainEstimate, TuningReport
from backscroll_sidecar.learning.weight_versions import WeightVersion

_REASONS = numbers_of(Reason, admin_pb2.TuningReason, "TUNING_REASON")


def report_to_proto(report: TuningReport) -> admin_pb2.TuneChannelResponse:
    """What was decided, as callers read it."""
    outcome = report.outcome
    return admin_pb2.TuneChannelResponse(
        channel=report.channel,
        profile=WEIGHTED_PROFILE,
        reason=_REASONS[outcome.decision.reason],
        detail=outcome.decision.detail,
        changed=outcome.decision.changes,
        version=report.version,
        factors=report.factors,
        current_weights=report.current,
        proposed_weights=outcome.proposed or (),
        evidence=None if outcome.evidence is None else _evidence(outcome.evidence),
        recorded_builds=report.builds,
        rated_builds=report.rated_builds,
    )


def version_to_proto(one: WeightVersion, factors: Sequence[str]) -> admin_pb2.WeightVersion:
    """A version, as callers read it."""
    return admin_pb2.WeightVersion(
        version=one.version,
        parent=one.parent,
        factors=factors,
        weights=one.weights,
        reason=_REASONS[one.reason],
        detail=one.detail,
        requested_by=one.requested_by,
        created_at_ms=one.created_at_ms,
        evidence=None if one.evidence is None else _evidence(one.evidence),
    )


def _evidence(one: Evidence) -> admin_pb2.TuningEvidence:
    return admin_pb2.TuningEvidence(
        direct=_estimate(one.direct),
        snips=_estimate(one.snips),
        doubly_robust=_estimate(one.doubly_robust),
        decisions=one.decisions,
        effective_decisions=one.effective_decisions,
        largest_share=one.largest_share,
        guards=[
            admin_pb2.TuningGuard(
                name=guard.name,
                incumbent=guard.incumbent,
                candidate=guard.candidate,
                most=guard.most,
            )
            for guard in one.guards
        ],
    )


def _estimate(one: GainEstimate) -> admin_pb2.GainEstimate:
    return admin_pb2.GainEstimate(value=one.value, lower=one.lower, upper=one.upper)
