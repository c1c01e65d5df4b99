"""One turn as a whole: what the model is sent, in which order things happen, what a retry does."""

import asyncio
import json
from pathlib import Path

import pytest

from backscroll import Message
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.domain import Role
from backscroll_sidecar.errors import StoreReadOnly, StoreUnavailable
from tests.contract.models.sse_server import DONE, Reply, said, stopped
from tests.integration.chat.talk import ROOM, TOOLS, talk, talk_to, text_of, turn
from tests.kit.fake_model import STOP, FakeModel, Wait, always
from tests.kit.kept import rows

T0 = 1_795_176_000_000
LINES = [
    Message("m1", "ann", "we meet at six", T0),
    Message("m2", "ben", "在哪里？🐟", T0 + 1_000, reply_to="m1"),
    Message("bot1", "bot", "At the pond.", T0 + 2_000, role="assistant"),
]


@pytest.mark.row("S5-30")
async def test_defaults_on_the_wire() -> None:
    """S5-30: gpt-4o-mini, temperature .7, no tools, though the request has some."""
    async with talk_to([Reply([said("hi"), stopped(), DONE])]) as (bot, server):
        plain = turn(context={"tools_json": TOOLS})
        await bot.ask(plain)
        await bot.ask(
            turn(
                "mine?",
                tools=True,
                context={"model": "qwen3:8b"},
                model_call={"temperature": 0.0, "max_output_tokens": 99},
            )
        )
    first, second = (exchange.json for exchange in server.exchanges)
    assert (first["model"], first["temperature"], first["stream"]) == ("gpt-4o-mini", 0.7, True)
    assert not {"tools", "max_tokens"} & set(first)
    assert (second["model"], second["temperature"], second["max_tokens"]) == ("qwen3:8b", 0.0, 99)
    assert second["tools"] == json.loads(TOOLS)


@pytest.mark.row("S5-30")
async def test_settings_change_the_defaults() -> None:
    """S5-30: model and temperature are settings."""
    replies = [Reply([said("hi"), stopped()])]
    async with talk_to(replies, default_model="llama", temperature=1.5) as (bot, server):
        await bot.ask(turn())
    assert (server.exchanges[0].json["model"], server.exchanges[0].json["temperature"]) == (
        "llama",
        1.5,
    )


@pytest.mark.row("S5-30")
async def test_a_model_may_be_sent_no_temperature() -> None:
    """S5-30: for models that refuse one; a request that names one is sent it. The limit's name is a setting, too."""
    settings = {"temperature": "none", "model_max_tokens_field": "max_completion_tokens"}
    async with talk_to([Reply([said("hi"), stopped()])], **settings) as (bot, server):
        await bot.ask(turn())
        await bot.ask(turn(model_call={"temperature": 0.5, "max_output_tokens": 99}))
    first, second = (exchange.json for exchange in server.exchanges)
    assert not {"temperature", "max_tokens", "max_completion_tokens"} & set(first)
    assert (second["temperature"], second["max_completion_tokens"]) == (0.5, 99)
    assert "max_tokens" not in second


@pytest.mark.row("S1-19")
@pytest.mark.parametrize("layout", [1, 2, 3, 4])
@pytest.mark.parametrize("names", [False, True])
async def test_both_rpcs_send_the_model_the_same(layout: int, *, names: bool) -> None:
    """S1-19: StreamChat and Chat send identical messages, those of BuildContext's payload, and say the same."""
    asked = turn(
        "so when, 到底？",
        context={
            "trigger_message_id": "m9",
            "asked_at_ms": T0 + 9_000,
            "layout": layout,
            "include_names": names,
            "system": pb.SystemPrompt(text="You are a cat."),
        },
    )
    async with talk_to([Reply([said("六点"), said(" 🐟"), stopped("length"), DONE])]) as (
        bot,
        server,
    ):
        await bot.tell(*LINES, Message("m9", "u1", "so when, 到底？", T0 + 8_000))
        streamed = await bot.ask(asked)
        await bot.client.recall_message(
            "room", streamed.end.reply_message_id
        )  # or it is said again
        once = await bot.stub.Chat(pb.ChatRequest(turn=asked))
    first, second = (exchange.json for exchange in server.exchanges)
    assert first == second
    assert first["messages"] == json.loads(streamed.context.payloads[0].body)["messages"]
    assert json.dumps(first["messages"], ensure_ascii=False).count("到底") == 1
    assert any("name" in one for one in first["messages"]) == (names and layout == pb.LAYOUT_TURNS)
    assert once.text == streamed.text + streamed.notices[0].text
    assert once.end.reason == streamed.end.reason
    assert [i.message.id for i in once.context.items if i.message.id in {"m1", "m2", "bot1"}] == [
        i.message.id for i in streamed.context.items
    ]


@pytest.mark.row("S4-25")
async def test_a_retry_keeps_one_question() -> None:
    """S4-25, law 1: the same question_message_id is stored once and stands once in what the model is sent."""
    model = always("six", STOP)
    async with talk(model) as bot:
        await bot.tell(*LINES)
        heard = []
        for _ in range(3):
            heard.append(await bot.ask(turn("when again?", question_message_id="q1")))
            await asyncio.sleep(0.01)  # the clock goes on between them
        rows = await bot.stored()
    assert [one.reason for one in heard] == ["COMPLETE"] * 3
    assert [one.kinds.count("error") for one in heard] == [0, 0, 0]
    assert [row.message.id for row in rows].count("q1") == 1
    for request in model.requests:
        said_to_it = [one.content for one in request.messages]
        assert sum("when again?" in content for content in said_to_it) == 1
        assert "when again?" in said_to_it[-1]
        assert request.messages[-1].role is Role.USER


async def test_the_id_of_another_message_is_a_conflict() -> None:
    """Law 1: the first one wins; the stream still answers and says so."""
    async with talk(always("six", STOP)) as bot:
        await bot.tell(*LINES)
        heard = await bot.ask(turn("when?", question_message_id="m1"))
        rows = await bot.stored()
    assert (heard.text, heard.reason) == ("six", "COMPLETE")
    assert [one.reason for one in heard.errors] == ["CONFLICT"]
    assert [text_of(row) for row in rows if row.message.id == "m1"] == ["we meet at six"]
    assert not rows[-1].message.HasField("reply")  # m1 is not what it answers


async def test_the_same_words_again_are_another_question() -> None:
    """Without an id nobody can tell a retry: both are stored, and nothing is reported as lost."""
    async with talk(always("hm", STOP)) as bot:
        first, second = await bot.ask(turn("well?")), await bot.ask(turn("well?"))
        rows = await bot.stored()
    assert [text_of(row) for row in rows] == ["well?", "hm", "well?", "hm"]
    assert not [*first.context.degradations, *second.context.degradations]


@pytest.mark.row("S4-17", "S4-25")
async def test_a_trigger_is_stored_by_the_bot_alone() -> None:
    """S4-17, S4-25: with trigger_message_id no second question is stored; the reply answers the trigger."""
    model = always("six", STOP)
    async with talk(model) as bot:
        await bot.tell(*LINES, Message("m9", "u1", "when?", T0 + 8_000))
        heard = await bot.ask(turn("when?", context={"trigger_message_id": "m9"}))
        rows = await bot.stored()
    assert [row.message.id for row in rows] == [
        "m1",
        "m2",
        "bot1",
        "m9",
        heard.end.reply_message_id,
    ]
    assert rows[-1].message.reply.message_id == "m9"
    assert rows[-1].message.author.id == "bot"
    assert rows[-1].message.role == 2
    assert sum("when?" in one.content for one in model.requests[0].messages) == 1


async def test_without_a_channel_nothing_is_stored() -> None:
    async with talk(always("hm", STOP)) as bot:
        heard = await bot.ask(turn("well?", context={"channel": ""}))
        assert (heard.text, heard.end.reply_message_id, heard.errors) == ("hm", "", [])
        assert await bot.stored() == []


@pytest.mark.parametrize(
    ("wrong", "code", "reason", "field"),
    [
        ({"question": " "}, "INVALID_ARGUMENT", "QUESTION_MISSING", "context.question"),
        ({"profile": "nobody's"}, "INVALID_ARGUMENT", "UNKNOWN_PROFILE", "context.profile"),
        ({"token_budget": 1}, "INVALID_ARGUMENT", "BUDGET_TOO_SMALL", "context.token_budget"),
        ({"asker": None}, "INVALID_ARGUMENT", "MISSING_FIELD", "context.asker"),
        ({"tools_json": "{"}, "INVALID_ARGUMENT", "INVALID_FIELD", "context.tools_json"),
        ({"time_zone": "Mars"}, "INVALID_ARGUMENT", "INVALID_FIELD", "context.time_zone"),
    ],
)
async def test_a_refused_request_is_a_status_and_leaves_nothing(
    wrong: dict, code: str, reason: str, field: str
) -> None:
    """Law 5: what can never succeed is refused by field before the first event; no model, no question."""
    model = always("six", STOP)
    async with talk(model) as bot:
        await bot.tell(*LINES)
        await bot.client.build_context(ROOM, "hot now?", asker="u1")
        heard = await bot.ask(turn(context=wrong))
        await bot.idle()
        assert len(await bot.stored()) == len(LINES)
    assert heard.events == []
    assert heard.refusal is not None
    assert (heard.refusal.code.name, heard.refusal.reason, heard.refusal.field) == (
        code,
        reason,
        field,
    )
    assert model.calls == []


@pytest.mark.row("S5-49")
async def test_a_model_that_breaks_its_contract_ends_with_a_reason() -> None:
    """Law 8, S5-49: an injected RuntimeError costs the answer, not the ending; nothing of it is told."""

    class Broken(FakeModel):
        def stream(self, request):
            raise RuntimeError("postgres://secret")

    async with talk(Broken()) as bot:
        heard = await bot.ask(turn())
        assert (heard.kinds, heard.reason) == (["context", "error", "end"], "UPSTREAM_ERROR")
        assert "secret" not in str(heard.events)


@pytest.mark.row("S2-14")
async def test_a_history_that_cannot_be_read_still_gives_an_answer() -> None:
    """S2-14: an injected store error yields a reply, and the context says what it lacks."""
    async with talk(always("six", STOP)) as bot:

        async def down(key):
            raise StoreUnavailable("away")

        bot.app.builder.opening.views.view = down
        bot.app.builder.opening.views.hot_view = lambda key: None
        heard = await bot.ask(turn())
    assert (heard.text, heard.reason) == ("six", "COMPLETE")
    assert [one.reason for one in heard.context.degradations] == ["STORE_UNAVAILABLE"]
    assert list(heard.context.items) == []


@pytest.mark.parametrize(
    "failure", [StoreReadOnly("full"), StoreUnavailable("away"), RuntimeError("?")]
)
async def test_a_store_that_takes_nothing_costs_the_history_only(failure: Exception) -> None:
    """Law 5: the stream answers and says that it could not be stored; END claims no reply."""
    async with talk(always("six", STOP)) as bot:
        await bot.tell(*LINES)

        async def refuse(changes):
            raise failure

        bot.app.store.apply = refuse
        heard = await bot.ask(turn())
    assert heard.kinds == ["context", "delta", "error", "end"]
    assert (heard.text, heard.reason, heard.end.reply_message_id) == ("six", "COMPLETE", "")
    reason = getattr(failure, "reason", "INTERNAL")
    assert [one.reason for one in heard.errors] == [reason]
    assert "could not be stored" in heard.errors[0].message
    assert "?" not in heard.errors[0].message


@pytest.mark.row("S2-19")
async def test_end_follows_the_commits(tmp_path: Path) -> None:
    """S2-19, law 1: when END arrives, question and reply stand in the database for another connection."""
    path = tmp_path / "b.db"
    async with talk(always("si", "x", STOP), database=path) as bot:
        at_end = []
        call = bot.stub.StreamChat(turn("when?"))
        async for event in call:
            if event.HasField("end"):
                ids = [id for (id,) in rows(path, "SELECT id FROM messages ORDER BY seq")]
                at_end.append((event.end.reply_message_id, ids))
    ((reply_id, ids),) = at_end
    assert len(ids) == 2
    assert ids[-1] == reply_id


async def test_end_waits_for_a_slow_disk() -> None:
    """Deltas are not held up by the commit of the question, END is."""
    async with talk(always("a", "b", STOP)) as bot:
        apply, may_commit, kinds = bot.app.store.apply, asyncio.Event(), []

        async def slow(changes):
            await may_commit.wait()
            return await apply(changes)

        bot.app.store.apply = slow
        call = bot.stub.StreamChat(turn())
        async with asyncio.timeout(120):
            for _ in range(3):
                kinds.append((await call.read()).WhichOneof("event"))  # noqa: PERF401
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(
                    asyncio.shield(end := asyncio.ensure_future(call.read())), 0.2
                )
            may_commit.set()
            assert (await end).end.reply_message_id
    assert kinds == ["context", "delta", "delta"]


async def test_a_slow_reader_is_waited_for_outside_the_time_of_the_model() -> None:
    """The events come in order however late they are read."""
    model = always(*(f"{n} " for n in range(200)), STOP)
    async with talk(model) as bot:
        texts = []
        async for event in bot.stub.StreamChat(turn()):
            if event.HasField("delta"):
                texts.append(event.delta)
                await asyncio.sleep(0.001)
    assert texts == [f"{n} " for n in range(200)]


async def test_the_model_is_not_waited_for_before_the_context_is_heard() -> None:
    """The context comes first, while the model is still silent."""
    go = asyncio.Event()
    async with talk(always(Wait(go), "six", STOP)) as bot:
        call = bot.stub.StreamChat(turn())
        kinds = []
        async for event in call:
            kinds.append(event.WhichOneof("event"))
            go.set()
        assert kinds == ["context", "delta", "end"]
