"""Compactions and summaries of periods to protobuf."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.summaries.compaction import Compaction
from backscroll_sidecar.summaries.periods import PeriodSummary
from backscroll_sidecar.summaries.summary import SummaryKind

KIND_NUMBERS: Mapping[SummaryKind, Any] = {
    one: pb.SummaryKind.Value(f"SUMMARY_KIND_{one.name}") for one in SummaryKind
}


def compaction_to_proto(made: Compaction) -> pb.CompactResponse:
    """Translate what a compaction came to."""
    answer = pb.CompactResponse(
        outcome=f"COMPACT_OUTCOME_{made.outcome.name}",
        tokens_before=made.tokens_before,
        tokens_after=made.tokens_after,
        largest_message_id=made.largest_id,
        model_failure=made.model_failure,
    )
    if (summary := made.summary) is not None:
        answer.summary = summary.text
        answer.kind = KIND_NUMBERS[summary.kind]
        answer.message_count = summary.message_count
        answer.first_kept_message_id = made.first_kept_id
    return answer


def period_to_proto(one: PeriodSummary) -> pb.PeriodSummary:
    """Translate a summary of a period."""
    return pb.PeriodSummary(
        id=one.id,
        start_ms=one.start_ms,
        end_ms=one.end_ms,
        text=one.text,
        kind=KIND_NUMBERS[one.kind],
        message_ids=one.message_ids,
        token_count=one.tokens,
        made_at_ms=one.made_at_ms,
        model_failure=one.model_failure,
    )
