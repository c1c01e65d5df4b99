"""From appended messages to the answer of an OpenAI-compatible server, nothing touched in between."""

import json

import openai
import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from backscroll import AsyncClient, Author, Message
from tests.kit.served import served

SYSTEM = (
    "你是一个有用的助手，用中文回答问题。不要使用Markdown格式，不要使用任何格式化符号"
    "（如*、_、`、#等），输出纯文本，适合Telegram消息。"
)
CONTENT = (
    "User Preferences: 用户偏好喝茶。\n\n"
    "Conversation (recent):\n"
    "User: 狗吃什么\n"
    "Assistant: 狗可以吃狗粮、肉类和部分蔬菜。\n"
    "User: 猫吃什么\n"
    "Assistant: 猫是肉食动物，适合吃猫粮、鱼肉和煮熟的鸡肉。\n\n"
    "Relevant reference (semantic):\n"
    "User: 我家的猫喜欢鱼\n"
    "Assistant: 可以适量喂鱼，注意去刺。\n\n"
    "用户提问: 那猫呢？"
)
USER, BOT = Author("u1"), Author("bot", kind="bot")
NOON_MS = 1_795_132_800_000


async def tell_the_story(client: AsyncClient) -> None:
    """The messages of section 5.2; the reference is a day older."""
    told = [
        ("ref1", USER, "我家的猫喜欢鱼", -86_000_000),
        ("ref2", BOT, "可以适量喂鱼，注意去刺。", -85_999_000),
        ("m1", USER, "狗吃什么", -4_000),
        ("m2", BOT, "狗可以吃狗粮、肉类和部分蔬菜。", -3_000),
        ("m3", USER, "猫吃什么", -2_000),
        ("m4", BOT, "猫是肉食动物，适合吃猫粮、鱼肉和煮熟的鸡肉。", -1_000),
    ]
    report = await client.append(
        "cats",
        [
            Message(i, who, text, NOON_MS + at, role="assistant" if who is BOT else "user")
            for i, who, text, at in told
        ],
    )
    assert report.stored == len(told)


async def ask(client: AsyncClient):
    return await client.build_context(
        "cats",
        "那猫呢？",
        asker="u1",
        asked_at=NOON_MS,
        profile="retrieval",
        overrides={"sources": ["recent", "reference", "preferences"], "recent_limit": 4},
        layout="single_user",
        preferences=["用户偏好喝茶。"],
        model="gpt-3.5-turbo",
    )


@pytest.mark.row("S1-05", "S1-15", "S1-17", "S1-18", "S2-23")
async def test_the_worked_example_comes_out_byte_for_byte() -> None:
    """S1-15, S1-17, S1-18, S1-05, S2-23: section 5.2 of design S1 through gRPC, the reference by an own strategy."""
    async with served(strategies=("tests.kit.own:Reference",), wording="designs") as (client, _):
        await tell_the_story(client)
        context = await ask(client)
        assert json.loads(context.payload_bytes) == {
            "model": "gpt-3.5-turbo",
            "messages": [
                {"role": "system", "content": SYSTEM},
                {"role": "user", "content": CONTENT},
            ],
        }
        assert [m["content"] for m in context.messages] == [CONTENT]


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
