"""Questions that a client names by `X-Backscroll-Message-Id`: those that are stored already, and others."""

from typing import Any

import openai
import pytest

from tests.integration.http.test_completions import CHANNEL, HEADERS, T0, World, world
from tests.kit.fake_vendor import whole

pytestmark = pytest.mark.row("S5-48")

NAMED = {**HEADERS, "X-Backscroll-Message-Id": "m9"}


async def say(one: World, *parts: dict[str, Any], **fields: Any) -> None:
    """Let a bot store what Ben said, before anybody asks."""
    message = {"id": "m9", "author": {"id": "u2", "name": "Ben"}, "parts": parts, "sentAtMs": T0}
    await one.call(
        "HistoryService/AppendMessages", channel=CHANNEL, messages=[{**message, **fields}]
    )


def text(said: str) -> dict[str, Any]:
    return {"text": {"text": said}}


async def test_the_stored_message_is_the_question_also_without_whom_it_calls() -> None:
    """Bots leave out their own name. The answer answers the message, and asked again it is another answer to it."""
    async with world(whole({"content": "at nine"}), whole({"content": "at ten"})) as one:
        await say(one, text("@cat when is dinner?"), threadId="t1")
        for answer in ("at nine", "at ten"):
            await one.ask("when is dinner?", headers=NAMED)
            question, reply = await one.messages()
            assert question["id"] == "m9"
            assert reply["reply"]["messageId"] == "m9"
            assert reply["threadId"] == "t1"
            assert reply["parts"] == [text(answer)]
        assert one.vendor.sent[-1].texts == ["user: @cat when is dinner?"]


async def test_other_words_are_refused_and_an_edit_makes_them_the_question() -> None:
    async with world(whole({"content": "at nine"})) as one:
        await say(one, text("when is dinner?"))
        with pytest.raises(openai.BadRequestError, match="edit that message first") as refused:
            await one.ask("where is the key?", headers=NAMED)
        assert refused.value.param == "x-backscroll-message-id"
        assert len(await one.messages()) == 1
        assert not one.vendor.sent
        await one.call(
            "HistoryService/EditMessage",
            channel=CHANNEL,
            messageId="m9",
            parts=[text("where is the key?")],
        )
        await one.ask("where is the key?", headers=NAMED)
        assert (await one.messages())[1]["reply"]["messageId"] == "m9"


async def test_a_message_of_somebody_else_or_one_that_was_recalled_is_refused() -> None:
    async with world(answer=lambda _: whole({"content": "at nine"})) as one:
        await say(one, text("when is dinner?"))
        with pytest.raises(openai.BadRequestError, match="somebody else"):
            await one.ask(headers={**NAMED, "X-Backscroll-Asker": "u1"})
        await one.call("HistoryService/RecallMessage", channel=CHANNEL, messageId="m9")
        with pytest.raises(openai.BadRequestError, match="recalled") as refused:
            await one.ask(headers=NAMED)
        assert refused.value.param == "x-backscroll-message-id"


async def test_an_erased_question_is_not_stored_again_and_the_answer_says_so() -> None:
    async with world(answer=lambda _: whole({"content": "at nine"})) as one:
        await say(one, text("when is dinner?"))
        await one.call("HistoryService/Erase", channel=CHANNEL, messageIds=["m9"])
        raw = await one.ask(headers=NAMED, raw=True)
        assert raw.headers["x-backscroll-stored"] == "none; reason=message_gone"
        assert "m9" not in [each["id"] for each in await one.messages()]


async def test_a_new_id_is_the_questions_and_what_is_redacted_of_it_makes_no_other() -> None:
    settings = {"redaction": ("email",)}
    async with world(answer=lambda _: whole({"content": "noted"}), settings=settings) as one:
        for _ in range(2):
            await one.ask("my address is ann@example.org", headers=NAMED)
            question, reply = await one.messages()
            assert question["id"] == "m9"
            assert "ann@" not in str(question)
            assert reply["reply"]["messageId"] == "m9"


async def test_a_picture_is_no_part_of_the_words() -> None:
    async with world(answer=lambda _: whole({"content": "a cat"})) as one:
        picture = {"media": {"kind": "image", "altText": "a cat on a roof"}}
        await say(one, text("what is this?"), picture)
        shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
        question = [{"type": "text", "text": "what is this?"}, shown]
        await one.ask(messages=[{"role": "user", "content": question}], headers=NAMED)
        assert (await one.messages())[1]["reply"]["messageId"] == "m9"
        assert one.vendor.sent[0].body["messages"][-1]["content"][-1] == shown
