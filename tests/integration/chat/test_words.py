"""Vendors' words for an end and for a refusal, each line of the tables over real sockets."""

import asyncio
import json

import pytest

from backscroll import Client
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.models import answer_events
from backscroll_sidecar.models.vendor_words import FINISH_TABLE, REFUSAL_TABLE, FinishWords, Refusal
from backscroll_sidecar.ports import FinishReason, ModelFault
from tests.contract.models.sse_server import Reply, chunk, data, said, stopped, whole
from tests.integration.chat.causes import FILTER_BYTES, SECRET
from tests.integration.chat.talk import ROOM, Bot, Heard, answers, talk_to, text_of, turn

JSON = {"content-type": "application/json"}
REASONS = {
    FinishReason.STOP: "COMPLETE",
    FinishReason.LENGTH: "LENGTH",
    FinishReason.CONTENT_FILTER: "CONTENT_FILTER",
    FinishReason.TOOL_CALLS: "TOOL_CALLS",
    FinishReason.INTERRUPTED: "INCOMPLETE",
    FinishReason.NONE: "INCOMPLETE",
    ModelFault.SERVER_ERROR: "UPSTREAM_ERROR",
    ModelFault.BAD_RESPONSE: "UPSTREAM_ERROR",
}
CALL = {"index": 0, "id": "c", "function": {"name": "weather", "arguments": "{}"}}


async def heard_for(bot: Bot, channel: str, *, tools: bool = False) -> Heard:
    return await bot.ask(turn(tools=tools, context={"channel": channel}))


async def later(bot: Bot, channel: str) -> list[str]:
    """What a later context holds."""
    built = await bot.client.build_context(channel, "and?", asker="u1", self_ids=["bot"])
    return [text_of(item) for item in built.raw.items]


@pytest.mark.row("S5-31")
@pytest.mark.parametrize("line", FINISH_TABLE, ids=lambda line: line.words[0])
async def test_finish_reasons(line: FinishWords) -> None:
    """In any case and any spelling; the vendor's word is told; only what broke off stays out of later contexts."""
    spelt = [
        form
        for word in line.words
        for form in (word, word.upper(), word.lower(), f"FinishReason.{word}")
    ]
    told = REASONS[line.end]
    calls = [data(chunk({"tool_calls": [CALL]}))] if told == "TOOL_CALLS" else []
    replies = [Reply([said("hm"), *calls, stopped(word)]) for word in spelt]
    async with talk_to(replies) as (bot, _):
        for word in spelt:
            heard = await heard_for(bot, word, tools=bool(calls))
            assert (word, heard.text, heard.reason) == (word, "hm", told)
            if told not in {"UPSTREAM_ERROR", "TOOL_CALLS"}:
                assert heard.end.finish_reason == (
                    word if line.end is not FinishReason.NONE else ""
                )
                whole = told in {"COMPLETE", "LENGTH", "CONTENT_FILTER"}
                assert ("hm" in await later(bot, word)) is whole


@pytest.mark.row("S5-31")
@pytest.mark.parametrize("word", ["abracadabra", "结束", "x" * 300, "OTHER", "pause turn\0", "..."])
async def test_an_unknown_reason_is_told_and_hides_nothing(word: str) -> None:
    async with talk_to([Reply([said("hm"), stopped(word)])]) as (bot, _):
        heard = await bot.ask(turn())
        assert (heard.text, heard.reason, heard.errors) == ("hm", "COMPLETE", [])
        assert heard.end.finish_reason == word[:64].replace("\0", "\ufffd")
        assert not heard.end.partial
        assert "hm" in await later(bot, ROOM)
        again = await bot.ask(pb.StreamChatRequest(turn_id=heard.end.turn_id))
        assert again.end.finish_reason == heard.end.finish_reason


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning", "content"])
async def test_thoughts_that_never_end_are_left(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As an answer without end: nobody waits for it until the deadline."""
    monkeypatch.setattr(answer_events, "MAX_SAID_CHARS", 10_000)
    first = [said("<think>")] if name == "content" else []
    thinks = data(chunk({name: "again " * 50}))
    async with talk_to([Reply([*first, *[thinks, 0.001] * 20_000])]) as (bot, upstream):
        heard = await bot.ask(turn())
        assert (heard.reason, len(heard.notices), heard.errors) == ("LENGTH", 1, [])
        assert heard.text == ""
        await asyncio.wait_for(upstream.exchanges[0].gone.wait(), 60)


async def test_a_model_that_never_ends_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at its own limit: what was said stays, and its connection is closed."""
    monkeypatch.setattr(answer_events, "MAX_SAID_CHARS", 10_000)
    endless = Reply([said("again " * 50), 0.001] * 2_000)
    async with talk_to([endless]) as (bot, upstream):
        heard = await bot.ask(turn())
        assert (heard.reason, len(heard.notices), heard.errors) == ("LENGTH", 1, [])
        assert 10_000 < len(heard.text) < 300_000
        assert text_of((await bot.stored())[-1])[:9_000] == heard.text[:9_000]
        await asyncio.wait_for(upstream.exchanges[0].gone.wait(), 60)


async def test_an_error_that_never_ends_is_an_error() -> None:
    endless = Reply([b"<p>" + b"sorry " * 4_000, *[b"sorry " * 4_000, 0.001] * 500], 500)
    async with talk_to([endless]) as (bot, upstream):
        heard = await bot.ask(turn())
        assert (heard.reason, heard.errors[0].reason) == ("UPSTREAM_ERROR", "server_error")
        await asyncio.wait_for(upstream.exchanges[0].gone.wait(), 60)


async def test_a_tool_that_is_called_by_no_name_does_not_end_the_turn() -> None:
    """An API refuses such a name in every later request; the bot hears it as the model said it."""
    called = {**CALL, "function": {"name": "bad name\n!", "arguments": "{}"}}
    async with talk_to(
        [Reply([data(chunk({"tool_calls": [called]})), stopped("tool_calls")]), Reply([said("ok"), stopped("stop")])]
    ) as (bot, upstream):  # fmt: skip
        heard = await bot.ask(turn(tools=True))
        assert heard.reason == "TOOL_CALLS"
        again = await bot.ask(answers(heard.end.turn_id, c="none"))
        assert (again.text, again.reason) == ("ok", "COMPLETE")
    names = [
        call["function"]["name"]
        for message in upstream.exchanges[-1].json["messages"]
        for call in message.get("tool_calls", ())
    ]
    assert names == ["bad_name"]


async def test_a_known_reason_wins_over_an_unknown_one() -> None:
    async with talk_to(
        [Reply([said("hm"), stopped("odd"), stopped("length"), stopped("stop")])]
    ) as (bot, _):
        heard = await bot.ask(turn())
    assert (heard.reason, heard.end.finish_reason) == ("LENGTH", "length")


async def test_the_client_tells_the_word() -> None:
    async with talk_to([Reply([said("hm"), stopped("STOP")])]) as (bot, _):
        answer = await bot.client.chat(ROOM, "?", asker="u1")
        assert (answer.end.reason, answer.end.finish_reason) == ("complete", "STOP")
    assert Client  # the sync one shares `end_of`


def refusals(line: Refusal) -> dict[str, object]:
    """Errors as the vendor would write them."""
    texts = {"message": SECRET}
    found: dict[str, object] = {}
    for word in line.words:
        if word == "flagged_input":
            found[word] = {"error": {**texts, "code": 403, "metadata": {"flagged_input": "x"}}}
            continue
        found[f"code {word}"] = {"error": {**texts, "code": word}}
        found[f"type {word}"] = {"error": {**texts, "type": word, "code": None}}
        found[f"inner {word}"] = {"error": {**texts, "code": "x", "innererror": {"code": word}}}
        raw = json.dumps({"error": {**texts, "type": word}})
        found[f"wrapped {word}"] = {"error": {**texts, "code": 400, "metadata": {"raw": raw}}}
        found[f"bare {word}"] = {"code": word, "message": SECRET, "request_id": "1"}
    for number in line.numbers:
        text = SECRET + " 输入内容可能包含敏感内容"
        found[f"number {number}"] = {"error": {"message": text, "code": number}}
        if number.isdecimal():
            found[f"bare {number}"] = {"code": int(number), "message": text}
            base = {"status_code": int(number), "status_msg": "input sensitive"}
            found[f"base {number}"] = {"base_resp": base, "choices": None}
            found[f"baidu {number}"] = {"error_code": int(number), "error_msg": text}
    for sentence in line.sentences:
        found[sentence] = {
            "error": {"message": f"{SECRET}: {sentence.capitalize()}.", "code": None}
        }
        found[f"text {sentence}"] = {"code": "x y", "error": f"{sentence} {SECRET}"}
    return found


@pytest.mark.row("S5-31")
@pytest.mark.parametrize("line", REFUSAL_TABLE, ids=lambda line: line.who)
async def test_refusals_of_filters(line: Refusal) -> None:
    """As a status, a body with status 200, and an event behind half an answer: an ending with the notice."""
    errors = refusals(line)
    replies = []
    for error in errors.values():
        body = json.dumps(error, ensure_ascii=False).encode()
        replies += [
            Reply([body], 400, JSON),
            Reply([body], 500, JSON),
            Reply([body], headers=JSON),
            Reply([said("hm"), data(error)]),
        ]
    async with talk_to(replies, wording="designs") as (bot, upstream):
        for name in errors:
            for n, text in enumerate(("", "", "", "hm")):
                heard = await heard_for(bot, f"{name} {n}")
                assert (name, n, heard.text, heard.reason) == (name, n, text, "CONTENT_FILTER")
                assert [one.text.encode() for one in heard.notices] == [FILTER_BYTES]
                assert heard.errors == []
                assert SECRET not in f"{heard.events}"
        assert len(upstream.exchanges) == len(replies)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"error": {"message": "the parameter is wrong", "code": "1301"}}),
        (400, {"error": {"message": "quota", "code": 1026}}),
        (401, {"error": {"message": "sensitive", "code": "content_filter"}}),
        (429, {"error": {"message": "敏感内容", "code": "x"}}),
        (400, {"error": {"message": "x" * 2_000 + "敏感内容", "code": "x"}}),
        (400, {"error": {"message": "no", "code": "ContentSecurityDetectionError"}}),
        (400, {"detail": [{"loc": ["body"], "input": "敏感内容"}]}),
    ],
)
async def test_other_errors_are_none(status: int, error: object) -> None:
    """A number means something else elsewhere; a sentence may repeat, far behind, what it was sent."""
    async with talk_to([Reply([json.dumps(error).encode()], status, JSON)]) as (bot, _):
        heard = await bot.ask(turn())
    assert heard.reason == "UPSTREAM_ERROR"
    assert len(heard.errors) == 1


async def test_chat_tells_a_refusal_too() -> None:
    error = {
        "error": {
            "message": "Input data may contain inappropriate content.",
            "code": "data_inspection_failed",
        }
    }
    async with talk_to(
        [
            Reply([json.dumps(error).encode()], 400, JSON),
            Reply([whole({"content": "x"}, "SAFETY")], headers=JSON),
        ],
        wording="designs",
    ) as (bot, _):
        for text in ("", "x"):
            once = await bot.stub.Chat(pb.ChatRequest(turn=turn()))
            assert once.text == text + FILTER_BYTES.decode()
            assert once.end.reason == pb.END_REASON_CONTENT_FILTER
