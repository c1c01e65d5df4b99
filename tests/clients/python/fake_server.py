# ruff: noqa: N802  (the names of the RPCs)
"""A small server on a real socket that keeps messages in lists, notes what it is sent, and fails when told to.

It needs nothing but the client's own dependencies, so that the proof can run it in a bare environment.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict, deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import grpc
from google.protobuf.any_pb2 import Any as AnyProto
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from backscroll.v1 import (
    context_pb2,
    context_pb2_grpc,
    error_pb2,
    history_pb2,
    history_pb2_grpc,
    message_pb2,
)

Outcome = history_pb2.AppendOutcome


@dataclass
class Seen:
    """One request as it came in (of an import: each of its requests)."""

    rpc: str
    request: object
    metadata: dict[str, str]
    seconds_left: float | None
    attempt: int


@dataclass
class Script:
    """What the next calls of an RPC do instead of working."""

    faults: deque = field(default_factory=deque)
    delay_s: float = 0.0


def status_of(code, message="no", reason="", domain="backscroll.v1", metadata=None):
    """A status as the server sends it, with its ErrorInfo if there is a reason."""
    details = []
    if reason:
        packed = AnyProto()
        packed.Pack(ErrorInfo(reason=reason, domain=domain, metadata=metadata or {}))
        details.append(packed)
    return rpc_status.to_status(Status(code=code.value[0], message=message, details=details))


class FakeServer:
    """Use as a context manager; `address` is where it listens."""

    def __init__(self, address="127.0.0.1:0", *, credentials=None, with_health=True):
        self._address, self._credentials, self._with_health = address, credentials, with_health
        self.seen: list[Seen] = []
        self.scripts: dict[str, Script] = defaultdict(Script)
        self.channels: dict[str, list[history_pb2.StoredMessage]] = defaultdict(list)
        self.ids: dict[tuple[str, str], history_pb2.StoredMessage] = {}
        self.members: dict[str, list[history_pb2.Member]] = defaultdict(list)
        self.ended = threading.Event()
        self.hold = threading.Event()  # imports wait while it is clear
        self.hold.set()
        self.endless_export = False
        self.endless_chat = False
        self.chat_events = []  # instead of an answer
        self.breaks_after = 0  # so many events the server is gone; 0: it stays
        self.tool_rounds, self.tool_arguments = 1, '{"day": "friday"}'

    def __enter__(self):
        self._server = grpc.server(
            ThreadPoolExecutor(8),
            options=(
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", 8 * 2**20),
                ("grpc.http2.min_recv_ping_interval_without_data_ms", 30_000),
            ),
        )
        history_pb2_grpc.add_HistoryServiceServicer_to_server(History(self), self._server)
        context_pb2_grpc.add_ContextServiceServicer_to_server(Context(self), self._server)
        if self._with_health:
            from grpc_health.v1 import health, health_pb2, health_pb2_grpc

            self.health = health.HealthServicer()
            self.health.set("", health_pb2.HealthCheckResponse.SERVING)
            health_pb2_grpc.add_HealthServicer_to_server(self.health, self._server)
        if self._credentials is None:
            port = self._server.add_insecure_port(self._address)
        else:
            port = self._server.add_secure_port(self._address, self._credentials)
        unix = self._address.startswith("unix:")
        self.port = port
        self.address = self._address if unix else f"127.0.0.1:{port}"
        self._server.start()
        return self

    def __exit__(self, *_):
        self._server.stop(None).wait()

    def fail(self, rpc, status, times=1):
        """Answer the next calls of an RPC with a status such as `status_of` makes."""
        self.scripts[rpc].faults.extend([status] * times)

    def slow(self, rpc, delay_s):
        self.scripts[rpc].delay_s = delay_s

    def requests(self, rpc):
        return [seen.request for seen in self.seen if seen.rpc == rpc]

    def arrive(self, rpc, request, context):
        metadata = dict(context.invocation_metadata())
        left = context.time_remaining()
        attempt = int(metadata.get("grpc-previous-rpc-attempts", 0)) + 1
        self.seen.append(Seen(rpc, request, metadata, left, attempt))
        script = self.scripts[rpc]
        if script.delay_s:
            time.sleep(script.delay_s)
        if script.faults:
            self.abort(script.faults.popleft(), context)

    @staticmethod
    def abort(status, context):
        context.abort_with_status(status)

    def append(self, channel, message):
        """Store one message and say what became of it."""
        message.channel = channel
        stored = self.channels[channel]
        result = history_pb2.AppendResult(message_id=message.id)
        if not message.id:
            result.outcome = Outcome.APPEND_OUTCOME_REFUSED
            result.refusal = history_pb2.APPEND_REFUSAL_MISSING_ID
            result.field = "id"
            return result
        if old := self.ids.get((channel, message.id)):
            same = old.message.parts == message.parts
            result.outcome = (
                Outcome.APPEND_OUTCOME_DUPLICATE if same else Outcome.APPEND_OUTCOME_CONFLICT
            )
            result.sequence = old.sequence
            return result
        new = history_pb2.StoredMessage(message=message, sequence=len(stored) + 1)
        stored.append(new)
        self.ids[channel, message.id] = new
        result.outcome = Outcome.APPEND_OUTCOME_STORED
        result.sequence = len(stored)
        return result


def text_of(message):
    return " ".join(part.text.text for part in message.parts)


class History(history_pb2_grpc.HistoryServiceServicer):
    def __init__(self, fake):
        self.fake = fake

    def _channel(self, request, context):
        if request.channel not in self.fake.channels:
            self.fake.abort(
                status_of(
                    grpc.StatusCode.NOT_FOUND,
                    "the channel was never heard of",
                    "CHANNEL_NOT_FOUND",
                    metadata={"field": "channel"},
                ),
                context,
            )
        return self.fake.channels[request.channel]

    def _message(self, request, context):
        for stored in self._channel(request, context):
            if stored.message.id == request.message_id:
                return stored
        self.fake.abort(
            status_of(grpc.StatusCode.NOT_FOUND, "no such message", "MESSAGE_NOT_FOUND"), context
        )
        raise AssertionError

    def AppendMessages(self, request, context):
        self.fake.arrive("AppendMessages", request, context)
        results = [self.fake.append(request.channel, message) for message in request.messages]
        return history_pb2.AppendMessagesResponse(results=results)

    def ImportMessages(self, request_iterator, context):
        context.add_callback(self.fake.ended.set)
        response = history_pb2.ImportMessagesResponse()
        for request in request_iterator:
            self.fake.hold.wait(10)
            self.fake.arrive("ImportMessages", request, context)
            for message in request.messages:
                result = self.fake.append(message.channel or request.channel, message)
                response.stored_count += result.outcome == Outcome.APPEND_OUTCOME_STORED
                response.duplicate_count += result.outcome == Outcome.APPEND_OUTCOME_DUPLICATE
                response.refused_count += result.outcome == Outcome.APPEND_OUTCOME_REFUSED
        return response

    def ListMessages(self, request, context):
        self.fake.arrive("ListMessages", request, context)
        found = list(self._channel(request, context))
        if request.newest_first:
            found.reverse()
        start = int(request.page_token or 0)
        size = request.limit if request.HasField("limit") else 100
        end = start + size
        return history_pb2.ListMessagesResponse(
            messages=found[start:end], next_page_token=str(end) if end < len(found) else ""
        )

    def GetThread(self, request, context):
        self.fake.arrive("GetThread", request, context)
        stored = self._message(request, context)
        return history_pb2.GetThreadResponse(root_message_id=stored.message.id, messages=[stored])

    def GetChannel(self, request, context):
        self.fake.arrive("GetChannel", request, context)
        stored = self._channel(request, context)
        return history_pb2.GetChannelResponse(
            channel=request.channel,
            newest_message_id=stored[-1].message.id,
            newest_sent_at_ms=stored[-1].message.sent_at_ms,
            message_count=len(stored),
        )

    def SearchMessages(self, request, context):
        self.fake.arrive("SearchMessages", request, context)
        hits = [
            history_pb2.SearchHit(message=stored, score=1.0)
            for stored in self._channel(request, context)
            if request.query in text_of(stored.message)
        ]
        return history_pb2.SearchMessagesResponse(hits=hits, exhaustive=True)

    def EditMessage(self, request, context):
        self.fake.arrive("EditMessage", request, context)
        stored = self._message(request, context)
        del stored.message.parts[:]
        stored.message.parts.extend(request.parts)
        stored.revision += 1
        return history_pb2.EditMessageResponse(message=stored)

    def RecallMessage(self, request, context):
        self.fake.arrive("RecallMessage", request, context)
        stored = self._message(request, context)
        stored.recalled = True
        del stored.message.parts[:]
        return history_pb2.RecallMessageResponse()

    def UpsertMembers(self, request, context):
        self.fake.arrive("UpsertMembers", request, context)
        self.fake.members[request.channel].extend(request.members)
        return history_pb2.UpsertMembersResponse()

    def ListMembers(self, request, context):
        self.fake.arrive("ListMembers", request, context)
        authors = {stored.message.author.id for stored in self._channel(request, context)}
        members = [history_pb2.Member(user_id=author) for author in sorted(authors)]
        return history_pb2.ListMembersResponse(
            members=[*members, *self.fake.members[request.channel]]
        )

    def WaitForIndex(self, request, context):
        self.fake.arrive("WaitForIndex", request, context)
        return history_pb2.WaitForIndexResponse(ready=True)

    def Erase(self, request, context):
        self.fake.arrive("Erase", request, context)
        kept = [
            stored
            for stored in self._channel(request, context)
            if stored.message.id not in request.message_ids
            and stored.message.author.id != request.user_id
            and not request.whole_channel
        ]
        erased = len(self.fake.channels[request.channel]) - len(kept)
        self.fake.channels[request.channel] = kept
        return history_pb2.EraseResponse(erased_count_by_store={"messages": erased})

    def ExportMessages(self, request, context):
        self.fake.arrive("ExportMessages", request, context)
        context.add_callback(self.fake.ended.set)
        stored = self._channel(request, context)
        while True:
            for start in range(0, len(stored), 2):
                yield history_pb2.ExportMessagesResponse(messages=stored[start : start + 2])
            if not (self.fake.endless_export and context.is_active()):
                return


class Context(context_pb2_grpc.ContextServiceServicer):
    def __init__(self, fake):
        self.fake = fake

    def StreamChat(self, request, context):
        """Repeat the question in two pieces; with tools ask `tool_rounds` times for each of them."""
        self.fake.arrive("StreamChat", request, context)
        context.add_callback(self.fake.ended.set)
        for number, event in enumerate(self._turn(request, context), 1):
            yield event
            if number == self.fake.breaks_after:
                self.fake.abort(status_of(grpc.StatusCode.UNAVAILABLE), context)

    def Chat(self, request, context):
        self.fake.arrive("Chat", request.turn, context)
        answer = context_pb2.ChatResponse()
        for event in self._turn(request.turn, context):
            kind = event.WhichOneof("event")
            if kind in {"delta", "notice"}:
                answer.text += event.delta or event.notice.text
            elif kind == "tool_call":
                answer.tool_calls.append(event.tool_call)
            else:
                getattr(answer, kind).CopyFrom(getattr(event, kind))
        return answer

    def _turn(self, request, context):
        response, fake = context_pb2.StreamChatResponse, self.fake
        if not request.turn_id:
            fake.tools = json.loads(request.context.tools_json or "[]")
            fake.rounds_left = fake.tool_rounds if request.model_call.enable_tools else 0
            yield response(context=self._built(request.context))
        while fake.endless_chat and context.is_active():
            yield response(delta="and on ")
            time.sleep(0.01)
        if fake.chat_events:
            yield from fake.chat_events
            return
        if fake.rounds_left and fake.tools:
            fake.rounds_left -= 1
            yield response(delta="let me see ")
            for number, tool in enumerate(fake.tools):
                call = message_pb2.ToolCallPart(
                    id=f"call{fake.rounds_left}-{number}",
                    name=tool["function"]["name"],
                    arguments_json=fake.tool_arguments,
                )
                yield response(tool_call=call)
            yield response(
                end=context_pb2.ChatEnd(reason=context_pb2.END_REASON_TOOL_CALLS, turn_id="t1")
            )
            return
        said = [result.text for result in request.tool_results]
        text = f"The tool says: {', '.join(said)}" if said else request.context.question
        words = text.split()
        yield response(delta=" ".join(words[:2]) + " " * (len(words) > 2))
        yield response(delta=" ".join(words[2:]))
        end = context_pb2.ChatEnd(
            reason=context_pb2.END_REASON_COMPLETE, turn_id="t1", reply_message_id="r1"
        )
        yield response(end=end)

    def BuildContext(self, request, context):
        self.fake.arrive("BuildContext", request, context)
        return self._built(request)

    def _built(self, request):
        known = request.channel in self.fake.channels
        history = self.fake.channels[request.channel] if known else []
        rendered = [
            context_pb2.RenderedMessage(
                role=message_pb2.ROLE_USER,
                content=text_of(stored.message),
                message_ids=[stored.message.id],
            )
            for stored in history
        ]
        rendered.append(
            context_pb2.RenderedMessage(role=message_pb2.ROLE_USER, content=request.question)
        )
        response = context_pb2.BuildContextResponse(
            context_id="c1",
            channel_known=known,
            items=[
                context_pb2.Item(
                    message=stored.message, role=message_pb2.ROLE_USER, rank=rank, score=0.5
                )
                for rank, stored in enumerate(history, 1)
            ],
            messages=rendered,
            text="\n".join(message.content for message in rendered[:-1]),
            rung=context_pb2.RUNG_RANKED,
        )
        response.tokens.total = 42
        if context_pb2.PAYLOAD_FORMAT_NONE not in request.payload_formats:
            body = {
                "model": request.model or "gpt-4o-mini",
                "messages": [{"role": "user", "content": each.content} for each in rendered],
            }
            response.payloads.add(
                format=context_pb2.PAYLOAD_FORMAT_OPENAI_CHAT,
                body=json.dumps(body, ensure_ascii=False).encode(),
            )
        if request.explain:
            response.explanation.profile = "balanced"
        return response


REASONS = tuple(
    name.removeprefix("ERROR_REASON_")
    for name in error_pb2.ErrorReason.keys()  # noqa: SIM118  (an enum wrapper, not a dict)
    if not name.endswith("UNSPECIFIED")
)
