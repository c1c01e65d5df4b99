"""LearningService at the edge: labels, consent, recorded builds as data to learn from, and asked again."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing

from backscroll.v1 import learning_pb2 as pb
from backscroll_sidecar.context.replayed import ReplaySummary
from backscroll_sidecar.context.replaying import Replays
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.fields import check_id, required_id
from backscroll_sidecar.edge.convert.history import limit_of
from backscroll_sidecar.edge.convert.learning import (
    export_query,
    export_runs,
    label_to_proto,
    message_ids,
)
from backscroll_sidecar.edge.convert.pages import page_position, page_token
from backscroll_sidecar.edge.convert.replays import (
    replay_request,
    replay_summary_to_proto,
    replayed_to_proto,
)
from backscroll_sidecar.learning.consented import ExportSummary
from backscroll_sidecar.learning.learning import Learning


class LearningServicer:
    """Answers LearningService. Safe for any number of calls at once on one event loop."""

    SERVICE = pb.DESCRIPTOR.services_by_name["LearningService"]

    def __init__(self, learning: Learning, replays: Replays) -> None:
        self._replays = replays
        self._labels = learning.labels
        self._consent = learning.consent
        self._export = learning.export

    async def set_topic_labels(
        self, request: pb.SetTopicLabelsRequest, call: Call
    ) -> pb.SetTopicLabelsResponse:
        """Label messages, after its commit."""
        stored = await self._labels.set(
            _key(request.channel, call),
            required_id(request.label, "label"),
            message_ids(request.message_ids, is_required=True),
            check_id(request.set_by, "set_by"),
            call.deadline_s,
        )
        return pb.SetTopicLabelsResponse(labels=map(label_to_proto, stored))

    async def list_topic_labels(
        self, request: pb.ListTopicLabelsRequest, call: Call
    ) -> pb.ListTopicLabelsResponse:
        """Page through the labels of a channel."""
        limit = limit_of(request)
        found = await self._labels.list(
            _key(request.channel, call),
            check_id(request.label, "label"),
            after=page_position(request) or 0,
            limit=limit + 1,
        )
        answer = pb.ListTopicLabelsResponse(labels=map(label_to_proto, found[:limit]))
        if len(found) > limit:
            answer.next_page_token = page_token(request, found[limit - 1].number)
        return answer

    async def delete_topic_labels(
        self, request: pb.DeleteTopicLabelsRequest, call: Call
    ) -> pb.DeleteTopicLabelsResponse:
        """Take a label away."""
        count = await self._labels.delete(
            _key(request.channel, call),
            required_id(request.label, "label"),
            message_ids(request.message_ids, is_required=False),
            call.deadline_s,
        )
        return pb.DeleteTopicLabelsResponse(deleted_count=count)

    async def set_usage_consent(
        self, request: pb.SetUsageConsentRequest, call: Call
    ) -> pb.SetUsageConsentResponse:
        """Keep what a person said, after its commit."""
        user_id = required_id(request.user_id, "user_id")
        collects, deadline_s = request.collect_usage, call.deadline_s
        await self._consent.set(call.tenant, user_id, collects=collects, deadline_s=deadline_s)
        return pb.SetUsageConsentResponse()

    async def get_usage_consent(
        self, request: pb.GetUsageConsentRequest, call: Call
    ) -> pb.GetUsageConsentResponse:
        """What holds for a person."""
        user_id = required_id(request.user_id, "user_id")
        refusals = await self._consent.refusals(call.tenant)
        return pb.GetUsageConsentResponse(collect_usage=user_id not in refusals)

    async def export_usage_records(
        self, request: pb.ExportUsageRecordsRequest, call: Call
    ) -> AsyncIterator[pb.ExportUsageRecordsResponse]:
        """Stream recorded builds with what came of them."""
        query, summary = export_query(request), ExportSummary()
        builds = self._export.export(
            call.tenant, query, summary, with_texts=request.with_texts, allowed=call.allowed
        )
        async with aclosing(builds), aclosing(export_runs(builds, summary)) as runs:
            async for run in runs:
                yield run

    async def replay_builds(
        self, request: pb.ReplayBuildsRequest, call: Call
    ) -> AsyncIterator[pb.ReplayBuildsResponse]:
        """Stream recorded builds, asked again."""
        summary = ReplaySummary()
        replays = self._replays.replay(replay_request(request, call.tenant, call.allowed), summary)
        async with aclosing(replays):
            async for one, ids in replays:
                yield pb.ReplayBuildsResponse(build=replayed_to_proto(one, ids))
        yield pb.ReplayBuildsResponse(summary=replay_summary_to_proto(summary))


def _key(channel: str, call: Call) -> ChannelKey:
    return ChannelKey(call.tenant, required_id(channel, "channel"))
