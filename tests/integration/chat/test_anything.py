"""Whatever a server of models sends: the stream has one end, and nothing of ours fails."""

import json

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from backscroll.v1 import context_pb2 as pb
from tests.contract.models.sse_server import Reply, said, stopped
from tests.integration.chat.talk import talk_to, turn
from tests.kit.examples import examples

numbers = st.sampled_from([0, 1, -1, 10**9, 2**31, 2**32, 2**63, 2**64, 10**400, 0.5, 1e308, True])
values = st.recursive(
    st.none()
    | numbers
    | st.text(st.characters(codec=None), max_size=4)
    | st.sampled_from(["stop", "{}", '{"a":', "x" * 70_000]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "a", "code", "message"]), inner, max_size=2)
    ),
    max_leaves=5,
)


def maybe(**fields: st.SearchStrategy) -> st.SearchStrategy:
    return values | st.fixed_dictionaries(
        {}, optional={name: of | values for name, of in fields.items()}
    )


function = maybe(
    name=st.just("weather"), arguments=st.sampled_from(["{}", '{"a"', '{"a":1}{"b":2}'])
)
calls = st.lists(
    maybe(index=numbers, id=st.sampled_from(["c", "x" * 2_000]), function=function), max_size=3
)
delta = maybe(
    content=st.sampled_from(["hi", "<think>", "</think>\n"]), tool_calls=calls, refusal=values
)
choice = maybe(
    index=numbers,
    delta=delta,
    message=delta,
    usage=values,
    finish_reason=st.sampled_from(["stop", "length", "tool_calls", "odd", "error", "x" * 99]),
)
usage = maybe(prompt_tokens=numbers, completion_tokens=numbers)
event = maybe(
    choices=st.lists(choice, max_size=2),
    usage=usage,
    error=values,
    base_resp=values,
    error_code=values,
    object=values,
)
bodies = st.lists(event, max_size=4)
headers = st.fixed_dictionaries(
    {},
    optional={
        "retry-after": st.sampled_from(["1e400", "-1", "nan", "9" * 5_000, "Wed, 99 Foo 9999", "x"])
        | st.text("0123456789 GMT,:", max_size=12),
        "retry-after-ms": st.sampled_from(["1e400", "-1", "99999999999999999999"]),
        "content-type": st.sampled_from(
            ["application/json", "text/event-stream", "text/html", "x"]
        ),
        "date": st.text("0123456789 GMT,:", max_size=9),
    },
)


@given(
    bodies,
    headers,
    st.sampled_from([200, 200, 200, 301, 400, 429, 500, 599]),
    st.booleans(),
    st.booleans(),
)
@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
async def test_whatever_a_server_sends_the_stream_has_one_end(
    events: list,
    given_headers: dict,
    status: int,
    is_stream: bool,
    tools: bool,
) -> None:
    written = [json.dumps(one).encode() for one in events]
    steps = [b"data: " + one + b"\n\n" for one in written] if is_stream else written
    named = {name: value.strip() for name, value in given_headers.items()}
    async with talk_to([Reply(steps, status, named)]) as (bot, _):
        heard = await bot.ask(turn(tools=tools))
        once = await bot.stub.Chat(pb.ChatRequest(turn=turn(tools=tools, context={"channel": "b"})))
        assert heard.reason != "UNSPECIFIED"
        assert once.end.reason
        for one in heard.calls:
            assert isinstance(orjson.loads(one.arguments_json), dict)
        for error in (*heard.errors, *([once.error] if once.HasField("error") else [])):
            assert "the server failed" not in error.message


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":' * 100_000,
        b"[" * 900 + b"]" * 900,
        b'{"choices":[{"delta":{"content":' + b'[{"text":' * 400 + b'"x"' + b"}]" * 400 + b"}}]}",
        b'{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":'
        + b"[" * 500
        + b"]" * 500
        + b"}}]}}]}",
        b'{"choices":[{"delta":{"tool_calls":[{"id":"' + b"x" * 1_200_000 + b'"}]}}]}',
        b'{"error":' + b'{"error":' * 300 + b"1" + b"}" * 301,
        b'{"usage":{"prompt_tokens":' + b"9" * 9_000 + b"}}",
    ],
    ids=["open", "arrays", "parts", "arguments", "an id", "errors", "a number"],
)
@pytest.mark.parametrize("status", [200, 400])
async def test_deep_and_long_json(body: bytes, status: int) -> None:
    for steps in ([b"data: " + body + b"\n\n", said("hi"), stopped()], [body]):
        async with talk_to([Reply(steps, status)]) as (bot, _):
            heard = await bot.ask(turn(tools=True))
        assert heard.reason in {"UPSTREAM_ERROR", "COMPLETE", "INCOMPLETE"}
        assert all("the server failed" not in one.message for one in heard.errors)
