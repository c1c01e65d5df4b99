"""Topic labels and exported builds on the wire."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterable, Sequence

from backscroll.v1 import learning_pb2 as pb
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.edge.convert.fields import (
    check_count,
    check_id,
    check_time,
    missing,
    required_id,
)
from backscroll_sidecar.edge.convert.usage import usage_to_proto
from backscroll_sidecar.edge.limits import MAX_ANSWER_BYTES, MAX_LABELLED_MESSAGES
from backscroll_sidecar.learning.consented import ExportedUsage, ExportSummary
from backscroll_sidecar.learning.topic_labels import TopicLabel
from backscroll_sidecar.ports import UsageQuery

EXPORT_VERSION = 1
USAGE_US = 20
CANDIDATE_US = 1


def label_to_proto(one: TopicLabel) -> pb.TopicLabel:
    """A label as callers read it."""
    return pb.TopicLabel(
        message_id=one.message_id, label=one.label, set_by=one.set_by, set_at_ms=one.set_at_ms
    )


def message_ids(given: Sequence[str], *, is_required: bool) -> Sequence[str]:
    """The messages that a request names, checked."""
    if is_required and not given:
        raise missing("message_ids")
    check_count(len(given), "message_ids", MAX_LABELLED_MESSAGES)
    return [required_id(one, f"message_ids[{place}]") for place, one in enumerate(given)]


def export_query(request: pb.ExportUsageRecordsRequest) -> UsageQuery:
    """Which builds an export is about."""
    since = request.since_ms if request.HasField("since_ms") else None
    until = request.until_ms if request.HasField("until_ms") else None
    return UsageQuery(
        check_id(request.channel, "channel"),
        check_id(request.user_id, "user_id"),
        since_ms=None if since is None else check_time(since, "since_ms"),
        until_ms=None if until is None else check_time(until, "until_ms"),
    )


async def export_runs(
    builds: AsyncIterable[ExportedUsage], summary: ExportSummary
) -> AsyncGenerator[pb.ExportUsageRecordsResponse]:
    """Cut an export into runs that every client's default limits take; the last one is the summary."""
    slices = LoopSlices()
    run, size = pb.ExportUsageRecordsResponse(), 0
    async for build in builds:
        await slices.spend(USAGE_US + CANDIDATE_US * len(build.usage.candidates))
        told = _exported(build)
        told_bytes = told.ByteSize()
        if run.builds and size + told_bytes > MAX_ANSWER_BYTES:
            yield run
            run, size = pb.ExportUsageRecordsResponse(), 0
        run.builds.append(told)
        size += told_bytes
    if run.builds:
        yield run
    yield pb.ExportUsageRecordsResponse(
        summary=pb.ExportSummary(
            build_count=summary.builds,
            left_out_by_channel=summary.left_out_by_channel,
            left_out_by_user=summary.left_out_by_user,
            left_out_message_count=summary.left_out_messages,
        )
    )


def _exported(build: ExportedUsage) -> pb.ExportedUsage:
    return pb.ExportedUsage(
        version=EXPORT_VERSION,
        record=usage_to_proto(build.usage),
        messages=[
            pb.ExportedMessage(
                message_id=one.message_id,
                channel=one.channel,
                topic_labels=one.topic_labels,
                text=one.text,
            )
            for one in build.messages
        ],
    )
