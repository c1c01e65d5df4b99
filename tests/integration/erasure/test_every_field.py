"""Each text that a client can send is planted and looked for after an erasure, or it is said why not (N-10)."""

import importlib
import pkgutil
import random
from collections.abc import Iterator
from pathlib import Path
from string import ascii_lowercase as LETTERS  # noqa: N812 - it is one

import grpc
import pytest
from google.protobuf.descriptor import Descriptor, FieldDescriptor

import backscroll.v1
from backscroll import AsyncClient, Embedding, Media, Member, Message
from backscroll import Author as Person
from backscroll.v1 import session_pb2 as pb
from backscroll.v1 import session_pb2_grpc
from tests.integration.erasure.person import NOON_MS, clean
from tests.kit.canaries import found_in
from tests.kit.served import running

PLANTED = """
Author: id name
Message: thread_id
TextPart: text
MediaPart: uri alt_text
Embedding: embedder_id values
Member: user_id name aliases
BuildContextRequest: question
RecordFeedbackRequest: user_id text
Preference: user_id text topic value
SetTopicLabelsRequest: set_by
Session: owner_id title
Participant: id name nickname aliases persona summary
RoomPolicy: default_id preferred_ids allowed_author_ids
"""
"""Fields that the test below fills with words of the person."""

NOT_OF_THE_PERSON = """
ActRequest: name actor_id argument request_id
AliasMessageRequest: channel message_id alias_id
AppendMessagesRequest: channel context_id
BuildContextRequest: channel trigger_message_id thread_id session_id self_ids profile time_zone
BuildContextRequest: tools_json preferences model question_label language provider viewer_id allowed_author_ids
CatchUp: since_message_id
ChannelSettings: channel profile
CompactRequest: channel thread_id focus
DeleteChannelSettingsRequest: channel
DeleteExperimentRequest: experiment_id
DeletePeriodSummaryRequest: channel id
DeletePreferenceRequest: user_id channel id
DeleteSpaceRequest: slug
DeleteTopicLabelsRequest: channel label message_ids
EditMessageRequest: channel message_id
EraseRequest: channel message_ids user_id
Experiment: experiment_id allowed_channels denied_channels description
ExperimentArm: name profile
ExportMessagesRequest: channel
ExportUsageRecordsRequest: channel user_id
ForkOrigin: session_id message_id
ForkSessionRequest: message_id new_session_id
GetChannelRequest: channel
GetChannelSettingsRequest: channel
GetExperimentReportRequest: experiment_id
GetExperimentRequest: experiment_id
GetMetricsRequest: names
GetSpaceRequest: slug
GetThreadRequest: channel message_id
GetUsageConsentRequest: user_id
GetUsageRecordRequest: context_id
ImportMessagesRequest: channel
ImportSessionRequest: lines session_id channel space
ListChannelSettingsRequest: page_token
ListChannelsRequest: page_token name_contains
ListEventsRequest: channel context_id types page_token
ListExperimentsRequest: page_token
ListMembersRequest: channel page_token
ListMessagesRequest: channel page_token author_id thread_id channels message_ids
ListPeriodSummariesRequest: channel page_token
ListPinnedMessagesRequest: channel
ListPreferencesRequest: user_id channel topic page_token
ListSessionsRequest: space channel owner_id page_token
ListSpacesRequest: page_token
ListStatesRequest: page_token
ListTopicLabelsRequest: channel label page_token
ListUsageRecordsRequest: channel user_id trigger_message_id page_token experiment_id arm
ListWeightVersionsRequest: channel page_token
MediaPart: kind mime
Member: former_names role
Mention: user_id name
Message: id channel session_id dedupe_key alias_ids audience
ModelCall: extra_body_json
Overrides: sources
Participant: model
PinMessageRequest: channel message_id
Preference: id channel source_message_ids superseded_by
ProviderStatePart: provider api model kind data
RecallMessageRequest: channel message_id
RecordFeedbackRequest: context_id channel reply_message_id
RemoveParticipantsRequest: participant_ids
ReplayBuildsRequest: channel context_id profile
Reply: message_id user_id
ResumeRoundRequest: request_id
RollBackWeightsRequest: channel requested_by
RoomPolicy: question_label profile language prompt
RouteMessageRequest: targets
SearchMessagesRequest: channel query user_id
Session: session_id aliases space project_id channel mode role_config_json mode_state_json parent_id
SessionRef: session_id space project_id owner_id
SetTopicLabelsRequest: channel label message_ids
SetUsageConsentRequest: user_id
Sharing: shares_with reads_from groups
Space: slug project_id mode role_config_json
StartRoundRequest: request_id targets mode role_config_json channel
StopExperimentRequest: experiment_id
StreamChatRequest: turn_id question_message_id
SystemPrompt: text
ParametersEntry: key value
ToolAnswers: interrupt_id
ToolCallPart: id name arguments_json
ToolResult: call_id text
ToolResultPart: call_id name text
TuneChannelRequest: channel requested_by
UnpinMessageRequest: channel message_id
UpdateSessionRequest: title mode role_config_json mode_state_json add_aliases
UpsertMembersRequest: channel
WaitForIndexRequest: channel
"""
"""Ids of messages, which stay; names of places; what asks and is not kept; and what whoever runs the bot wrote:
prompts, modes, labels, experiments. Mentions, replies and texts of others are theirs: docs/guide/erasure.md says so.

A new field belongs into `PLANTED`, and into the test, unless one of these is true of it.
"""


def texts_of_requests() -> Iterator[str]:
    """Every field that takes text or bytes, of every message that a request can have."""
    seen: set[str] = set()

    def walk(message: Descriptor) -> Iterator[str]:
        if message.full_name in seen:
            return
        seen.add(message.full_name)
        for field in message.fields:
            if field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
                yield f"{message.name}.{field.name}"
            if field.message_type is not None:
                yield from walk(field.message_type)

    for module in pkgutil.iter_modules(backscroll.v1.__path__):
        if module.name.endswith("_pb2"):
            file = importlib.import_module(f"backscroll.v1.{module.name}").DESCRIPTOR
            for service in file.services_by_name.values():
                for method in service.methods:
                    yield from walk(method.input_type)


def fields(table: str) -> set[str]:
    lines = (line.split(": ") for line in table.strip().splitlines())
    return {f"{message}.{field}" for message, names in lines for field in names.split()}


def test_every_text_of_a_request_has_a_plan() -> None:
    assert not fields(PLANTED) & fields(NOT_OF_THE_PERSON)
    assert set(texts_of_requests()) == fields(PLANTED) | fields(NOT_OF_THE_PERSON)


@pytest.mark.row("N-10")
@pytest.mark.parametrize("seed", range(3))
async def test_no_planted_word_is_left_in_a_file(tmp_path: Path, seed: int) -> None:
    """Words drawn by the seed, each in one field: all are found before the erasure but those never kept, none after."""
    draw = random.Random(seed)
    planted: dict[str, str] = {}

    def word(field: str, letters: str = LETTERS + "鸟鱼花雪éß") -> str:
        drawn = "".join(draw.choices(letters, k=14))
        return planted.setdefault(field, drawn)

    person = Person(word("Author.id"), word("Author.name"))
    async with (
        running(tmp_path / "b.db") as (server, _),
        AsyncClient(server.addresses[0], timeout_s=120.0) as client,
        grpc.aio.insecure_channel(server.addresses[0]) as channel,
    ):
        rooms = session_pb2_grpc.SessionServiceStub(channel)
        picture = Media("image", alt_text=word("MediaPart.alt_text"), uri=word("MediaPart.uri"))
        for room in ("room", "other"):
            await client.append(room, [
                Message("m1", person, word("TextPart.text") * draw.randint(1, 200), NOON_MS,
                        thread_id=word("Message.thread_id"),
                        embeddings=(Embedding(word("Embedding.embedder_id"), (1, 2)),)),
                Message("m2", person, picture, NOON_MS),
                Message("m3", "u2", "keepthis " * draw.randint(1, 200), NOON_MS),
            ])  # fmt: skip
            await client.edit_message(room, "m1", word("edited") * draw.randint(1, 200))
            await client.upsert_members(
                room, [Member(person.id, word("Member.name"), aliases=(word("Member.aliases"),))]
            )
            context = await client.build_context(room, word("question"), asker=person.id)
            await client.record_feedback(
                context.id, user_id=person.id, rating=2, text=word("RecordFeedbackRequest.text")
            )
            await client.set_topic_labels(room, "cats", ["m3"], set_by=person.id)
            await client.set_preference(person.id, word("Preference.text"), channel=room)
            await client.compact(room)
        await client.set_preference(person.id, word("everywhere"))
        await client.set_preference(
            person.id, topic=word("Preference.topic", LETTERS), value=word("Preference.value")
        )
        taking_part = pb.Participant(
            id=person.id, name=word("Participant.name"), nickname=word("Participant.nickname"),
            aliases=[word("Participant.aliases")], persona=word("Participant.persona"),
            summary=word("Participant.summary"), kind=pb.PARTICIPANT_KIND_PERSONA,
        )  # fmt: skip
        lists = pb.RoomPolicy(
            default_id=person.id, preferred_ids=[person.id], allowed_author_ids=[person.id]
        )
        await rooms.CreateSession(pb.CreateSessionRequest(session=pb.Session(
            session_id="s", channel="room", owner_id=person.id, title=word("Session.title"),
            participants=[taking_part], policy=lists,
        )))  # fmt: skip
        await rooms.PutSpace(
            pb.PutSpaceRequest(space=pb.Space(slug="s", participants=[taking_part], policy=lists))
        )
        unseen = {field for field, one in planted.items() if not found_in(tmp_path, one)}
        assert unseen <= {"question"}
        await client.erase(user_id=person.id, all_channels=True)
        await clean(tmp_path, *planted.values())
        assert found_in(tmp_path, "keepthis")
