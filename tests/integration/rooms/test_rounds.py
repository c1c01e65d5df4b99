"""Rounds over a real socket: who is asked, in what order, what each sees, what is kept."""

import pytest

from backscroll.v1 import session_pb2 as pb
from tests.integration.rooms.room import CatModel, human, room


@pytest.mark.row("S4-20", "S4-28")
async def test_nobody_named_everybody_answers() -> None:
    async with room() as chat:
        await chat.open()
        heard = await chat.say("大家好")
        assert heard.targets == [("black", "ALL"), ("white", "ALL"), ("grey", "ALL")]
        assert heard.said == {"black": "小黑说喵", "white": "小白说喵", "grey": "小灰说喵"}
        assert heard.reason == "COMPLETE"
        assert heard.replies == ["小黑说喵", "小白说喵", "小灰说喵"]


@pytest.mark.row("S4-19")
async def test_who_is_named_answers_alone() -> None:
    async with room() as chat:
        await chat.open()
        heard = await chat.say("请@小黑看看")
        assert heard.targets == [("black", "MENTION")]
        assert heard.started.route.clean_text == "请看看"
        assert chat.model.asked == ["小黑"]
        assert pb and human and CatModel
