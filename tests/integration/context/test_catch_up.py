"""Builds without a question: what happened since, over the wire, on a real chat and in Chinese."""

import gzip
import json
import math
from importlib import resources

import pytest

from backscroll import Author, Message, Overrides
from backscroll.errors import InvalidRequest, NotFound
from backscroll.v1 import context_pb2
from backscroll_sidecar.context import catch_up
from tests.kit.served import served

CHAT = resources.files("backscroll_sidecar") / "data" / "demo_chat.jsonl.gz"
FORMATS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini_contents")
NOON, MINUTE = 1_795_176_000_000, 60_000


def chat():
    for line in map(json.loads, gzip.decompress(CHAT.read_bytes()).splitlines()):
        yield Message(
            line["message_id"],
            Author(line["user_id"], line["name"]),
            line["content"],
            line["timestamp"],
            mentions=line["mentions"],
        )


def shown(context):
    return [one.message.id for one in context.items]


def fates(context):
    return {one.message_id: one for one in context.explanation.candidates}


@pytest.mark.row("P-30")
async def test_a_real_chat():
    """What names the asker or answers them is in; so are starts of long threads; greetings are out."""
    messages = list(chat())
    places = {one.id: place for place, one in enumerate(messages)}
    asker = "yoaino3v"
    since = messages[20]
    hello = [
        Message("g1", "newcomer", "hi all", messages[60].sent_at + 1),
        Message("g2", "newcomer", "good morning", messages[61].sent_at + 1),
        Message("g3", "other", "lol", messages[61].sent_at + 2),
    ]
    async with served() as (client, _):
        await client.append("irc", messages[:61])
        await client.append("irc", hello)
        await client.append("irc", messages[61:])
        context = await client.build_context(
            "irc", asker=asker, catch_up=since.id, explain=True, token_budget=3_000
        )
        ids = shown(context)
        order = {one.id: one.sent_at for one in (*messages, *hello)}
        assert [order[one] for one in ids] == sorted(order[one] for one in ids)  # chronological
        assert all(order[one] >= since.sent_at for one in ids)
        assert since.id not in ids
        assert context.tokens.total <= 3_000
        new = messages[places[since.id] + 1 :]
        for one in new:
            if asker in one.mentions and one.author.id != asker:
                assert one.id in ids, one.text
        assert not {"g1", "g2", "g3"} & {*ids}
        told = fates(context)
        assert told["g1"].fate == context_pb2.FATE_THRESHOLD
        assert told.keys() >= {one.id for one in new}
        factors = list(context.explanation.factors)
        assert factors == ["for_asker", "open_question", "facts", "thread", "length"]
        thread = factors.index("thread")
        starts = sorted(told.values(), key=lambda one: -one.shares[thread])[:3]
        assert {one.message_id for one in starts} <= {*ids}
        assert all(context_pb2.SOURCE_SINCE in one.sources for one in told.values())
        assert context.raw.summary.startswith("Since 2011-11-14")
        assert f"{len(new) + 3} messages" in context.raw.summary
        assert context.messages[-1]["content"].endswith("What did I miss since then?")
        for one in told.values():
            assert one.linear == pytest.approx(sum(one.shares))


@pytest.mark.row("P-30")
async def test_replies_to_the_asker_and_decisions():
    """By the platform's edge; with a budget for few lines they come first."""
    small = [
        Message(
            f"s{n}", f"p{n % 7}", f"well {n} that is some talk about nothing much at all", NOON + n
        )
        for n in range(60)
    ]
    said = [
        Message("mine", "ann", "which hotel do we take?", NOON + 100),
        Message("reply", "ben", "the one by the sea", NOON + 110, reply_to="mine"),
        Message("decided", "cat", "we decided to meet on Friday at 18:30 in room 204", NOON + 120),
        Message("open", "dan", "who can bring a projector on Friday?", NOON + 130),
        Message("bye", "eve", "good night", NOON + 140),
    ]
    async with served() as (client, _):
        await client.append(
            "room", [Message("before", "ben", "old news", NOON - MINUTE), *small, *said]
        )
        context = await client.build_context(
            "room", asker="ann", catch_up="before", explain=True, overrides=Overrides(max_context=3)
        )
        assert shown(context) == ["reply", "decided", "open"]
        assert fates(context)["bye"].fate == context_pb2.FATE_THRESHOLD
        nobody = await client.build_context("room", catch_up="before", explain=True)
        assert fates(nobody)["reply"].score < fates(context)["reply"].score
        own = await client.build_context("room", "did they decide?", asker="ann", catch_up="before")
        assert own.messages[-1]["content"].endswith("did they decide?")
        by_time = await client.build_context("room", asker="ann", catch_up=NOON + 120)
        assert shown(by_time) == ["decided", "open"]


@pytest.mark.row("P-30")
async def test_chinese():
    said = [
        Message("旧", "u2", "昨天的事", NOON - MINUTE),
        Message("约", "u2", "定了，周五晚上七点在老地方吃饭", NOON + 1),
        Message("问", "u3", "谁能带一瓶酒来？", NOON + 2),
        Message("叫", "u4", "@小安 你记得带钥匙", NOON + 3, mentions=["u1"]),
        Message("早", "u5", "早上好", NOON + 4),
        Message("哈", "u5", "哈哈哈", NOON + 5),
    ]
    async with served() as (client, _):
        await client.append("群", said)
        context = await client.build_context(
            "群", asker=Author("u1", "小安"), catch_up="旧", explain=True
        )
        assert shown(context) == ["约", "问", "叫"]
        assert context.raw.summary.startswith(
            "自 2026-11-20 11:59 以来，4 人共发了 5 条消息（u5 2、"
        )
        assert "在那之后我错过了什么？" in context.messages[-1]["content"]
        assert fates(context)["早"].fate == context_pb2.FATE_THRESHOLD
        zone = await client.build_context("群", catch_up=NOON, time_zone="Asia/Shanghai")
        assert "20:00" in zone.raw.summary


@pytest.mark.row("P-30")
async def test_every_format_and_layout():
    async with served() as (client, _):
        await client.append("irc", list(chat())[:80])
        first = next(chat()).id
        for layout in ("turns", "context_and_question", "single_user", "system_and_user"):
            context = await client.build_context(
                "irc", catch_up=first, layout=layout, payload_formats=FORMATS, token_budget=2_000
            )
            assert len(context.raw.payloads) == len(FORMATS)
            for payload in context.raw.payloads:
                assert b"What happened since" in payload.body
            tokens = context.tokens
            assert tokens.summary > 0
            assert tokens.total <= tokens.budget == 2_000


@pytest.mark.row("P-30")
async def test_nothing_new_and_what_cannot_be():
    async with served() as (client, _):
        messages = list(chat())[:30]
        await client.append("irc", messages)
        context = await client.build_context("irc", catch_up=messages[-1].id)
        assert shown(context) == []
        assert context.raw.summary.startswith("Nothing was said since 2011-11-14")
        assert not context.degradations
        later = await client.build_context("irc", catch_up=NOON)
        assert later.raw.summary.startswith("Nothing was said since")
        unheard = await client.build_context("nowhere", catch_up=NOON)
        assert not unheard.channel_known
        assert shown(unheard) == []
        with pytest.raises(NotFound) as unknown:
            await client.build_context("irc", catch_up="never")
        assert (unknown.value.field, unknown.value.reason) == (
            "catch_up.since_message_id",
            "MESSAGE_NOT_FOUND",
        )
        with pytest.raises(NotFound) as nowhere:
            await client.build_context("nowhere", catch_up="never")
        assert nowhere.value.reason == "CHANNEL_NOT_FOUND"
        for fields, field in (
            ({"channel": "", "catch_up": NOON}, "channel"),
            ({"channel": "irc", "catch_up": context_pb2.CatchUp()}, "catch_up.since_message_id"),
            ({"channel": "irc", "catch_up": "x" * 600}, "catch_up.since_message_id"),
            ({"channel": "irc", "catch_up": context_pb2.CatchUp(since_ms=-1)}, "catch_up.since_ms"),
        ):
            with pytest.raises(InvalidRequest) as refused:
                await client.build_context(**fields)
            assert refused.value.field == field
        with pytest.raises(InvalidRequest) as blank:
            await client.chat("irc", "", catch_up=NOON)
        assert blank.value.reason == "QUESTION_MISSING"


@pytest.mark.row("P-30")
async def test_recalled_edited_and_hidden_lines():
    async with served() as (client, _):
        messages = list(chat())[:60]
        await client.append("irc", messages)
        context = await client.build_context("irc", catch_up=messages[0].id, asker="yoaino3v")
        gone = shown(context)[0]
        await client.recall_message("irc", gone)
        again = await client.build_context("irc", catch_up=messages[0].id, asker="yoaino3v")
        assert gone not in shown(again)
        count = int(again.raw.summary.split("there were ")[1].split()[0])
        assert count == len(messages) - 2
        await client.append(
            "irc",
            Message(
                "secret",
                "usr13",
                "yoaino3v: decided, the code is 12345",
                messages[-1].sent_at + 1,
                audience=["usr13"],
            ),
        )
        hidden = await client.build_context("irc", catch_up=messages[0].id, asker="yoaino3v")
        assert "secret" not in shown(hidden)
        assert str(count) in hidden.raw.summary


@pytest.mark.row("P-30")
async def test_a_long_time_away():
    """Thousands of lines: what is for the asker is found, within the budget."""
    talk = [
        Message(
            f"m{n}", f"p{n % 40}", f"line {n} about this and that and the other thing", NOON + n
        )
        for n in range(5_000)
    ]
    named = Message(
        "named", "p3", "ann: your build is broken since rev 8812", NOON + 2_500, mentions=["ann"]
    )
    async with served() as (client, _):
        async_batches = [talk[start : start + 1_000] for start in range(0, 5_000, 1_000)]
        for batch in async_batches:
            await client.append("big", batch)
        await client.append("big", named)
        context = await client.build_context("big", asker="ann", catch_up=NOON, token_budget=1_000)
        assert "named" in shown(context)
        assert context.tokens.total <= 1_000
        assert "5001 messages by 40 people" in context.raw.summary


def shares(context):
    """What each candidate's factors are worth, by its id."""
    names = context.explanation.factors
    return {
        one.message_id: {n: s for n, s in zip(names, one.shares, strict=True) if s}
        for one in context.explanation.candidates
    }


@pytest.mark.row("P-30")
async def test_what_the_asker_said_is_no_news():
    """Only the thread that it began is."""
    said = [
        Message("mine", "ann", "ann: who pays the 450 euros on 2026-12-01?", NOON + 1, mentions=["ann"]),
        Message("more", "ann", "we decided on room 204 at 18:30, see ABC-1234", NOON + 2, reply_to="mine"),
        Message("reply", "ben", "the club pays", NOON + 3, reply_to="mine"),
    ]  # fmt: skip
    async with served() as (client, _):
        await client.append("room", said)
        context = await client.build_context("room", asker="ann", catch_up=NOON, explain=True)
        worth = shares(context)
        assert worth["mine"].keys() == {"thread"}
        assert worth["more"] == {}
        assert worth["reply"]["for_asker"] == 0.55
        other = shares(await client.build_context("room", asker="ben", catch_up=NOON, explain=True))
        assert other["mine"].keys() == {"open_question", "facts", "thread", "length"}


@pytest.mark.row("P-30")
@pytest.mark.parametrize(("small", "hello"), [("haha thanks ann", "hi all"), ("哈哈哈", "早上好")])
async def test_small_talk_is_worth_its_address_alone(small, hello):
    said = [
        Message("mine", "ann", "the sea is cold today, they say", NOON + 1),
        Message("small", "ben", small, NOON + 2, reply_to="mine"),
        Message("hello", "cat", hello, NOON + 3),
        Message("back", "dan", "good to see you again after all that", NOON + 4, reply_to="hello"),
    ]
    async with served() as (client, _):
        await client.append("room", said)
        worth = shares(await client.build_context("room", asker="ann", catch_up=NOON, explain=True))
        assert worth["small"] == {"for_asker": 0.55 * 0.5}
        assert worth["hello"] == {}


@pytest.mark.row("P-30")
async def test_a_date_in_small_talk_is_no_news():
    said = [
        Message("small", "ben", "good morning 2026-12-01", NOON + 1),
        Message("news", "ben", "the train of 2026-12-01 leaves at 18:30", NOON + 2),
    ]
    async with served() as (client, _):
        await client.append("room", said)
        worth = shares(await client.build_context("room", asker="ann", catch_up=NOON, explain=True))
        assert "facts" in worth["news"]
        assert worth["small"] == {}


@pytest.mark.row("P-30")
async def test_answered_questions_and_lines_inside_of_threads():
    """A question that is answered, and a line that answers one, are worth less; a recalled answer is none."""
    said = [
        Message("open", "ben", "who has the key?", NOON + 1),
        Message("asked", "ben", "where is the key?", NOON + 2),
        Message("inside", "cat", "it hangs beside the door", NOON + 3, reply_to="asked"),
        Message("leaf", "dan", "there it is, I see it", NOON + 4, reply_to="inside"),
        Message("gone", "dan", "not me, I never had it", NOON + 5, reply_to="open"),
        Message("notice", Author("bot", kind="bot"), "the build is done", NOON + 6),
    ]
    async with served() as (client, _):
        await client.append("room", said)
        answered = shares(await client.build_context("room", catch_up=NOON, explain=True))
        assert answered["open"]["open_question"] == answered["asked"]["open_question"]
        await client.recall_message("room", "gone")
        worth = shares(await client.build_context("room", catch_up=NOON, explain=True))
        assert worth["open"]["open_question"] == 0.2
        assert worth["asked"]["open_question"] == pytest.approx(0.3 * 0.2)
        assert "thread" not in worth["open"]
        two, one = 0.35 * math.log(3) / math.log(17), 0.35 * math.log(2) / math.log(17)
        assert worth["asked"]["thread"] == pytest.approx(two)
        assert worth["inside"]["thread"] == pytest.approx(0.3 * one)
        assert worth["notice"]["facts"] == pytest.approx(0.75 * 0.25)


@pytest.mark.row("P-30")
async def test_facts_are_looked_for_in_the_best_lines(monkeypatch):
    """What is a question and long is read; what is neither is not."""
    monkeypatch.setattr(catch_up, "MOST_READ", 1)
    said = [
        Message("short", "ben", "the code is 8812", NOON + 1),
        Message("best", "cat", "ann: does the code 8812 open it?", NOON + 2, mentions=["ann"]),
        Message("last", "dan", "the code is 8813", NOON + 3),
    ]
    async with served() as (client, _):
        await client.append("room", said)
        worth = shares(await client.build_context("room", asker="ann", catch_up=NOON, explain=True))
        assert [id_ for id_, one in worth.items() if "facts" in one] == ["best"]
