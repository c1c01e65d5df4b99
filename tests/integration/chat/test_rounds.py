"""One round of tools against retries, callers who leave, a store that refuses, sizes and budgets."""

import asyncio
from contextlib import aclosing
from pathlib import Path

import grpc
import pytest

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import context_pb2_grpc
from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.chat.events import ChatEnd, Delta
from backscroll_sidecar.chat.turn_writer import NOT_STORED_YET
from backscroll_sidecar.domain import MAX_TEXT_BYTES, Role
from backscroll_sidecar.edge.convert.chat import chat_request
from backscroll_sidecar.errors import StoreReadOnly, StoreUnavailable
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import (
    AppendChange,
    ModelFault,
    ModelRequest,
    RecordChange,
)
from backscroll_sidecar.server import start_server
from backscroll_sidecar.texts import CHINESE
from tests.contract.models.sse_server import DONE, Reply, chunk, data, said, stopped
from tests.integration.chat.talk import Bot, answers, refused, talk, talk_to, text_of, turn
from tests.kit.chats import NOON_MS, StillClock
from tests.kit.fake_model import CALLS, STOP, FakeModel, Wait, call

BROKEN = failed(ModelFault.CONNECTION)


def results_told(request: ModelRequest) -> list[str]:
    return [one.content for one in request.messages if one.role is Role.TOOL]


async def results_stored(bot: Bot) -> list[str]:
    parts = [part for row in await bot.stored() for part in row.message.parts]
    return [part.tool_result.text for part in parts if part.HasField("tool_result")]


def refuse(bot: Bot, failure: Exception, *, turns_only: bool = True) -> None:
    """From now on the store does not keep turns, or nothing at all."""
    apply = bot.app.store.apply

    async def refusing(changes):
        if not turns_only or any(isinstance(change, RecordChange) for change in changes):
            raise failure
        return await apply(changes)

    bot.app.store.apply = refusing


# --- one at a time --------------------------------------------------------------------------------


async def test_a_call_that_closes_late_frees_no_other() -> None:
    """The first round's stream is still open at its end while the second runs: closing it lets no third in."""
    go = asyncio.Event()
    model = FakeModel([call("c1"), CALLS], [call("c2"), CALLS], [Wait(go), "sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        first = bot.app.chat.run(chat_request(answers(turn_id, c1="a"), "default", None))
        async for event in first:
            if isinstance(event, ChatEnd):
                break
        second = asyncio.create_task(bot.ask(answers(turn_id, c2="b")))
        while len(model.calls) < 3:  # noqa: ASYNC110 - nothing else tells
            await asyncio.sleep(0.005)
        await first.aclose()
        third = await bot.ask(answers(turn_id, c2="other"))
        go.set()
        assert (await second).text == "sunny"
    assert refused(third) == ("ABORTED", "CONFLICT", "turn_id")
    assert len(model.calls) == 3


async def test_who_leaves_before_the_commit_keeps_the_turn_until_it() -> None:
    """A retry waits for what is being stored: one model call, history and replay say the same."""
    model = FakeModel([call("c1"), CALLS], ["sunny", STOP], ["rain", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        _, go = bot.hold_commits()
        request = chat_request(answers(turn_id, c1="a"), "default", None)
        leaving = asyncio.create_task(anext_end(bot, request))
        while not (len(model.calls) == 2 and model.calls[1].whole):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        await asyncio.sleep(0.05)
        leaving.cancel()
        await asyncio.gather(leaving, return_exceptions=True)
        retried = await bot.ask(answers(turn_id, c1="a"))
        go.set()
        await bot.idle()
        again = await bot.ask(answers(turn_id, c1="a"))
        replies = [text_of(row) for row in await bot.stored()][-1:]
        assert bot.app.chat.is_idle
    assert refused(retried) == ("ABORTED", "CONFLICT", "turn_id")
    assert (again.text, replies, len(model.calls)) == ("sunny", ["sunny"], 2)


async def anext_end(bot: Bot, request) -> None:
    async with aclosing(bot.app.chat.run(request)) as events:
        async for _ in events:
            pass


async def test_the_reply_that_was_stored_is_the_turns() -> None:
    """Reply and turn got through, the answer of the store did not: a retry replays what the history has."""
    model = FakeModel([call("c1"), CALLS], ["sunny", STOP], ["rain", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        apply = bot.app.store.apply

        async def lost(changes):
            done = await apply(changes)
            if any(isinstance(one, AppendChange) and one.records for one in changes):
                raise StoreUnavailable("away")
            return done

        bot.app.store.apply = lost
        first = await bot.ask(answers(turn_id, c1="a"))
        assert [one.reason for one in first.errors] == ["STORE_UNAVAILABLE"]
        bot.app.store.apply = apply
        second = await bot.ask(answers(turn_id, c1="a"))
        replies = [text_of(row) for row in await bot.stored() if text_of(row) in {"sunny", "rain"}]
    assert (second.text, second.errors, replies) == ("sunny", [], ["sunny"])
    assert second.end.reply_message_id != ""
    assert len(model.calls) == 2


# --- what is stored of a round --------------------------------------------------------------------


@pytest.mark.parametrize("length", [5, MAX_TEXT_BYTES - 6])
async def test_the_results_that_came_first_count(length: int) -> None:
    """Law 1: a retry with other results changes neither the history nor what the model is told."""
    first, second = "1" * length, "2" * length
    model = FakeModel([call("c1"), call("c2"), CALLS], [BROKEN], ["sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn(context={"token_budget": 100_000})
        assert (await bot.ask(answers(turn_id, c1=first, c2="b"))).reason == "UPSTREAM_ERROR"
        stored = await results_stored(bot)
        heard = await bot.ask(answers(turn_id, c2="b", c1=second))
        assert (heard.text, heard.reason, heard.errors) == ("sunny", "COMPLETE", [])
        assert await results_stored(bot) == stored
    told, again = map(results_told, model.requests[1:])
    assert told == [first, "b"]
    assert again == stored


async def test_a_retry_with_the_same_results_tells_them_whole() -> None:
    """Though the history had to cut them."""
    text = "猫" * (MAX_TEXT_BYTES // 3)
    model = FakeModel([call("c1"), CALLS], [BROKEN], ["sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn(context={"token_budget": 200_000})
        for _ in range(2):
            heard = await bot.ask(answers(turn_id, c1=text))
        (stored,) = await results_stored(bot)
    assert (heard.text, heard.errors) == ("sunny", [])
    assert [results_told(one) for one in model.requests[1:]] == [[text], [text]]
    assert (stored[:9], stored[-7:]) == ("猫" * 9, "… [cut]")
    assert len(f"[result weather: {stored}]".encode()) > MAX_TEXT_BYTES - 4


async def test_what_is_cut_is_marked_in_the_questions_language() -> None:
    model = FakeModel(["猫" * 30_000, call("c1"), CALLS], ["晴天", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn(question="天气怎么样？", context={"token_budget": 1_000_000})
        await bot.ask(answers(turn_id, c1="猫" * (MAX_TEXT_BYTES // 3)))
        (stored,) = await results_stored(bot)
        said = (await bot.stored())[1].message.parts[0].text.text
    assert said.endswith(f"猫{CHINESE.cut_mark}")
    assert stored.endswith(f"猫{CHINESE.cut_mark}")


@pytest.mark.row("P-10")
@pytest.mark.parametrize("count", [1, 100])
async def test_long_calls_and_results_are_cut_for_the_history(count: int) -> None:
    """P-10: a round is stored whole or not at all, so what is too long in it is shortened, with a mark."""
    ids = [f"c{n}" for n in range(count)]
    calls = [call(id, arguments='{"x": "%s"}' % ("y" * 70_000)) for id in ids]
    model = FakeModel(["so ", *calls, CALLS], ["sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn(context={"token_budget": 10_000_000})
        heard = await bot.ask(answers(turn_id, **dict.fromkeys(ids, "z" * 60_000)))
        assert (heard.text, heard.reason, heard.errors) == ("sunny", "COMPLETE", [])
        rows = await bot.stored()
    assert text_of(rows[-1]) == "sunny"  # behind its round, however long that took
    parts = rows[1].message.parts
    assert parts[0].text.text == "so "
    assert {part.tool_call.arguments_json for part in parts[1:]} == {'{"cut": true}'}
    stored = [row.message.parts[0].tool_result.text for row in rows[2:-1]]
    assert len(stored) == count
    assert all(one.endswith("… [cut]") == (count > 60) for one in stored)


async def test_many_words_before_a_call_are_cut_for_the_history() -> None:
    """The calls stay; of the text there is what fits."""
    model = FakeModel(["猫" * 30_000, call("c1"), CALLS], ["sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn(context={"token_budget": 1_000_000})
        heard = await bot.ask(answers(turn_id, c1="a"))
        assert (heard.text, heard.errors) == ("sunny", [])
        row = (await bot.stored())[1].message
    assert row.parts[0].text.text.endswith("猫… [cut]")
    assert row.parts[1].tool_call.name == "weather"


async def test_a_result_stands_behind_its_call() -> None:
    """Law 2: calls and results of a round are of one time, whatever the clock does between them."""
    clock = StillClock()
    now_ms = iter(range(NOON_MS + 1_000, NOON_MS, -1))  # set back all the while
    clock.now_ms = lambda: next(now_ms)
    model = FakeModel([call("c1"), call("c2"), CALLS], ["sunny", STOP])
    async with talk(model, clock=clock) as bot:
        turn_id = await bot.open_turn()
        await bot.ask(answers(turn_id, c1="sun", c2="wind"))
        asked, *results = [row for row in await bot.stored() if ":" in row.message.id][-4:-1]
    assert [part.WhichOneof("content") for part in asked.message.parts] == ["tool_call"] * 2
    assert [one.message.parts[0].tool_result.text for one in results] == ["sun", "wind"]
    assert len({one.message.sent_at_ms for one in (asked, *results)}) == 1


@pytest.mark.row("S5-29")
@pytest.mark.parametrize("timeout_s", [0.4, 3.0])
async def test_a_store_that_hangs_costs_nobody_the_end(timeout_s: float) -> None:
    """Law 8, S5-29: the answer was heard; that it is not stored yet is said inside the caller's time; then it is."""
    async with talk(FakeModel(["sunny", STOP])) as bot:
        _, go = bot.hold_commits()
        heard = await bot.ask(turn("well?"), timeout_s=timeout_s)
        go.set()
        await bot.idle()
        stored = [text_of(row) for row in await bot.stored()]
    assert (heard.text, heard.reason) == ("sunny", "COMPLETE")
    assert [one.reason for one in heard.errors] == ["STORE_UNAVAILABLE"]
    assert heard.errors[0].message == NOT_STORED_YET
    assert heard.end.reply_message_id == ""
    assert stored == ["well?", "sunny"]


async def test_a_round_that_cannot_be_stored_is_told() -> None:
    """The answer comes all the same (law 5), and the stream says what the history lacks."""
    model = FakeModel([call("c1", name="n" * 600), CALLS], ["sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        heard = await bot.ask(answers(turn_id, c1="a"))
        assert await results_stored(bot) == []
    assert (heard.text, heard.reason) == ("sunny", "COMPLETE")
    assert len(heard.errors) == 1


@pytest.mark.parametrize("turns_only", [False, True])
async def test_calls_are_not_asked_for_where_the_turn_is_not_kept(*, turns_only: bool) -> None:
    """The bot must not run tools whose results nobody can take."""
    model = FakeModel(["look", call("c1"), CALLS])
    async with talk(model) as bot:
        refuse(bot, StoreReadOnly("full"), turns_only=turns_only)
        heard = await bot.ask(turn(tools=True))
    assert (heard.reason, heard.end.turn_id) == ("UPSTREAM_ERROR", "")
    assert [one.reason for one in heard.errors] == ["STORE_READ_ONLY"]


# --- ids, budgets, times --------------------------------------------------------------------------


async def test_any_id_a_model_gives_can_be_answered() -> None:
    """Long ones (gateways keep signatures there), the same one twice: each call gets its own result."""
    ids = ["s" * 4_000, "a", "a"]
    asked = [
        {"index": n, "id": id, "function": {"name": "weather", "arguments": "{}"}}
        for n, id in enumerate(ids)
    ]
    rounds = [
        Reply([data(chunk({"tool_calls": asked})), stopped("tool_calls"), DONE]),
        Reply([said("sunny"), stopped(), DONE]),
    ]
    async with talk_to(rounds) as (bot, server):
        heard = await bot.ask(turn(tools=True))
        given = {one.id: f"for {n}" for n, one in enumerate(heard.calls)}
        assert len(given) == 3
        heard = await bot.ask(answers(heard.end.turn_id, **given))
        assert (heard.text, heard.errors) == ("sunny", [])
    sent = server.exchanges[1].json["messages"]
    assert [one["tool_call_id"] for one in sent[-3:]] == list(given)
    assert [one["content"] for one in sent[-3:]] == ["for 0", "for 1", "for 2"]


def tokens_sent(request: ModelRequest) -> int:
    """A lower bound: texts alone."""
    count = token_counter().count
    return sum(count(one.content) for one in request.messages)


@pytest.mark.parametrize("word", ["result ", "结果猫 "])
async def test_continued_rounds_keep_the_budget(word: str) -> None:
    """Law 3: results are shortened, the oldest first; the reserve stays free; the history has them whole."""
    long = word * (60_000 // len(word.encode()))
    model = FakeModel(
        answer=lambda one: (
            ["done", STOP]
            if len(results_told(one)) == 6
            else [call(f"c{len(one.messages)}"), CALLS]
        )
    )
    async with talk(model) as bot:
        context = {"token_budget": 500, "reserve_tokens": 100}
        heard = await bot.ask(turn(tools=True, context=context))
        while heard.reason == "TOOL_CALLS":
            (asked,) = heard.calls
            heard = await bot.ask(answers(heard.end.turn_id, **{asked.id: long}))
        stored = await results_stored(bot)
    assert (heard.text, heard.errors) == ("done", [])
    assert all(tokens_sent(one) <= 400 for one in model.requests)
    told = results_told(model.requests[-1])
    assert all(one.endswith("… [shortened]") for one in told)
    assert [len(one) > 100 for one in told] == [False] * 5 + [True]
    assert tokens_sent(model.requests[-1]) > 200
    assert stored == [long] * 6


async def test_short_results_are_not_touched_for_a_long_one() -> None:
    """What is shortened is the oldest that helps; a text shorter than the mark stays."""
    model = FakeModel([call("c1"), call("c2"), call("c3"), CALLS], ["done", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn(context={"token_budget": 400})
        await bot.ask(answers(turn_id, c1="25°", c2="word " * 5_000, c3="晴"))
    first, second, third = results_told(model.requests[1])
    assert (first, third) == ("25°", "晴")
    assert second.startswith("word word")
    assert second.endswith("… [shortened]")


async def test_a_round_that_cannot_fit_is_refused() -> None:
    """BUDGET_TOO_SMALL names what would do; no model call, nothing stored, the turn stays."""
    model = FakeModel([call("c1", arguments='{"x": "%s"}' % ("word " * 500)), CALLS])
    async with talk(model) as bot:
        turn_id = await bot.open_turn(context={"token_budget": 300})
        before = await bot.stored()
        for _ in range(2):
            heard = await bot.ask(answers(turn_id, c1="a"))
            code = ("INVALID_ARGUMENT", "BUDGET_TOO_SMALL", "token_budget")
            assert refused(heard) == code
            assert int(heard.refusal.metadata["least_tokens"]) > 500
        assert await bot.stored() == before
    assert len(model.calls) == 1


async def test_a_deadline_in_a_continued_round() -> None:
    """Law 8: DEADLINE comes in time, what was said is kept as partial, and the round can be tried again."""
    model = FakeModel([call("c1"), CALLS], ["sun", Wait()], ["sunny", STOP])
    async with talk(model) as bot:
        turn_id = await bot.open_turn()
        request = chat_request(answers(turn_id, c1="25"), "default", 2.0)
        async with asyncio.timeout(60):
            events = [event async for event in bot.app.chat.run(request)]
        assert isinstance(events[0], Delta)
        assert isinstance(events[-1], ChatEnd)
        assert (events[-1].reason, events[-1].is_partial) == ("deadline", True)
        assert model.open_calls == 0
        heard = await bot.ask(answers(turn_id, c1="25"))
    assert (heard.text, heard.reason, heard.errors) == ("sunny", "COMPLETE", [])


@pytest.mark.parametrize(
    ("headers", "wait_ms"),
    [({"retry-after": "7"}, 7_000), ({"retry-after-ms": "1.5"}, 2), ({}, None)],
)
async def test_the_vendors_retry_after_is_told(
    headers: dict[str, str], wait_ms: int | None
) -> None:
    """A 429's Retry-After reaches the caller of both RPCs; nothing is tried again here."""
    replies = [Reply([b"{}"], status=429, headers={"content-type": "application/json", **headers})]
    async with talk_to(replies) as (bot, server):
        (streamed,) = (await bot.ask(turn())).errors
        once = (await bot.stub.Chat(pb.ChatRequest(turn=turn()))).error
    for error in (streamed, once):
        assert error.reason == "rate_limited"
        assert error.HasField("retry_after_ms") == (wait_ms is not None)
        assert error.retry_after_ms == (wait_ms or 0)
    assert len(server.exchanges) == 2


async def test_the_turn_of_another_tenant_is_not_found(tmp_path: Path) -> None:
    """Law 6, over the wire: another token neither continues a turn, nor replays it, nor gets in its way."""
    model = FakeModel([call("c1"), CALLS], ["sunny", STOP])
    async with talk(model, database=tmp_path / "b.db") as bot:
        server = await start_server(
            bot.app, listen=["127.0.0.1:0"], tokens={"t-one": "one", "t-two": "two"}
        )
        one, two = ((("authorization", f"Bearer t-{name}"),) for name in ("one", "two"))

        async def events(request, who) -> list[pb.StreamChatResponse]:
            return [event async for event in stub.StreamChat(request, metadata=who)]

        async with grpc.aio.insecure_channel(server.addresses[0]) as channel:
            stub = context_pb2_grpc.ContextServiceStub(channel)
            turn_id = (await events(turn(tools=True), one))[-1].end.turn_id
            for _ in range(2):
                with pytest.raises(grpc.aio.AioRpcError) as unknown:
                    await events(answers(turn_id, c1="stolen"), two)
                assert unknown.value.code() is grpc.StatusCode.NOT_FOUND
                heard = await events(answers(turn_id, c1="25"), one)
                assert "".join(event.delta for event in heard) == "sunny"
        await server.stop()
    assert results_told(model.requests[1]) == ["25"]
