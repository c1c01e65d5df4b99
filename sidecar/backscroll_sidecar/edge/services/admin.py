"""AdminService at the edge: what the server has recorded of its own work."""

from __future__ import annotations

from backscroll.v1 import admin_pb2 as pb
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.built import recorded_event
from backscroll_sidecar.edge.convert.fields import check_count, check_id, required_id
from backscroll_sidecar.edge.convert.history import limit_of
from backscroll_sidecar.edge.convert.pages import page_position, page_token
from backscroll_sidecar.edge.limits import MAX_EVENT_TYPES
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.ports import EventQuery, RecordedEvent

EVENT_US = 10


class AdminServicer:
    """Answers AdminService. Safe for any number of calls at once on one event loop."""

    SERVICE = pb.DESCRIPTOR.services_by_name["AdminService"]

    def __init__(self, history: HistoryService) -> None:
        self._history = history

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
