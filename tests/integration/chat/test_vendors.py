"""StreamChat against each vendor's own interface: a server that holds to the rules and signs what it thinks."""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import pytest

from backscroll import Message
from backscroll.v1 import context_pb2 as pb
from tests.contract.models.sse_server import HANG, Reply, sse_server
from tests.integration.chat.talk import Bot, answers, talk, text_of, turn
from tests.kit.chats import NOON_MS
from tests.kit.vendors.fakes import (
    LENGTH,
    MODELS,
    Answer,
    Call,
    FakeVendor,
    Say,
    Think,
    signatures_in,
)
from tests.kit.vendors.rules import APIS

FORMAT = {name: pb.PayloadFormat.Value(f"PAYLOAD_FORMAT_{name.upper()}") for name in APIS}
ROUNDS = [
    Answer([
        Think("北京和巴黎?"), Say("let me see"),
        Call("weather", {"city": "北京"}), Call("weather", {"city": "巴黎"}),
    ]),
    Answer([Think("one more"), Call("weather", {"city": "Rome"})]),
    Answer([Call("weather", {})]),
    Answer([Think("done"), Say("sunny 晴")]),
]  # fmt: skip
DONE = Answer([Say("sunny 晴")])


@asynccontextmanager
async def vendor(
    api: str, said: Sequence[Answer | Reply], *, is_streaming: bool = True, **settings: object
) -> AsyncIterator[tuple[Bot, FakeVendor]]:
    """A bot whose model is behind this interface."""
    fake = FakeVendor(api, list(said), is_streaming)
    async with sse_server() as server:
        server.choose = fake.choose
        settings = {
            "model_api": api,
            "model_api_key": "sk-x",
            "default_model": MODELS[api],
        } | settings
        async with talk(model_base_url=server.url, **settings) as bot:
            yield bot, fake


async def run_rounds(bot: Bot, **fields: object):
    """A turn with its tool rounds, to its end."""
    heard = await bot.ask(turn("weather 天气?", tools=True, **fields))
    rounds = 0
    while heard.reason == "TOOL_CALLS":
        rounds += 1
        results = {one.id: f"{one.arguments_json}: 25°" for one in heard.calls}
        heard = await bot.ask(answers(heard.end.turn_id, **results))
    return heard, rounds


@pytest.mark.row("P-20")
@pytest.mark.parametrize("api", APIS)
async def test_a_picture_and_marks_go_with_the_question(api: str) -> None:
    """What the vendor refuses would end the turn; the next question of the profile begins with the same messages."""
    async with vendor(api, [DONE, DONE]) as (bot, fake):
        for number in range(2):
            asked = turn(f"what is this? {number}")
            asked.context.profile = "steady"
            asked.context.pictures.add(uri="data:image/png;base64,AA==")
            asked.context.system.text = "Be kind."
            heard = await bot.ask(asked)
            assert (heard.reason, fake.refusals) == ("COMPLETE", [])
        first, second = (json.dumps(one, ensure_ascii=False) for one in fake.bodies)
        assert "AA==" in first
        assert second.count("AA==") == 1
        assert ("cache_control" in first) == (api == "anthropic_messages")


@pytest.mark.row("P-31")
@pytest.mark.row("S3-23")
@pytest.mark.parametrize("is_streaming", [True, False])
@pytest.mark.parametrize("api", APIS)
async def test_three_tool_rounds_with_signatures(api: str, is_streaming: bool) -> None:
    """What the vendor signed comes back unchanged within the turn, and in the next one; usage and end are told."""
    async with vendor(api, [*ROUNDS, DONE], is_streaming=is_streaming) as (bot, fake):
        heard, rounds = await run_rounds(bot)
        assert fake.refusals == []
        assert (rounds, heard.text, heard.reason) == (3, "sunny 晴", "COMPLETE")
        assert (heard.end.usage.prompt_tokens, heard.end.usage.completion_tokens) == (11, 7)
        again = await bot.ask(turn("and tomorrow 明天?", tools=True))
        assert fake.refusals == []
        assert (again.text, again.reason) == ("sunny 晴", "COMPLETE")
        rows = await bot.stored()
    within = set(signatures_in(fake.bodies[3]))
    assert len(within) >= 2
    assert within - {"done"} <= set(signatures_in(fake.bodies[4]))
    assert all("let me see" in json.dumps(body) for body in fake.bodies[1:])
    kinds = [[part.WhichOneof("content") for part in row.message.parts] for row in rows]
    assert sum("provider_state" in one for one in kinds) >= 2
    states = [
        part.provider_state
        for row in rows
        for part in row.message.parts
        if part.HasField("provider_state")
    ]
    assert {(one.api, one.model) for one in states} == {(api, MODELS[api])}
    assert all(
        one.provider.startswith("127.0.0.1:") and one.provider.endswith("/v1") for one in states
    )
    assert [text_of(row) for row in rows if text_of(row) and row.message.author.id == "bot"] == [
        "let me see", "sunny 晴", "sunny 晴",
    ]  # fmt: skip


@pytest.mark.row("P-31")
@pytest.mark.parametrize("after", APIS)
@pytest.mark.parametrize("before", APIS)
async def test_another_provider_gets_nothing_of_it_and_refuses_nothing(
    before: str, after: str
) -> None:
    """The same history goes on elsewhere: by the same interface at another address, or by another one."""
    async with vendor(before, ROUNDS) as (bot, fake):
        await run_rounds(bot)
        rows = [row.message for row in await bot.stored()]
        assert fake.refusals == []
        signed = {one for body in fake.bodies for one in signatures_in(body)}
    async with vendor(after, [DONE]) as (bot, fake):
        await bot.client.append("room", rows)
        heard = await bot.ask(turn("and tomorrow?", tools=True))
        assert fake.refusals == []
        assert heard.reason == "COMPLETE"
    sent = json.dumps(fake.bodies, ensure_ascii=False)
    assert signed
    assert not any(json.dumps(one) in sent for one in signed)
    assert sent.count("25°") == 4


@pytest.mark.parametrize("api", APIS)
async def test_a_request_names_the_interface(api: str) -> None:
    """The address stays the server's; the payload told is the one that is sent."""
    async with vendor(api, [DONE], model_api="openai_chat") as (bot, fake):
        call = {"model_api": FORMAT[api], "max_output_tokens": 64, "temperature": 0.5}
        heard = await bot.ask(turn(model_call=call, context={"model": MODELS[api]}))
    assert (heard.text, heard.reason, fake.refusals) == ("sunny 晴", "COMPLETE", [])
    (payload,) = heard.context.payloads
    assert payload.format == FORMAT[api]
    (body,) = fake.bodies
    told = json.loads(payload.body)
    for name in ("messages", "input", "contents"):
        assert body.get(name) == told.get(name)
    config = body.get("generationConfig", body)
    limits = {"max_tokens", "max_output_tokens", "maxOutputTokens"}
    assert [config[name] for name in limits & config.keys()] == [64]
    assert api == "openai_responses" or config["temperature"] == 0.5


@pytest.mark.parametrize("api", APIS)
async def test_an_answer_that_is_cut(api: str) -> None:
    async with vendor(api, [Answer([Say("half of i")], LENGTH[api])]) as (bot, fake):
        heard = await bot.ask(turn())
    assert (heard.text, heard.reason, fake.refusals) == ("half of i", "LENGTH", [])


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("status", "reason"),
    [(429, "rate_limited"), (401, "unauthorized"), (500, "server_error"), (529, "server_error")],
)
async def test_errors_end_the_stream_with_a_reason(api: str, status: int, reason: str) -> None:
    failed = Reply([FakeVendor(api, []).error("no")], status=status, headers={"retry-after": "2"})
    async with vendor(api, [failed, DONE]) as (bot, _):
        heard = await bot.ask(turn())
        assert (heard.reason, [one.reason for one in heard.errors]) == ("UPSTREAM_ERROR", [reason])
        assert (await bot.ask(turn())).text == "sunny 晴"


@pytest.mark.parametrize("api", APIS)
async def test_who_leaves_closes_the_upstream(api: str) -> None:
    """A cancelled call ends the vendor's stream at once."""
    fake = FakeVendor(api, [DONE])
    begun = fake.choose
    async with sse_server() as server:

        def hanging(exchange, at):
            reply = begun(exchange, at)
            return Reply([*reply.steps[:-2], HANG])

        server.choose = hanging
        async with talk(model_base_url=server.url, model_api=api, default_model=MODELS[api]) as bot:
            call = bot.stub.StreamChat(turn())
            async for event in call:
                if event.HasField("delta"):
                    break
            call.cancel()
            async with asyncio.timeout(60):
                await server.exchanges[0].gone.wait()
            await bot.idle()


@pytest.mark.row("P-31")
async def test_thoughts_are_left_out_for_a_server_that_refuses_them() -> None:
    """Some compatible servers refuse their own field: they are asked again without, and from then on."""
    words = "'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property "
    words += "'reasoning_content' is unsupported)]"
    fake = FakeVendor("openai_chat", ROUNDS[:1] * 2 + [DONE])
    begun = fake.choose

    def strict(exchange, at):
        fake.signed = []
        if "reasoning_content" in exchange.body.decode():
            return Reply([fake.error(words)], status=400)
        return begun(exchange, len(fake.bodies))

    async with sse_server() as server:
        server.choose = strict
        async with talk(model_base_url=server.url, default_model="deepseek-v4") as bot:
            heard, rounds = await run_rounds(bot)
    assert (heard.text, heard.reason, rounds) == ("sunny 晴", "COMPLETE", 2)
    assert len(server.exchanges) == 4  # one was asked twice


@pytest.mark.parametrize("api", APIS)
async def test_the_call_that_must_answer_gets_no_tools(api: str) -> None:
    """Behind the last round the model may call none, and the vendor takes the calls before all the same."""
    async with vendor(api, [ROUNDS[0], DONE]) as (bot, fake):
        heard, rounds = await run_rounds(bot, model_call={"max_tool_iterations": 1})
    assert (heard.text, heard.reason, rounds, fake.refusals) == ("sunny 晴", "COMPLETE", 1, [])
    last = fake.bodies[-1]
    choice = last.get("tool_choice")
    assert "tools" not in last or choice == {"type": "none"}


TOO_LARGE = {
    "openai_chat": (400, {"error": {
        "message": "This model's maximum context length is 128000 tokens. However, your messages resulted in 131072.",
        "type": "invalid_request_error", "code": "context_length_exceeded",
    }}),
    "openai_responses": (400, {"error": {
        "message": "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "type": "invalid_request_error", "code": "context_length_exceeded",
    }}),
    "anthropic_messages": (400, {"type": "error", "error": {
        "type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum",
    }}),
    "gemini_contents": (400, {"error": {
        "code": 400, "status": "INVALID_ARGUMENT",
        "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
    }}),
}  # fmt: skip


@pytest.mark.row("S3-22")
@pytest.mark.parametrize("api", APIS)
async def test_what_is_larger_than_the_window_is_asked_once_more(api: str) -> None:
    """Behind a compaction, with a smaller context; a second refusal ends the stream."""
    status, body = TOO_LARGE[api]
    refused = Reply([json.dumps(body).encode()], status=status)
    said = [
        Message(f"m{n}", f"u{n % 3}", f"line {n} " + "word " * 60, NOON_MS + n) for n in range(200)
    ]
    context = {"profile": "room", "asked_at_ms": NOON_MS + 1_000, "token_budget": 8_000}
    async with vendor(api, [refused, DONE, refused, refused], summary_model="none") as (bot, fake):
        await bot.client.append("room", said)
        heard = await bot.ask(turn(context=context))
        assert (heard.text, heard.reason, fake.refusals) == ("sunny 晴", "COMPLETE", [])
        first, second = (len(json.dumps(one)) for one in fake.bodies)
        assert second < 0.75 * first
        built = await bot.client.build_context(
            "room", "?", asker="u1", profile="room", asked_at=NOON_MS + 2_000
        )
        assert built.raw.HasField("summary")
        again = await bot.ask(turn("and?", context=context))
    assert (again.reason, len(fake.bodies)) == ("UPSTREAM_ERROR", 4)
    assert [one.reason for one in again.errors] == ["rejected"]


async def test_the_thread_of_the_trigger_is_what_is_compacted() -> None:
    """Nobody else would be shown the summary of the channel."""
    status, body = TOO_LARGE["openai_chat"]
    refused = Reply([json.dumps(body).encode()], status=status)
    said = [
        Message(f"m{n}", f"u{n % 3}", f"line {n} " + "word " * 60, NOON_MS + n, thread_id="t")
        for n in range(200)
    ]
    context = {"trigger_message_id": "m199", "token_budget": 8_000, "profile": "room"}
    async with vendor("openai_chat", [refused, DONE], summary_model="none") as (bot, _):
        await bot.client.append("room", said)
        heard = await bot.ask(turn("well?", context=context))
        assert (heard.text, heard.reason) == ("sunny 晴", "COMPLETE")
        whole, inside = [
            await bot.client.build_context(
                "room", "?", asker="u1", profile="room", asked_at=NOON_MS + 2_000, thread_id=one
            )
            for one in ("", "t")
        ]
    assert (whole.raw.HasField("summary"), inside.raw.HasField("summary")) == (False, True)


@pytest.mark.parametrize("api", APIS)
async def test_throttling_is_no_overflow(api: str) -> None:
    """Whatever words stand in it."""
    throttled = Reply([FakeVendor(api, []).error("too many tokens a minute: exceeded")], status=429)
    async with vendor(api, [throttled, DONE]) as (bot, fake):
        heard = await bot.ask(turn())
    assert (heard.reason, len(fake.bodies)) == ("UPSTREAM_ERROR", 1)


@pytest.mark.parametrize("api", APIS)
async def test_results_that_are_too_large_are_shortened_once(api: str) -> None:
    """In a tool loop the context stands; the results of the tools give way."""
    status, body = TOO_LARGE[api]
    refused = Reply([json.dumps(body).encode()], status=status)
    async with vendor(api, [ROUNDS[2], refused, DONE]) as (bot, fake):
        heard = await bot.ask(turn("weather?", tools=True))
        results = {one.id: "sunny " * 4_000 for one in heard.calls}
        heard = await bot.ask(answers(heard.end.turn_id, **results))
    assert (heard.text, heard.reason, fake.refusals) == ("sunny 晴", "COMPLETE", [])
    sizes = [len(json.dumps(one)) for one in fake.bodies]
    assert sizes[2] < 0.75 * sizes[1]
