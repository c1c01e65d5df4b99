"""What a request to the model can be made to hold or to leave out, and where it goes."""

import json

import pytest

from backscroll.errors import InvalidRequest
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.config.sources import load
from tests.contract.models.sse_server import Reply, chunk, data, said, stopped, used
from tests.integration.chat.talk import answers, talk, talk_to, turn

JSON = {"content-type": "application/json"}
ANSWER = Reply([said("hi"), stopped(), used(3, 1)])
REFUSALS = {
    "OpenAI's param": {
        "error": {"message": "no", "type": "invalid_request_error", "param": "stream_options"}
    },
    "a part of it": {"error": {"message": "no", "param": "stream_options.include_usage"}},
    "a sentence": {"error": {"message": "Unrecognized request argument supplied: stream_options"}},
    "its part in a sentence": {"message": "include_usage: extra inputs are not permitted"},
    "FastAPI": {
        "detail": [{"loc": ["body", "stream_options"], "msg": "extra fields not permitted"}]
    },
    "Mistral": {
        "object": "error",
        "message": {"detail": [{"type": "extra_forbidden", "loc": ["body", "stream_options"]}]},
    },
    "a text": "stream_options is not supported",
}


def refused(error: object, status: int = 422) -> Reply:
    return Reply([json.dumps(error).encode()], status, JSON)


@pytest.mark.parametrize("status", [400, 422])
@pytest.mark.parametrize("vendor", REFUSALS)
async def test_stream_options_are_left_out_once_they_were_refused(vendor: str, status: int) -> None:
    """The call is repeated at once, and none is made with them from then on."""
    async with talk_to([refused(REFUSALS[vendor], status), ANSWER]) as (bot, model):
        for channel in ("a", "b"):
            heard = await bot.ask(turn(context={"channel": channel}))
            assert (heard.text, heard.errors) == ("hi", [])
        once = await bot.stub.Chat(pb.ChatRequest(turn=turn(context={"channel": "c"})))
        assert once.text == "hi"
    first, *others = [exchange.json for exchange in model.exchanges]
    assert first.pop("stream_options") == {"include_usage": True}
    assert first == others[0]
    assert len(others) == 3
    assert not any("stream_options" in one for one in others)


async def test_they_are_asked_for_again_where_leaving_them_out_changed_nothing() -> None:
    """An error that only repeats what it was sent teaches nothing."""
    echo = refused({"error": {"message": "bad: {stream_options: {}}"}}, 400)
    async with talk_to([echo, echo, ANSWER]) as (bot, model):
        assert (await bot.ask(turn())).reason == "UPSTREAM_ERROR"
        assert (await bot.ask(turn())).text == "hi"
    assert ["stream_options" in exchange.json for exchange in model.exchanges] == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(
    "reply",
    [
        refused(REFUSALS["a sentence"], 500),
        refused({"error": {"message": "no", "param": "messages"}}),
        refused({"error": {"message": "x" * 600 + "stream_options"}}),
        Reply([data({"error": {"message": "stream_options"}})]),
    ],
)
async def test_nothing_else_is_asked_twice(reply: Reply) -> None:
    async with talk_to([reply, ANSWER]) as (bot, model):
        assert (await bot.ask(turn())).reason == "UPSTREAM_ERROR"
    assert len(model.exchanges) == 1


async def test_stream_options_are_off_by_a_setting() -> None:
    async with talk_to([refused(REFUSALS["a text"])], model_stream_options=False) as (bot, model):
        heard = await bot.ask(turn())
    assert "BACKSCROLL_MODEL_STREAM_OPTIONS" in heard.errors[0].message
    assert ["stream_options" in exchange.json for exchange in model.exchanges] == [False]


@pytest.mark.parametrize(
    ("error", "remedy"),
    [
        ({"param": "temperature", "code": "unsupported_value"}, "BACKSCROLL_TEMPERATURE=none"),
        ({"message": "Unsupported value: 'temperature' does not support 0.7"}, "BACKSCROLL_TEMPERATURE=none"),
        ({"message": "temperature is not supported with this model"}, "BACKSCROLL_TEMPERATURE=none"),
        (
            {
                "message": "'max_tokens' is not supported. Use 'max_completion_tokens' instead.",
                "param": "max_tokens",
            },
            "BACKSCROLL_MODEL_MAX_TOKENS_FIELD=max_completion_tokens",
        ),
        ({"message": "max_tokens is too large", "param": "max_tokens"}, ""),
        ({"message": "what is the temperature in Paris?"}, ""),
    ],
)  # fmt: skip
async def test_an_error_says_what_to_do(error: dict, remedy: str) -> None:
    async with talk_to([refused({"error": error}, 400)]) as (bot, _):
        (told,) = (await bot.ask(turn())).errors
    assert (remedy in told.message) if remedy else "BACKSCROLL_" not in told.message


async def test_fields_are_added_by_setting_and_by_request() -> None:
    """Those of the request stand over the setting's, and these over what is made here; a turn keeps its own."""
    extra = {"enable_thinking": False, "top_p": 0.9, "temperature": 1, "nested": {"a": [None]}}
    mine = {"top_p": 0.5, "reasoning_effort": "low", "tool_choice": "auto"}
    called = Reply(
        [
            data(chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "weather"}}]})),
            stopped("tool_calls"),
        ]
    )
    async with talk_to([called, ANSWER, ANSWER], model_extra_body=extra) as (bot, model):
        heard = await bot.ask(turn(tools=True, model_call={"extra_body_json": json.dumps(mine)}))
        await bot.ask(answers(heard.end.turn_id, c="sunny"))
        answer = await bot.client.chat(
            "b", "?", asker="u1", extra_body_json='{"seed": 1, "tool_choice": "none"}'
        )
        assert answer.text == "hi"
    first, second, third = [exchange.json for exchange in model.exchanges]
    for sent in (first, second):
        assert {name: sent[name] for name in {**extra, **mine}} == {**extra, **mine}
    assert (third["seed"], third["top_p"], third["stream"]) == (1, 0.9, True)
    assert "tool_choice" not in third  # there are no tools


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "no JSON"),
        ("[1]", "not a JSON object"),
        ("null", "not a JSON object"),
        ('{"a": NaN}', "no JSON"),
        ('{"a": "\\ud800"}', "no JSON"),
        ('{"a":' * 300 + "1" + "}" * 300, "no JSON"),
        *(
            (json.dumps({"x": 1, name: 1}), f"holds {name}")
            for name in ("model", "messages", "stream", "tools")
        ),
        (json.dumps({"a": "x" * 65_536}), "exceeds 65536 bytes"),
    ],
)
async def test_fields_that_cannot_be_added_are_refused(text: str, told: str) -> None:
    async with talk_to([ANSWER]) as (bot, model):
        heard = await bot.ask(turn(model_call={"extra_body_json": text}))
        assert isinstance(heard.refusal, InvalidRequest)
        assert heard.refusal.field == "model_call.extra_body_json"
        assert heard.refusal.reason == ("TOO_LARGE" if "exceeds" in told else "INVALID_FIELD")
        assert told in str(heard.refusal)
    assert model.exchanges == []


@pytest.mark.parametrize(
    "behind",
    [
        "",
        "/",
        "/chat/completions",
        "/chat/completions/",
        "/chat/completions?api-version=1",
        "?api-version=1",
        "/embeddings",
    ],
)
async def test_a_base_url_may_be_the_address_of_a_call(behind: str) -> None:
    async with talk_to([ANSWER]) as (plain, model):
        await plain.ask(turn())
        async with talk(model_base_url=model.url + behind) as bot:
            assert (await bot.ask(turn())).text == "hi"
    query = behind.partition("?")[2]
    assert (
        model.exchanges[-1].line
        == f"POST /v1/chat/completions{'?' if query else ''}{query} HTTP/1.1"
    )


async def test_the_query_of_the_settings_stands_over_that_of_the_url() -> None:
    async with talk_to([ANSWER]) as (_, model):
        url = model.url + "/chat/completions?a=1&b=2"
        async with talk(model_base_url=url, model_query={"b": "3"}) as bot:
            assert (await bot.ask(turn())).text == "hi"
    assert model.exchanges[-1].line == "POST /v1/chat/completions?a=1&b=3 HTTP/1.1"


@pytest.mark.parametrize("value", ['{"model": "x"}', '{"messages": []}', "[1]", "{", "3"])
def test_the_setting_is_checked(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BACKSCROLL_MODEL_EXTRA_BODY", value)
    found = load()
    assert found.problems
    assert found.settings.model_extra_body == {}
