"""What servers of models send otherwise than OpenAI's: read, repaired, or cut, through StreamChat and Chat."""

import json

import pytest

from backscroll.v1 import context_pb2 as pb
from tests.contract.models.sse_server import Reply, chunk, data, said, stopped, whole
from tests.integration.chat.talk import Bot, answers, talk_to, text_of, turn

JSON = {"content-type": "application/json"}
DONE = Reply([said("done"), stopped()])


def call(
    index: object = 0, id: object = None, name: object = None, arguments: object = None
) -> bytes:
    piece = {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
    return data(chunk({"tool_calls": [piece]}))


def counted(usage: object, place: str = "chunk") -> bytes:
    if place == "chunk":
        return data({"choices": [], "usage": usage})
    return data({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage}]})


async def both(bot: Bot, **fields) -> tuple[str, pb.ChatEnd]:
    """Text and end, by StreamChat and by Chat the same."""
    heard = await bot.ask(turn(**fields))
    once = await bot.stub.Chat(pb.ChatRequest(turn=turn(context={"channel": "other"}, **fields)))
    assert heard.errors == []
    assert not once.HasField("error")
    assert once.text == heard.text
    assert (once.end.reason, once.end.usage) == (heard.end.reason, heard.end.usage)
    return heard.text, heard.end


WAYS = {
    "the only choice has index 1": [
        data({"choices": [{"index": 1, "delta": {"content": "hi"}, "finish_reason": "stop"}]})
    ],
    "a second choice": [
        data(
            {
                "choices": [
                    {"index": n, "delta": {"content": text}} for n, text in ((0, "hi"), (1, "ho"))
                ]
            }
        ),
        data({"choices": [{"index": 1, "delta": {"content": "ho"}}]}),
        stopped(),
    ],
    "a byte order mark": [b"\xef\xbb\xbf", said("hi"), stopped()],
    "half of a byte order mark": [b"\xef\xbb", b"\xbf" + said("hi"), stopped()],
    "an empty heartbeat": [b"data: \n\n", said("hi"), b"data:\n\n", stopped(), b"data: \n\n"],
    "words for a heartbeat": [
        *(f"data: {word}\n\n".encode() for word in ("ping", "keep-alive", "心跳")),
        said("hi"),
        b"data: ping\n\n",
        stopped(),
        b"data: pong\n\n",
    ],
    "a heartbeat without choices": [data({"type": "ping"}), said("hi"), stopped()],
    "no space behind the colon": [said("hi").replace(b"data: ", b"data:"), stopped()],
    "blanks around DONE": [said("hi"), stopped(), b"data:  [DONE] \n\n"],
    "lines before the first": [b"\r\n\r\n", said("hi"), stopped()],
    "no index": [data({"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]})],
    "an index of another kind": [
        data({"choices": [{"index": "x", "delta": {"content": "hi"}, "finish_reason": "stop"}]})
    ],
    "a message in an event": [data(json.loads(whole({"content": "hi"})))],
}


@pytest.mark.row("S5-32")
@pytest.mark.parametrize("way", WAYS)
async def test_odd_streams(way: str) -> None:
    async with talk_to([Reply(WAYS[way])]) as (bot, _):
        text, end = await both(bot)
    assert (text, end.reason) == ("hi", pb.END_REASON_COMPLETE)


WHOLE = whole(
    {"content": "hi", "tool_calls": None}, usage={"prompt_tokens": 5, "completion_tokens": 2}
)


@pytest.mark.row("S3-04")
@pytest.mark.parametrize(
    "kind", ["application/json", "text/plain; charset=utf-8", "text/event-stream", "x"]
)
@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\n  "])
async def test_a_server_that_does_not_stream(kind: str, before: bytes) -> None:
    """S3-04: a whole completion is read into text, calls and counts, whatever its type is said to be, and stored."""
    pieces = [before, WHOLE[:9], WHOLE[9:]] if before else [WHOLE]
    async with talk_to([Reply(pieces, headers={"content-type": kind})]) as (bot, _):
        text, end = await both(bot)
        assert (text, end.reason) == ("hi", pb.END_REASON_COMPLETE)
        assert (end.usage.prompt_tokens, end.usage.completion_tokens) == (5, 2)
        _, reply = await bot.stored()
    assert text_of(reply) == "hi"


@pytest.mark.row("S3-04")
async def test_calls_of_a_server_that_does_not_stream() -> None:
    """S3-04, golden: text and calls become parts that are stored, in order, and go back to the model."""
    calls = [
        {"id": f"c{n}", "type": "function", "function": {"name": "weather", "arguments": arguments}}
        for n, arguments in enumerate(('{"city": "Paris"}', "{city: Rome", {"city": "Oslo"}))
    ]
    body = whole({"content": "Let me look.", "tool_calls": calls}, "tool_calls")
    async with talk_to([Reply([body], headers=JSON), DONE]) as (bot, model):
        heard = await bot.ask(turn(tools=True))
        assert heard.reason == "TOOL_CALLS"
        told = [(one.id, one.name, json.loads(one.arguments_json)) for one in heard.calls]
        assert told == [
            (f"c{n}", "weather", {"city": city}) for n, city in enumerate(("Paris", "Rome", "Oslo"))
        ]
        await bot.ask(answers(heard.end.turn_id, c0="sun", c1="rain", c2="snow"))
        _, asked, *_ = await bot.stored()
    text, *parts = asked.message.parts
    assert text.text.text == "Let me look."
    assert [one.tool_call.id for one in parts] == ["c0", "c1", "c2"]
    sent = next(one for one in model.exchanges[1].json["messages"] if one.get("tool_calls"))
    assert [json.loads(one["function"]["arguments"]) for one in sent["tool_calls"]] == [
        {"city": "Paris"},
        {"city": "Rome"},
        {"city": "Oslo"},
    ]


BROKEN = {
    "{city: Paris}": {"city": "Paris"},
    '{"city":"Paris"': {"city": "Paris"},
    '{"city":"Paris"}}': {"city": "Paris"},
    "Paris": {"arguments": "Paris"},
    '["Paris"]': {"arguments": '["Paris"]'},
    "": {},
}


@pytest.mark.parametrize("written", BROKEN)
async def test_arguments_that_are_no_json(written: str) -> None:
    """Neither the bot nor the model nor the history gets them as they were written."""
    first = Reply([call(0, "a", "weather", written), stopped("tool_calls")])
    async with talk_to([first, DONE]) as (bot, model):
        heard = await bot.ask(turn(tools=True))
        assert [json.loads(one.arguments_json) for one in heard.calls] == [BROKEN[written]]
        assert (await bot.ask(answers(heard.end.turn_id, a="sunny"))).text == "done"
        (sent,) = [
            c for m in model.exchanges[1].json["messages"] for c in m.get("tool_calls") or []
        ]
        assert json.loads(sent["function"]["arguments"]) == BROKEN[written]
        rows = await bot.stored()
        stored = [p.tool_call for row in rows for p in row.message.parts if p.HasField("tool_call")]
        assert [json.loads(one.arguments_json) for one in stored] == [BROKEN[written]]


HOSTILE = ('"\n{', '"{`', "'{{", "`1{", "{ ", '{"', "{/a", "{}", "[", "\\\n", '"\n"', '{"a":[')
"""Repeated, each of them took a repairer a time that grew with the square of the length."""


async def test_hundreds_of_hostile_calls_in_one_answer() -> None:
    """They cost a fixed amount together; what is not read is quoted, and nothing is lost."""
    written = ["{" + (HOSTILE[n % len(HOSTILE)] * 2_000)[:1_999] for n in range(240)]
    calls = [call(n, f"c{n}", "weather", text) for n, text in enumerate(written)]
    async with talk_to([Reply([*calls, stopped("tool_calls")])]) as (bot, _):
        heard = await bot.ask(turn(tools=True))
    assert heard.reason == "TOOL_CALLS"
    read = [json.loads(one.arguments_json) for one in heard.calls]
    assert len(read) == len(written)
    assert read[-12:] == [{"arguments": text.strip()} for text in written[-12:]]
    assert all(isinstance(one, dict) for one in read)


async def test_repairs_of_one_answer_have_a_size() -> None:
    """Of many broken calls the first are repaired, the rest quoted; whole ones do not count."""
    broken, whole_one = "{city: " + "P" * 4_000, json.dumps({"city": "P" * 4_000})
    texts = [*[whole_one] * 9, *[broken] * 9, whole_one]
    calls = [call(n, f"c{n}", "weather", text) for n, text in enumerate(texts)]
    async with talk_to([Reply([*calls, stopped("tool_calls")])]) as (bot, _):
        heard = await bot.ask(turn(tools=True))
    read = [json.loads(one.arguments_json) for one in heard.calls]
    city, quoted = {"city": "P" * 4_000}, {"arguments": broken}
    assert read == [*[city] * 9, *[city] * 4, *[quoted] * 5, city]


TWO = {
    "behind each other": [
        call(0, "a", "weather", ""),
        call(0, None, "", '{"city":"Paris"}'),
        call(0, None, "", '{"city":"Rome"}'),
    ],
    "in one piece": [call(0, "a", "weather", '{"city":"Paris"}{"city":"Rome"}')],
    "a border inside a piece": [
        call(0, "a", "weather", '{"city":"Pa'),
        call(0, arguments='ris"}{"city"'),
        call(0, arguments=':"Rome"}'),
    ],
    "two ids": [call(0, "a", "weather", '{"city":"Paris"}'), call(0, "b", "weather", '{"city":"Rome"}')],
    "the name again, no index": [
        call(None, "a", "weather", '{"city":"Paris"}'),
        call(None, None, "weather", '{"city":"Rome"}'),
    ],
    "indexes in texts": [call("0", "a", "weather", '{"city":"Paris"}'), call("1", "b", "weather", '{"city":"Rome"}')],
    "indexes far away": [
        call(10**9, "a", "weather", '{"city":"Paris"}'),
        call(-(10**30), "b", "weather", '{"city":"Rome"}'),
    ],
    "one id twice": [call(0, "a", "weather", '{"city":"Paris"}'), call(1, "a", "weather", '{"city":"Rome"}')],
}  # fmt: skip


@pytest.mark.parametrize("way", TWO)
async def test_two_calls_stay_two(way: str) -> None:
    async with talk_to([Reply([*TWO[way], stopped("tool_calls")]), DONE]) as (bot, model):
        heard = await bot.ask(turn(tools=True))
        told = [(one.name, json.loads(one.arguments_json)["city"]) for one in heard.calls]
        assert told == [("weather", "Paris"), ("weather", "Rome")]
        ids = [one.id for one in heard.calls]
        assert len(set(ids)) == 2
        await bot.ask(answers(heard.end.turn_id, **dict.fromkeys(ids, "sunny")))
    messages = model.exchanges[1].json["messages"]
    assert [one["tool_call_id"] for one in messages if one["role"] == "tool"] == ids


async def test_another_name_on_one_index_is_another_call() -> None:
    steps = [call(0, "a", "weather", '{"x":1}'), call(0, None, "time", '{"y":2}')]
    async with talk_to([Reply([*steps, stopped("tool_calls")])]) as (bot, _):
        heard = await bot.ask(turn(tools=True))
    assert [(one.name, one.arguments_json) for one in heard.calls] == [
        ("weather", '{"x":1}'),
        ("time", '{"y":2}'),
    ]


LARGEST = 2**32 - 1
USAGES = {
    "as it should be": ({"prompt_tokens": 3, "completion_tokens": 1}, (3, 1)),
    "2^32": ({"prompt_tokens": 2**32, "completion_tokens": 1}, (LARGEST, 1)),
    "2^63": ({"prompt_tokens": 2**63, "completion_tokens": 2**70}, (LARGEST, LARGEST)),
    "negative": ({"prompt_tokens": -3, "completion_tokens": 1}, (0, 1)),
    "floats": ({"prompt_tokens": 3.0, "completion_tokens": 1e300}, (3, LARGEST)),
    "half": ({"prompt_tokens": 3}, (3, 0)),
    "true": ({"prompt_tokens": True, "completion_tokens": True}, None),
    "texts": ({"prompt_tokens": "3", "completion_tokens": "1"}, None),
    "no object": ([3, 1], None),
    "Anthropic's names": ({"input_tokens": 3, "output_tokens": 1}, (3, 1)),
}


@pytest.mark.parametrize("place", ["chunk", "choice"])
@pytest.mark.parametrize("kind", USAGES)
async def test_usage(kind: str, place: str) -> None:
    """Clamped to what the contract holds; what is no number is no count; also where it stands in the choice."""
    usage, expected = USAGES[kind]
    async with talk_to([Reply([said("hi"), counted(usage, place), stopped()])]) as (bot, _):
        text, end = await both(bot)
    assert (text, end.reason) == ("hi", pb.END_REASON_COMPLETE)
    found = (
        (end.usage.prompt_tokens, end.usage.completion_tokens) if end.HasField("usage") else None
    )
    assert found == expected
