# ruff: noqa: N802  (the names of the RPCs)
"""The fake server's labels, consent and exports."""

from backscroll.v1 import admin_pb2, learning_pb2, learning_pb2_grpc


class Learning(learning_pb2_grpc.LearningServiceServicer):
    def __init__(self, fake):
        self.fake = fake
        self.labels = {}
        self.refusals = set()

    def SetTopicLabels(self, request, context):
        self.fake.arrive("SetTopicLabels", request, context)
        told = [
            learning_pb2.TopicLabel(message_id=id_, label=request.label, set_by=request.set_by)
            for id_ in request.message_ids
        ]
        self.labels |= {(one.label, one.message_id): one for one in told}
        return learning_pb2.SetTopicLabelsResponse(labels=told)

    def ListTopicLabels(self, request, context):
        self.fake.arrive("ListTopicLabels", request, context)
        first = int(request.page_token or 0)
        end = first + (request.limit or 100)
        found = [one for one in self.labels.values() if request.label in ("", one.label)]
        return learning_pb2.ListTopicLabelsResponse(
            labels=found[first:end], next_page_token=str(end) if end < len(found) else ""
        )

    def DeleteTopicLabels(self, request, context):
        self.fake.arrive("DeleteTopicLabels", request, context)
        gone = [
            (label, id_)
            for label, id_ in self.labels
            if label == request.label and (not request.message_ids or id_ in request.message_ids)
        ]
        for one in gone:
            del self.labels[one]
        return learning_pb2.DeleteTopicLabelsResponse(deleted_count=len(gone))

    def SetUsageConsent(self, request, context):
        self.fake.arrive("SetUsageConsent", request, context)
        if request.collect_usage:
            self.refusals.discard(request.user_id)
        else:
            self.refusals.add(request.user_id)
        return learning_pb2.SetUsageConsentResponse()

    def GetUsageConsent(self, request, context):
        self.fake.arrive("GetUsageConsent", request, context)
        said_no = request.user_id in self.refusals
        return learning_pb2.GetUsageConsentResponse(collect_usage=not said_no)

    def ExportUsageRecords(self, request, context):
        self.fake.arrive("ExportUsageRecords", request, context)
        for n in range(3):
            record = admin_pb2.UsageRecord(context_id=f"c{n}", channel=request.channel)
            build = learning_pb2.ExportedUsage(version=1, record=record)
            yield learning_pb2.ExportUsageRecordsResponse(builds=[build])
        summary = learning_pb2.ExportSummary(build_count=3)
        yield learning_pb2.ExportUsageRecordsResponse(summary=summary)

    def ReplayBuilds(self, request, context):
        self.fake.arrive("ReplayBuilds", request, context)
        for n in range(2):
            build = learning_pb2.ReplayedBuild(context_id=f"c{n}", policy_after=request.profile)
            yield learning_pb2.ReplayBuildsResponse(build=build)
        summary = learning_pb2.ReplaySummary(replayed_count=2)
        yield learning_pb2.ReplayBuildsResponse(summary=summary)
