"""AdminService at the edge: what the server has recorded of its own work, and what it counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

from backscroll.v1 import admin_pb2 as pb
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.domain import ChannelKey, Sharing
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.built import recorded_event
from backscroll_sidecar.edge.convert.channel_settings import (
    settings_from_proto,
    settings_to_proto,
)
from backscroll_sidecar.edge.convert.fields import (
    check_count,
    check_id,
    check_range,
    check_text,
    required_id,
)
from backscroll_sidecar.edge.convert.history import limit_of
from backscroll_sidecar.edge.convert.metrics import metrics_response
from backscroll_sidecar.edge.convert.pages import page_name, page_position, page_token, place_of
from backscroll_sidecar.edge.convert.tuning import report_to_proto, version_to_proto
from backscroll_sidecar.edge.convert.usage import usage_query, usage_to_proto
from backscroll_sidecar.edge.limits import (
    MAX_ANSWER_BYTES,
    MAX_EVENT_TYPES,
    MAX_METRIC_NAMES,
    MAX_REQUESTED_BY_BYTES,
)
from backscroll_sidecar.edge.services.experiments import ExperimentCalls
from backscroll_sidecar.errors import NotAllowed
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.learning.channel_settings import ChannelSettingsService
from backscroll_sidecar.learning.experiment_reads import ExperimentReports
from backscroll_sidecar.learning.experiments import ExperimentService
from backscroll_sidecar.learning.tuner import Tuner
from backscroll_sidecar.learning.usage import UsageReads
from backscroll_sidecar.ports import EventQuery, RecordedEvent
from backscroll_sidecar.telemetry.metrics import Metrics
from backscroll_sidecar.telemetry.minutes import MINUTES

EVENT_US = 10
USAGE_US = 20
CANDIDATE_US = 1


class AdminServicer(ExperimentCalls):
    """Answers AdminService. Safe for any number of calls at once on one event loop."""

    SERVICE = pb.DESCRIPTOR.services_by_name["AdminService"]

    def __init__(
        self,
        history: HistoryService,
        usage: UsageReads,
        channel_settings: ChannelSettingsService,
        tuner: Tuner,
        profiles: Mapping[str, Profile],
        metrics: Metrics,
        experiments: ExperimentService,
        reports: ExperimentReports,
        *,
        tenants: Callable[[], Collection[str]],
    ) -> None:
        super().__init__(experiments, reports, profiles)
        self._history = history
        self._usage = usage
        self._channel_settings = channel_settings
        self._tuner = tuner
        self._metrics = metrics
        self._tenants = tenants

    async def list_events(self, request: pb.ListEventsRequest, call: Call) -> pb.ListEventsResponse:
        """Page through what was recorded of a channel."""
        key = ChannelKey(call.tenant, required_id(request.channel, "channel"))
        limit = limit_of(request)
        # One more than fits: it tells whether there is a next page.
        found = await self._history.events(key, _query(request, limit + 1))
        answer = pb.ListEventsResponse()
        slices = LoopSlices()
        for one in found[:limit]:
            await slices.spend(EVENT_US)
            answer.events.append(_recorded(one))
        if len(found) > limit:
            answer.next_page_token = page_token(request, found[limit - 1].number)
        return answer

    async def get_usage_record(
        self, request: pb.GetUsageRecordRequest, call: Call
    ) -> pb.GetUsageRecordResponse:
        """What is recorded of one build."""
        context_id = required_id(request.context_id, "context_id")
        found = await self._usage.get(call.tenant, context_id, call.allowed)
        return pb.GetUsageRecordResponse(record=usage_to_proto(found))

    async def list_usage_records(
        self, request: pb.ListUsageRecordsRequest, call: Call
    ) -> pb.ListUsageRecordsResponse:
        """Page through recorded builds."""
        limit = limit_of(request)
        query = usage_query(request, limit + 1)
        found = await self._usage.list(
            call.tenant, query, with_candidates=request.with_candidates, allowed=call.allowed
        )
        answer = pb.ListUsageRecordsResponse()
        slices = LoopSlices()
        size = 0
        for place, one in enumerate(found):
            await slices.spend(USAGE_US + CANDIDATE_US * len(one.candidates))
            told = usage_to_proto(one)
            size += told.ByteSize()
            if place == limit or (place and size > MAX_ANSWER_BYTES):
                answer.next_page_token = page_token(request, found[place - 1].number)
                break
            answer.records.append(told)
        return answer

    async def get_channel_settings(
        self, request: pb.GetChannelSettingsRequest, call: Call
    ) -> pb.GetChannelSettingsResponse:
        """What is set for a channel."""
        found = await self._channel_settings.get(_key(request.channel, call))
        return pb.GetChannelSettingsResponse(settings=settings_to_proto(found))

    async def set_channel_settings(
        self, request: pb.SetChannelSettingsRequest, call: Call
    ) -> pb.SetChannelSettingsResponse:
        """Set it, after its commit."""
        channel, settings = settings_from_proto(request, self._profiles)
        key = ChannelKey(call.tenant, channel)
        if call.allowed is not None and settings.sharing is not None:
            await self._check_groups(key, settings.sharing)
        stored = await self._channel_settings.set(key, settings, call.deadline_s)
        return pb.SetChannelSettingsResponse(settings=settings_to_proto(stored))

    async def _check_groups(self, key: ChannelKey, sharing: Sharing) -> None:
        """Refuse what would open channels of others to a key that is limited to its own: to join a group."""
        before = (await self._channel_settings.read(key)).sharing or Sharing()
        if not set(sharing.groups) <= set(before.groups):
            raise NotAllowed(
                "a key that is limited to channels cannot join them to groups",
                field="settings.sharing.groups",
            )

    async def list_channel_settings(
        self, request: pb.ListChannelSettingsRequest, call: Call
    ) -> pb.ListChannelSettingsResponse:
        """Page through what is set, the newest first."""
        limit = limit_of(request)
        place = page_name(request)
        before = None if place is None else place_of(place)
        found = await self._channel_settings.list(call.tenant, limit + 1, before, call.allowed)
        answer = pb.ListChannelSettingsResponse(settings=map(settings_to_proto, found[:limit]))
        if len(found) > limit:
            last = found[limit - 1]
            answer.next_page_token = page_token(request, f"{last.updated_at_ms} {last.number}")
        return answer

    async def delete_channel_settings(
        self, request: pb.DeleteChannelSettingsRequest, call: Call
    ) -> pb.DeleteChannelSettingsResponse:
        """Leave a channel to the server's settings."""
        key = _key(request.channel, call)
        was_set = await self._channel_settings.delete(key, call.deadline_s)
        return pb.DeleteChannelSettingsResponse(was_set=was_set)

    async def tune_channel(
        self, request: pb.TuneChannelRequest, call: Call
    ) -> pb.TuneChannelResponse:
        """Tune a channel by its records."""
        requested_by = check_text(request.requested_by, "requested_by", MAX_REQUESTED_BY_BYTES)
        report = await self._tuner.tune(
            _key(request.channel, call), dry_run=request.dry_run, requested_by=requested_by
        )
        return report_to_proto(report)

    async def list_weight_versions(
        self, request: pb.ListWeightVersionsRequest, call: Call
    ) -> pb.ListWeightVersionsResponse:
        """Page through the weights a channel had."""
        limit = limit_of(request)
        found = await self._tuner.versions.history(
            _key(request.channel, call), limit + 1, page_position(request)
        )
        factors = self._tuner.factors
        answer = pb.ListWeightVersionsResponse(
            versions=[version_to_proto(one, factors) for one in found[:limit]]
        )
        if len(found) > limit:
            answer.next_page_token = page_token(request, found[limit - 1].version)
        return answer

    async def roll_back_weights(
        self, request: pb.RollBackWeightsRequest, call: Call
    ) -> pb.RollBackWeightsResponse:
        """Take adopted weights back."""
        version = request.version if request.HasField("version") else None
        requested_by = check_text(request.requested_by, "requested_by", MAX_REQUESTED_BY_BYTES)
        new = await self._tuner.roll_back(_key(request.channel, call), version, requested_by)
        return pb.RollBackWeightsResponse(version=version_to_proto(new, self._tuner.factors))

    async def get_metrics(self, request: pb.GetMetricsRequest, call: Call) -> pb.GetMetricsResponse:  # noqa: ARG002
        """What a scrape would tell."""
        if len(self._tenants()) > 1:
            raise NotAllowed("metrics are of all tenants: scrape them where the server runs")
        check_count(len(request.names), "names", MAX_METRIC_NAMES)
        check_range(request.minutes, "minutes", 0, MINUTES)
        return await asyncio.to_thread(metrics_response, self._metrics, request)


def _key(channel: str, call: Call) -> ChannelKey:
    return ChannelKey(call.tenant, required_id(channel, "channel"))


def _query(request: pb.ListEventsRequest, limit: int) -> EventQuery:
    check_count(len(request.types), "types", MAX_EVENT_TYPES)
    for place, type_ in enumerate(request.types):
        required_id(type_, f"types[{place}]")
    position = page_position(request)
    return EventQuery(
        check_id(request.context_id, "context_id"),
        tuple(request.types),
        limit,
        newest_first=request.newest_first,
        before=position if request.newest_first else None,
        after=None if request.newest_first else position,
    )


def _recorded(one: RecordedEvent) -> pb.RecordedEvent:
    return pb.RecordedEvent(
        event=recorded_event(one.event),
        context_id=one.context_id,
        message_id=one.event.message_id,
    )
