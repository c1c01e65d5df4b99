"""Pages of what is recorded: builds of a channel, one of them asked again, and events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from backscroll.v1 import admin_pb2
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.inspector import explained, recorded
from backscroll_sidecar.inspector.question_fields import pairs_of
from backscroll_sidecar.inspector.said import stored
from backscroll_sidecar.inspector.shared_calls import built_of, explained_with_texts, messages_of
from backscroll_sidecar.inspector.visits import Page, Visit

BUILDS, EVENTS = 50, 100
"""Of a page."""


async def builds(visit: Visit) -> Page:
    """Recorded builds of a channel, the newest first."""
    channel = visit.field("channel")
    request = admin_pb2.ListUsageRecordsRequest(
        channel=channel,
        user_id=visit.field("user_id"),
        newest_first=True,
        limit=BUILDS,
        page_token=visit.field("page_token"),
        with_shadows=True,
    )
    answer = await visit.asked.ask(
        "AdminService/ListUsageRecords", request, admin_pb2.ListUsageRecordsResponse
    )
    asked = [one.trigger_message_id for one in answer.records if one.channel == channel]
    texts = {one.message.id: stored(one) for one in await messages_of(visit, channel, asked)}
    view = {
        "channel": channel,
        "builds": [recorded.record_line(one, texts) for one in answer.records],
        "next": answer.next_page_token,
        "page_token": request.page_token,
        "user_id": request.user_id,
    }
    return Page("builds.html", view, "builds", channel)


async def build(visit: Visit) -> Page:
    """A recorded build: what is kept of it, and the same question asked again at its moment."""
    answer = await visit.asked.ask(
        "AdminService/GetUsageRecord",
        admin_pb2.GetUsageRecordRequest(context_id=visit.field("id")),
        admin_pb2.GetUsageRecordResponse,
    )
    record = answer.record
    asked = [record.trigger_message_id] if record.trigger_message_id else []
    texts = {one.message.id: stored(one) for one in await messages_of(visit, record.channel, asked)}
    events = await visit.asked.ask(
        "AdminService/ListEvents",
        admin_pb2.ListEventsRequest(channel=record.channel, context_id=record.context_id),
        admin_pb2.ListEventsResponse,
    )
    view: dict[str, Any] = {
        "record": recorded.record_page(record, texts),
        "events": [recorded.event_line(one) for one in events.events],
        "page": None,
        "pairs": [],
        "fate": "",
    }
    if texts:
        pairs = pairs_of(recorded.asked_again(record))
        fates = recorded.fates_of(record)
        request, built = await built_of(visit, pairs)
        shown = explained.Shown(keys=_otherwise(built, fates))
        view["page"] = await explained_with_texts(visit, request, built, shown, fates)
        view["pairs"] = pairs
    return Page("build.html", view, "build", record.channel)


async def events(visit: Visit) -> Page:
    """Recorded events of a channel, the newest first."""
    channel = visit.field("channel")
    request = admin_pb2.ListEventsRequest(
        channel=channel, newest_first=True, limit=EVENTS, page_token=visit.field("page_token")
    )
    answer = await visit.asked.ask("AdminService/ListEvents", request, admin_pb2.ListEventsResponse)
    view = {
        "channel": channel,
        "events": [recorded.event_line(one) for one in answer.events],
        "next": answer.next_page_token,
    }
    return Page("events.html", view, "events", channel)


def _otherwise(built: pb.BuildContextResponse, fates: Mapping[str, str]) -> list[explained.Key]:
    """Candidates of which the record tells another fate."""
    return [
        explained.key_of(one)
        for one in built.explanation.candidates
        if not one.channel
        and fates.get(one.message_id, "") not in {"", explained.FATE_OF[one.fate]}
    ]
