"""Pages of what is stored: channels, the timeline of one, and a message."""

from __future__ import annotations

from collections.abc import Sequence

from backscroll.v1 import admin_pb2, history_pb2
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.inspector import recorded, timeline
from backscroll_sidecar.inspector.said import WHOLE_TEXT, stored
from backscroll_sidecar.inspector.shared_calls import messages_of
from backscroll_sidecar.inspector.visits import Page, Visit

CHANNELS, MESSAGES = 50, 100
"""Of a page."""
AROUND = 8
"""Messages that are shown before one, and behind it."""


async def channels(visit: Visit) -> Page:
    """All channels; where there is none, what to do next."""
    request = history_pb2.ListChannelsRequest(
        limit=CHANNELS,
        page_token=visit.field("page_token"),
        name_contains=visit.field("name_contains"),
    )
    found = await visit.asked.ask(
        "HistoryService/ListChannels", request, history_pb2.ListChannelsResponse
    )
    view = {
        "channels": [
            {"channel": c.channel, "messages": c.message_count, "newest_ms": c.newest_sent_at_ms}
            for c in found.channels
        ],
        "next": found.next_page_token,
        "wanted": request.name_contains,
        "is_empty": not found.channels and not request.name_contains and not request.page_token,
    }
    return Page("welcome.html" if view["is_empty"] else "channels.html", view, "channels")


async def channel_timeline(visit: Visit) -> Page:
    """A channel's messages, a page of the newest first, or what a search finds."""
    channel, words = visit.field("channel"), visit.field("query")
    at = await visit.asked.ask(
        "HistoryService/GetChannel",
        history_pb2.GetChannelRequest(channel=channel),
        history_pb2.GetChannelResponse,
    )
    following = ""
    if words.strip():
        hits = await visit.asked.ask(
            "HistoryService/SearchMessages",
            history_pb2.SearchMessagesRequest(channel=channel, query=words, limit=MESSAGES),
            history_pb2.SearchMessagesResponse,
        )
        messages = [one.message for one in reversed(hits.hits)]
    else:
        request = history_pb2.ListMessagesRequest(
            channel=channel,
            limit=MESSAGES,
            newest_first=True,
            page_token=visit.field("page_token"),
            include_recalled=True,
            author_id=visit.field("author_id"),
        )
        answer = await visit.asked.ask(
            "HistoryService/ListMessages", request, history_pb2.ListMessagesResponse
        )
        messages, following = list(reversed(answer.messages)), answer.next_page_token
    view = {
        "channel": channel,
        "count": at.message_count,
        "newest_ms": at.newest_sent_at_ms,
        "query": words,
        "author_id": visit.field("author_id"),
        "page_token": visit.field("page_token"),
        "lines": timeline.timeline(messages),
        "next": following,
    }
    return Page("timeline.html", view, channel, channel)


async def message(visit: Visit) -> Page:
    """One message: all of it, its reply tree, and the builds that it asked for."""
    channel, message_id = visit.field("channel"), visit.field("id")
    found = await visit.asked.ask(
        "HistoryService/GetThread",
        history_pb2.GetThreadRequest(channel=channel, message_id=message_id, limit=MESSAGES),
        history_pb2.GetThreadResponse,
    )
    here = await messages_of(visit, channel, [message_id])
    if not here:
        raise Refused(Code.NOT_FOUND, "the channel has no message of this id", "MESSAGE_NOT_FOUND")
    one = here[0]
    records = await _records(visit, channel=channel, trigger=one.message.id)
    view = {
        "channel": channel,
        "said": stored(one, WHOLE_TEXT),
        "keywords": list(one.keywords),
        "mentioned": list(one.mentioned_user_ids),
        "line": timeline.timeline([one])[0],
        "revision": one.revision,
        "tree": timeline.tree(found.messages),
        "around": timeline.timeline(await _around(visit, channel, one)),
        "builds": [recorded.record_line(r, {}) for r in records],
    }
    return Page("message.html", view, "message", channel)


async def _around(
    visit: Visit, channel: str, one: history_pb2.StoredMessage
) -> list[history_pb2.StoredMessage]:
    """A message with those before and behind it."""
    at_ms = one.rank_time_ms
    before = history_pb2.ListMessagesRequest(
        channel=channel, until_ms=at_ms, newest_first=True, limit=AROUND
    )
    behind = history_pb2.ListMessagesRequest(channel=channel, since_ms=at_ms, limit=AROUND)
    found = {one.message.id: one}
    for request in (before, behind) if at_ms else ():
        answer = await visit.asked.ask(
            "HistoryService/ListMessages", request, history_pb2.ListMessagesResponse
        )
        found.update((other.message.id, other) for other in answer.messages)
    return sorted(found.values(), key=lambda other: other.sequence)


async def _records(visit: Visit, channel: str, trigger: str) -> Sequence[admin_pb2.UsageRecord]:
    """Builds that a message asked for; none for a key that may not read them."""
    request = admin_pb2.ListUsageRecordsRequest(
        channel=channel, trigger_message_id=trigger, newest_first=True, limit=20
    )
    try:
        answer = await visit.asked.ask(
            "AdminService/ListUsageRecords", request, admin_pb2.ListUsageRecordsResponse
        )
    except Refused as refused:
        if refused.code is not Code.PERMISSION_DENIED:
            raise
        return ()
    return answer.records
