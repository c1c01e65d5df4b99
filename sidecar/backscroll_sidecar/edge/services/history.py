"""HistoryService at the edge: translate, ask `HistoryService`, translate."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from operator import attrgetter
from typing import ClassVar, cast

from backscroll.v1 import history_pb2 as pb
from backscroll_sidecar.domain import ChannelKey, SearchScope, StoredMessage
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.batches import ImportSource, append_batch, encode_results
from backscroll_sidecar.edge.convert.codec import encode_stored
from backscroll_sidecar.edge.convert.fields import (
    SEARCH_SCOPE_WORDS,
    check_count,
    check_id,
    check_range,
    check_text,
    check_time,
    enum_value,
    invalid,
    required_id,
)
from backscroll_sidecar.edge.convert.history import (
    channel_to_proto,
    check_erase,
    encode_members,
    import_to_proto,
    limit_of,
    members_from_proto,
    receipt_to_proto,
    root_of,
    summary_to_proto,
)
from backscroll_sidecar.edge.convert.messages import mentions_from_proto, parts_from_proto
from backscroll_sidecar.edge.convert.pages import (
    Rows,
    encode_hits,
    export_runs,
    list_page,
    page_name,
    page_token,
)
from backscroll_sidecar.edge.convert.parsing import Batch, parse_batch
from backscroll_sidecar.edge.convert.wire import LENGTH, lengthed, tag
from backscroll_sidecar.edge.limits import (
    DEFAULT_SEARCH_HITS,
    DEFAULT_WAIT_FOR_INDEX_MS,
    MAX_MENTIONS,
    MAX_PARTS,
    MAX_QUERY_BYTES,
    MAX_SEARCH_HITS,
    MAX_WAIT_FOR_INDEX_MS,
)
from backscroll_sidecar.history.importing import import_batches
from backscroll_sidecar.history.service import HistoryService

_EDITED = tag(pb.EditMessageResponse, "message", LENGTH)
_PINNED = tag(pb.ListPinnedMessagesResponse, "messages", LENGTH)
_TREE = tag(pb.GetThreadResponse, "messages", LENGTH)


class HistoryServicer:
    """Answers HistoryService. Safe for any number of calls at once on one event loop."""

    SERVICE = pb.DESCRIPTOR.services_by_name["HistoryService"]
    PARSERS: ClassVar = {
        "AppendMessages": partial(parse_batch, pb.AppendMessagesRequest),
        "ImportMessages": partial(parse_batch, pb.ImportMessagesRequest),
    }

    def __init__(self, history: HistoryService) -> None:
        self._history = history

    # --- writing -----------------------------------------------------------------------------------

    async def append_messages(self, batch: Batch, call: Call) -> bytes:
        """Store a batch of one channel; one result an item, after the commit."""
        key = _key(batch.channel, call)
        results = await append_batch(self._history, key, batch, call.deadline_s)
        return await encode_results(results)

    async def import_messages(
        self, batches: AsyncIterator[Batch], call: Call
    ) -> pb.ImportMessagesResponse:
        """Store batch after batch; the next is read once the last is durable."""
        source = ImportSource(batches)
        report = await import_batches(call.tenant, source.messages(), self._history)
        return import_to_proto(report, source.refused_count, source.problems(report))

    async def edit_message(self, request: pb.EditMessageRequest, call: Call) -> bytes:
        """Give a message new content; author, time and reply stay."""
        key = _key(request.channel, call)
        check_count(len(request.parts), "parts", MAX_PARTS)
        check_count(len(request.mentions), "mentions", MAX_MENTIONS)
        edited_at_ms = None
        if request.HasField("edited_at_ms"):
            edited_at_ms = check_time(request.edited_at_ms, "edited_at_ms")
        stored = await self._history.edit(
            key,
            required_id(request.message_id, "message_id"),
            parts_from_proto(request.parts),
            mentions_from_proto(request.mentions),
            edited_at_ms,
            deadline_s=call.deadline_s,
        )
        return lengthed(_EDITED, encode_stored(stored))

    async def recall_message(
        self, request: pb.RecallMessageRequest, call: Call
    ) -> pb.RecallMessageResponse:
        """Take a message back; its id stays taken."""
        key = _key(request.channel, call)
        message_id = required_id(request.message_id, "message_id")
        await self._history.retract(key, message_id, deadline_s=call.deadline_s)
        return pb.RecallMessageResponse()

    async def pin_message(self, request: pb.PinMessageRequest, call: Call) -> pb.PinMessageResponse:
        """Pin a message; twice is no error."""
        key = _key(request.channel, call)
        message_id = required_id(request.message_id, "message_id")
        await self._history.pin(key, message_id, deadline_s=call.deadline_s)
        return pb.PinMessageResponse()

    async def unpin_message(
        self, request: pb.UnpinMessageRequest, call: Call
    ) -> pb.UnpinMessageResponse:
        """Unpin a message."""
        key = _key(request.channel, call)
        message_id = required_id(request.message_id, "message_id")
        await self._history.unpin(key, message_id, deadline_s=call.deadline_s)
        return pb.UnpinMessageResponse()

    async def alias_message(
        self, request: pb.AliasMessageRequest, call: Call
    ) -> pb.AliasMessageResponse:
        """Let a message be known under another id as well."""
        await self._history.alias(
            _key(request.channel, call),
            required_id(request.message_id, "message_id"),
            required_id(request.alias_id, "alias_id"),
            deadline_s=call.deadline_s,
        )
        return pb.AliasMessageResponse()

    async def upsert_members(
        self, request: pb.UpsertMembersRequest, call: Call
    ) -> pb.UpsertMembersResponse:
        """Insert or update people of a channel."""
        key = _key(request.channel, call)
        members = await members_from_proto(request.members)
        await self._history.upsert_members(key, members, deadline_s=call.deadline_s)
        return pb.UpsertMembersResponse()

    async def erase(self, request: pb.EraseRequest, call: Call) -> pb.EraseResponse:
        """Delete for good, with a receipt."""
        check_erase(request)
        if request.all_channels or request.whole_tenant:
            receipt = await self._history.erase_in_tenant(
                call.tenant,
                user_id=request.user_id,
                is_dry_run=request.dry_run,
                deadline_s=call.deadline_s,
            )
        else:
            receipt = await self._history.erase(
                ChannelKey(call.tenant, request.channel),
                message_ids=list(request.message_ids),
                user_id=request.user_id,
                whole_channel=request.whole_channel,
                is_dry_run=request.dry_run,
                deadline_s=call.deadline_s,
            )
        return receipt_to_proto(call.tenant, receipt)

    # --- reading -----------------------------------------------------------------------------------

    async def list_messages(self, request: pb.ListMessagesRequest, call: Call) -> bytes:
        """Page through a channel, an author's messages, or messages by id."""
        return await list_page(self._history, request, call.tenant, call.allowed)

    async def get_thread(self, request: pb.GetThreadRequest, call: Call) -> bytes:
        """Return the reply tree around a message."""
        key = _key(request.channel, call)
        message_id = required_id(request.message_id, "message_id")
        tree = await self._history.reply_tree(key, message_id, limit_of(request))
        head = pb.GetThreadResponse(root_message_id=root_of(tree, message_id))
        rows = await Rows(_TREE, len(tree)).add_all(tree)
        return head.SerializeToString() + rows.take()

    async def list_pinned_messages(
        self, request: pb.ListPinnedMessagesRequest, call: Call
    ) -> bytes:
        """List what is pinned, in the order in which it was pinned."""
        rows = await self._history.pinned(_key(request.channel, call))
        return (await Rows(_PINNED, len(rows)).add_all(rows)).take()

    async def get_channel(self, request: pb.GetChannelRequest, call: Call) -> pb.GetChannelResponse:
        """Tell where a channel stands."""
        return channel_to_proto(await self._history.channel_info(_key(request.channel, call)))

    async def list_channels(
        self, request: pb.ListChannelsRequest, call: Call
    ) -> pb.ListChannelsResponse:
        """Page through the channels of a tenant by name."""
        limit = limit_of(request)
        wanted = check_id(request.name_contains, "name_contains")
        after = page_name(request) or ""
        # One more than fits: it tells whether there is a next page.
        found = await self._history.channels(call.tenant, after, limit + 1, wanted, call.allowed)
        answer = pb.ListChannelsResponse(channels=map(summary_to_proto, found[:limit]))
        if len(found) > limit:
            answer.next_page_token = page_token(request, found[limit - 1].key.channel)
        return answer

    async def search_messages(self, request: pb.SearchMessagesRequest, call: Call) -> bytes:
        """Find messages by words."""
        query = check_text(request.query, "query", MAX_QUERY_BYTES)
        limit = limit_of(request, DEFAULT_SEARCH_HITS, MAX_SEARCH_HITS)
        scope = enum_value(SEARCH_SCOPE_WORDS, request.scope, "scope")
        if scope is not SearchScope.CHANNEL:
            return await self._search_by_meaning(request, scope, query, limit, call)
        if request.user_id:
            raise invalid("user_id", "has a meaning for SEARCH_SCOPE_USER only")
        key = _key(request.channel, call)
        found = await self._history.search(key, query, limit)
        return await encode_hits(found.messages, exhaustive=found.complete)

    async def _search_by_meaning(
        self,
        request: pb.SearchMessagesRequest,
        scope: SearchScope,
        query: str,
        limit: int,
        call: Call,
    ) -> bytes:
        if request.channel:
            raise invalid("channel", "has a meaning for SEARCH_SCOPE_CHANNEL only")
        if request.user_id and scope is not SearchScope.USER:
            raise invalid("user_id", "has a meaning for SEARCH_SCOPE_USER only")
        found = await self._history.semantic_search.find(
            call.tenant, scope, request.user_id, query, limit, call.allowed
        )
        return await encode_hits(
            [hit.stored for hit in found.hits],
            [hit.score for hit in found.hits],
            exhaustive=found.exhaustive,
        )

    async def list_members(self, request: pb.ListMembersRequest, call: Call) -> bytes:
        """Page through everybody known in a channel."""
        limit, after = limit_of(request, sys.maxsize), page_name(request)
        members = await self._history.members(_key(request.channel, call))
        if after is not None:
            members = members[bisect_right(members, after, key=attrgetter("user_id")) :]
        page, count = await encode_members(members, limit)
        if count < len(members):
            token = page_token(request, members[count - 1].user_id)
            page += pb.ListMembersResponse(next_page_token=token).SerializeToString()
        return page

    async def wait_for_index(
        self, request: pb.WaitForIndexRequest, call: Call
    ) -> pb.WaitForIndexResponse:
        """Wait for the backlog of the semantic source; without one nothing waits to be indexed."""
        timed = request.HasField("timeout_ms")
        timeout_ms = request.timeout_ms if timed else DEFAULT_WAIT_FOR_INDEX_MS
        check_range(timeout_ms, "timeout_ms", 0, MAX_WAIT_FOR_INDEX_MS)
        found = await self._history.wait_for_index(_key(request.channel, call), timeout_ms / 1000)
        return pb.WaitForIndexResponse(
            ready=found.is_ready, unembedded_count=found.unembedded_count
        )

    async def export_messages(
        self, request: pb.ExportMessagesRequest, call: Call
    ) -> AsyncIterator[bytes]:
        """Stream a channel in order of arrival."""
        # A generator, so that a caller who leaves early frees what the store holds for it.
        export = self._history.export(_key(request.channel, call))
        rows = cast("AsyncGenerator[StoredMessage, None]", export)
        async with aclosing(rows), aclosing(export_runs(rows)) as runs:
            async for run in runs:
                yield run


def _key(channel: str, call: Call) -> ChannelKey:
    return ChannelKey(call.tenant, required_id(channel, "channel"))
