"""From message to analysis: S5-01, S5-02, S2-18."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from backscroll_sidecar import analyze
from backscroll_sidecar.analyze import Analyzer, StaticRoster, is_addressed, token_counter
from backscroll_sidecar.domain import (
    Author,
    AuthorKind,
    MediaPart,
    Member,
    Mention,
    Message,
    MessageType,
    Reply,
    ReplyKind,
    Role,
    TextPart,
    TokenizerName,
)

MEMBERS = (Member("u-hei", "小黑"), Member("u-bob", "Bob"))


def message(text: str, **fields: object) -> Message:
    base = Message("m9", "c1", Author("u-ann", "Ann"), (TextPart(text),), 1_700_000_000_000)
    return replace(base, **fields)


def roster() -> StaticRoster:
    return StaticRoster(MEMBERS, {"u-hei": "m7", "u-bob": "m8"})


# --- S5-02: what three platforms send, as a bot hands it on ---------------------------------------

TELEGRAM = {  # a reply with the quote button; entities count UTF-16 units and name users without a handle
    "message_id": 812,
    "date": 1_700_000_000,
    "chat": {"id": -100123},
    "from": {"id": 42, "first_name": "Ann"},
    "text": "那猫呢？",
    "reply_to_message": {"message_id": 790, "from": {"id": 7, "first_name": "Bob"}},
}
SLACK = {  # an answer inside a thread; mentions are <@ID> in the text
    "type": "message",
    "channel": "C024",
    "user": "U2147483697",
    "text": "<@U061F7AUR> see the runbook",
    "ts": "1482960137.003543",
    "thread_ts": "1482960100.000200",
}
LARK = {  # no reply, only a mention; its key stands in the text
    "message": {
        "message_id": "om_5ce6d572455d361153b7xx51da133945",
        "chat_id": "oc_5ad11d72b830411d72b836c20",
        "create_time": "1609073151345",
        "content": "@_user_1 几点开会",
        "mentions": [{"key": "@_user_1", "id": {"open_id": "ou_84aad35d"}, "name": "小黑"}],
    },
    "sender": {"sender_id": {"open_id": "ou_ann"}},
}


def from_telegram(sent: dict) -> Message:
    quoted = sent.get("reply_to_message")
    return Message(
        id=str(sent["message_id"]),
        channel=str(sent["chat"]["id"]),
        author=Author(str(sent["from"]["id"]), sent["from"]["first_name"]),
        parts=(TextPart(sent["text"]),),
        sent_at_ms=sent["date"] * 1_000,
        reply=Reply(str(quoted["message_id"]), ReplyKind.QUOTE) if quoted else None,
    )


def from_slack(sent: dict) -> Message:
    root = sent.get("thread_ts", sent["ts"])
    return Message(
        id=sent["ts"],
        channel=sent["channel"],
        author=Author(sent["user"]),
        parts=(TextPart(sent["text"].replace("<@U061F7AUR>", "@bob")),),
        sent_at_ms=int(float(sent["ts"]) * 1_000),
        thread_id=root,
        reply=Reply(root, ReplyKind.THREAD) if root != sent["ts"] else None,
        mentions=(Mention("U061F7AUR", "bob", 0, 4),),
    )


def from_lark(sent: dict) -> Message:
    body = sent["message"]
    text = body["content"]
    for mention in body["mentions"]:
        text = text.replace(mention["key"], "@" + mention["name"])
    return Message(
        id=body["message_id"],
        channel=body["chat_id"],
        author=Author(sent["sender"]["sender_id"]["open_id"]),
        parts=(TextPart(text),),
        sent_at_ms=int(body["create_time"]),
        mentions=tuple(Mention(m["id"]["open_id"], m["name"]) for m in body["mentions"]),
    )


def test_a_telegram_quote_is_a_reply_to_the_quoted_message():
    """S5-02: quote; the target user is the author of the target message."""
    known = StaticRoster([Member("7", "Bob")], {"7": "790"})
    analysis = Analyzer().analyze(from_telegram(TELEGRAM), known)
    assert analysis.reply == Reply("790", ReplyKind.QUOTE, inferred=False)
    assert analysis.mention_ids == ()


def test_a_slack_thread_message_is_a_reply_to_the_root():
    """S5-02: thread; an edge of the sender is never replaced by one inferred from a mention."""
    known = StaticRoster([], {"U061F7AUR": "1482960130.000100"})
    analysis = Analyzer().analyze(from_slack(SLACK), known)
    assert analysis.reply == Reply("1482960100.000200", ReplyKind.THREAD, inferred=False)
    assert analysis.mention_ids == ("U061F7AUR",)


def test_a_lark_mention_infers_a_reply_and_says_so():
    """S5-02: mention; the edge goes to the person's newest message and is marked inferred."""
    known = StaticRoster([], {"ou_84aad35d": "om_newest"})
    analysis = Analyzer().analyze(from_lark(LARK), known)
    assert analysis.reply == Reply("om_newest", ReplyKind.MENTION, inferred=True)
    assert analysis.mention_ids == ("ou_84aad35d",)


# --- the inferred edge -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (message("@小黑你好"), Reply("m7", ReplyKind.MENTION, inferred=True)),
        (message("bob: @小黑 said so"), Reply("m8", ReplyKind.MENTION, inferred=True)),
        (message("hello"), None),
        (message("hi", mentions=(Mention("stranger"),)), None),  # has said nothing yet
        (message("@小黑", id="m7"), None),  # not itself
        (message("@小黑", author=Author("u-hei", "小黑")), None),  # oneself
        (message("@小黑", reply=Reply("m1")), Reply("m1")),
        (message("@小黑", reply=Reply("m9")), Reply("m7", ReplyKind.MENTION, inferred=True)),
        (message("x", reply=Reply("")), None),
    ],
)
def test_where_the_reply_edge_goes(sent, expected):
    assert Analyzer().analyze(sent, roster()).reply == expected


def test_a_batch_teaches_its_roster():
    known, analyzer = StaticRoster(), Analyzer()
    first = message("anyone here?", id="a", author=Author("u1", "小黑"))
    analyzer.analyze(first, known)
    known.note_author(first.author, first.id)
    second = analyzer.analyze(message("@小黑我在", id="b"), known)
    assert second.mention_ids == ("u1",)
    assert second.reply == Reply("a", ReplyKind.MENTION, inferred=True)


# --- the other features ----------------------------------------------------------------------------


def test_the_features_of_a_message():
    """S5-01: everything refers to the rendered text; the line is counted with its line break."""
    sent = message("", parts=(TextPart("bob: 看门票"), MediaPart("image", alt_text="a red car")))
    analysis = Analyzer().analyze(sent, roster())
    assert analysis.text == sent.text == "bob: 看门票\n[image: a red car]"
    assert {"门票", "car"} <= set(analysis.keywords)
    assert analysis.token_count == token_counter().count(analysis.text + "\n")
    assert analysis.mention_ids == ("u-bob",)


def test_the_counter_can_be_chosen():
    analyzer = Analyzer(token_counter(TokenizerName.BYTES_4))
    assert analyzer.analyze(message("12345678"), roster()).token_count == 3


def test_a_question_is_cut_like_a_message():
    analyzer = Analyzer()
    assert (
        analyzer.analyze_text(" 门票多少钱？ ")
        == analyzer.analyze(message("门票多少钱？"), roster()).keywords
    )


def test_the_type_knows_whether_the_parent_asks():
    """S5-04: the edge decides where somebody can tell whether the parent is a question."""
    analyzer, sent = Analyzer(), message("the red one", reply=Reply("m3"))
    asked: list[str] = []

    def parent_is_question(message_id: str) -> bool:
        asked.append(message_id)
        return True

    answer = analyzer.analyze(sent, roster(), parent_is_question=parent_is_question)
    assert answer.message_type is MessageType.ANSWER
    assert asked == ["m3"]
    assert analyzer.analyze(sent, roster()).message_type is MessageType.DISCUSSION


def test_our_bot_converses_and_other_bots_notify():
    bot = Author("bot-1", "Helper", AuthorKind.BOT)
    ours = message("you can install it with apt", author=bot, role=Role.ASSISTANT)
    theirs = message("you can install it with apt", author=bot)
    assert Analyzer().analyze(ours, roster()).message_type is MessageType.ANSWER
    assert Analyzer().analyze(theirs, roster()).message_type is MessageType.NOTIFICATION


@given(st.text(), st.booleans())
def test_analysis_is_a_function_of_its_input(text, quoted):
    sent = message(text, reply=Reply("m1") if quoted else None)
    analysis = Analyzer().analyze(sent, roster())
    assert analysis == Analyzer().analyze(sent, roster())
    assert set(analysis.mention_ids) <= {"u-hei", "u-bob"}


# --- S2-18 -----------------------------------------------------------------------------------------

SELF_IDS = frozenset({"bot-1", "bot-1-old"})


def test_a_mention_of_the_bot_is_addressed():
    """S2-18: by @mention, from the platform's entity and from the text."""
    known = StaticRoster([Member("bot-1", "小助手", kind=AuthorKind.BOT)])
    typed = Analyzer().analyze(message("@小助手今天天气怎么样"), known)
    assert is_addressed(typed.mention_ids, None, SELF_IDS)
    sent = Analyzer().analyze(message("weather?", mentions=(Mention("bot-1-old"),)), StaticRoster())
    assert is_addressed(sent.mention_ids, None, SELF_IDS)


def test_a_reply_to_the_bot_is_addressed():
    """S2-18: by a reply to one of its messages."""
    analysis = Analyzer().analyze(message("and tomorrow?", reply=Reply("m5")), roster())
    author_of = {"m5": "bot-1", "m6": "u-bob"}
    assert analysis.reply is not None
    assert is_addressed(analysis.mention_ids, author_of[analysis.reply.message_id], SELF_IDS)
    assert not is_addressed(analysis.mention_ids, author_of["m6"], SELF_IDS)


def test_what_is_not_addressed():
    assert not is_addressed((), None, SELF_IDS)
    assert not is_addressed(("u-bob",), "u-hei", SELF_IDS)
    assert not is_addressed(("",), "", frozenset({"bot-1"}))
    assert not is_addressed(("bot-1",), "bot-1", frozenset())


def test_warm_loads_what_requests_need():
    analyze.warm()
    assert analyze.segmenter_name() == "rjieba"
