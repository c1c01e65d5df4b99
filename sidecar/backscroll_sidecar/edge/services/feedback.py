"""FeedbackService at the edge: translate, ask the service, translate."""

from __future__ import annotations

from backscroll.v1 import feedback_pb2 as pb
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.usage import feedback_from_proto
from backscroll_sidecar.learning.feedback import FeedbackService


class FeedbackServicer:
    """Answers FeedbackService. Safe for any number of calls at once on one event loop."""

    SERVICE = pb.DESCRIPTOR.services_by_name["FeedbackService"]

    def __init__(self, feedback: FeedbackService) -> None:
        self._feedback = feedback

    async def record_feedback(
        self, request: pb.RecordFeedbackRequest, call: Call
    ) -> pb.RecordFeedbackResponse:
        """Keep what somebody says of an answer, after its commit."""
        given = feedback_from_proto(request)
        stored = await self._feedback.record(call.tenant, given, call.deadline_s, call.allowed)
        return pb.RecordFeedbackResponse(
            context_id=stored.record.context_id,
            user_feedback=stored.user_feedback,
            success_indicator=stored.success_indicator,
        )
