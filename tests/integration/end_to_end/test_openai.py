"""From appended messages to the answer of an OpenAI-compatible server, nothing touched in between."""

import json

import openai
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from backscroll import AsyncClient, Author, Message
from tests.golden import by_hand
from tests.kit.served import served

USER, BOT = Author("u1"), Author("bot", kind="bot")
NOON_MS = 1_795_132_800_000


async def tell_the_story(client: AsyncClient) -> None:
    """The messages of section 5.2; the reference is a day older."""
    told = [(f"ref{n}", *said, n - 86_000_000) for n, said in enumerate(by_hand.SEMANTIC)]
    told += [(f"m{n}", *said, n - 4_000) for n, said in enumerate(by_hand.RECENT)]
    who = {"user": USER, "assistant": BOT}
    lines = [Message(id, who[role], text, NOON_MS + at, role=role) for id, role, text, at in told]
    assert (await client.append("cats", lines)).stored == len(told)


async def ask(client: AsyncClient):
    return await client.build_context(
        "cats", by_hand.QUESTION, asker="u1", asked_at=NOON_MS, profile="retrieval", layout="single_user",
        overrides={"sources": ["recent", "reference", "preferences"], "recent_limit": 4},
        preferences=[by_hand.PREFERENCE], model="gpt-3.5-turbo",
    )  # fmt: skip


@pytest.mark.row("S1-05", "S1-15", "S1-17", "S1-18", "S2-23")
async def test_the_worked_example_comes_out_byte_for_byte() -> None:
    """S1-15, S1-17, S1-18, S1-05, S2-23: section 5.2 of design S1 through gRPC, the reference by an own strategy."""
    async with served(strategies=("tests.kit.own:Reference",), wording="designs") as (client, _):
        await tell_the_story(client)
        context = await ask(client)
        assert json.loads(context.payload_bytes) == by_hand.BODY_OF_5_2
        assert [m["content"] for m in context.messages] == [by_hand.CONTENT_OF_5_2]


@pytest.mark.row("S1-18")
async def test_openai_client_posts_the_body_unchanged(httpserver: HTTPServer) -> None:
    """S1-18: the vendor's own client sends our bytes and gets its answer."""
    received: list[bytes] = []

    def answer(request: Request) -> Response:
        received.append(request.get_data())
        reply = {
            "id": "c1", "object": "chat.completion", "created": 1, "model": "gpt-3.5-turbo",
            "choices": [{
                "index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": "猫吃鱼。"},
            }],
        }  # fmt: skip
        return Response(json.dumps(reply), content_type="application/json")

    httpserver.expect_request("/v1/chat/completions", method="POST").respond_with_handler(answer)
    async with served(strategies=("tests.kit.own:Reference",)) as (client, _):
        await tell_the_story(client)
        context = await ask(client)
    async with openai.AsyncOpenAI(api_key="none", base_url=httpserver.url_for("/v1")) as vendor:
        completion = await vendor.chat.completions.create(**context.payload)
        posted = await vendor.post(
            "/chat/completions", cast_to=object, content=context.payload_bytes,
            options={"headers": {"content-type": "application/json"}},
        )  # fmt: skip
    assert completion.choices[0].message.content == "猫吃鱼。"
    assert json.loads(received[0]) == json.loads(context.payload_bytes)
    assert received[1] == context.payload_bytes
    assert posted is not None


@pytest.mark.row("S1-12")
@pytest.mark.parametrize(
    "layout", ["turns", "context_and_question", "single_user", "system_and_user"]
)
async def test_every_layout_is_a_body_the_vendor_takes(layout: str) -> None:
    """S1-12: every message has a role and a content string, nothing else."""
    async with served() as (client, _):
        await tell_the_story(client)
        context = await client.build_context(
            "cats", "那猫呢？", asker="u1", asked_at=NOON_MS, layout=layout
        )
    body = context.payload
    assert set(body) == {"model", "messages"}
    assert body["messages"][-1]["role"] == "user"
    for message in body["messages"]:
        assert set(message) == {"role", "content"}
        assert message["role"] in {"system", "user", "assistant"}
        assert isinstance(message["content"], str)
