"""Notices and errors of a turn are in the language of its question, through all its rounds and after a restart."""

import pytest

from backscroll_sidecar.texts import CHINESE, ENGLISH
from tests.contract.models.sse_server import Reply
from tests.integration.chat.talk import talk_to, turn
from tests.integration.chat.test_words import JSON, whole

CASES = [("why?", ENGLISH), ("为什么？", CHINESE)]


@pytest.mark.row("S5-31")
@pytest.mark.parametrize(("question", "texts"), CASES)
@pytest.mark.parametrize(
    ("word", "field"), [("length", "length_notice"), ("content_filter", "content_filter_notice")]
)
async def test_notices(question, texts, word, field):
    reply = Reply([whole({"content": "hm"}, word)], headers=JSON)
    async with talk_to([reply]) as (bot, _):
        heard = await bot.ask(turn(question))
    assert [one.text for one in heard.notices] == [getattr(texts, field)]


@pytest.mark.row("S5-32")
@pytest.mark.parametrize(("question", "texts"), CASES)
async def test_errors(question, texts):
    async with talk_to([Reply([b"{}"], 401, JSON)]) as (bot, _):
        heard = await bot.ask(turn(question))
    words = texts.fault("the model refused the server's credentials")
    assert [one.message for one in heard.errors] == [texts.error_prefix + words]


async def test_an_own_text_stands_in_every_language():
    for question, _ in CASES:
        async with talk_to([Reply([b"{}"], 401, JSON)], error_prefix="!! ") as (bot, _server):
            heard = await bot.ask(turn(question))
        assert heard.errors[0].message.startswith("!! ")
