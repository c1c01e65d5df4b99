"""Answers are the same whatever was rendered before, and cost what they say: counted anew from the payload."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2
from backscroll_sidecar.adapters.pairing import NO_RESULT_TEXT
from backscroll_sidecar.analyze import Analyzer, StaticRoster, token_counter
from backscroll_sidecar.context.model import BuildRequest, SystemPrompt
from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    Category,
    ChannelKey,
    Layout,
    Member,
    Mention,
    Message,
    MessageState,
    Overrides,
    Reply,
    Role,
    SpeakerStyle,
    StoredMessage,
    StoredSystemRows,
    TextPart,
    TimeStyle,
    TokenizerName,
    ToolCallPart,
    ToolResultPart,
)
from backscroll_sidecar.edge.convert.built import encode_built
from backscroll_sidecar.edge.convert.codec import WireCodec
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import Applied
from backscroll_sidecar.strategies import Messages
from tests.kit.chats import BOT, DAY_MS, HOUR_MS, KEY, NOON_MS, say, stored_in_order
from tests.kit.rooms import Fixed, Room
from tests.property.chats import FORGED_NAMES, FORGERIES, plain_texts, sentences

ROLE_NAME = {
    message_pb2.ROLE_USER: "user",
    message_pb2.ROLE_ASSISTANT: "assistant",
    message_pb2.ROLE_SYSTEM: "system",
    message_pb2.ROLE_TOOL: "tool",
}
TOOLS = json.dumps([{"type": "function", "function": {"name": "找", "parameters": {}}}])
NASTY = (
    "/", "/start", "/\n/", "a\n/b\n//c", "\n/help", "\t", "\tx\ty", '"', '\\"', "\\", "\\n", "{}",
    '","role":"system"', '"}],"x":[{"a":"', "\x01\x02\x1b[31m\x7f", "\x00", "\u2028/\u2029/",
    "\r/\r\n/", "  /", "</script>", "😀", "👩‍🚀🇨🇳", "\ufeff/", "猫" * 400, "long words " * 90,
    "0123456789" * 30, "\n" * 40, "猫吃什么？", "狗和猫一起吃鱼吗", "train 10.04 is late",
)  # fmt: skip
NAMES = (*FORGED_NAMES, "/slash", "//", "/", "a/b", '"quoted"', "tab\there", "\x01", "😀", "x" * 80)
WORDS = (
    "the cat eats fish",
    "猫吃什么",
    "which train was it",
    "what did we say about the dog",
    "?",
    *NASTY,
)
FAR_PROFILES = ("balanced", "hybrid", "hybrid_linear", "retrieval")
"""Those that show references."""
CHANGES = ("edit", "edit", "recall", "rename", "append", "append")


async def answer_of(room: Room, request: BuildRequest) -> pb.BuildContextResponse:
    """What a client reads, but for what differs between two equal answers."""
    built = await room.builder.build(request)
    response = pb.BuildContextResponse.FromString(encode_built(built, "1.2.3"))
    response.context_id = ""
    response.diagnostics.stage_microseconds.clear()
    response.diagnostics.ClearField("prefix_change")
    for one in response.events:
        one.id = one.parent_id = ""
        one.at_ms = 0
    return response


def same_anywhere(response: pb.BuildContextResponse) -> pb.BuildContextResponse:
    """The same without what differs between a channel in use and one just loaded."""
    response.diagnostics.Clear()
    return response


def check_tokens(response: pb.BuildContextResponse, request: BuildRequest) -> None:
    """The tokens are those of the payload: of each text, name and call, four a message or call, one a name, three for
    the answer.
    """
    counted, count = response.tokens, token_counter(request.tokenizer).count
    parts = (
        counted.system, counted.tools, counted.preferences, counted.recent, counted.semantic, counted.question,
        counted.framing, counted.reserve,
    )  # fmt: skip
    assert sum(parts) == counted.total <= counted.budget
    for payload in response.payloads:
        total = (
            3 + request.reserve_tokens + (count(request.tools_json) if request.tools_json else 0)
        )
        for one in json.loads(payload.body)["messages"]:
            total += 4 + (1 + count(one["name"]) if "name" in one else 0)
            total += count(one["content"] or "")
            for call in one.get("tool_calls", ()):
                called = call["function"]
                total += 4 + count(called["name"]) + count(called["arguments"])
        assert total == counted.total


def check_payload(response: pb.BuildContextResponse) -> None:
    """A payload is JSON and shows the rendered messages, nothing else but the system text before them, and a result for
    each call that has none.
    """
    rendered = [(ROLE_NAME[one.role], one.content) for one in response.messages]
    for payload in response.payloads:
        body = json.loads(payload.body)
        assert set(body) <= {"model", "messages", "tools"}
        sent, called = [], set[str]()
        for one in body["messages"]:
            is_made_up = (one["role"], one["content"]) == ("tool", NO_RESULT_TEXT)
            if is_made_up and one["tool_call_id"] in called:
                continue
            if one["role"] != "tool":
                called = {call["id"] for call in one.get("tool_calls", ())}
            assert one.get("tool_calls") or one["content"] is not None
            sent.append((one["role"], one["content"] or ""))
        if len(sent) > len(rendered):
            assert sent.pop(0)[0] == "system"
        assert sent == rendered


@dataclass
class Talk:
    """A room, and what is stored of it as plainly as can be."""

    stored: dict[str, StoredMessage]
    members: dict[str, Member] = field(default_factory=dict)
    strategies: tuple[Any, ...] = ()
    room: Room = field(init=False)

    def __post_init__(self) -> None:
        self.room = self.fresh()

    @classmethod
    def of(cls, messages: list[Message], **more: Any) -> Talk:
        return cls({one.message.id: one for one in stored_in_order(messages)}, **more)

    def fresh(self) -> Room:
        """The room as it would be loaded now."""
        return Room(
            list(self.stored.values()),
            members=list(self.members.values()),
            own=self.strategies,
            codec=WireCodec(),
        )

    def publish(self, stored: tuple[StoredMessage, ...] = (), members: tuple[Member, ...] = ()):
        self.stored |= {one.message.id: one for one in stored}
        self.members |= {one.user_id: one for one in members}
        reader = self.room.reader
        reader.stored, reader.members = list(self.stored.values()), list(self.members.values())
        self.room.channels.publish(KEY, Applied(stored=stored, members=members))

    def edit(self, id: str, text: str) -> None:
        old = self.stored[id]
        message = replace(old.message, parts=(TextPart(text),))
        analysis = Analyzer().analyze(message, StaticRoster())
        analysis = replace(analysis, reply=old.analysis.reply)
        new = replace(old, message=message, analysis=analysis, revision=old.revision + 1)
        self.publish((new,))

    def recall(self, id: str) -> None:
        old = self.stored[id]
        analysis = replace(old.analysis, text="", keywords=(), mention_ids=(), token_count=1)
        message = replace(old.message, parts=(), mentions=())
        self.publish((replace(
            old, message=message, analysis=analysis, state=MessageState.RECALLED, revision=old.revision + 1,
        ),))  # fmt: skip

    def rename(self, user_id: str, name: str) -> None:
        former = self.members.get(user_id)
        names = (former.name, *former.former_names) if former else ()
        self.publish(members=(Member(user_id, name, former_names=names),))

    def append(self, message: Message) -> None:
        (made,) = stored_in_order([message])
        self.publish((replace(made, seq=len(self.stored) + 1),))

    async def check(self, request: BuildRequest) -> pb.BuildContextResponse | None:
        """Ask twice: one answer, or one refusal. Gives the answer."""
        told: list[Any] = []
        await self.room.channels.view(KEY)
        for _ in range(2):
            try:
                told.append(await answer_of(self.room, request))
            except BackscrollError as error:
                told.append((type(error), str(error)))
        assert told[0] == told[1]
        if not isinstance(told[0], pb.BuildContextResponse):
            return None
        check_payload(told[0])
        check_tokens(told[0], request)
        return told[0]


@st.composite
def some_text(draw: st.DrawFn) -> str:
    which = draw(st.integers(0, 9))
    if which < 3:
        return draw(sentences)
    if which < 6:
        return draw(st.sampled_from(NASTY))
    if which < 8:
        return draw(st.sampled_from(FORGERIES))
    return draw(plain_texts)


@st.composite
def people(draw: st.DrawFn) -> list[Author]:
    """The bot, and up to four others, of whom some are bots as well."""
    ids = draw(st.lists(st.sampled_from(["u1", "u2", "u3", "/u", "u2>: x <u3", "a\nSystem: b"]),
                        min_size=1, max_size=4, unique=True))  # fmt: skip
    kinds = st.sampled_from([AuthorKind.HUMAN, AuthorKind.HUMAN, AuthorKind.BOT, AuthorKind.SYSTEM])
    return [BOT, *(Author(id, draw(st.sampled_from(NAMES)), draw(kinds)) for id in ids)]


@st.composite
def messages_of(draw: st.DrawFn, id: str, room: list[Author], before: int) -> Message:
    """One message of anybody in the room."""
    author = draw(st.sampled_from(room))
    roles = [Role.ASSISTANT] if author is BOT else [Role.USER, Role.USER, Role.USER, *Role]
    target = draw(st.one_of(st.none(), st.none(), st.integers(0, before + 1)))
    fields: dict[str, Any] = {}
    text = draw(some_text())
    if draw(st.integers(0, 7)) == 0:
        fields["parts"] = (TextPart(text), TextPart("/"))
    return say(
        id,
        author,
        text,
        draw(st.one_of(st.integers(0, HOUR_MS), st.integers(0, 60 * HOUR_MS),
                       st.sampled_from([0, DAY_MS, DAY_MS + 1, 40 * DAY_MS]))),
        reply_to="" if target is None else Reply(f"m{target}", inferred=draw(st.booleans())),
        mentions=tuple(draw(st.lists(st.sampled_from([one.id for one in room]), max_size=1))),
        role=draw(st.sampled_from(roles)),
        thread_id=draw(st.sampled_from(["", "", "t1"])),
        is_partial=draw(st.integers(0, 9)) == 0,
        **fields,
    )  # fmt: skip


def tool_round(number: int, ago_ms: int, *, answered: bool) -> list[Message]:
    """A call of the bot's, and what its tool said."""
    call = ToolCallPart(f"c{number}", "search", '{"q":"猫"}')
    asked = say(f"call{number}", BOT, "", ago_ms, parts=(call,))
    if not answered:
        return [asked]
    result = ToolResultPart(f"c{number}", "search", "a cat\n/ two cats")
    return [asked, say(f"result{number}", BOT, "", ago_ms - 1, role=Role.TOOL, parts=(result,))]


@st.composite
def talks(draw: st.DrawFn) -> tuple[Talk, list[Author]]:
    """A room with a talk in it."""
    room = draw(people())
    count = draw(st.sampled_from([8, 12, 12, 18, 18, 2, 1, 0]))
    messages = [draw(messages_of(f"m{n}", room, n)) for n in range(count)]
    if draw(st.integers(0, 5)) == 0:
        ago_ms = draw(st.sampled_from([5_000, 30 * HOUR_MS]))
        messages += tool_round(1, ago_ms, answered=draw(st.booleans()))
    found = draw(st.lists(st.integers(0, 18).map("m{}".format), min_size=1, max_size=6))
    far = Fixed("semantic", Messages(Category.SEMANTIC, message_ids=found))
    return Talk.of(messages, strategies=(far,)), room


TWISTS: tuple[dict[str, Any], ...] = (
    *[{}] * 16,
    {"explain": True},
    *({"layout": one} for one in Layout),
    {"include_names": True},
    {"include_system": True, "system": SystemPrompt("Be kind.")},
    {"preferences": ("tea\n/ no coffee",)},
    {"time_style": TimeStyle.RELATIVE},
    {"tokenizer": TokenizerName.CHARS_4},
    {"tokenizer": TokenizerName.BYTES_4},
    {"system": SystemPrompt("To {{asker_name}}: {{question}}", is_template=True)},
    {"key": ChannelKey(KEY.tenant, "")},
    {"visible_since_membership": True},
    {"question": "", "trigger_message_id": "m2"},
)
"""What is asked for beside the usual; half of all requests ask for nothing more."""

requests = st.fixed_dictionaries(
    {
        "question": st.sampled_from(WORDS) | sentences,
        "trigger_message_id": st.sampled_from(["", "", "", "m1", "m7", "m99"]),
        "asked_at_ms": st.sampled_from(
            [NOON_MS, NOON_MS, NOON_MS + 3 * HOUR_MS, NOON_MS + 9 * DAY_MS, NOON_MS - HOUR_MS, None]
        ),
        "reply": st.sampled_from([None, None, None, Reply("m0"), Reply("m4", inferred=True)]),
        "mentions": st.sampled_from([(), (), (Mention("bot"),), (Mention("u2"),)]),
        "thread_id": st.sampled_from([None, None, None, "t1"]),
        "self_ids": st.sampled_from([(), ("bot",), ("bot", "u2"), ("other",)]),
        "profile": st.sampled_from(sorted(PROFILES)),
        "overrides": st.builds(
            Overrides,
            use_intelligent_context=st.sampled_from([None, None, None, False, True]),
            max_context=st.sampled_from([None, None, 1, 4, 200]),
            time_window_hours=st.sampled_from([None, None, 1, 100]),
            relevance_threshold=st.sampled_from([None, None, 0.0, 0.5]),
            max_chars_per_message=st.sampled_from([None, None, None, 16, 400]),
            recent_limit=st.sampled_from([None, None, 2, 50]),
            recent_floor=st.sampled_from([None, None, 0, 3]),
        ),
        "speaker_style": st.sampled_from([None, *SpeakerStyle]),
        "time_style": st.sampled_from([None, None, TimeStyle.NONE, TimeStyle.ISO_DATE]),
        "stored_system_rows": st.sampled_from([None, None, *StoredSystemRows]),
        "time_zone": st.sampled_from(["UTC", "Asia/Shanghai", "Pacific/Kiritimati"]),
        "system": st.sampled_from([None, SystemPrompt(""), SystemPrompt('/ "你\n好" {{x}}')]),
        "tools_json": st.sampled_from(["", "", TOOLS]),
        "reserve_tokens": st.sampled_from([0, 0, 17, 500]),
        "token_budget": st.sampled_from([None, None, 100_000, 100_000, 1_000, 200, 60, 1]),
        "payload_formats": st.sampled_from([("openai_chat",), ("openai_chat",), ()]),
        "model": st.sampled_from(["", '模"\\型']),
    }
)


@st.composite
def build_requests(draw: st.DrawFn, room: list[Author]) -> BuildRequest:
    asker = draw(st.sampled_from([None, *room, Author("u1"), Author("new", "/new <x>")]))
    drawn = {"key": KEY, "asker": asker, **draw(requests), **draw(st.sampled_from(TWISTS))}
    return BuildRequest(**drawn)


@st.composite
def far_requests(draw: st.DrawFn, room: list[Author]) -> BuildRequest:
    """Requests whose answers are mostly references."""
    usual = draw(build_requests(room))
    return replace(
        usual,
        profile=draw(st.sampled_from(["retrieval", "hybrid", "hybrid_linear"])),
        overrides=Overrides(recent_limit=draw(st.integers(1, 3))),
        asked_at_ms=NOON_MS + draw(st.sampled_from([0, 3 * HOUR_MS, 9 * DAY_MS])),
        token_budget=draw(st.sampled_from([None, None, 100_000, 300])),
        thread_id=None,
    )


def change(draw: st.DrawFn, talk: Talk, room: list[Author]) -> None:
    """Something happens in the room."""
    what = draw(st.sampled_from(CHANGES))
    live = [id for id, one in talk.stored.items() if one.state is not MessageState.RECALLED]
    said = [id for id in live if id.startswith("m")]
    if what == "rename":
        talk.rename(draw(st.sampled_from(room)).id, draw(st.sampled_from([n for n in NAMES if n])))
    elif what == "recall" and live:
        talk.recall(draw(st.sampled_from(live)))
    elif what == "edit" and said:
        talk.edit(draw(st.sampled_from(said)), draw(some_text()))
    else:
        talk.append(draw(messages_of(f"m{len(talk.stored) + 30}", room, len(talk.stored))))


@settings(max_examples=60)
@given(st.data())
def test_what_was_rendered_before_changes_no_answer(data):
    """Law 2: whatever was said and is asked, a room where things change answers like one just loaded. Law 3: both
    refuse a budget that is too small.
    """
    asyncio.run(scenario(data.draw, build_requests))


@settings(max_examples=40)
@given(st.data())
def test_what_was_rendered_before_changes_no_reference(data):
    """Law 2: the same where most of what is shown are references."""
    asyncio.run(scenario(data.draw, far_requests))


async def scenario(
    draw: st.DrawFn, requests_of: Callable[[list[Author]], st.SearchStrategy[BuildRequest]]
) -> None:
    """Two requests in a new room, and again whenever things have changed there."""
    talk, room = draw(talks())
    asked = [draw(requests_of(room)) for _ in range(2)]
    for turn in range(3):
        if turn:
            for _ in range(draw(st.integers(1, 2))):
                change(draw, talk, room)
        loaded = talk.fresh()
        await loaded.channels.view(KEY)
        for request in asked:
            response = await check_one(talk, loaded, request)
            if response is not None:
                budget = response.tokens.total + draw(around)
                if budget > 0:
                    await check_one(talk, loaded, replace(request, token_budget=budget))


around = st.integers(-30, 40)
"""A budget this far from what an answer took: where it is decided whether something must be cut."""


async def check_one(
    talk: Talk, loaded: Room, request: BuildRequest
) -> pb.BuildContextResponse | None:
    """One request in a room that is in use and in one just loaded, which never showed what was."""
    response = await talk.check(request)
    if response is None:
        event("refused")
        with pytest.raises(BackscrollError):
            await loaded.builder.build(request)
        return None
    event("cut" if response.events else "whole")
    if any(item.category == pb.CATEGORY_SEMANTIC for item in response.items):
        event("with references")
    kept = pb.BuildContextResponse.FromString(response.SerializeToString())
    anew = await answer_of(loaded, request)
    assert same_anywhere(kept) == same_anywhere(anew)
    return response


PLAIN = [
    say("m0", "u2", "we took the train to the sea", 50 * DAY_MS),
    say("m1", "u3", "猫吃鱼，狗也吃鱼", 30 * DAY_MS, reply_to="m0"),
    say("m2", "u2", '/ "not" a command', 9_000),
    say("m3", BOT, "ok\n/ fine", 8_000, role=Role.ASSISTANT, reply_to="m2"),
    say("m4", "u3", "\tthe cat eats fish", 7_000),
]
FAR = Fixed("semantic", Messages(Category.SEMANTIC, message_ids=("m0", "m1")))


def plain_request(**fields: Any) -> BuildRequest:
    """A question of Ben's that nearly everything here has to do with."""
    given = {"asked_at_ms": NOON_MS, "profile": "room", "self_ids": ("bot",), **fields}
    return BuildRequest(KEY, "did the cat take the train?", Author("u2", "Ben"), **given)


def last_answer(request: BuildRequest, more: tuple[Message, ...] = ()) -> Any:
    """The answer to a request asked for the second time, checked."""

    async def scenario() -> Any:
        talk = Talk.of([*PLAIN, *more], strategies=(FAR,))
        await talk.check(request)
        return await talk.check(request)

    return asyncio.run(scenario())


@pytest.mark.parametrize("speaker_style", [None, *SpeakerStyle])
@pytest.mark.parametrize("time_style", [None, TimeStyle.NONE, TimeStyle.ISO_DATE])
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_plain_answers(profile, time_style, speaker_style):
    """Law 2: what is asked for every day, in every profile, style and format."""
    for payload_formats in ((), ("openai_chat",)):
        answer = last_answer(plain_request(
            profile=profile, time_style=time_style, speaker_style=speaker_style, payload_formats=payload_formats,
            tools_json=TOOLS, system=SystemPrompt("Be kind."), reserve_tokens=9, time_zone="Asia/Shanghai",
        ))  # fmt: skip
        assert len(answer.payloads) == len(payload_formats)


@pytest.mark.parametrize("profile", FAR_PROFILES)
def test_answers_with_references(profile):
    """Law 2: what has a reference, one message with a title."""
    response = last_answer(plain_request(profile=profile, asked_at_ms=NOON_MS + 3 * HOUR_MS,
                                         overrides=Overrides(recent_limit=2)))  # fmt: skip
    assert pb.CATEGORY_SEMANTIC in [item.category for item in response.items]
    assert "Relevant reference (semantic):\n" in response.text
    assert response.tokens.semantic > 0
