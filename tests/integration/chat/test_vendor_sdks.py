"""The payloads of BuildContext go through the vendors' own clients: typed by them, posted as they are, answers read."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import anthropic
import openai
import pytest
from anthropic.types import MessageParam, ToolParam
from google import genai
from google.genai import types
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from tests.contract.models.sse_server import sse_server
from tests.integration.context.test_tool_rounds import WEATHER, exchange
from tests.kit.served import served
from tests.kit.vendors.fakes import MODELS, Answer, Call, FakeVendor, Say
from tests.kit.vendors.rules import APIS

SAID = Answer([Say("sunny 晴"), Call("weather", {"city": "Rome"})])


async def payload_of(api: str, *, tools: bool) -> dict[str, Any]:
    """The payload of a chat with a past tool round, a system text, Chinese speakers, a picture and marks for caches."""
    async with served() as (client, _):
        await client.append("room", exchange())
        context = await client.build_context(
            "room", "还有罗马?", asker="u1", self_ids=["bot"], payload_formats=api, profile="steady",
            model="gpt-5.6-mini" if api.startswith("openai") else MODELS[api], provider="api.openai.com/v1",
            pictures=["data:image/png;base64,AA=="], system="You are a helpful cat.",
            tools_json=WEATHER if tools else "", reserve_tokens=500,
        )  # fmt: skip
        payload: dict[str, Any] = context.payload
        return payload


async def by_openai_chat(url: str, body: dict, *, stream: bool) -> tuple[str, Sequence[str]]:
    TypeAdapter(list[ChatCompletionMessageParam]).validate_python(body["messages"])
    async with openai.AsyncOpenAI(base_url=url, api_key="x") as client:
        if not stream:
            message = (await client.chat.completions.create(**body)).choices[0].message
            return message.content or "", [one.function.name for one in message.tool_calls or ()]
        text, names = "", []
        async with await client.chat.completions.create(**body, stream=True) as chunks:
            async for chunk in chunks:
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    names += [
                        one.function.name
                        for one in choice.delta.tool_calls or ()
                        if one.function.name
                    ]
        return text, names


async def by_openai_responses(url: str, body: dict, *, stream: bool) -> tuple[str, Sequence[str]]:
    TypeAdapter(list[ResponseInputItemParam]).validate_python(body["input"])
    async with openai.AsyncOpenAI(base_url=url, api_key="x") as client:
        if not stream:
            response = await client.responses.create(**body)
            return response.output_text, [
                one.name for one in response.output if one.type == "function_call"
            ]
        text, names = "", []
        async with await client.responses.create(**body, stream=True) as events:
            async for event in events:
                if event.type == "response.output_text.delta":
                    text += event.delta
                elif (
                    event.type == "response.output_item.done" and event.item.type == "function_call"
                ):
                    names.append(event.item.name)
        return text, names


async def by_anthropic(url: str, body: dict, *, stream: bool) -> tuple[str, Sequence[str]]:
    TypeAdapter(list[MessageParam]).validate_python(body["messages"])
    TypeAdapter(list[ToolParam]).validate_python(body.get("tools", []))
    async with anthropic.AsyncAnthropic(base_url=url.removesuffix("/v1"), api_key="x") as client:
        if not stream:
            message = await client.messages.create(**body)
        else:
            async with client.messages.stream(**body) as events:
                message = await events.get_final_message()
        text = "".join(one.text for one in message.content if one.type == "text")
        return text, [one.name for one in message.content if one.type == "tool_use"]


async def by_gemini(url: str, body: dict, *, stream: bool) -> tuple[str, Sequence[str]]:
    contents = [types.Content.model_validate(one) for one in body["contents"]]
    config = types.GenerateContentConfig(
        system_instruction=types.Content.model_validate(body["systemInstruction"]),
        tools=[types.Tool.model_validate(one) for one in body.get("tools", [])] or None,
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    options = types.HttpOptions(base_url=url.removesuffix("/v1"), api_version="v1")
    asked = genai.Client(api_key="x", http_options=options).aio.models
    given: dict[str, Any] = {
        "model": MODELS["gemini_contents"],
        "contents": contents,
        "config": config,
    }
    parts: list[types.Part] = []
    if stream:
        async for chunk in await asked.generate_content_stream(**given):
            parts += chunk.candidates[0].content.parts
    else:
        parts = (await asked.generate_content(**given)).candidates[0].content.parts
    text = "".join(one.text or "" for one in parts)
    return text, [one.function_call.name for one in parts if one.function_call]


CLIENTS = {
    "openai_chat": by_openai_chat,
    "openai_responses": by_openai_responses,
    "anthropic_messages": by_anthropic,
    "gemini_contents": by_gemini,
}


@pytest.mark.row("P-20")
@pytest.mark.row("S3-23")
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("tools", [False, True])
@pytest.mark.parametrize("api", APIS)
async def test_the_vendors_client_posts_it_unchanged(api: str, tools: bool, stream: bool) -> None:
    """What its client takes and posts is equal as JSON, and the answer to it is read."""
    body = await payload_of(api, tools=tools)
    fake = FakeVendor(api, [SAID], is_streaming=stream)
    async with sse_server() as server:

        def choose(exchange, at):
            line = exchange.line.replace("v1beta", "v1").replace(
                ":generateContent", ":streamGenerateContent?alt=sse"
            )
            reply = fake.choose(type(exchange)(line, exchange.headers, exchange.body), at)
            if ":generateContent" in exchange.line:  # the other call puts all chunks into a list
                (whole,) = json.loads(reply.steps[0])
                return replace(reply, steps=[json.dumps(whole).encode()])
            return reply

        server.choose = choose
        text, names = await CLIENTS[api](server.url, body, stream=stream)
    assert fake.refusals == []
    assert (text, list(names)) == ("sunny 晴", ["weather"])
    (sent,) = fake.bodies
    sent.pop("stream", None)
    if (
        api == "gemini_contents"
    ):  # its client adds an empty object, and has two names in another case
        assert sent.pop("generationConfig") == {}
        text = json.dumps(sent).replace("parameters_json_schema", "parametersJsonSchema")
        sent = json.loads(text.replace("mime_type", "mimeType"))
    assert sent == json.loads(json.dumps(body))
