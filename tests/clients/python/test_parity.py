"""Two clients, one contract: none may have what another lacks."""

import dataclasses
import inspect
from typing import get_args

import pytest

from backscroll import (
    AsyncClient,
    AsyncRoom,
    Client,
    Room,
    errors,
    events,
    room_events,
    room_values,
    values,
)
from backscroll._calls.context import ContextOptions
from backscroll._calls.round_requests import RoundOptions
from backscroll._channel import RETRIED
from backscroll._round_events import round_event_of
from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    error_pb2,
    feedback_pb2,
    history_pb2,
    learning_pb2,
    message_pb2,
    preference_pb2,
    session_pb2,
)

# RPCs and the methods that call them, where the name is not simply the same in other letters.
METHOD_NAMES = {"AppendMessages": "append", "SearchMessages": "search", "ListModes": "modes"}
# Those of a room, which is one session.
ROOM_NAMES = {
    "Act": "act",
    "CreateSession": "session",  # the first call of a room begins it
    "DeleteSession": "delete",
    "ExportSession": "export",
    "ForkSession": "fork",
    "GetSession": "session",
    "ListStates": "states",
    "PrepareRound": "prepare",
    "PutParticipants": "add",
    "RemoveParticipants": "remove",
    "ResumeRound": "resume",
    "RouteMessage": "route",
    "StartRound": "say",
    "UpdateSession": "update",
}
SERVICES = [
    context_pb2.DESCRIPTOR.services_by_name["ContextService"],
    history_pb2.DESCRIPTOR.services_by_name["HistoryService"],
    admin_pb2.DESCRIPTOR.services_by_name["AdminService"],
    feedback_pb2.DESCRIPTOR.services_by_name["FeedbackService"],
    learning_pb2.DESCRIPTOR.services_by_name["LearningService"],
    preference_pb2.DESCRIPTOR.services_by_name["PreferenceService"],
    session_pb2.DESCRIPTOR.services_by_name["SessionService"],
]
# What may not be repeated by itself; `_channel.py` says why.
NOT_RETRIED = {"Chat", "StreamChat", "ImportMessages", "Erase", "DeletePreference"}
NOT_RETRIED |= {
    "DeleteChannelSettings",
    "DeleteExperiment",
    "DeletePeriodSummary",
    "DeleteTopicLabels",
}
NOT_RETRIED |= {"TuneChannel", "RollBackWeights"}
NOT_RETRIED |= {"ImportSession", "DeleteSession", "UpdateSession"}


def methods_of(kind):
    return {
        name: method
        for name, method in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_")
    }


def snake(name):
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)[1:]


def test_both_clients_have_the_same_methods():
    assert methods_of(Client).keys() == methods_of(AsyncClient).keys()
    assert methods_of(Room).keys() == methods_of(AsyncRoom).keys()


BOTH = [
    *((Client, AsyncClient, name) for name in ("__init__", *methods_of(Client))),
    *((Room, AsyncRoom, name) for name in methods_of(Room)),
]


@pytest.mark.parametrize(("kind", "other_kind", "name"), BOTH)
def test_same_parameters_and_words(kind, other_kind, name):
    ours, theirs = getattr(kind, name), getattr(other_kind, name)
    mine, other = inspect.signature(ours).parameters, inspect.signature(theirs).parameters
    assert [(p.name, p.kind, p.default) for p in mine.values()] == [
        (p.name, p.kind, p.default) for p in other.values()
    ]
    if name != "import_messages":  # takes an asynchronous iterable as well, and says so
        assert ours.__doc__ == theirs.__doc__
        assert [p.annotation for p in mine.values()] == [p.annotation for p in other.values()]


@pytest.mark.parametrize(("kind", "other_kind", "name"), BOTH[1:])
def test_the_async_one_is_awaited_or_iterated(kind, other_kind, name):
    method = getattr(other_kind, name)
    returned = str(inspect.signature(method).return_annotation)
    is_iterated = returned.startswith(("AsyncIterator", "AsyncRound")) and name != "ask"
    assert inspect.iscoroutinefunction(method) != (is_iterated or name == "room")
    assert not inspect.iscoroutinefunction(getattr(kind, name))


def test_every_rpc_has_a_method():
    rpcs = {method.name for service in SERVICES for method in service.methods}
    expected = {METHOD_NAMES.get(rpc, snake(rpc)) for rpc in rpcs - ROOM_NAMES.keys()}
    more = {"health", "near_channels", "get_metric_minutes", "room", "close"}
    assert expected | more == methods_of(Client).keys()
    assert rpcs >= ROOM_NAMES.keys()
    assert {*ROOM_NAMES.values()} | {"ask", "go_on"} == methods_of(Room).keys()


def test_every_field_of_build_context_is_a_keyword():
    keywords = set(inspect.signature(Client.build_context).parameters) - {"self", "timeout_s"}
    fields = context_pb2.BuildContextRequest.DESCRIPTOR.fields_by_name
    assert keywords == {name.removesuffix("_ms") for name in fields}


def test_chats_take_every_keyword_of_build_context():
    context = inspect.signature(Client.build_context).parameters.values()
    own = {"self", "channel", "question", "timeout_s"}
    expected = {one.name: one.annotation for one in context if one.name not in own}
    given = {name: one.__forward_arg__ for name, one in ContextOptions.__annotations__.items()}
    assert given == expected
    model = context_pb2.ModelCall.DESCRIPTOR.fields_by_name
    assert RoundOptions.__annotations__.keys() <= {*given, *model}
    assert {*model} <= RoundOptions.__annotations__.keys()


@pytest.mark.parametrize(
    ("method", "message", "renamed"),
    [
        ("update", session_pb2.UpdateSessionRequest, {}),
        ("act", session_pb2.ActRequest, {"actor_id": "actor"}),
        ("resume", session_pb2.ResumeRoundRequest, {}),
        ("remove", session_pb2.RemoveParticipantsRequest, {"left_at_ms": "left_at"}),
        ("fork", session_pb2.ForkSessionRequest, {}),
        ("delete", session_pb2.DeleteSessionRequest, {}),
        ("route", session_pb2.RouteMessageRequest, {"message": "text"}),
        ("states", session_pb2.ListStatesRequest, {"limit": "page_size"}),
    ],
)
def test_every_field_of_a_call_of_a_room_is_a_keyword(method, message, renamed):
    keywords = set(inspect.signature(getattr(Room, method)).parameters)
    fields = {
        renamed.get(name, name.removesuffix("_json"))
        for name in message.DESCRIPTOR.fields_by_name
        if name not in {"session", "page_token"}
    }
    assert fields <= keywords


def test_there_is_an_event_for_every_one_of_a_round():
    kinds = session_pb2.RoundEvent.DESCRIPTOR.oneofs_by_name["event"].fields
    assert len(get_args(room_events.RoundEvent)) == len(kinds)
    request = context_pb2.BuildContextRequest()
    for kind in kinds:
        raw = session_pb2.RoundEvent(sequence=3, target_id="tom", **{kind.name: {}})
        event = round_event_of(raw, request)
        assert isinstance(event, get_args(room_events.RoundEvent)), kind.name
        assert (event.sequence, event.target_id) == (3, "tom"), kind.name
    assert round_event_of(session_pb2.RoundEvent(), request) is None


@pytest.mark.parametrize("name", ["chat", "stream_chat"])
def test_every_field_of_a_chat_is_a_keyword(name):
    keywords = inspect.signature(getattr(Client, name)).parameters
    chat = set(context_pb2.StreamChatRequest.DESCRIPTOR.fields_by_name) - {"model_call"}
    fields = chat | set(context_pb2.ModelCall.DESCRIPTOR.fields_by_name)
    own = {"self", "channel", "question", "tools", "timeout_s"}  # context is its keywords
    assert fields == keywords.keys() - own
    assert keywords.keys() == inspect.signature(Client.chat).parameters.keys()


def test_there_is_an_event_for_every_one_of_the_contract():
    kinds = context_pb2.StreamChatResponse.DESCRIPTOR.oneofs_by_name["event"].fields
    assert len(get_args(events.ChatEvent)) == len(kinds)
    for kind in kinds:
        raw = context_pb2.StreamChatResponse(**{kind.name: "x" if kind.name == "delta" else {}})
        assert isinstance(events.event_of(raw), get_args(events.ChatEvent)), kind.name
    assert events.event_of(context_pb2.StreamChatResponse()) is None


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("list_messages", history_pb2.ListMessagesRequest),
        ("edit_message", history_pb2.EditMessageRequest),
        ("erase", history_pb2.EraseRequest),
        ("get_thread", history_pb2.GetThreadRequest),
        ("search", history_pb2.SearchMessagesRequest),
        ("append", history_pb2.AppendMessagesRequest),
        ("upsert_members", history_pb2.UpsertMembersRequest),
    ],
)
def test_every_field_of_the_others_too(method, message):
    keywords = set(inspect.signature(getattr(Client, method)).parameters)
    fields = {name.removesuffix("_ms") for name in message.DESCRIPTOR.fields_by_name}
    assert fields - {"page_token"} <= keywords  # pages are walked for you


@pytest.mark.parametrize(
    ("value", "message", "renamed"),
    [
        (values.Author, message_pb2.Author, {}),
        (values.Mention, message_pb2.Mention, {}),
        (values.Reply, message_pb2.Reply, {}),
        (values.Media, message_pb2.MediaPart, {}),
        (values.ToolCall, message_pb2.ToolCallPart, {}),
        (values.ToolResult, message_pb2.ToolResultPart, {}),
        (values.Embedding, message_pb2.Embedding, {}),
        (values.Message, message_pb2.Message, {"reply": "reply_to"}),
        (values.Member, history_pb2.Member, {}),
        (values.SystemPrompt, context_pb2.SystemPrompt, {}),
        (values.Overrides, context_pb2.Overrides, {}),
        (room_values.Presence, session_pb2.Presence, {}),
        (room_values.Participant, session_pb2.Participant, {}),
        (room_values.RoomPolicy, session_pb2.RoomPolicy, {"burst_window": "burst_window_ms"}),
    ],
)
def test_values_have_every_field_of_their_message(value, message, renamed):
    not_given = {
        "former_names",
        "rank_time",
        "alias_ids",
        "recalled",
    }  # of answers, and of exports alone
    fields = {name.removesuffix("_ms") for name in message.DESCRIPTOR.fields_by_name}
    expected = {renamed.get(name, name) for name in fields - not_given}
    shortcuts = {"text"} if value is values.Message else set()
    assert expected | shortcuts == {each.name for each in dataclasses.fields(value)}


@pytest.mark.parametrize(
    ("names", "enum"),
    [
        (values.AuthorKindName, message_pb2.AuthorKind),
        (values.RoleName, message_pb2.Role),
        (values.ReplyKindName, message_pb2.ReplyKind),
        (values.LayoutName, context_pb2.Layout),
        (values.SpeakerStyleName, context_pb2.SpeakerStyle),
        (values.TimeStyleName, context_pb2.TimeStyle),
        (values.TokenizerName, context_pb2.Tokenizer),
        (values.PayloadFormatName, context_pb2.PayloadFormat),
        (values.ResponsePartName, context_pb2.ResponsePart),
        (values.AuthorVisibilityName, context_pb2.AuthorVisibility),
        (room_values.ParticipantKindName, session_pb2.ParticipantKind),
        (room_values.ObserveName, session_pb2.Observe),
        (room_values.ReplyRuleName, session_pb2.ReplyRule),
        (room_values.UnaddressedName, session_pb2.Unaddressed),
        (room_values.SessionStatusName, session_pb2.SessionStatus),
    ],
)
def test_names_of_enums_are_complete(names, enum):
    unspecified, *rest = (value.name for value in enum.DESCRIPTOR.values)
    prefix = unspecified.removesuffix("UNSPECIFIED")
    assert get_args(names) == tuple(name.removeprefix(prefix).lower() for name in rest)


def test_every_rpc_is_known_to_be_safe_to_repeat_or_not():
    every = {(service.full_name, method.name) for service in SERVICES for method in service.methods}
    retried = {(service, method) for service, methods in RETRIED.items() for method in methods}
    assert retried <= every
    assert {method for _, method in every - retried} == NOT_RETRIED


def test_there_is_a_class_for_every_status_the_contract_names():
    comments = {"INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "ABORTED", "UNAVAILABLE"}
    comments |= {"RESOURCE_EXHAUSTED", "UNIMPLEMENTED", "PERMISSION_DENIED", "UNAUTHENTICATED"}
    comments |= {"DEADLINE_EXCEEDED", "INTERNAL"}
    assert comments <= {code.name for code in errors._BY_CODE}
    assert (
        len(error_pb2.ErrorReason.keys()) == 35
    )  # a new reason: decide its class, then change this
