"""ContextService at the edge: translate, build, translate."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from functools import partial
from typing import ClassVar, Protocol

from msgspec.structs import replace

from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.chat.events import ChatEvent
from backscroll_sidecar.chat.turns import ChatRequest
from backscroll_sidecar.concurrency.offload import run
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.edge.call_pipeline import Call
from backscroll_sidecar.edge.convert.built import encode_built
from backscroll_sidecar.edge.convert.chat import chat_request, event_to_proto, whole_answer
from backscroll_sidecar.edge.convert.context import build_request
from backscroll_sidecar.edge.convert.fields import check_id, check_text, required_id
from backscroll_sidecar.edge.convert.history import limit_of
from backscroll_sidecar.edge.convert.pages import page_position, page_token
from backscroll_sidecar.edge.convert.parsing import parse
from backscroll_sidecar.edge.convert.summaries import compaction_to_proto, period_to_proto
from backscroll_sidecar.edge.limits import MAX_ANSWER_BYTES, MAX_FOCUS_BYTES
from backscroll_sidecar.summaries.compaction import Compaction, Conversation
from backscroll_sidecar.summaries.periods import PeriodSummary


class Builder(Protocol):
    """Builds the context of one question; `context.builder.ContextBuilder` does."""

    async def build(self, request: BuildRequest) -> BuiltContext:
        """Never fails for a part that fails: what it costs stands in the answer."""


class Chat(Protocol):
    """Runs turns; `chat.ChatService` does."""

    def run(self, request: ChatRequest) -> AsyncGenerator[ChatEvent]:
        """The events of one turn, the end last."""


class Summaries(Protocol):
    """Summarises conversations; `summaries.Summaries` does."""

    async def compact(
        self, conversation: Conversation, *, focus: str = "", with_model: bool = True
    ) -> Compaction:
        """Once it is done."""


class Periods(Protocol):
    """Keeps summaries of periods; `summaries.PeriodSummaries` does."""

    async def page(
        self, key: ChannelKey, limit: int, after: int = 0
    ) -> Sequence[tuple[int, PeriodSummary]]:
        """A page, each with its number; `after`: behind that number."""

    async def delete(self, key: ChannelKey, id: str) -> bool:
        """Empty one; whether there was one."""


CANDIDATE_US = 2.5
"""What it takes to write one candidate of an explanation."""


class ContextServicer:
    """Answers ContextService. Safe for any number of calls at once on one event loop."""

    SERVICE = pb.DESCRIPTOR.services_by_name["ContextService"]
    PARSERS: ClassVar = {"BuildContext": bytes}

    def __init__(
        self,
        builder: Builder,
        chat: Chat,
        summaries: Summaries,
        periods: Periods,
        server_version: str,
    ) -> None:
        self._builder = builder
        self._chat = chat
        self._summaries = summaries
        self._periods = periods
        self._server_version = server_version

    async def build_context(self, raw: bytes, call: Call) -> bytes:
        """Select and order the messages for one question; the answer is put together of stored bytes."""
        began_ns = time.perf_counter_ns()
        message = parse(pb.BuildContextRequest, raw)
        request = build_request(message, call.tenant, call.time_left_s, call.allowed)
        if call.only_looks:
            request = replace(request, only_looks=True)
        parse_us = (time.perf_counter_ns() - began_ns) // 1_000
        built = await self._builder.build(request)
        explained = len(built.explanation.message_ids) if built.explanation else 0
        encode = partial(encode_built, built, self._server_version, parse_us)
        return await run(explained * CANDIDATE_US, encode)

    async def stream_chat(
        self, request: pb.StreamChatRequest, call: Call
    ) -> AsyncIterator[pb.StreamChatResponse]:
        """Build, call the model and pass on what it says; a caller who leaves closes the model's stream."""
        context = request.context
        target = context.self_ids[0] if context.session_id and context.self_ids else ""
        events = self._chat.run(chat_request(request, call.tenant, call.time_left_s, call.allowed))
        async with aclosing(events):
            async for event in events:
                if (said := event_to_proto(event, self._server_version)) is not None:
                    said.target = target
                    yield said

    async def chat(self, request: pb.ChatRequest, call: Call) -> pb.ChatResponse:
        """Do the same and answer once."""
        turn = chat_request(request.turn, call.tenant, call.time_left_s, call.allowed)
        async with aclosing(self._chat.run(turn)) as events:
            return await whole_answer(events, self._server_version)

    async def compact(self, request: pb.CompactRequest, call: Call) -> pb.CompactResponse:
        """Summarise a conversation, and wait for that."""
        key = ChannelKey(call.tenant, required_id(request.channel, "channel"))
        conversation = Conversation(key, check_id(request.thread_id, "thread_id"))
        focus = check_text(request.focus, "focus", MAX_FOCUS_BYTES)
        made = await self._summaries.compact(
            conversation, focus=focus, with_model=not request.without_model
        )
        return compaction_to_proto(made)

    async def list_period_summaries(
        self, request: pb.ListPeriodSummariesRequest, call: Call
    ) -> pb.ListPeriodSummariesResponse:
        """Page through the summaries of past periods."""
        key = ChannelKey(call.tenant, required_id(request.channel, "channel"))
        limit = limit_of(request)
        found = await self._periods.page(key, limit + 1, page_position(request) or 0)
        answer = pb.ListPeriodSummariesResponse()
        size = 0
        for place, (_, one) in enumerate(found):
            told = period_to_proto(one)
            size += told.ByteSize()
            if place == limit or (place and size > MAX_ANSWER_BYTES):
                answer.next_page_token = page_token(request, found[place - 1][0])
                break
            if one.text:
                answer.summaries.append(told)
        return answer

    async def delete_period_summary(
        self, request: pb.DeletePeriodSummaryRequest, call: Call
    ) -> pb.DeletePeriodSummaryResponse:
        """Empty a summary, after its commit."""
        key = ChannelKey(call.tenant, required_id(request.channel, "channel"))
        was_there = await self._periods.delete(key, required_id(request.id, "id"))
        return pb.DeletePeriodSummaryResponse(was_there=was_there)
