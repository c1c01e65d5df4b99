"""What both servers are asked about what was recorded: builds of every kind, and everything that can be looked at."""

import random
from collections.abc import Callable, Iterator
from typing import Any

from google.protobuf.message import Message

from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    history_pb2,
    learning_pb2,
    message_pb2,
    preference_pb2,
)
from backscroll.v1 import session_pb2 as pb
from tests.golden.answers.asked import OPTIONS as EVERY_BOT
from tests.golden.answers.asked import PROFILES, WORDS, ask, override
from tests.golden.answers.channels import DAY_MS, HOUR_MS, Channel
from tests.integration.parity.recorded import (
    EMPTY,
    FORK,
    GONE,
    IMPORTED,
    NOW_MS,
    ROOM,
    Chats,
)

SEED = 36
PLACES = {
    "irc": 4, "kdconv": 3, "long": 3, "lived": 5, "住过": 5, "madial_zh": 3, "madial_en": 3, GONE: 1, IMPORTED: 1,
    ROOM: 4, FORK: 1, EMPTY: 0.2, "": 0.5,
}  # fmt: skip
"""How often each channel is asked about."""


def _session(draw: random.Random, request: Any, channel: Channel) -> None:
    request.session_id = draw.choice([ROOM, "the cats", FORK, "none"])
    request.viewer_id = draw.choice(["black", "white", "grey", "u1", "u2", "nobody"])


def _catch_up(draw: random.Random, request: Any, channel: Channel) -> None:
    if channel.messages and draw.random() < 0.6:
        request.catch_up.since_message_id = draw.choice(channel.messages[-80:]).id
    else:
        request.catch_up.since_ms = channel.last_ms - draw.choice([HOUR_MS, DAY_MS, 30 * DAY_MS])
    if draw.random() < 0.5:
        request.question = ""


def _authors(draw: random.Random, request: Any, channel: Channel) -> None:
    request.author_visibility = draw.choice([1, 2, 3])
    people = [one.author.id for one in channel.messages[-40:]]
    request.allowed_author_ids.extend(draw.sample(people, min(3, len(people))))


def _of(name: str, *values: Any) -> Callable[[random.Random, Any, Channel], None]:
    def option(draw: random.Random, request: Any, channel: Channel) -> None:
        value = draw.choice(values)
        if isinstance(value, list):
            getattr(request, name).extend(value)
        else:
            setattr(request, name, value)

    return option


OPTIONS = (
    *EVERY_BOT,
    _session, _session, _catch_up, _catch_up, _authors,
    _of("profile", "steady"), _of("payload_formats", [3], [4], [5], [1, 3, 4, 5]),
    _of("without_summary", True), _of("tool_outputs", 1, 2, 3), _of("cache_marks", True, False),
    _of("exploration_seed", 1, 7), _of("token_budget", 8_000, 4_000), _of("semantic_scope", 2, 3),
    override("exploration_slots", 1, 3), override("time_window_hours", 24, 1_000),
)  # fmt: skip


def builds(chats: Chats, count: int) -> Iterator[context_pb2.BuildContextRequest]:
    """So many requests, drawn from one seed: of a shorter run the first ones."""
    draw = random.Random(SEED)
    for _ in range(count):
        name = draw.choices(list(PLACES), list(PLACES.values()))[0]
        channel = chats.get(name) or Channel(name, [])
        request = context_pb2.BuildContextRequest(channel=name, profile=draw.choice(PROFILES))
        last_ms = channel.last_ms if channel.messages else NOW_MS
        request.asked_at_ms = last_ms + draw.choice([-HOUR_MS, 1_000, 10_000, HOUR_MS, 9 * DAY_MS])
        ask(draw, request, channel)
        if name == ROOM and draw.random() < 0.6:
            request.session_id = ROOM
        for option in draw.sample(OPTIONS, draw.choice([0, 1, 1, 2, 2, 3, 4, 6])):
            option(draw, request, channel)
        if request.overrides.exploration_slots and not request.HasField("exploration_seed"):
            request.exploration_seed = 3  # else the random id of the build is a part of it
        yield request


def lists(chats: Chats) -> Iterator[Message]:
    """Everything that is read in pages."""
    draw = random.Random(SEED)
    places = [*chats, IMPORTED, ROOM, FORK, EMPTY]
    for name in places:
        channel = chats.get(name) or Channel(name, [])
        somebody = draw.choice(channel.messages).author.id if channel.messages else "u1"
        middle_ms = (
            channel.messages[len(channel.messages) // 2].sent_at_ms if channel.messages else 0
        )
        for fields in (
            {}, {"newest_first": True, "limit": 7}, {"author_id": somebody}, {"thread_id": "t1"},
            {"include_recalled": True, "limit": 100}, {"since_ms": middle_ms, "limit": 50},
            {"until_ms": middle_ms, "limit": 50, "newest_first": True},
        ):  # fmt: skip
            yield history_pb2.ListMessagesRequest(channel=name, **fields)
        yield history_pb2.ListMembersRequest(channel=name, limit=5)
        yield learning_pb2.ListTopicLabelsRequest(channel=name)
        yield context_pb2.ListPeriodSummariesRequest(channel=name)
        yield admin_pb2.ListWeightVersionsRequest(channel=name)
        yield admin_pb2.ListEventsRequest(channel=name, limit=20)
        yield preference_pb2.ListPreferencesRequest(
            user_id=somebody, channel=name, include_past=True
        )
        yield preference_pb2.ListPreferencesRequest(user_id=somebody, limit=1)
        yield pb.ListSessionsRequest(channel=name, include_archived=True)
    yield history_pb2.ListChannelsRequest(limit=3)
    yield history_pb2.ListChannelsRequest(name_contains="i")
    yield admin_pb2.ListChannelSettingsRequest(limit=2)
    yield pb.ListSpacesRequest()
    yield pb.ListStatesRequest(session=pb.SessionRef(session_id=ROOM, space="cats"))


def looks(chats: Chats) -> Iterator[Message]:
    """Everything else that is read."""
    draw = random.Random(SEED)
    for name in (*chats, IMPORTED, ROOM, FORK, EMPTY):
        messages = (chats.get(name) or Channel(name, [])).messages
        yield history_pb2.GetChannelRequest(channel=name)
        yield history_pb2.ListPinnedMessagesRequest(channel=name)
        yield history_pb2.ExportMessagesRequest(channel=name)
        yield admin_pb2.GetChannelSettingsRequest(channel=name)
        yield learning_pb2.ExportUsageRecordsRequest(channel=name)
        for one in draw.sample(messages, min(12, len(messages))):
            yield history_pb2.GetThreadRequest(channel=name, message_id=one.id)
            yield history_pb2.ListMessagesRequest(
                channel=name, message_ids=[one.id, "nothing", "r1"]
            )
        for query in (*WORDS, "cat", "电影", "driver"):
            for scope, user_id in ((1, ""), (2, "u1"), (3, "")):
                yield history_pb2.SearchMessagesRequest(
                    channel=name, query=query, scope=scope, user_id=user_id, limit=10
                )
    for session in (ROOM, FORK):
        ref = pb.SessionRef(session_id=session, space="cats")
        yield pb.GetSessionRequest(session=ref)
        yield pb.ExportSessionRequest(session=ref)
        said = message_pb2.Message(author=message_pb2.Author(id="u1", name="Ann"))
        said.parts.add().text.text = "@小黑 why?"
        round_ = pb.StartRoundRequest(session=ref, message=said, request_id="looked")
        yield pb.PrepareRoundRequest(round=round_)
    yield preference_pb2.ListPreferenceTopicsRequest()
