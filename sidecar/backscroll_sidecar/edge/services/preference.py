"""PreferenceService at the edge: translate, ask the service, translate."""

from __future__ import annotations

import sys
from bisect import bisect_right

from backscroll.v1 import preference_pb2 as pb
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.fields import (
    check_id,
    check_text,
    check_time,
    invalid,
    missing,
    required_id,
)
from backscroll_sidecar.edge.convert.history import limit_of
from backscroll_sidecar.edge.convert.pages import page_name, page_token
from backscroll_sidecar.edge.convert.preferences import (
    judged_to_proto,
    kept_from_proto,
    topic_from_proto,
    topic_to_proto,
)
from backscroll_sidecar.edge.limits import MAX_ANSWER_BYTES, MAX_PREFERENCE_ID_BYTES
from backscroll_sidecar.preferences.service import PreferenceService
from backscroll_sidecar.preferences.validity import Judged

PREFERENCE_US = 10


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
        """Page through what is stored of a user."""
        limit, after = limit_of(request, sys.maxsize), page_name(request)
        found = await self._preferences.list(
            call.tenant,
            required_id(request.user_id, "user_id"),
            check_id(request.channel, "channel"),
            include_past=request.include_past,
            topic=topic_from_proto(request.topic, "topic"),
            at_ms=check_time(request.at_ms, "at_ms") if request.HasField("at_ms") else None,
            allowed=call.allowed,
        )
        if after is not None:
            found = found[bisect_right(found, _place(after), key=_place_of) :]
        answer, size, slices = pb.ListPreferencesResponse(), 0, LoopSlices()
        for place, one in enumerate(found):
            await slices.spend(PREFERENCE_US)
            told = judged_to_proto(one)
            size += told.ByteSize()
            if place == limit or (place and size > MAX_ANSWER_BYTES):
                last = " ".join(map(str, _place_of(found[place - 1])[::-1]))
                answer.next_page_token = page_token(request, last)
                break
            answer.preferences.append(told)
        return answer

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


def _place_of(one: Judged) -> tuple[str, int, int]:
    """Where it stands among those of its user: by channel, what was set first, by creation."""
    preference = one.preference
    return preference.channel, int(not preference.is_set), preference.number


def _place(name: str) -> tuple[str, int, int]:
    """The place that the name of a page holds."""
    number, is_read, channel = name.split(" ", 2)
    return channel, int(is_read), int(number)
