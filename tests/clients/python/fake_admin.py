# ruff: noqa: N802  (the names of the RPCs)
"""The fake server's records, settings and feedback."""

from backscroll.v1 import (
    admin_pb2,
    admin_pb2_grpc,
    context_pb2,
    feedback_pb2,
    feedback_pb2_grpc,
)
from tests.clients.python.fake_experiments import Experiments


class Admin(Experiments, admin_pb2_grpc.AdminServiceServicer):
    def __init__(self, fake):
        self.fake = fake

    def ListEvents(self, request, context):
        self.fake.arrive("ListEvents", request, context)
        types = request.types or ["agent.started", "turn.started", "model.called", "turn.ended"]
        first = int(request.page_token or 0)
        end = first + (request.limit or 100)
        events = [
            admin_pb2.RecordedEvent(event=context_pb2.Event(type=one), context_id="c1")
            for one in types
        ]
        return admin_pb2.ListEventsResponse(
            events=events[first:end], next_page_token=str(end) if end < len(events) else ""
        )

    def GetUsageRecord(self, request, context):
        self.fake.arrive("GetUsageRecord", request, context)
        record = admin_pb2.UsageRecord(context_id=request.context_id, profile="balanced")
        return admin_pb2.GetUsageRecordResponse(record=record)

    def ListUsageRecords(self, request, context):
        self.fake.arrive("ListUsageRecords", request, context)
        first = int(request.page_token or 0)
        end = first + (request.limit or 100)
        records = [
            admin_pb2.UsageRecord(context_id=f"c{n}", channel=request.channel) for n in range(5)
        ]
        return admin_pb2.ListUsageRecordsResponse(
            records=records[first:end], next_page_token=str(end) if end < len(records) else ""
        )

    def GetChannelSettings(self, request, context):
        self.fake.arrive("GetChannelSettings", request, context)
        settings = self.fake.settings.get(
            request.channel, admin_pb2.ChannelSettings(channel=request.channel)
        )
        return admin_pb2.GetChannelSettingsResponse(settings=settings)

    def SetChannelSettings(self, request, context):
        self.fake.arrive("SetChannelSettings", request, context)
        self.fake.settings[request.settings.channel] = request.settings
        return admin_pb2.SetChannelSettingsResponse(settings=request.settings)

    def ListChannelSettings(self, request, context):
        self.fake.arrive("ListChannelSettings", request, context)
        first = int(request.page_token or 0)
        end = first + (request.limit or 100)
        found = list(self.fake.settings.values())[::-1]
        return admin_pb2.ListChannelSettingsResponse(
            settings=found[first:end], next_page_token=str(end) if end < len(found) else ""
        )

    def DeleteChannelSettings(self, request, context):
        self.fake.arrive("DeleteChannelSettings", request, context)
        was_set = self.fake.settings.pop(request.channel, None) is not None
        return admin_pb2.DeleteChannelSettingsResponse(was_set=was_set)

    def TuneChannel(self, request, context):
        self.fake.arrive("TuneChannel", request, context)
        return admin_pb2.TuneChannelResponse(
            channel=request.channel,
            reason=admin_pb2.TUNING_REASON_NO_PROPENSITIES,
            detail="replay only: no propensities",
        )

    def ListWeightVersions(self, request, context):
        self.fake.arrive("ListWeightVersions", request, context)
        first = int(request.page_token or 0)
        end = first + (request.limit or 100)
        found = self.fake.weight_versions.get(request.channel, [])[::-1]
        return admin_pb2.ListWeightVersionsResponse(
            versions=found[first:end], next_page_token=str(end) if end < len(found) else ""
        )

    def RollBackWeights(self, request, context):
        self.fake.arrive("RollBackWeights", request, context)
        known = self.fake.weight_versions.setdefault(request.channel, [])
        new = admin_pb2.WeightVersion(
            version=len(known) + 1,
            parent=len(known),
            reason=admin_pb2.TUNING_REASON_ROLLED_BACK,
            requested_by=request.requested_by,
        )
        known.append(new)
        return admin_pb2.RollBackWeightsResponse(version=new)

    def GetMetrics(self, request, context):
        self.fake.arrive("GetMetrics", request, context)
        names = request.names or ["backscroll_contexts_built_per_hour"]
        samples = [
            admin_pb2.MetricSample(name=one, value=3, unit="contexts/h", period="start")
            for one in names
        ]
        minutes = [admin_pb2.MetricMinute(began_at_ms=n) for n in range(request.minutes)]
        return admin_pb2.GetMetricsResponse(samples=samples, minutes=minutes)


class Feedback(feedback_pb2_grpc.FeedbackServiceServicer):
    def __init__(self, fake):
        self.fake = fake

    def RecordFeedback(self, request, context):
        self.fake.arrive("RecordFeedback", request, context)
        return feedback_pb2.RecordFeedbackResponse(
            context_id=request.context_id or "c1",
            user_feedback=request.text or None,
            success_indicator=(request.rating - 1) / 4 if request.rating else request.success,
        )
