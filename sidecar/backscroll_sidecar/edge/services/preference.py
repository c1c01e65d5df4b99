"""PreferenceService at the edge: translate, ask the service, translate."""

from __future__ import annotations

from backscroll.v1 import preference_pb2 as pb
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.fields import check_id, check_text, missing, required_id
from backscroll_sidecar.edge.limits import MAX_PREFERENCE_BYTES, MAX_PREFERENCE_ID_BYTES
from backscroll_sidecar.history.preferences import Preference, PreferenceService


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
        text = check_text(given.text, "preference.text", MAX_PREFERENCE_BYTES).strip()
        if not text:
            raise missing("preference.text")
        stored = await self._preferences.set(
            call.tenant,
            required_id(given.user_id, "preference.user_id"),
            check_id(given.channel, "preference.channel"),
            text,
            check_text(given.id, "preference.id", MAX_PREFERENCE_ID_BYTES),
            deadline_s=call.deadline_s,
        )
        return pb.SetPreferenceResponse(preference=_to_proto(stored))

    async def list_preferences(
        self, request: pb.ListPreferencesRequest, call: Call
    ) -> pb.ListPreferencesResponse:
        """List what is stored of one user."""
        found = await self._preferences.list(
            call.tenant,
            required_id(request.user_id, "user_id"),
            check_id(request.channel, "channel"),
            call.allowed,
        )
        return pb.ListPreferencesResponse(preferences=map(_to_proto, found))

    async def delete_preference(
        self, request: pb.DeletePreferenceRequest, call: Call
    ) -> pb.DeletePreferenceResponse:
        """Delete one, or all of a user and channel."""
        count = await self._preferences.delete(
            call.tenant,
            required_id(request.user_id, "user_id"),
            check_id(request.channel, "channel"),
            check_text(request.id, "id", MAX_PREFERENCE_ID_BYTES),
            deadline_s=call.deadline_s,
        )
        return pb.DeletePreferenceResponse(deleted_count=count)


def _to_proto(one: Preference) -> pb.Preference:
    return pb.Preference(
        id=one.id,
        user_id=one.user_id,
        channel=one.channel,
        text=one.text,
        updated_at_ms=one.updated_at_ms,
    )
