"""Pictures with the question, as each vendor takes them."""

import json

import pytest

from backscroll import Author, InvalidRequest, Media, Message
from backscroll.v1 import context_pb2 as pb
from tests.kit.chats import MINUTE_MS, NOON_MS
from tests.kit.served import served
from tests.kit.vendors.rules import APIS, check

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
DATA = f"data:image/png;base64,{PNG}"
LINK = "https://cdn.example.org/cat.jpg"
ANN = Author("u1", "Ann")


async def bodies(client, **fields):
    built = await client.build_context(
        "room", fields.pop("question", "what is this 这是什么?"), asker=ANN, asked_at=NOON_MS,
        payload_formats=APIS, model="gemini-3-pro", **fields,
    )  # fmt: skip
    found = dict(zip(APIS, (json.loads(one.body) for one in built.raw.payloads), strict=True))
    for api, body in found.items():
        check(api, body, "gemini-3-pro")
    return built, found


@pytest.mark.row("P-20")
@pytest.mark.parametrize(
    "layout", ["turns", "single_user", "context_and_question", "system_and_user"]
)
async def test_each_vendor_is_shown_them(layout):
    """Links and data in the vendor's own parts, behind the question; counted; the list of messages has the text."""
    async with served() as client_app:
        client, _ = client_app
        await client.append("room", [Message("m1", ANN, "hi", NOON_MS - MINUTE_MS)])
        asked = {"layout": layout, "token_budget": 8_000}
        bare, _ = await bodies(client, **asked)
        built, found = await bodies(client, **asked, pictures=[LINK, DATA])
    assert built.raw.tokens.question - bare.raw.tokens.question == 3_200
    assert built.raw.tokens.total - bare.raw.tokens.total == 3_200 <= built.raw.tokens.budget
    assert "这是什么" in built.raw.messages[-1].content
    chat = found["openai_chat"]["messages"][-1]["content"]
    assert [one["type"] for one in chat] == ["text", "image_url", "image_url"]
    assert [one["image_url"]["url"] for one in chat[1:]] == [LINK, DATA]
    said = found["openai_responses"]["input"][-1]["content"]
    assert [one.get("image_url") for one in said] == [None, LINK, DATA]
    claude = found["anthropic_messages"]["messages"][-1]["content"][-2:]
    assert claude[0]["source"] == {"type": "url", "url": LINK}
    assert claude[1]["source"] == {"type": "base64", "media_type": "image/png", "data": PNG}
    gemini = found["gemini_contents"]["contents"][-1]["parts"][-2:]
    assert gemini == [{"text": "[image]"}, {"inlineData": {"mimeType": "image/png", "data": PNG}}]


async def test_stored_ones_are_shown_where_they_are_wanted():
    """Those of the question and of what it replies to, each once; no others, and none taken back."""
    async with served() as (client, _):
        await client.append("room", [
            Message("old", ANN, Media("image", "a cat", LINK), NOON_MS - 5 * MINUTE_MS),
            Message("gone", ANN, Media("image", "", "https://e.org/x.png"), NOON_MS - 4 * MINUTE_MS),
            Message("q", ANN, None, NOON_MS, reply_to="old", parts=[
                "which one?", Media("image", "two", "https://e.org/2.png"), Media("image", "", "tg://file/1"),
                Media("file", "", "https://e.org/a.pdf", "application/pdf"), Media("image", "", LINK),
            ]),
        ])  # fmt: skip
        asked = {"question": "", "trigger_message_id": "q", "token_budget": 8_000}
        _, without = await bodies(client, **asked)
        assert "image_url" not in json.dumps(without["openai_chat"])
        _, found = await bodies(client, **asked, include_pictures=True)
        shown = found["openai_chat"]["messages"][-1]["content"][1:]
        assert [one["image_url"]["url"] for one in shown] == ["https://e.org/2.png", LINK]
        await client.recall_message("room", "gone")
        _, found = await bodies(client, reply="gone", include_pictures=True)
        assert "https://e.org/x.png" not in json.dumps(found)


async def test_they_take_half_of_the_budget_at_most():
    async with served() as (client, _):
        built, found = await bodies(
            client, pictures=[f"https://e.org/{n}.png" for n in range(8)], token_budget=10_000
        )
        assert len(found["openai_chat"]["messages"][-1]["content"]) == 1 + 3
        (lost,) = built.raw.degradations
        assert (lost.stage, lost.source, lost.reason) == ("compress", "pictures", "BUDGET")
        assert built.raw.tokens.total <= 10_000


@pytest.mark.parametrize(
    "uri",
    [
        "http://e.org/a.png", "tg://file/1", "", "data:image/bmp;base64,AA==", "data:image/png;base64,A A",
        "https:// e", "file:///etc/passwd", "data:image/png;base64,AAA", "https://x\0y",
    ],
)  # fmt: skip
async def test_what_is_no_picture_is_refused(uri):
    async with served() as (client, _):
        with pytest.raises(InvalidRequest) as raised:
            await client.build_context("room", "?", asker=ANN, pictures=[DATA, uri])
    assert raised.value.field == "pictures[1].uri"


async def test_too_many_or_too_large_is_refused():
    async with served() as (client, _):
        with pytest.raises(InvalidRequest) as raised:
            await client.build_context("room", "?", asker=ANN, pictures=[LINK] * 9)
        assert raised.value.field == "pictures"
        large = "data:image/png;base64," + "A" * (3 << 20)
        with pytest.raises(InvalidRequest) as raised:
            await client.build_context("room", "?", asker=ANN, pictures=[large])
        assert raised.value.field == "pictures"


async def test_they_do_not_move_the_prefix():
    """What comes before the question is the same bytes with a picture and without."""
    async with served() as (client, _):
        lines = [
            Message(f"m{n}", ANN, f"line {n}", NOON_MS - (30 - n) * MINUTE_MS) for n in range(20)
        ]
        await client.append("room", lines)
        for profile in ("steady", "room"):
            _, bare = await bodies(client, profile=profile)
            built, shown = await bodies(client, profile=profile, pictures=[LINK])
            a, b = (one["openai_chat"]["messages"] for one in (bare, shown))
            assert a[:-1] == b[:-1]
            assert built.raw.rung == pb.RUNG_RANKED


async def test_a_picture_gives_way_to_the_system_text():
    """A build that fits without it does not fail for it."""
    async with served() as (client, _):
        asked = {"system": "word " * 2_600, "token_budget": 4_096}
        built, found = await bodies(client, pictures=[LINK], **asked)
        assert "image_url" not in json.dumps(found["openai_chat"])
        assert [one.source for one in built.raw.degradations] == ["pictures"]


async def test_what_the_request_brings_comes_first():
    async with served() as (client, _):
        stored = [Media("image", "", "https://e.org/b.png"), Media("image", "", LINK)]
        await client.append("room", [Message("q", ANN, None, NOON_MS, parts=["?", *stored])])
        asked = {"question": "", "trigger_message_id": "q", "token_budget": 4_000}
        _, found = await bodies(client, **asked, pictures=[LINK], include_pictures=True)
        shown = found["openai_chat"]["messages"][-1]["content"][1:]
        assert [one["image_url"]["url"] for one in shown] == [LINK]


async def test_gemini_is_told_of_links_for_next_to_nothing():
    async with served() as (client, _):
        built = await client.build_context(
            "room", "?", asker=ANN, pictures=[LINK, DATA], payload_formats="gemini_contents"
        )
        assert built.raw.degradations == []
        assert 1_600 < built.raw.tokens.question < 1_640
        assert built.payload["contents"][-1]["parts"][-1].keys() == {"inlineData"}


async def test_what_gemini_is_told_of_a_picture_counts():
    """Its words are in the budget, those of the request and of a stored one alike."""
    async with served() as (client, _):
        told = "a bicycle " * 100
        await client.append(
            "room", [Message("q", ANN, None, NOON_MS, parts=["?", Media("image", told, LINK)])]
        )
        asked = {"payload_formats": "gemini_contents", "asker": ANN}
        bare = await client.build_context("room", "?", **asked)
        given = await client.build_context(
            "room", "?", **asked, pictures=[Media("image", told, "https://e.org/b.png")]
        )
        stored = await client.build_context(
            "room", trigger_message_id="q", **asked, include_pictures=True
        )
    text = given.payload["contents"][-1]["parts"][-1]["text"]
    assert told.strip() in text
    assert given.raw.tokens.question - bare.raw.tokens.question >= len(told.split())
    assert json.dumps(stored.payload).count("a bicycle") == 100
