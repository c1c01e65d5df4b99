"""PreferenceService at the edge: translate, ask the service, translate."""

from __future__ import annotations

from backscroll.v1 import preference_pb2 as pb
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.fields import (
    check_id,
    check_text,
    check_time,
    invalid,
    missing,
    required_id,
)
from backscroll_sidecar.edge.convert.preferences import (
    judged_to_proto,
    kept_from_proto,
    topic_from_proto,
    topic_to_proto,
)
from backscroll_sidecar.edge.limits import MAX_PREFERENCE_ID_BYTES
from backscroll_sidecar.preferences.service import PreferenceService


class PreferenceServicer:
    """Answers PreferenceService. Safe for any number of calls at once on one event loop."""

    SERVICE = pb.DESCRIPTOR.services_by_name["PreferenceService"]

    def __init__(self, preferences: PreferenceService) -> None:
        self._preferences = preferences

    async def set_preference(
        self, request: pb.SetPreferenceRequest, call: Call
    ) -> pb.SetPreferenceResponse:
        """Store a preference, after its commit."""
        if not request.HasField("preference"):
            raise missing("preference")
        given = request.preference
        user_id = required_id(given.user_id, "preference.user_id")
        kept = kept_from_proto(given, self._preferences.topics)
        stored = await self._preferences.set(
            call.tenant,
            user_id,
            check_id(given.channel, "preference.channel"),
            kept,
            check_text(given.id, "preference.id", MAX_PREFERENCE_ID_BYTES),
            deadline_s=call.deadline_s,
        )
        return pb.SetPreferenceResponse(preference=judged_to_proto(stored))

    async def list_preferences(
        self, request: pb.ListPreferencesRequest, call: Call
    ) -> pb.ListPreferencesResponse:
        """What is stored of a user."""
        found = await self._preferences.list(
            call.tenant,
            required_id(request.user_id, "user_id"),
            check_id(request.channel, "channel"),
            include_past=request.include_past,
            topic=topic_from_proto(request.topic, "topic"),
            at_ms=check_time(request.at_ms, "at_ms") if request.HasField("at_ms") else None,
            allowed=call.allowed,
        )
        return pb.ListPreferencesResponse(preferences=map(judged_to_proto, found))

    async def delete_preference(
        self, request: pb.DeletePreferenceRequest, call: Call
    ) -> pb.DeletePreferenceResponse:
        """Delete one, or all of a user and channel, or all of a user, after its commit."""
        user_id = required_id(request.user_id, "user_id")
        channel = check_id(request.channel, "channel")
        id_ = check_text(request.id, "id", MAX_PREFERENCE_ID_BYTES)
        if request.all_channels and (channel or id_):
            raise invalid("all_channels", "stands beside a channel or an id")
        count = await self._preferences.delete(
            call.tenant,
            user_id,
            channel,
            id_,
            all_channels=request.all_channels,
            deadline_s=call.deadline_s,
        )
        return pb.DeletePreferenceResponse(deleted_count=count)

    async def list_preference_topics(
        self,
        request: pb.ListPreferenceTopicsRequest,  # noqa: ARG002
        call: Call,  # noqa: ARG002
    ) -> pb.ListPreferenceTopicsResponse:
        """The topics that are known."""
        topics = map(topic_to_proto, self._preferences.topics.all())
        return pb.ListPreferenceTopicsResponse(topics=topics)
