"""Chats against npm's aimock: its journal proves what was sent, its scripts what becomes of answers and faults."""

import json
from collections.abc import Iterator

import pytest

from backscroll import Delta, End, Message
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.texts import ENGLISH
from tests.integration.chat import causes
from tests.integration.chat.talk import ROOM, TOOLS, talk, text_of, turn
from tests.proof.aimock import mock

pytestmark = [
    pytest.mark.proof,
    pytest.mark.skipif(bool(mock.missing()), reason=mock.missing() or "it is there"),
]

T0 = 1_795_176_000_000
ANSWER = "六点，在池塘边 🐟👩‍👩‍👧。At six!"
CUT = "0123456789" * 3


def call(id: str, **arguments: str) -> dict:
    return {"id": id, "name": "weather", "arguments": arguments}


ROUNDS = [
    {"content": "看看… 🔎", "toolCalls": [call("c1", city="北京"), call("c2", city="上海 🌧")]},
    {"toolCalls": [call("c3", city="Reykjavík")]},
    {"toolCalls": [call("c4", city="北京")]},
    {"content": "都是晴天 ☀️", "usage": {"prompt_tokens": 321, "completion_tokens": 12}},
]
RESULTS = {"北京": "25° ☀️", "上海 🌧": "雨", "Reykjavík": "-3°"}


def refused(status: int, **fields: object) -> dict:
    return {
        "error": {"message": causes.SECRET, "code": "nothing_known"},
        "status": status,
        **fields,
    }


# What is asked, what becomes of it: response and options of the fixture; text, ending, error, notice.
FAULTS: dict[str, tuple[dict, dict, str, str, causes.Error | None]] = {
    "429": (refused(429, retryAfter=7), {}, "", "UPSTREAM_ERROR", causes.BUSY),
    "500": (refused(500), {}, "", "UPSTREAM_ERROR", causes.FAILED),
    "401": (refused(401), {}, "", "UPSTREAM_ERROR", causes.NO_KEY),
    "prompt filter": (
        {"error": {"message": causes.SECRET, "code": "content_filter"}, "status": 400},
        {}, "", "CONTENT_FILTER", None,
    ),
    "length": ({"content": "半🐟", "finishReason": "length"}, {}, "半🐟", "LENGTH", None),
    "content filter": (
        {"content": "嗯", "finishReason": "content_filter"}, {}, "嗯", "CONTENT_FILTER", None
    ),
    **{
        # The first of its chunks holds the role; the last goes down with the socket.
        f"cut after {k} deltas": (
            {"content": CUT}, {"chunkSize": 2, "truncateAfterChunks": k + 2, "latency": 20}, CUT[: 2 * k],
            "UPSTREAM_ERROR", causes.BROKEN,
        )
        for k in range(6)
    },
    "dropped": ({"content": CUT}, {"chaos": {"dropRate": 1}}, "", "UPSTREAM_ERROR", causes.FAILED),
    "malformed": (
        {"content": CUT}, {"chaos": {"malformedRate": 1}}, "", "UPSTREAM_ERROR", causes.UNREADABLE
    ),
    "disconnected": (
        {"content": CUT}, {"chaos": {"disconnectRate": 1}}, "", "UPSTREAM_ERROR", causes.BROKEN
    ),
    "silent": (
        {"content": CUT}, {"latency": 30_000}, "", "UPSTREAM_ERROR", causes.NO_ANSWER
    ),
}  # fmt: skip
NOTICES = {"LENGTH": [ENGLISH.length_notice], "CONTENT_FILTER": [ENGLISH.content_filter_notice]}

FIXTURES = [
    {
        "match": {"userMessage": "when, 几点？"},
        "response": {"content": ANSWER, "usage": {"prompt_tokens": 54, "completion_tokens": 21}},
        "chunkSize": 1,  # UTF-16 units: the halves of an emoji come in two deltas
        "latency": 20,  # deltas that arrive together are passed on as one
    },
    {"match": {"toolCallId": "c2"}, "response": ROUNDS[1]},
    {"match": {"toolCallId": "c3"}, "response": ROUNDS[2]},
    {"match": {"toolCallId": "c4"}, "response": ROUNDS[3]},
    {"match": {"userMessage": "天气", "hasToolResult": False}, "response": ROUNDS[0]},
    *(
        {"match": {"userMessage": f"<{cause}>"}, "response": response, **options}
        for cause, (response, options, *_) in FAULTS.items()
    ),
]


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> Iterator[mock.Aimock]:
    with mock.running(FIXTURES, tmp_path_factory.mktemp("aimock")) as aimock:
        yield aimock


@pytest.fixture
def aimock(started: mock.Aimock) -> mock.Aimock:
    started.forget()
    return started


async def test_text_and_usage(aimock: mock.Aimock) -> None:
    """S1-19, S5-30, S2-19: one body for both RPCs, that of BuildContext's payload; every character arrives."""
    asked = turn(
        "so when, 几点？",
        context={
            "trigger_message_id": "m9",
            "asked_at_ms": T0 + 9_000,
            "system": pb.SystemPrompt(text="你是一只猫 🐈"),
            "tools_json": TOOLS,  # not enabled: not sent
        },
    )
    async with talk(model_base_url=aimock.url) as bot:
        await bot.tell(
            Message("m1", "ann", "we meet at six", T0),
            Message("m2", "ben", "在哪里？🐟", T0 + 1_000, reply_to="m1"),
            Message("m9", "u1", "so when, 几点？", T0 + 8_000),
        )
        heard = await bot.ask(asked)
        stored = await bot.stored()
        # A question is answered once: without its answer it is asked anew.
        await bot.client.recall_message(ROOM, heard.end.reply_message_id)
        once = await bot.stub.Chat(pb.ChatRequest(turn=asked))
    assert (heard.text, heard.reason) == (ANSWER, "COMPLETE")
    assert heard.kinds.count("delta") > len(ANSWER) / 2
    assert once.text == ANSWER
    assert [text_of(row) for row in stored if row.message.id == heard.end.reply_message_id] == [
        ANSWER
    ]
    for end in (heard.end, once.end):
        assert (end.usage.prompt_tokens, end.usage.completion_tokens) == (54, 21)
    first, second = aimock.sent()
    payload = json.loads(heard.context.payloads[0].body)
    assert (
        first
        == second
        == {
            "model": "gpt-4o-mini",
            "messages": payload["messages"],
            "stream": True,
            "stream_options": {"include_usage": True},
            "temperature": 0.7,
        }
    )
    contents = [message["content"] for message in payload["messages"]]
    assert contents[0] == "你是一只猫 🐈"
    assert any("在哪里？🐟" in content for content in contents)


@pytest.mark.parametrize("name", ["stream_chat", "chat"])
async def test_three_rounds_of_tools(aimock: mock.Aimock, name: str) -> None:
    """S5-30: the client runs the tools; every round is sent all calls and results before it, in order."""

    def weather(city: str) -> str:
        """Look up the weather."""
        return RESULTS[city]

    async with talk(model_base_url=aimock.url) as bot:
        said = getattr(bot.client, name)(
            ROOM, "天气怎么样？", asker="u1", self_ids=["bot"], tools={"weather": weather}
        )
        if name == "chat":
            answer = await said
            text, end = answer.text, answer.end
        else:
            events = [event async for event in said]
            text = "".join(one.text for one in events if isinstance(one, Delta))
            (end,) = (one for one in events if isinstance(one, End))
    assert end.reason == "complete"
    assert text.endswith("都是晴天 ☀️")
    usage = end.raw.end.usage
    assert (usage.prompt_tokens, usage.completion_tokens) == (321, 12)
    bodies = aimock.sent()
    expected = [{"role": "user", "content": "天气怎么样？"}]
    for number, body in enumerate(bodies):
        assert without_arguments(body["messages"]) == without_arguments(expected)
        assert arguments_of(body["messages"]) == arguments_of(expected)
        assert (body["model"], body["temperature"]) == ("gpt-4o-mini", 0.7)
        assert [one["function"]["name"] for one in body["tools"]] == ["weather"]
        expected += round_of(ROUNDS[number]) if number < 3 else []
    assert len(bodies) == 4


def round_of(response: dict) -> list[dict]:
    """A round as it must stand in the next request."""
    calls = [
        {"id": one["id"], "type": "function",
         "function": {"name": one["name"], "arguments": json.dumps(one["arguments"])}}
        for one in response["toolCalls"]
    ]  # fmt: skip
    return [
        {"role": "assistant", "content": response.get("content", ""), "tool_calls": calls},
        *(
            {
                "role": "tool",
                "tool_call_id": one["id"],
                "content": RESULTS[one["arguments"]["city"]],
            }
            for one in response["toolCalls"]
        ),
    ]


def without_arguments(messages: list[dict]) -> list[dict]:
    plain = []
    for message in messages:
        calls = [
            {**one, "function": one["function"]["name"]} for one in message.get("tool_calls", [])
        ]
        plain.append({**message, "content": message["content"] or "", "tool_calls": calls})
    return plain


def arguments_of(messages: list[dict]) -> list[dict]:
    """What the calls are made with: white space in JSON says nothing."""
    return [
        json.loads(one["function"]["arguments"])
        for message in messages
        for one in message.get("tool_calls", [])
    ]


@pytest.mark.parametrize("cause", FAULTS)
async def test_faults(aimock: mock.Aimock, cause: str) -> None:
    """Law 8, S2-19, S5-31, S5-32: the ending by its cause, a part is stored marked, nobody asks twice."""
    _, _, text, ending, error = FAULTS[cause]
    async with talk(model_base_url=aimock.url, model_idle_seconds=3.0) as bot:
        heard = await bot.ask(turn(f"<{cause}>"))
        _, *replies = await bot.stored()
    assert (heard.text, heard.reason) == (text, ending)
    assert [(one.reason, one.message) for one in heard.errors] == (
        [(error[0], ENGLISH.error_prefix + error[1])] if error else []
    )
    assert [one.text for one in heard.notices] == NOTICES.get(ending, [])
    assert causes.SECRET not in str(heard.events)
    assert [(text_of(one), one.partial) for one in replies] == (
        [(text, bool(error))] if text else []
    )
    assert len(aimock.journal()) <= 1  # one that hung up before it answered journals nothing


async def test_what_matches_no_script_is_refused(aimock: mock.Aimock) -> None:
    """The proofs above would not pass by an answer to something else."""
    async with talk(model_base_url=aimock.url) as bot:
        heard = await bot.ask(turn("nobody wrote this down"))
    assert (heard.text, heard.reason) == ("", "UPSTREAM_ERROR")
    ((entry),) = aimock.journal()
    assert entry["response"]["status"] == 503
