"""Thoughts that a model writes into its answer reach neither chat nor history."""

import json

import pytest

from backscroll.v1 import context_pb2 as pb
from tests.contract.models.sse_server import CUT, Reply, chunk, data, said, stopped, whole
from tests.integration.chat.talk import ROOM, Bot, talk_to, text_of, turn
from tests.integration.chat.test_ways_of_servers import JSON, both


def in_pieces(text: str, size: int = 5, pause_s: float = 0.0) -> Reply:
    pieces = [said(text[at : at + size]) for at in range(0, len(text), size)]
    return Reply([*(step for piece in pieces for step in (piece, pause_s)), stopped()])


async def remembered(bot: Bot, channel: str = ROOM) -> str:
    built = await bot.client.build_context(channel, "and?", asker="u1", self_ids=["bot"])
    return json.dumps(built.payload, ensure_ascii=False)


OPENED, ALONE = "<think>\nsecret\n</think>\n\nhi", "secret\n</think>\n\nhi"
NESTED = "<think>secret<think>secret</think>secret</think>hi"


@pytest.mark.parametrize("size", [1, 2, 5, 100])
async def test_thoughts_are_neither_streamed_nor_stored(size: int) -> None:
    async with talk_to(
        [in_pieces(OPENED, size), in_pieces(NESTED, size), in_pieces(ALONE, size)]
    ) as (bot, _):
        for channel in ("a", "b", "c"):
            heard = await bot.ask(turn(context={"channel": channel}))
            assert (heard.text, heard.reason) == ("hi", "COMPLETE")
            assert text_of((await bot.stored(channel))[-1]) == "hi"
            assert "secret" not in await remembered(bot, channel)


async def test_the_first_thoughts_that_nobody_could_know_are_not_stored() -> None:
    """They are streamed once; Chat, which can still take them back, does not tell them; the next answer is cut."""
    async with talk_to([in_pieces(ALONE, pause_s=0.03)]) as (bot, _):
        assert "secret" in (await bot.ask(turn())).text
        assert text_of((await bot.stored())[-1]) == "hi"
        assert (await bot.ask(turn(context={"channel": "b"}))).text == "hi"
    async with talk_to([in_pieces(ALONE, pause_s=0.03)]) as (bot, _):
        assert (await bot.stub.Chat(pb.ChatRequest(turn=turn()))).text == "hi"


async def test_a_block_in_the_middle_behind_an_answer_that_was_thoughts() -> None:
    """The model is known to close what it never opened; this block it opened itself, in its answer."""
    answer = "ok <think>mid</think> more"
    async with talk_to([in_pieces(ALONE), in_pieces(answer)]) as (bot, _):
        await bot.ask(turn())
        heard = await bot.ask(turn(context={"channel": "b"}))
        assert (heard.text, heard.reason) == (answer, "COMPLETE")
        assert text_of((await bot.stored("b"))[-1]) == answer


async def test_a_thought_that_speaks_of_the_tag_costs_no_answer() -> None:
    """One block is closed, though two began: what follows is the answer, told when it has ended."""
    async with talk_to([in_pieces("<think>what is <think>?</think>\nhi, a tag")]) as (bot, _):
        assert (await both(bot))[0] == "hi, a tag"


async def test_thoughts_in_a_whole_answer() -> None:
    for text in (OPENED, ALONE, NESTED):
        async with talk_to([Reply([whole({"content": text})], headers=JSON)]) as (bot, _):
            assert (await both(bot))[0] == "hi"
            assert text_of((await bot.stored())[-1]) == "hi"


MENTIONS = (
    "Close it with </think> and go on.",
    "```\n<think>\nx\n</think>\n```\nso",
    "a <think>b</think> c",
)


@pytest.mark.parametrize("mention", MENTIONS)
async def test_a_mention_of_the_tag_survives(mention: str) -> None:
    for reply in (in_pieces(mention), Reply([whole({"content": mention})], headers=JSON)):
        async with talk_to([reply]) as (bot, _):
            assert (await both(bot))[0] == mention
            assert text_of((await bot.stored())[-1]) == mention


async def test_thoughts_may_be_held_back_from_the_first_or_kept() -> None:
    async with talk_to([in_pieces(ALONE)], model_thoughts="hold") as (bot, _):
        assert (await both(bot))[0] == "hi"
    async with talk_to([in_pieces(OPENED)], model_thoughts="keep") as (bot, _):
        assert (await both(bot))[0] == OPENED


async def test_an_answer_that_never_leaves_its_thoughts_is_an_error() -> None:
    async with talk_to([in_pieces("<think>secret")]) as (bot, _):
        heard = await bot.ask(turn())
        assert (heard.text, heard.reason) == ("", "UPSTREAM_ERROR")
        assert heard.errors[0].message.endswith("the model's answer ended inside its thoughts")
    cut = Reply([said("<think>secret"), stopped("length")])
    async with talk_to([cut]) as (bot, _):
        heard = await bot.ask(turn())
        assert (heard.text, heard.reason) == ("", "LENGTH")


async def test_what_was_held_when_the_connection_broke_is_told() -> None:
    async with talk_to(
        [Reply([said("half an "), said("answer"), CUT])], default_model="some-r1"
    ) as (bot, _):
        heard = await bot.ask(turn())
    assert (heard.text, heard.reason) == ("half an answer", "UPSTREAM_ERROR")


async def test_a_server_that_sets_thoughts_apart_is_not_held_back() -> None:
    steps = [data(chunk({"reasoning_content": "secret"})), said("h"), said("i"), stopped()]
    async with talk_to([Reply(steps)], default_model="deepseek-r1") as (bot, _):
        assert (await both(bot))[0] == "hi"
