"""OpenAI's Chat Completions over real sockets, by OpenAI's own client; the vendor behind is scripted."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import openai
import pytest

from backscroll_sidecar.telemetry.catalogue import Metric
from tests.kit.fake_vendor import FakeVendor, Said, chunk, fake_vendor, of_json, streamed, whole
from tests.kit.over_http import OverHttp, over_http

pytestmark = pytest.mark.row("S5-48")

CHANNEL = "群:一/2"
HEADERS = {"X-Backscroll-Channel": "b64_" + base64.urlsafe_b64encode(CHANNEL.encode()).decode()}
T0 = 1_795_000_000_000


class World:
    """A server, the vendor behind it, and OpenAI's client in front."""

    def __init__(self, served: OverHttp, vendor: FakeVendor, ai: Any, token: str) -> None:
        self.http, self.vendor, self.ai, self.app = served.http, vendor, ai, served.app
        self.served, self._token = served, token

    async def call(self, name: str, **body: Any) -> dict[str, Any]:
        """A call of the contract as JSON."""
        answer = await self.served.call(name, body, authorization=f"Bearer {self._token}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def metric(self, metric: Metric) -> list[tuple[tuple[str, ...], float]]:
        """Its samples, by their labels."""
        found = dict(self.served.server.metrics.read())
        return [(one.labels, one.value) for one in found[metric]]

    async def fill(self, *texts: str, channel: str = CHANNEL) -> None:
        """Let Ann and Ben say these in turn."""
        people = ({"id": "u1", "name": "Ann"}, {"id": "u2", "name": "Ben"})
        rows = [
            {
                "id": f"m{at}",
                "author": people[at % 2],
                "parts": [{"text": {"text": text}}],
                "sentAtMs": T0 + at * 60_000,
            }
            for at, text in enumerate(texts)
        ]
        await self.call("HistoryService/AppendMessages", channel=channel, messages=rows)

    async def messages(self, channel: str = CHANNEL) -> list[dict[str, Any]]:
        """A channel, oldest first."""
        found = await self.call("HistoryService/ListMessages", channel=channel, limit=1_000)
        return [one.get("message", one) for one in found.get("messages", [])]

    async def rows(self, channel: str = CHANNEL) -> list[tuple[str, str]]:
        """Who said what in a channel, oldest first."""
        return [
            (one["author"]["id"], "".join(part["text"]["text"] for part in one["parts"]))
            for one in await self.messages(channel)
        ]

    async def ask(self, text: str = "when is dinner?", **more: Any) -> Any:
        """By OpenAI's client."""
        messages = more.pop("messages", [{"role": "user", "content": text}])
        headers, model = more.pop("headers", HEADERS), more.pop("model", "gpt-x")
        create = self.ai.chat.completions.create
        if more.pop("raw", False):
            create = self.ai.chat.completions.with_raw_response.create
        return await create(model=model, messages=messages, extra_headers=headers, **more)


@asynccontextmanager
async def world(
    *answers: Said, answer: Any = None, key: str = "any", settings: Any = None, **options: Any
) -> AsyncIterator[World]:
    async with fake_vendor(*answers, answer=answer) as vendor:
        model = {"model_base_url": vendor.url, "model_api_key": "sk-vendor", **(settings or {})}
        async with over_http(settings=model, **options) as served:
            ai = openai.AsyncOpenAI(
                base_url=served.url + "/v1",
                api_key=key,
                max_retries=0,
                http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
            )
            async with ai:
                yield World(served, vendor, ai, key)


async def test_openais_client_streams_an_answer_that_used_a_line_said_300_messages_ago() -> None:
    """S5-48: only base_url and a header are others than with the vendor itself."""
    async with world(streamed("At nine", " 点。")) as one:
        lines = ["the key of the bicycle cellar is under the blue flower pot"]
        lines += [f"line {at} about the weather and the train" for at in range(300)]
        await one.fill(*lines)
        stream = await one.ask("where is the key of the bicycle cellar?", stream=True)
        found = [each async for each in stream]
        assert "".join(each.choices[0].delta.content or "" for each in found) == "At nine 点。"
        assert {each.model for each in found} == {"vendor-model-2026"}
        (sent,) = one.vendor.sent
        assert any("under the blue flower pot" in text for text in sent.texts)
        assert len(sent.texts) < 150
        assert sent.body["stream"] is True
        assert sent.headers["authorization"] == "Bearer sk-vendor"
        asked = ("user", "where is the key of the bicycle cellar?")
        assert (await one.rows())[-2:] == [asked, ("assistant", "At nine 点。")]


@pytest.mark.parametrize(
    "last",
    [
        [b"data: [DONE]\n\n"],
        [b"data:[DONE]\r\n\r\n"],
        [b"data: [DO", 0.02, b"NE]\n", 0.02, b"\n"],
        [b"d", 0.02, b"ata: [DONE]\n\n"],
    ],
    ids=["whole", "without a space", "in three pieces", "in two"],
)
async def test_who_leaves_at_the_last_event_has_had_all_of_it(last: list[Any]) -> None:
    """OpenAI's clients close at `[DONE]`, before the body has ended: the reply is stored whole by then."""
    said = streamed("soup")
    said.steps = [*said.steps[:-1], *last, 0.05]
    async with world(answer=lambda _: said) as one:
        for place in range(5):
            async with one.http.stream(
                "POST",
                "/v1/chat/completions",
                json={"messages": [{"role": "user", "content": f"{place}?"}], "stream": True},
                headers=HEADERS,
            ) as answer:
                heard = b""
                async for piece in answer.aiter_bytes():
                    heard += piece
                    if b"[DONE]" in heard:
                        break
                assert heard.count(b"data:") == len(said.steps[: -len(last) - 1]) + 1
        rows = await one.messages()
        assert len(rows) == 10
        assert not any(row.get("partial") for row in rows)


async def test_the_answer_says_what_was_added_and_its_build_knows_the_reply() -> None:
    async with world(whole({"content": "soup"})) as one:
        await one.fill("dinner is at nine", "fine")
        raw = await one.ask("when is dinner?", headers=HEADERS, raw=True)
        context_id, *told = raw.headers["x-backscroll-context"].split("; ")
        values = dict(each.split("=") for each in told)
        assert values["rung"] == "ranked"
        assert values["messages"] == "2"
        assert int(values["tokens"]) > 10
        record = await one.call("AdminService/GetUsageRecord", contextId=context_id)
        assert (await one.messages())[-1]["id"] in json.dumps(record)


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"X-Session-Id": "never-heard"},
        {"X-OpenWebUI-Chat-Id": "c1"},
        {"Session-Id": "room-00001"},
        {"Thread-Id": "room-00001"},
    ],
)
async def test_without_a_known_channel_the_request_goes_on_byte_for_byte(
    headers: dict[str, str],
) -> None:
    async with world(whole({"content": "hi"})) as one:
        said = b'"messages" : [{"role":"user","content":"x"}]'
        body = b'{ "model":"m",\n ' + said + b', "seed":1, "top_p":1.0, "new": {"a":[1e3]} }'
        answer = await one.http.post(
            "/v1/chat/completions",
            content=body,
            headers={"content-type": "application/json", **headers},
        )
        reason = (
            "unknown_channel"
            if {"X-Session-Id", "X-OpenWebUI-Chat-Id"} & set(headers)
            else "no_channel"
        )
        assert answer.headers["x-backscroll-context"] == f"none; reason={reason}"
        assert one.vendor.sent[0].raw == body
        assert answer.json()["choices"][0]["message"]["content"] == "hi"
        listed = await one.http.post("/backscroll.v1.HistoryService/ListChannels", json={})
        assert listed.json() == {}


@pytest.mark.parametrize(
    ("headers", "metadata"),
    [
        ({"X-OpenWebUI-Chat-Id": "room-00001"}, None),
        ({"x-litellm-session-id": "room-00001"}, None),
        ({"x-session-id": "room-00001"}, None),
        ({"X-Backscroll-Channel": "room-00001", "X-OpenWebUI-Chat-Id": "other"}, None),
        ({"X-OpenWebUI-Chat-Id": "room-00001", "x-session-id": "other"}, None),
        ({}, {"backscroll_channel": "room-00001"}),
        ({"x-session-id": "other"}, {"backscroll": json.dumps({"channel": "room-00001"})}),
        ({}, {"backscroll": {"channel": "room-00001"}}),
    ],
)
async def test_a_known_channel_is_found_by_headers_and_metadata(
    headers: dict[str, str], metadata: dict[str, Any] | None
) -> None:
    async with world(whole({"content": "hi"})) as one:
        await one.fill("the bell rings twice", channel="room-00001")
        more = {} if metadata is None else {"metadata": {**metadata, "kept": "yes"}}
        await one.ask("what rings?", headers=headers, **more)
        assert any("the bell rings twice" in text for text in one.vendor.sent[0].texts)
        assert one.vendor.sent[0].body.get("metadata") == ({"kept": "yes"} if more else None)


async def test_a_header_of_utf_8_names_the_channel_as_it_is_written() -> None:
    """`curl` sends what it is given: no channel of another name begins."""
    async with world(whole({"content": "hi"})) as one:
        await one.fill("the bell rings twice")
        answer = await one.http.post(
            "/v1/chat/completions",
            json={"messages": [{"role": "user", "content": "what rings?"}]},
            headers=[(b"x-backscroll-channel", CHANNEL.encode())],
        )
        assert "messages=1" in answer.headers["x-backscroll-context"]
        assert len(await one.rows()) == 3


async def test_a_tool_loop_of_two_steps_is_one_question_with_one_reply() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "clock", "arguments": "{}"}}]
    tools = [
        {
            "type": "function",
            "function": {
                "name": "clock",
                "description": "时间",
                "parameters": {"type": "object", "properties": {}},
            },
        }
    ]
    async with world(
        whole({"content": None, "tool_calls": calls}, "tool_calls"), whole({"content": "at six"})
    ) as one:
        await one.fill("dinner is one hour after the bell")
        said: list[Any] = [
            {"role": "system", "content": "be short"},
            {"role": "user", "content": "when is dinner?"},
        ]
        more = {"tools": tools, "tool_choice": "auto", "parallel_tool_calls": False}
        first = await one.ask(messages=said, **more)
        assert first.choices[0].message.tool_calls[0].function.name == "clock"
        said += [
            first.choices[0].message.model_dump(exclude_none=True),
            {"role": "tool", "tool_call_id": "c1", "content": "five o'clock"},
        ]
        second = await one.ask(messages=said, **more)
        assert second.choices[0].message.content == "at six"
        for sent in one.vendor.sent:
            assert sent.body["tools"] == tools
            assert sent.body["tool_choice"] == "auto"
            assert sent.body["messages"][0] == said[0]
            assert sum("when is dinner?" in text for text in sent.texts) == 1
        assert one.vendor.sent[1].body["messages"][-2:] == said[-2:]
        rows = await one.rows()
        assert rows[1:] == [("user", "when is dinner?"), ("assistant", "at six")]


async def test_what_clients_send_and_vendors_answer_passes_unharmed() -> None:
    choice = {"index": 1, "message": {"role": "assistant", "content": "b"}, "finish_reason": "stop"}
    logprobs = {"content": [{"token": "a", "logprob": -0.25, "bytes": [97], "top_logprobs": []}]}
    first = {
        "index": 0,
        "message": {"role": "assistant", "content": "a", "reasoning_content": "hm"},
        "finish_reason": "stop",
        "logprobs": logprobs,
    }
    async with world(whole({}, choices=[first, choice])) as one:
        picture = {
            "type": "image_url",
            "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"},
        }
        question = [{"type": "text", "text": "what is this?"}, picture]
        fields = {
            "n": 2,
            "logprobs": True,
            "top_logprobs": 3,
            "seed": 7,
            "temperature": 0.1,
            "stop": ["\n"],
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "x", "schema": {"type": "object"}},
            },
            "reasoning_effort": "low",
            "logit_bias": {"50256": -100},
            "user": "abc",
        }
        answer = await one.ask(messages=[{"role": "user", "content": question}], **fields)
        sent = one.vendor.sent[0].body
        assert {name: sent[name] for name in fields} == fields
        assert sent["messages"][-1]["content"] == question
        told = answer.model_dump()
        assert [each["message"]["content"] for each in told["choices"]] == ["a", "b"]
        assert told["choices"][0]["message"]["reasoning_content"] == "hm"
        assert told["choices"][0]["logprobs"]["content"][0]["logprob"] == -0.25
        assert await one.rows() == [("user", "what is this?\n(image)"), ("assistant", "a")]


async def test_usage_at_the_end_of_a_stream_comes_through() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6}
    last = {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [],
        "usage": usage,
    }
    steps = [
        chunk({"content": "x"}),
        chunk({}, "stop"),
        b"data: " + json.dumps(last).encode() + b"\n\n",
        b"data: [DONE]\n\n",
    ]
    async with world(Said(steps)) as one:
        stream = await one.ask(stream=True, stream_options={"include_usage": True})
        found = [each async for each in stream]
        assert found[-1].usage.total_tokens == 6
        assert one.vendor.sent[0].body["stream_options"] == {"include_usage": True}


async def test_the_same_request_again_is_no_second_question() -> None:
    refused = of_json({"error": {"message": "busy", "type": "x", "code": None}}, 500)
    async with world(refused, whole({"content": "one"}), whole({"content": "two"})) as one:
        await one.fill("hello")
        said = [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "hello"},
            {"role": "user", "content": "when is dinner?"},
        ]
        with pytest.raises(openai.InternalServerError):
            await one.ask(messages=said)
        assert await one.rows() == [("u1", "hello"), ("user", "when is dinner?")]
        await one.ask(messages=said)
        await one.ask(messages=said)
        rows = await one.rows()
        assert rows == [("u1", "hello"), ("user", "when is dinner?"), ("assistant", "two")]


async def test_the_same_words_are_another_question_once_they_were_answered() -> None:
    async with world(
        whole({"content": "one"}), whole({"content": "two"}), whole({"content": "three"})
    ) as one:
        await one.ask("yes")
        await one.ask("yes")
        again = {**HEADERS, "x-stainless-retry-count": "1"}
        await one.ask("yes", headers=again)
        assert await one.rows() == [
            ("user", "yes"),
            ("assistant", "one"),
            ("user", "yes"),
            ("assistant", "three"),
        ]


async def test_an_explicit_id_names_the_question_that_a_bot_stored() -> None:
    async with world(whole({"content": "at nine"})) as one:
        await one.fill("hello", "when is dinner?")
        headers = {
            **HEADERS,
            "X-Backscroll-Message-Id": "m1",
            "X-Backscroll-Asker": "u2",
            "X-Backscroll-Bot": "cat",
        }
        await one.ask(headers=headers)
        assert await one.rows() == [("u1", "hello"), ("u2", "when is dinner?"), ("cat", "at nine")]
        assert sum("when is dinner?" in text for text in one.vendor.sent[0].texts) == 1


async def test_a_channel_named_to_us_begins_with_its_first_question_and_what_came_before() -> None:
    async with world(whole({"content": "a"}), whole({"content": "b"})) as one:
        before = [
            {"role": "user", "content": "my cat is called Wu"},
            {"role": "assistant", "content": "noted"},
        ]
        said = [*before, {"role": "user", "content": "thanks"}]
        await one.ask(messages=said)
        assert [row[1] for row in await one.rows()] == [
            "my cat is called Wu",
            "noted",
            "thanks",
            "a",
        ]
        await one.ask(
            messages=[
                *said,
                {"role": "assistant", "content": "a"},
                {"role": "user", "content": "what is my cat called?"},
            ]
        )
        texts = one.vendor.sent[1].texts
        assert sum("called Wu" in text for text in texts) == 1
        assert sum("noted" in text for text in texts) == 1


async def test_what_open_webui_asks_for_itself_is_no_part_of_the_chat() -> None:
    async with world(whole({"content": "A title"})) as one:
        await one.fill("hello")
        headers = {**HEADERS, "X-OpenWebUI-Chat-Id": "c"}
        raw = await one.ask("### Task:\nMake a title.", headers=headers, raw=True)
        assert raw.headers["x-backscroll-context"] == "none; reason=task"
        assert await one.rows() == [("u1", "hello")]


async def test_off_passes_on_and_stores_nothing_and_other_words_are_refused() -> None:
    async with world(whole({"content": "x"})) as one:
        await one.fill("hello")
        await one.ask(headers={**HEADERS, "X-Backscroll-Merge": "off"})
        assert len(one.vendor.sent[0].texts) == 1
        assert await one.rows() == [("u1", "hello")]
        with pytest.raises(openai.BadRequestError) as refused:
            await one.ask(headers={**HEADERS, "X-Backscroll-Merge": "sometimes"})
        assert refused.value.param == "x-backscroll-merge"


async def test_who_leaves_midway_leaves_what_was_said_as_in_stream_chat() -> None:
    never = asyncio.Event()
    async with world(Said([chunk({"content": "At ni"}), never])) as one:
        stream = await one.ask(stream=True)
        async for _ in stream:
            break
        await stream.close()
        async with asyncio.timeout(30):
            await one.vendor.sent[0].gone.wait()
            while len(await one.rows()) < 2:  # noqa: ASYNC110 - no event tells
                await asyncio.sleep(0.01)
        assert (await one.rows())[1] == ("assistant", "At ni")
        assert [row.get("partial", False) for row in await one.messages()] == [False, True]


@pytest.mark.parametrize(
    ("said", "kind", "message"),
    [
        (
            of_json({"error": {"message": "no such model", "code": "model_not_found"}}, 404),
            openai.NotFoundError,
            "no such model",
        ),
        (
            of_json(
                {"error": {"message": "slow down", "type": "x", "code": "rate"}},
                429,
                retry_after="7",
            ),
            openai.RateLimitError,
            "slow down",
        ),
        (
            of_json({"error": {"message": "unknown project of sk-vendor"}}, 400),
            openai.BadRequestError,
            "model",
        ),
        (
            of_json({"error": {"message": "Incorrect API key provided: sk-vendor"}}, 401),
            openai.InternalServerError,
            "model",
        ),
        (
            of_json({"error": {"message": "schema", "param": "tools[0]"}}, 400),
            openai.BadRequestError,
            "schema",
        ),
        (of_json({"error": {"message": "down"}}, 503), openai.InternalServerError, "down"),
    ],
)
@pytest.mark.parametrize("headers", [HEADERS, {}])
async def test_a_vendors_refusal_comes_through_but_for_one_of_our_key(
    said: Said, kind: type[openai.APIStatusError], message: str, headers: dict[str, str]
) -> None:
    async with world(said) as one:
        with pytest.raises(kind) as refused:
            await one.ask(headers=headers)
        assert message in refused.value.message
        assert "sk-vendor" not in str(refused.value)
        assert "x-backscroll-context" in refused.value.response.headers
        if said.status == 429:
            assert refused.value.response.headers["retry-after"] == "7"


async def test_a_stream_that_breaks_says_so_and_what_came_is_kept_as_partial() -> None:
    async with world(Said([chunk({"content": "At ni"})], breaks=True)) as one:
        stream = await one.ask(stream=True)
        with pytest.raises(openai.APIError):
            async for _ in stream:
                pass
        assert (await one.rows())[1] == ("assistant", "At ni")
        assert (await one.messages())[1]["partial"]


async def test_keys_and_their_channels_hold() -> None:
    async with world(
        answer=lambda _: whole({"content": "x"}),
        tokens={"t-one": "one", "t-two": "two"},
        key="t-one",
    ) as one:
        await one.fill("the bell rings twice")
        await one.ask("what rings?")
        assert any("rings twice" in text for text in one.vendor.sent[-1].texts)
        other = one.ai.with_options(api_key="t-two")
        await other.chat.completions.create(
            model="m", messages=[{"role": "user", "content": "what rings?"}], extra_headers=HEADERS
        )
        assert not any("rings twice" in text for text in one.vendor.sent[-1].texts)
        nobody = one.ai.with_options(api_key="nope")
        with pytest.raises(openai.AuthenticationError):
            await nobody.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "x"}]
            )
        with pytest.raises(openai.AuthenticationError):
            await nobody.models.list()
        assert len(one.vendor.sent) == 2


async def test_models_are_the_vendors_and_other_paths_are_told() -> None:
    listed = {
        "object": "list",
        "data": [{"id": "m-1", "object": "model", "created": 1, "owned_by": "v"}],
    }
    async with world(of_json(listed)) as one:
        assert [each.id async for each in one.ai.models.list()] == ["m-1"]
        assert one.vendor.sent[0].path == "/v1/models"
        with pytest.raises(openai.NotFoundError, match="not passed on"):
            await one.ai.embeddings.create(model="m", input="x")


async def test_a_model_of_another_vendor_or_none_is_refused_in_plain_words() -> None:
    for settings in ({"model_api": "anthropic_messages", "model_api_key": "k"}, {}):
        async with over_http(settings=settings) as served:
            answer = await served.http.post(
                "/v1/chat/completions", json={"model": "m", "messages": []}
            )
            assert answer.status_code == 400
            assert "model_api to openai_chat" in answer.json()["error"]["message"]


async def test_a_question_longer_than_the_usual_budget_is_asked_whole() -> None:
    async with world(whole({"content": "long"})) as one:
        await one.fill("hello there")
        text = "please read this: " + "the train leaves at nine from the north station " * 800
        await one.ask(text)
        assert one.vendor.sent[0].texts[-1].endswith(text)
        assert any("hello there" in each for each in one.vendor.sent[0].texts)
        huge = "x" * 70_000
        one.vendor.answer = lambda _: whole({"content": "huge"})
        raw = await one.ask(huge, headers=HEADERS, raw=True)
        assert raw.headers["x-backscroll-context"] == "none; reason=question_cannot_be_stored"


async def test_the_clients_system_messages_stand_first_and_the_servers_only_without_them() -> None:
    async with world(
        answer=lambda _: whole({"content": "x"}), settings={"system_text": "SERVER"}
    ) as one:
        await one.fill("hello there")
        await one.ask("one?")
        assert one.vendor.sent[0].texts[0] == "system: SERVER"
        said = [{"role": "developer", "content": "MINE"}, {"role": "user", "content": "two?"}]
        await one.ask(messages=said)
        assert one.vendor.sent[1].texts[0] == "developer: MINE"
        assert not any("SERVER" in text for text in one.vendor.sent[1].texts)


async def test_bodies_that_are_none_are_refused_in_openais_shape() -> None:
    async with world() as one:
        json_type = {"content-type": "application/json"}
        path = "/v1/chat/completions"
        for body, headers, status in [
            (b"{", json_type, 400),
            (b"[]", json_type, 400),
            (b"{}", {"content-type": "text/plain"}, 415),
            (b'{"metadata": {"backscroll": "{"}}', json_type, 400),
            (b"{}", {**json_type, "x-backscroll-channel": "b64_*"}, 400),
        ]:
            answer = await one.http.post(path, content=body, headers=headers)
            assert answer.status_code == status
            assert answer.json()["error"]["message"]
