"""One tenant with two channels of the same kind behind both edges, keys of every sort, and a request for every RPC."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import message_factory

from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    experiment_pb2,
    feedback_pb2,
    history_pb2,
    learning_pb2,
    message_pb2,
    preference_pb2,
    session_pb2,
)
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.edge.call_pipeline import CallRecord
from backscroll_sidecar.edge.listeners import EdgeName
from backscroll_sidecar.server import RunningServer, start_server
from backscroll_sidecar.wiring import open_app
from tests.integration.edge.conftest import Refusal, refusal
from tests.integration.edge.sending import OURS, path
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.fake_model import CALLS, STOP, FakeModel, call

EDGES: tuple[EdgeName, ...] = ("auto", "grpc")
OWN, FOREIGN, MISSING = "guild-1/a", "guild-2/b", "guild-9/none"
SECRET = "the vault opens at midnight"
RIGHTS = ("read", "write", "chat", "erase", "admin")
ASKER = "u1"
METHODS = {f"{one.containing_service.name}/{one.name}": one for one in OURS}
TOKENS: dict[str, object] = {
    "full": "acme",
    "stranger": "umbrella",
    "limited": {"tenant": "acme", "name": "guild one", "channels": ["guild-1/*"]},
    "exact": {"tenant": "acme", "channels": [OWN]},
    "expired": {"tenant": "acme", "expires": datetime(2001, 1, 1, tzinfo=UTC)},
    **{f"only-{one}": {"tenant": "acme", "rights": [one]} for one in RIGHTS},
    **{
        f"all-but-{one}": {"tenant": "acme", "rights": [each for each in RIGHTS if each != one]}
        for one in RIGHTS
    },
}


@dataclass(frozen=True)
class Place:
    """What there is in a channel, by the ids that a caller would guess."""

    channel: str
    session_id: str = "s-none"
    context_id: str = "c-none"
    turn_id: str = "t-none"
    message_id: str = "m-none"


@dataclass(frozen=True)
class Told:
    """All that a caller learns of a call."""

    code: grpc.StatusCode
    refused: Refusal | None = None
    answers: tuple[Any, ...] = ()

    @property
    def bytes(self) -> bytes:
        said = "" if self.refused is None else f"{self.refused.text}{self.refused.metadata}"
        return b"".join(one.SerializeToString() for one in self.answers) + said.encode()


@dataclass
class World:
    """The servers, and what is in them."""

    running: Mapping[EdgeName, RunningServer]
    channels: Mapping[EdgeName, grpc.aio.Channel]
    records: list[CallRecord] = field(default_factory=list)
    own: Place = Place(OWN)
    foreign: Place = Place(FOREIGN)
    missing: Place = Place(MISSING)

    async def call(
        self, edge: EdgeName, name: str, requests: Iterable[Any], key: str | None = "full"
    ) -> Told:
        """Make one call of any shape with a key."""
        method = METHODS[name]
        given = list(requests)
        shape = "_".join(
            "stream" if one else "unary"
            for one in (method.client_streaming, method.server_streaming)
        )
        make = getattr(self.channels[edge], shape)(
            path(method),
            request_serializer=lambda one: one.SerializeToString(),
            response_deserializer=message_factory.GetMessageClass(method.output_type).FromString,
        )
        metadata = [] if key is None else [("authorization", f"Bearer {key}")]
        sent = iter(given) if method.client_streaming else given[0]
        running = make(sent, metadata=metadata, timeout=30)
        answers: list[Any] = []
        try:
            if method.server_streaming:
                answers.extend([one async for one in running])
            else:
                answers.append(await running)
        except grpc.aio.AioRpcError as error:
            return Told(error.code(), refusal(error), tuple(answers))
        return Told(grpc.StatusCode.OK, None, tuple(answers))

    async def answer(
        self, name: str, *requests: Any, key: str = "full", edge: EdgeName = "auto"
    ) -> Any:
        """The one answer of a call that must not fail."""
        told = await self.call(edge, name, requests, key)
        assert told.code is grpc.StatusCode.OK, (name, told.refused)
        return told.answers[-1]


def message(id: str, words: str, author: str = ASKER, **more: Any) -> message_pb2.Message:
    return message_pb2.Message(
        id=id,
        author=message_pb2.Author(id=author, name=author),
        parts=[message_pb2.Part(text=message_pb2.TextPart(text=words))],
        sent_at_ms=more.pop("sent_at_ms", int(time.time() * 1_000) - 60_000),
        **more,
    )


def _ref(place: Place) -> session_pb2.SessionRef:
    return session_pb2.SessionRef(session_id=place.session_id)


def _question(place: Place, **more: Any) -> context_pb2.BuildContextRequest:
    return context_pb2.BuildContextRequest(
        channel=place.channel,
        question="when does the vault open?",
        asker=message_pb2.Author(id=ASKER),
        **more,
    )


def _named(kind: Any, place: Place) -> Any:
    return kind(channel=place.channel, message_id=place.message_id)


h, a, s, c = history_pb2, admin_pb2, session_pb2, context_pb2
le, ex = learning_pb2, experiment_pb2
REQUESTS: Mapping[str, Callable[[Place], list[Any]]] = {
    "AdminService/DeleteChannelSettings": lambda p: [
        a.DeleteChannelSettingsRequest(channel=p.channel)
    ],
    "AdminService/GetChannelSettings": lambda p: [a.GetChannelSettingsRequest(channel=p.channel)],
    "AdminService/DeleteExperiment": lambda _: [ex.DeleteExperimentRequest(experiment_id="e")],
    "AdminService/GetExperiment": lambda _: [ex.GetExperimentRequest(experiment_id="e")],
    "AdminService/GetExperimentReport": lambda _: [
        ex.GetExperimentReportRequest(experiment_id="e")
    ],
    "AdminService/ListExperiments": lambda _: [ex.ListExperimentsRequest()],
    "AdminService/PutExperiment": lambda _: [
        ex.PutExperimentRequest(
            experiment=ex.Experiment(experiment_id="e", arms=[ex.ExperimentArm(name="a")]),
            validate_only=True,
        )
    ],
    "AdminService/StopExperiment": lambda _: [ex.StopExperimentRequest(experiment_id="e")],
    "AdminService/GetMetrics": lambda _: [a.GetMetricsRequest()],
    "AdminService/GetUsageRecord": lambda p: [a.GetUsageRecordRequest(context_id=p.context_id)],
    "AdminService/ListChannelSettings": lambda _: [a.ListChannelSettingsRequest()],
    "AdminService/ListEvents": lambda p: [a.ListEventsRequest(channel=p.channel)],
    "AdminService/ListUsageRecords": lambda _: [a.ListUsageRecordsRequest(with_candidates=True)],
    "AdminService/ListWeightVersions": lambda p: [a.ListWeightVersionsRequest(channel=p.channel)],
    "AdminService/RollBackWeights": lambda p: [a.RollBackWeightsRequest(channel=p.channel)],
    "AdminService/TuneChannel": lambda p: [a.TuneChannelRequest(channel=p.channel, dry_run=True)],
    "AdminService/SetChannelSettings": lambda p: [
        a.SetChannelSettingsRequest(settings=a.ChannelSettings(channel=p.channel))
    ],
    "ContextService/BuildContext": lambda p: [_question(p, explain=True)],
    "ContextService/Chat": lambda p: [
        c.ChatRequest(turn=c.StreamChatRequest(context=_question(p)))
    ],
    "ContextService/DeletePeriodSummary": lambda p: [
        c.DeletePeriodSummaryRequest(channel=p.channel, id="24:0")
    ],
    "ContextService/ListPeriodSummaries": lambda p: [
        c.ListPeriodSummariesRequest(channel=p.channel)
    ],
    "ContextService/Compact": lambda p: [c.CompactRequest(channel=p.channel, without_model=True)],
    "ContextService/StreamChat": lambda p: [c.StreamChatRequest(context=_question(p))],
    "FeedbackService/RecordFeedback": lambda p: [
        feedback_pb2.RecordFeedbackRequest(context_id=p.context_id, user_id=ASKER, rating=5)
    ],
    "HistoryService/AliasMessage": lambda p: [
        h.AliasMessageRequest(channel=p.channel, message_id=p.message_id, alias_id="other")
    ],
    "HistoryService/AppendMessages": lambda p: [
        h.AppendMessagesRequest(channel=p.channel, messages=[message("new", "hello")])
    ],
    "HistoryService/EditMessage": lambda p: [
        h.EditMessageRequest(channel=p.channel, message_id=p.message_id)
    ],
    "HistoryService/Erase": lambda p: [
        h.EraseRequest(channel=p.channel, message_ids=["no such message"])
    ],
    "HistoryService/ExportMessages": lambda p: [h.ExportMessagesRequest(channel=p.channel)],
    "HistoryService/GetChannel": lambda p: [h.GetChannelRequest(channel=p.channel)],
    "HistoryService/GetThread": lambda p: [_named(h.GetThreadRequest, p)],
    "HistoryService/ImportMessages": lambda p: [
        h.ImportMessagesRequest(messages=[message("new", "hello", channel=p.channel)])
    ],
    "HistoryService/ListChannels": lambda _: [h.ListChannelsRequest()],
    "HistoryService/ListMembers": lambda p: [h.ListMembersRequest(channel=p.channel)],
    "HistoryService/ListMessages": lambda p: [h.ListMessagesRequest(channel=p.channel)],
    "HistoryService/ListPinnedMessages": lambda p: [h.ListPinnedMessagesRequest(channel=p.channel)],
    "HistoryService/PinMessage": lambda p: [_named(h.PinMessageRequest, p)],
    "HistoryService/RecallMessage": lambda p: [_named(h.RecallMessageRequest, p)],
    "HistoryService/SearchMessages": lambda p: [
        h.SearchMessagesRequest(channel=p.channel, query="vault")
    ],
    "HistoryService/UnpinMessage": lambda p: [_named(h.UnpinMessageRequest, p)],
    "HistoryService/UpsertMembers": lambda p: [
        h.UpsertMembersRequest(channel=p.channel, members=[h.Member(user_id="u9", name="Nine")])
    ],
    "HistoryService/WaitForIndex": lambda p: [
        h.WaitForIndexRequest(channel=p.channel, timeout_ms=0)
    ],
    "LearningService/DeleteTopicLabels": lambda p: [
        le.DeleteTopicLabelsRequest(channel=p.channel, label="none")
    ],
    "LearningService/ExportUsageRecords": lambda _: [le.ExportUsageRecordsRequest(with_texts=True)],
    "LearningService/GetUsageConsent": lambda _: [le.GetUsageConsentRequest(user_id=ASKER)],
    "LearningService/ListTopicLabels": lambda p: [le.ListTopicLabelsRequest(channel=p.channel)],
    "LearningService/ReplayBuilds": lambda p: [le.ReplayBuildsRequest(channel=p.channel)],
    "LearningService/SetTopicLabels": lambda p: [
        le.SetTopicLabelsRequest(channel=p.channel, label="vaults", message_ids=[p.message_id])
    ],
    "LearningService/SetUsageConsent": lambda _: [
        le.SetUsageConsentRequest(user_id="u-other", collect_usage=True)
    ],
    "PreferenceService/DeletePreference": lambda p: [
        preference_pb2.DeletePreferenceRequest(user_id=ASKER, channel=p.channel, id="none")
    ],
    "PreferenceService/ListPreferenceTopics": lambda _: [
        preference_pb2.ListPreferenceTopicsRequest()
    ],
    "PreferenceService/ListPreferences": lambda p: [
        preference_pb2.ListPreferencesRequest(user_id=ASKER, channel=p.channel)
    ],
    "PreferenceService/SetPreference": lambda p: [
        preference_pb2.SetPreferenceRequest(
            preference=preference_pb2.Preference(user_id=ASKER, channel=p.channel, text="short")
        )
    ],
    "SessionService/Act": lambda p: [s.ActRequest(session=_ref(p), name="vote")],
    "SessionService/CreateSession": lambda p: [
        s.CreateSessionRequest(session=s.Session(channel=p.channel))
    ],
    "SessionService/DeleteSession": lambda p: [s.DeleteSessionRequest(session=_ref(p))],
    "SessionService/DeleteSpace": lambda _: [s.DeleteSpaceRequest(slug="hall")],
    "SessionService/ExportSession": lambda p: [s.ExportSessionRequest(session=_ref(p))],
    "SessionService/ForkSession": lambda p: [s.ForkSessionRequest(session=_ref(p))],
    "SessionService/GetSession": lambda p: [s.GetSessionRequest(session=_ref(p))],
    "SessionService/GetSpace": lambda _: [s.GetSpaceRequest(slug="hall")],
    "SessionService/ImportSession": lambda p: [
        s.ImportSessionRequest(lines=['{"session":{"sessionId":"fresh"}}'], channel=p.channel)
    ],
    "SessionService/ListModes": lambda _: [s.ListModesRequest()],
    "SessionService/ListSessions": lambda _: [s.ListSessionsRequest()],
    "SessionService/ListSpaces": lambda _: [s.ListSpacesRequest()],
    "SessionService/ListStates": lambda p: [s.ListStatesRequest(session=_ref(p))],
    "SessionService/PrepareRound": lambda p: [s.PrepareRoundRequest(round=_round(p))],
    "SessionService/PutParticipants": lambda p: [
        s.PutParticipantsRequest(
            session=_ref(p), participants=[s.Participant(id="p9", name="Nine")]
        )
    ],
    "SessionService/PutSpace": lambda _: [s.PutSpaceRequest(space=s.Space(slug="hall"))],
    "SessionService/RemoveParticipants": lambda p: [
        s.RemoveParticipantsRequest(session=_ref(p), participant_ids=["p9"])
    ],
    "SessionService/ResumeRound": lambda p: [
        s.ResumeRoundRequest(session=_ref(p), request_id="none")
    ],
    "SessionService/RouteMessage": lambda p: [
        s.RouteMessageRequest(session=_ref(p), message=message("", "hello"))
    ],
    "SessionService/StartRound": lambda p: [_round(p)],
    "SessionService/UpdateSession": lambda p: [
        s.UpdateSessionRequest(session=_ref(p), title="other")
    ],
}
"""What each RPC is asked about a place. A new RPC without a line here fails the matrix."""


def _round(place: Place) -> session_pb2.StartRoundRequest:
    return s.StartRoundRequest(session=_ref(place), message=message("", "hello"))


@asynccontextmanager
async def world_of(tokens: Mapping[str, object] = TOKENS) -> AsyncIterator[World]:
    """One app behind both edges, and the same things in a channel of the key's and in another."""
    settings = Settings(
        database=Path(":memory:"), durability="normal", search_scopes={"acme": "tenant"}
    )
    # Whoever brings tools is asked to use one, so that a turn waits.
    model = FakeModel(
        answer=lambda request: (call("call-1"), CALLS) if request.tools_json else ("Soon.", STOP)
    )
    records: list[CallRecord] = []
    async with open_app(settings, model=model, embedder=FakeEmbedder()) as app:
        running, channels = {}, {}
        try:
            for edge in EDGES:
                running[edge] = await start_server(
                    app,
                    listen=["127.0.0.1:0"],
                    tokens=dict(tokens),
                    edge=edge,
                    observe=records.append,
                )
                channels[edge] = grpc.aio.insecure_channel(running[edge].addresses[0])
            world = World(running, channels, records)
            world.own = await _filled(world, OWN, "lamp light opens the vault at noon")
            world.foreign = await _filled(world, FOREIGN, SECRET)
            yield world
        finally:
            for channel in channels.values():
                await channel.close()
            for one in running.values():
                await one.stop(0)


async def _filled(world: World, channel: str, words: str) -> Place:
    """Put one of everything into a channel."""
    tag = channel[-1]
    await world.answer(
        "HistoryService/AppendMessages",
        h.AppendMessagesRequest(channel=channel, messages=[message(f"m-{tag}", words)]),
    )
    await world.answer(
        "HistoryService/WaitForIndex", h.WaitForIndexRequest(channel=channel, timeout_ms=10_000)
    )
    built = await world.answer("ContextService/BuildContext", _question(Place(channel)))
    await world.answer(
        "SessionService/CreateSession",
        s.CreateSessionRequest(
            session=s.Session(
                session_id=f"s-{tag}", channel=channel, title=words, aliases=[f"al-{tag}"]
            )
        ),
    )
    await world.answer(
        "PreferenceService/SetPreference",
        preference_pb2.SetPreferenceRequest(
            preference=preference_pb2.Preference(user_id=ASKER, channel=channel, text=words)
        ),
    )
    await world.answer(
        "AdminService/SetChannelSettings",
        a.SetChannelSettingsRequest(settings=a.ChannelSettings(channel=channel, profile="classic")),
    )
    turn = await world.answer(
        "ContextService/Chat",
        c.ChatRequest(
            turn=c.StreamChatRequest(
                context=_question(
                    Place(channel),
                    tools_json='[{"type":"function","function":{"name":"weather","parameters":{}}}]',
                ),
                model_call=c.ModelCall(enable_tools=True),
            )
        ),
    )
    return Place(channel, f"s-{tag}", built.context_id, turn.end.turn_id, f"m-{tag}")
