# ruff: noqa: N802  (the names of the RPCs)
"""What the fake server answers: its services, and the statuses they end with."""

import json
import time

import grpc
from google.protobuf.any_pb2 import Any as AnyProto
from google.rpc.error_details_pb2 import ErrorInfo
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from backscroll.v1 import (
    context_pb2,
    context_pb2_grpc,
    history_pb2,
    history_pb2_grpc,
    message_pb2,
    preference_pb2,
    preference_pb2_grpc,
)

Outcome = history_pb2.AppendOutcome


def status_of(code, message="no", reason="", domain="backscroll.v1", metadata=None):
    """A status as the server sends it, with its ErrorInfo if there is a reason."""
    details = []
    if reason:
        packed = AnyProto()
        packed.Pack(ErrorInfo(reason=reason, domain=domain, metadata=metadata or {}))
        details.append(packed)
    return rpc_status.to_status(Status(code=code.value[0], message=message, details=details))


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
            self.fake.hold.wait(120)
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

    def ListChannels(self, request, context):
        self.fake.arrive("ListChannels", request, context)
        names = [
            n for n in sorted(self.fake.channels) if request.name_contains.lower() in n.lower()
        ]
        start = int(request.page_token or 0)
        end = start + (request.limit if request.HasField("limit") else 100)
        return history_pb2.ListChannelsResponse(
            channels=[history_pb2.ChannelSummary(channel=name) for name in names[start:end]],
            next_page_token=str(end) if end < len(names) else "",
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

    def PinMessage(self, request, context):
        self.fake.arrive("PinMessage", request, context)
        self._message(request, context)
        self.fake.pinned[request.channel].setdefault(request.message_id)
        return history_pb2.PinMessageResponse()

    def UnpinMessage(self, request, context):
        self.fake.arrive("UnpinMessage", request, context)
        self.fake.pinned[request.channel].pop(request.message_id, None)
        return history_pb2.UnpinMessageResponse()

    def ListPinnedMessages(self, request, context):
        self.fake.arrive("ListPinnedMessages", request, context)
        rows = {stored.message.id: stored for stored in self._channel(request, context)}
        pinned = [rows[one] for one in self.fake.pinned[request.channel]]
        return history_pb2.ListPinnedMessagesResponse(messages=pinned)

    def AliasMessage(self, request, context):
        self.fake.arrive("AliasMessage", request, context)
        self._message(request, context).alias_ids.append(request.alias_id)
        return history_pb2.AliasMessageResponse()

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
        if request.all_channels or request.whole_tenant:
            channels = list(self.fake.channels)
        else:
            self._channel(request, context)
            channels = [request.channel]
        erased = sum(self._erase_in(channel, request) for channel in channels)
        return history_pb2.EraseResponse(
            erased_count_by_store={"messages": erased},
            tenant="default",
            erased_at_ms=1,
            files=history_pb2.FILES_STATE_CLEAN,
            dry_run=request.dry_run,
        )

    def _erase_in(self, channel, request):
        before = self.fake.channels[channel]
        kept = [
            stored
            for stored in before
            if stored.message.id not in request.message_ids
            and stored.message.author.id != request.user_id
            and not request.whole_channel
            and not request.whole_tenant
        ]
        if not request.dry_run:
            self.fake.channels[channel] = kept
        return len(before) - len(kept)

    def ExportMessages(self, request, context):
        self.fake.arrive("ExportMessages", request, context)
        context.add_callback(self.fake.ended.set)
        stored = self._channel(request, context)
        while True:
            for start in range(0, len(stored), 2):
                yield history_pb2.ExportMessagesResponse(messages=stored[start : start + 2])
            if not (self.fake.endless_export and context.is_active()):
                return


OMITTED = {
    context_pb2.RESPONSE_PART_MESSAGES: "messages",
    context_pb2.RESPONSE_PART_PAYLOADS: "payloads",
    context_pb2.RESPONSE_PART_TEXT: "text",
}


class Context(context_pb2_grpc.ContextServiceServicer):
    def __init__(self, fake):
        self.fake = fake

    def StreamChat(self, request, context):
        """Repeat the question in two pieces; with tools ask `tool_exchanges` times for each of them."""
        self.fake.arrive("StreamChat", request, context)
        context.add_callback(self.fake.ended.set)
        for number, event in enumerate(self._turn(request, context), 1):
            yield event
            if number == self.fake.breaks_after:
                self.fake.abort(status_of(grpc.StatusCode.UNAVAILABLE), context)

    def Compact(self, request, context):
        self.fake.arrive("Compact", request, context)
        return context_pb2.CompactResponse(outcome=context_pb2.COMPACT_OUTCOME_NOTHING_TO_DO)

    def ListPeriodSummaries(self, request, context):
        self.fake.arrive("ListPeriodSummaries", request, context)
        first = int(request.page_token or 0)
        end = first + (request.limit or 100)
        days = [] if request.channel == "room" else range(5)
        found = [context_pb2.PeriodSummary(id=f"24:{n}", text=f"day {n}") for n in days]
        return context_pb2.ListPeriodSummariesResponse(
            summaries=found[first:end], next_page_token=str(end) if end < len(found) else ""
        )

    def DeletePeriodSummary(self, request, context):
        self.fake.arrive("DeletePeriodSummary", request, context)
        was_there = request.channel != "room"
        return context_pb2.DeletePeriodSummaryResponse(was_there=was_there)

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
            fake.rounds_left = fake.tool_exchanges if request.model_call.enable_tools else 0
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
        for part, name in OMITTED.items():
            if part in request.omit:
                response.ClearField(name)
        if context_pb2.RESPONSE_PART_ITEM_MESSAGES in request.omit:
            for item in response.items:
                item.message.CopyFrom(message_pb2.Message(id=item.message.id))
        return response


class Preferences(preference_pb2_grpc.PreferenceServiceServicer):
    def __init__(self, fake):
        self.fake = fake
        self.kept = {}

    def SetPreference(self, request, context):
        self.fake.arrive("SetPreference", request, context)
        one = request.preference
        if one.value and not one.text:
            one.text = f"The user {one.topic} {one.value}."
        one.id = one.id or one.text
        self.kept[one.user_id, one.channel, one.id] = one
        return preference_pb2.SetPreferenceResponse(preference=one)

    def ListPreferences(self, request, context):
        self.fake.arrive("ListPreferences", request, context)
        found = [
            one
            for one in self.kept.values()
            if one.user_id == request.user_id
            and (not request.channel or one.channel in {"", request.channel})
            and request.topic in {"", one.topic}
        ]
        found.sort(key=lambda one: one.channel)
        return preference_pb2.ListPreferencesResponse(preferences=found)

    def ListPreferenceTopics(self, request, context):
        self.fake.arrive("ListPreferenceTopics", request, context)
        topics = [preference_pb2.PreferenceTopic(name=name) for name in ("language", "likes")]
        return preference_pb2.ListPreferenceTopicsResponse(topics=topics)

    def DeletePreference(self, request, context):
        self.fake.arrive("DeletePreference", request, context)
        gone = [
            key
            for key in self.kept
            if key[0] == request.user_id
            and (request.all_channels or key[1] == request.channel)
            and request.id in {"", key[2]}
        ]
        for key in gone:
            del self.kept[key]
        return preference_pb2.DeletePreferenceResponse(deleted_count=len(gone))
