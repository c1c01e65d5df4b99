"""What a bot hands over becomes what the contract says, or is refused before it is sent."""

import copy
import pickle
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest

from backscroll import (
    Author,
    Embedding,
    Media,
    Member,
    Mention,
    Message,
    Overrides,
    Reply,
    SystemPrompt,
    ToolCall,
    ToolResult,
    _calls,
)
from backscroll._calls.context import context_request
from backscroll._encode import clean, enum_name
from backscroll.v1 import context_pb2, history_pb2, message_pb2

LONE = "\ud83d"


def first_call(plan):
    return next(plan).request


def strings_in(message):
    """Every string of a protobuf message, however deep."""
    for field, value in message.ListFields():
        if hasattr(value, "items"):
            values = [each for pair in value.items() for each in pair]
        else:
            values = list(value) if hasattr(value, "append") else [value]
        for each in values:
            if isinstance(each, str):
                yield field.full_name, each
            elif hasattr(each, "ListFields"):
                yield from strings_in(each)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("plain", "plain"),
        ("那猫呢？😀", "那猫呢？😀"),
        ("a\ud800b", "a\ufffdb"),
        ("\udc00", "\ufffd"),
        ("\ud83d\ude00", "😀"),
        ("\ud83d\ud83d\ude00", "\ufffd😀"),
        ("\ude00\ud83d", "\ufffd\ufffd"),
    ],
)
def test_lone_surrogates_are_replaced_and_pairs_joined(text, expected):
    assert clean(text) == expected


def test_a_reply_that_broke_off_is_marked():
    """Law 8, S2-19: only when the bot says so."""
    assert Message("r1", "bot", "It is", role="assistant", partial=True).to_proto().partial
    assert not Message("r1", "bot", "It is", role="assistant").to_proto().partial


def test_no_text_or_id_of_a_message_breaks_on_a_surrogate():
    message = Message(
        id="m" + LONE,
        author=Author("u" + LONE, "n" + LONE),
        text="t" + LONE,
        parts=[
            "p" + LONE,
            Media("k" + LONE, "a" + LONE, "u" + LONE, "m" + LONE),
            ToolCall("i" + LONE, "n" + LONE, "{}" + LONE),
            ToolResult("c" + LONE, "t" + LONE, "n" + LONE),
        ],
        reply_to=Reply("r" + LONE, user_id="w" + LONE),
        mentions=["x" + LONE, Mention("y" + LONE, "z" + LONE)],
        channel="c" + LONE,
        thread_id="t" + LONE,
        session_id="s" + LONE,
        embeddings=[Embedding("e" + LONE, [1.0])],
        dedupe_key="d" + LONE,
        audience=["u" + LONE],
    ).to_proto()
    found = dict(strings_in(message))
    every = {
        field.full_name
        for kind in ("Message", "Author", "Reply", "Mention", "Embedding", "TextPart", "MediaPart")
        for field in message_pb2.DESCRIPTOR.message_types_by_name[kind].fields
        if field.type == field.TYPE_STRING
    }
    every.remove("backscroll.v1.Message.alias_ids")  # of exports alone
    assert every <= found.keys()
    assert all(text.endswith("\ufffd") for text in found.values())


def test_no_text_or_id_of_a_request_breaks_on_a_surrogate():
    """The dictionary is complete: a new string field without a value here fails the test."""
    names = ["channel", "question", "trigger_message_id", "thread_id", "session_id", "profile"]
    names += ["time_zone", "tools_json", "model", "question_label", "language", "provider"]
    names += ["viewer_id"]
    texts = dict.fromkeys(names, "x" + LONE)
    request = first_call(
        _calls.build_context(
            **texts,
            asker="a" + LONE,
            reply="r" + LONE,
            mentions=["m" + LONE],
            self_ids=["s" + LONE],
            overrides={"sources": ["o" + LONE]},
            system=SystemPrompt("t" + LONE, parameters={"k" + LONE: "v" + LONE}),
            preferences=["p" + LONE],
            allowed_author_ids=["b" + LONE],
            query_embedding=Embedding("e" + LONE, [1.0]),
        )
    )
    found = dict(strings_in(request))
    for field in context_pb2.BuildContextRequest.DESCRIPTOR.fields:
        if field.type == field.TYPE_STRING:
            assert field.full_name in found
    assert all(text.endswith("\ufffd") for text in found.values())


@pytest.mark.parametrize(
    "plan",
    [
        _calls.append(LONE, Message(LONE, LONE, LONE)),
        _calls.compact(LONE, thread_id=LONE, focus=LONE),
        _calls.edit_message(LONE, LONE, LONE, mentions=[LONE]),
        _calls.recall_message(LONE, LONE),
        _calls.pin_message(LONE, LONE),
        _calls.unpin_message(LONE, LONE),
        _calls.list_pinned_messages(LONE),
        _calls.upsert_members(LONE, [Member(LONE, LONE, [LONE])]),
        _calls.erase(LONE, message_ids=[LONE], user_id=LONE),
        _calls.set_preference(LONE, LONE, channel=LONE, preference_id=LONE, topic=LONE, value=LONE),
        _calls.list_preferences(LONE, channel=LONE, topic=LONE),
        _calls.delete_preference(LONE, LONE, channel=LONE),
        _calls.get_channel(LONE),
        _calls.list_messages(
            LONE, author_id=LONE, thread_id=LONE, channels=[LONE], message_ids=[LONE]
        ),
        _calls.get_thread(LONE, LONE),
        _calls.search(LONE, LONE),
        _calls.list_members(LONE),
        _calls.wait_for_index(LONE),
        _calls.health(LONE),
    ],
    ids=lambda plan: plan.__name__,
)
def test_no_other_call_breaks_on_a_surrogate(plan):
    assert {text for _, text in strings_in(first_call(plan))} == {"\ufffd"}


def test_a_build_context_request_is_what_was_asked_for():
    request = first_call(
        _calls.build_context(
            "room",
            "那猫呢？",
            asker=Author("u1", "Ann"),
            trigger_message_id="m9",
            asked_at=datetime(2026, 11, 20, 8, tzinfo=timezone(timedelta(hours=8))),
            reply=Reply("m8", "mention", inferred=True),
            mentions=["bot", Mention("u2", "Ben", 0, 4)],
            thread_id="t",
            session_id="s",
            self_ids=["bot", "oldbot"],
            profile="classic",
            overrides=Overrides(max_context=5, sources=["recent", "window"]),
            layout="single_user",
            speaker_style="tagged",
            time_style="iso_date",
            time_zone="Asia/Shanghai",
            system="You are a cat.",
            include_system=True,
            include_names=True,
            tools_json="[]",
            reserve_tokens=0,
            preferences=["short answers"],
            query_embedding=Embedding("e", b"\0\0\x80?"),
            token_budget=4096,
            tokenizer="chars_4",
            payload_formats=["openai_chat", "none"],
            model="gpt",
            explain=True,
            question_label="",
            visible_since_membership=True,
        )
    )
    expected = context_pb2.BuildContextRequest(
        channel="room",
        asker=message_pb2.Author(id="u1", name="Ann", kind="AUTHOR_KIND_HUMAN"),
        question="那猫呢？",
        trigger_message_id="m9",
        asked_at_ms=1_795_132_800_000,
        reply=message_pb2.Reply(message_id="m8", kind="REPLY_KIND_MENTION", inferred=True),
        mentions=[
            message_pb2.Mention(user_id="bot"),
            message_pb2.Mention(user_id="u2", name="Ben", start=0, end=4),
        ],
        thread_id="t",
        session_id="s",
        self_ids=["bot", "oldbot"],
        profile="classic",
        overrides=context_pb2.Overrides(max_context=5, sources=["recent", "window"]),
        layout="LAYOUT_SINGLE_USER",
        speaker_style="SPEAKER_STYLE_TAGGED",
        time_style="TIME_STYLE_ISO_DATE",
        time_zone="Asia/Shanghai",
        system=context_pb2.SystemPrompt(text="You are a cat."),
        include_system=True,
        include_names=True,
        tools_json="[]",
        reserve_tokens=0,
        preferences=["short answers"],
        query_embedding=message_pb2.Embedding(embedder_id="e", values=b"\0\0\x80?"),
        token_budget=4096,
        tokenizer="TOKENIZER_CHARS_4",
        payload_formats=["PAYLOAD_FORMAT_OPENAI_CHAT", "PAYLOAD_FORMAT_NONE"],
        model="gpt",
        explain=True,
        question_label="",
        visible_since_membership=True,
    )
    assert request == expected
    assert request.HasField("reserve_tokens")
    assert request.HasField("question_label")


def test_what_is_left_out_stays_unset():
    request = first_call(_calls.build_context("room", "hello"))
    assert request == context_pb2.BuildContextRequest(channel="room", question="hello")


def test_protobuf_messages_and_numbers_are_taken_as_they_are():
    request = first_call(
        _calls.build_context(
            asker=message_pb2.Author(id="u1"),
            asked_at=1_795_132_800_005,
            layout=context_pb2.LAYOUT_TURNS,
            payload_formats="none",
            system=context_pb2.SystemPrompt(text="s"),
            overrides=context_pb2.Overrides(max_context=3),
            preferences="a single one",
        )
    )
    assert request == context_pb2.BuildContextRequest(
        asker=message_pb2.Author(id="u1"),
        asked_at_ms=1_795_132_800_005,
        layout=context_pb2.LAYOUT_TURNS,
        payload_formats=[context_pb2.PAYLOAD_FORMAT_NONE],
        system=context_pb2.SystemPrompt(text="s"),
        overrides=context_pb2.Overrides(max_context=3),
        preferences=["a single one"],
    )


def test_a_message_is_what_was_meant():
    when = datetime(2026, 11, 20, tzinfo=UTC)
    message = Message(
        "m1", Author("bot", kind="bot"), "see", when, [Media("image")], role="assistant"
    )
    assert message.to_proto() == message_pb2.Message(
        id="m1",
        author=message_pb2.Author(id="bot", kind="AUTHOR_KIND_BOT"),
        role="ROLE_ASSISTANT",
        parts=[
            message_pb2.Part(text=message_pb2.TextPart(text="see")),
            message_pb2.Part(media=message_pb2.MediaPart(kind="image")),
        ],
        sent_at_ms=1_795_132_800_000,
    )


def test_no_text_is_no_part_but_an_empty_text_is_one():
    assert not Message("m", "a").to_proto().parts
    assert len(Message("m", "a", "").to_proto().parts) == 1


def test_times_to_the_millisecond_before_and_after_the_epoch():
    member = Member(
        "u",
        joined_at=datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC),
        left_at=datetime(2026, 11, 20, 0, 0, 0, 1_999, tzinfo=UTC),
    ).to_proto()
    assert member == history_pb2.Member(
        user_id="u", kind="AUTHOR_KIND_HUMAN", joined_at_ms=-1, left_at_ms=1_795_132_800_001
    )


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(ValueError, match="time zone"):
        Message("m", "a", "t", datetime(2026, 11, 20)).to_proto()  # noqa: DTZ001


@pytest.mark.parametrize("name", ["single", "LAYOUT_TURNS", ""])
def test_an_unknown_name_is_refused_with_those_there_are(name):
    with pytest.raises(ValueError, match="'context_and_question'"):
        first_call(_calls.build_context("room", "q", layout=name))


def test_a_newer_servers_enum_value_has_a_name_all_the_same():
    assert enum_name(message_pb2.Role.DESCRIPTOR, 99) == "99"
    assert enum_name(message_pb2.Role.DESCRIPTOR, 0) == "unspecified"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Message(5, "a", "t"), r"^Message\.id must be text, not int: str\(5\)$"),
        (lambda: Message("m", 5, "t"), r"^Author\.id must be text, not int: str\(5\)$"),
        (lambda: Message("m", "a", "t", reply_to=5), r"^Reply\.message_id must be text, not int"),
        (lambda: Message("m", "a", 5).to_proto(), "^a text or part must be text"),
        (lambda: Message("m", "a", mentions=[5]).to_proto(), r"^Mention\.user_id must be text"),
        (lambda: Author(5), r"^Author\.id must be text, not int: str\(5\)$"),
        (lambda: Member(5), r"^Member\.user_id must be text, not int: str\(5\)$"),
        (lambda: Message("m", "a", "t", 1.5e12), r"^Message\.sent_at .* milliseconds, not float$"),
        (lambda: Message("m", "a", "t", "today"), r"^Message\.sent_at .* milliseconds, not str$"),
        (lambda: Message("m", "a", "t", True), r"^Message\.sent_at .* milliseconds, not bool$"),
        (lambda: Overrides(max_context="5"), r"^Overrides\.max_context must be a whole number"),
    ],
)
def test_what_is_of_the_wrong_kind_is_refused_where_it_is_written(make, words):
    with pytest.raises(TypeError, match=words):
        make()


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (_calls.append(123, Message("m", "a", "t")), r"^channel must be text, not int: str\(123\)$"),
        (_calls.get_thread("room", 5), r"^message_id must be text, not int: str\(5\)$"),
        (_calls.build_context("room", "q", asker=5), r"^Author\.id must be text, not int: str\(5\)$"),
        (_calls.build_context("room", "q", self_ids=[5]), "^self_ids must be text, not int"),
        (_calls.build_context("room", "q", asked_at=1.5e12), "^asked_at must be an aware datetime"),
        (_calls.build_context("room", "q", token_budget="9"), "^token_budget must be a whole number"),
    ],
)  # fmt: skip
def test_keywords_of_the_wrong_kind_are_named(plan, words):
    with pytest.raises(TypeError, match=words):
        next(plan)


@pytest.mark.parametrize("seconds", [1, 1_795_132_800, 9_999_999_999])
def test_seconds_are_not_taken_for_milliseconds(seconds):
    with pytest.raises(ValueError, match=rf"^Message\.sent_at {seconds} looks like seconds"):
        Message("m", "a", "t", seconds)
    with pytest.raises(ValueError, match=r"^Member\.joined_at .* looks like seconds"):
        Member("u", joined_at=seconds)
    with pytest.raises(ValueError, match=r"^asked_at .* looks like seconds"):
        next(_calls.build_context("room", "q", asked_at=seconds))
    with pytest.raises(ValueError, match=r"^edited_at .* looks like seconds"):
        next(_calls.edit_message("room", "m", "t", edited_at=seconds))
    with pytest.raises(ValueError, match=r"^since .* looks like seconds"):
        next(_calls.list_messages("room", since=seconds))


def test_early_times_are_taken_where_they_can_only_be_meant():
    assert Message("m", "a", "t", 0).to_proto().sent_at_ms == 0
    assert Message("m", "a", "t", 10_000_000_000).to_proto().sent_at_ms == 10_000_000_000
    assert (
        Message("m", "a", "t", datetime(1970, 1, 2, tzinfo=UTC)).to_proto().sent_at_ms == 86_400_000
    )
    raw = message_pb2.Message(id="m", sent_at_ms=5)
    assert first_call(_calls.append("room", raw)).messages == [raw]


def test_a_wrong_name_or_number_is_refused_early_and_named():
    with pytest.raises(ValueError, match=r"^Author\.kind: no AuthorKind 'robot'; there are"):
        Author("a", kind="robot")
    with pytest.raises(ValueError, match=r"^token_budget must not be negative: -1$"):
        next(_calls.build_context("room", "q", token_budget=-1))


def test_an_only_id_of_the_bot_may_stand_alone():
    assert first_call(_calls.build_context("room", "q", self_ids="cat-bot")).self_ids == ["cat-bot"]


def test_text_alone_is_not_taken_for_a_list_of_messages():
    with pytest.raises(TypeError, match="not str"):
        first_call(_calls.append("room", "hello"))


@pytest.mark.parametrize(
    "make",
    [
        lambda: Overrides(max_contxt=5),
        lambda: context_request("room", "hi", overrides={"max_contxt": 5}),
    ],
)
def test_an_unknown_override_lists_those_there_are(make):
    with pytest.raises(
        TypeError, match="no 'max_contxt'; there are use_intelligent_context, max_context,"
    ):
        make()


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: _calls.set_channel_settings("room", sharing={"group": ["x"]}),
            "Sharing has no 'group'; there are shares_with, reads_from, groups, max_messages",
        ),
        (
            lambda: _calls.set_channel_settings("room", overrides={"weights": {"reply": 1}}),
            "ScoreWeights has no 'reply'; there are reply_chain, user_continuity,",
        ),
    ],
)
def test_an_unknown_name_in_a_mapping_lists_those_there_are(make, words):
    with pytest.raises(TypeError, match=words):
        first_call(make())


def test_overrides_can_be_copied():
    assert copy.deepcopy(Overrides(max_context=5)) == Overrides(max_context=5)
    assert pickle.loads(pickle.dumps(Overrides(max_context=5))) == Overrides(max_context=5)
    assert replace(Overrides(max_context=5), recent_floor=1).max_context == 5
