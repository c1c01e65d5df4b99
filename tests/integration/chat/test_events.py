"""What is recorded of every turn, read over gRPC: a tree of events with times, ids and counts, and no texts."""

import asyncio

import pytest

from backscroll import Author, Message, Overrides
from backscroll.errors import InvalidRequest, NotFound
from backscroll.v1 import admin_pb2 as pb
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from tests.integration.chat.talk import ENOUGH_S, Bot, answers, talk, turn
from tests.kit.fake_model import CALLS, STOP, FakeModel, call

T0 = 1_795_176_000_000
CALL = call("c1", arguments="")
LINES = [Message(f"m{n}", Author("u1", "Ann"), f"secret line {n}", T0 + n) for n in range(40)]
TRIGGER = {"question": "", "trigger_message_id": "m39"}


async def events(bot: Bot, **query) -> list[pb.RecordedEvent]:
    """Of the room, once the writer has been there."""
    await bot.idle()
    async with asyncio.timeout(ENOUGH_S):
        while bot.app.writer.queued_items:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.001)
        await bot.client.upsert_members("room", [])
        await bot.tell(Message("later", Author("u9"), "x", T0))
    return [one async for one in bot.client.list_events("room", **query)]


def tree(recorded: list[pb.RecordedEvent]) -> list[tuple[str, str, str]]:
    """Type, level, and the type of the parent; each parent stands before."""
    types = {"": ""}
    out = []
    for one in recorded:
        out.append((one.event.type, one.event.level, types[one.event.parent_id]))
        types[one.event.id] = one.event.type
    return out


BEGUN = [("agent.started", "agent", ""), ("turn.started", "turn", "agent.started")]
CUT = ("context.compressed", "turn", "agent.started")
CALLED = ("model.called", "turn", "turn.started")
ENDED = ("turn.ended", "turn", "turn.started")


@pytest.mark.row("S3-25", "S3-17")
@pytest.mark.parametrize("rpc", ["StreamChat", "Chat"])
async def test_a_turn_without_a_cut(rpc: str) -> None:
    """Four events, each with a time of its own, in order."""
    async with talk(FakeModel(["hi", STOP])) as bot:
        await bot.tell(*LINES)
        if rpc == "StreamChat":
            heard = await bot.ask(turn(context=TRIGGER))
            context_id, reply = heard.context.context_id, heard.end.reply_message_id
        else:
            whole = await bot.client.chat(
                "room", "", asker="u1", trigger_message_id="m39", self_ids=["bot"]
            )
            context_id, reply = whole.context.raw.context_id, whole.end.reply_message_id
        found = await events(bot)
    assert tree(found) == [*BEGUN, CALLED, ENDED]
    assert {one.context_id for one in found} == {context_id}
    assert [one.message_id for one in found] == ["m39", "m39", "m39", reply]
    times = [one.event.at_ms for one in found]
    assert times == sorted(times)
    assert dict(found[2].event.payload) == {
        "model": "gpt-4o-mini", "call": "1", "message_count": found[2].event.payload["message_count"],
    }  # fmt: skip
    assert dict(found[3].event.payload)["reason"] == "complete"


@pytest.mark.row("S3-16", "S3-17", "S3-25")
async def test_a_turn_with_a_cut() -> None:
    """The cut stands behind the turn's begin and before the model's call, under the agent."""
    context = {**TRIGGER, "profile": "naive", "overrides": {"recent_limit": 30}}
    async with talk(FakeModel(["hi", STOP])) as bot:
        await bot.tell(*LINES)
        heard = await bot.ask(turn(context=context))
        found = await events(bot)
    assert tree(found) == [*BEGUN, CUT, CALLED, ENDED]
    payload = dict(found[2].event.payload)
    assert payload.keys() == {
        "original_count", "compressed_count", "max_messages", "max_chars_per_message",
    }  # fmt: skip
    assert [one.event for one in found[:3]] == list(heard.context.events)
    assert "secret" not in str(found)


@pytest.mark.row("S3-25")
async def test_rounds_failures_and_who_leaves() -> None:
    """One turn: the model's calls each, an end for each that is one; a caller who leaves is told of, too."""
    broken = ["su", failed(ModelFault.SERVER_ERROR)]
    async with talk(FakeModel([CALL, CALLS], broken, ["sunny", STOP])) as bot:
        await bot.tell(*LINES)
        turn_id = await bot.open_turn(context=TRIGGER)
        for _ in range(2):
            await bot.ask(answers(turn_id, c1="sun"))
        found = await events(bot)
    assert tree(found) == [*BEGUN, CALLED, CALLED, ENDED, CALLED, ENDED]
    ends = [dict(one.event.payload) for one in found if one.event.type == "turn.ended"]
    assert [(one["reason"], one["partial"], one["model_calls"]) for one in ends] == [
        ("upstream_error", "true", "2"), ("complete", "false", "2"),
    ]  # fmt: skip


@pytest.mark.row("S3-25")
async def test_pages_types_and_contexts() -> None:
    """From either end, a page at a time; of one type; of one build."""
    async with talk(FakeModel(["hi", STOP])) as bot:
        await bot.tell(*LINES)
        contexts = [(await bot.ask(turn(f"and {n}?"))).context.context_id for n in range(3)]
        every = await events(bot)
        assert len(every) == 12
        for fields, expected in (
            ({"page_size": 5}, every),
            ({"page_size": 5, "newest_first": True}, every[::-1]),
            ({"limit": 4}, every[:4]),
            ({"types": ["turn.ended", "none"]}, [e for e in every if e.event.type == "turn.ended"]),
            ({"context_id": contexts[1]}, [e for e in every if e.context_id == contexts[1]]),
            ({"context_id": "nobody"}, []),
        ):
            assert await events(bot, **fields) == expected, fields
        for query, field in (({"page_size": 1_001}, "limit"), ({"types": [""]}, "types[0]")):
            with pytest.raises(InvalidRequest) as refused:
                await events(bot, **query)
            assert refused.value.field == field
        with pytest.raises(NotFound):
            [one async for one in bot.client.list_events("elsewhere")]


@pytest.mark.row("S3-17")
async def test_a_build_alone_records_a_cut_under_its_own_turn() -> None:
    """BuildContext: nothing where nothing was cut."""
    async with talk(FakeModel(["hi", STOP])) as bot:
        await bot.tell(*LINES)
        for profile in ("balanced", "naive"):
            await bot.client.build_context(
                "room",
                trigger_message_id="m39",
                profile=profile,
                overrides=Overrides(recent_limit=30),
            )
        found = await events(bot)
    assert tree(found) == [*BEGUN, CUT]


async def test_an_erasure_takes_events_along() -> None:
    """Those about an erased message go with it, all of a channel with the channel."""
    async with talk(FakeModel(["hi", STOP])) as bot:
        await bot.tell(*LINES)
        reply = (await bot.ask(turn(context=TRIGGER))).end.reply_message_id
        await events(bot)
        await bot.client.erase("room", message_ids=[reply])
        assert tree(await events(bot)) == [*BEGUN, CALLED]
        await bot.client.erase("room", message_ids=["m39"])
        assert await events(bot) == []
        await bot.ask(turn("and now?"))
        assert len(await events(bot)) == 4
        await bot.client.erase("room", whole_channel=True)
        await bot.tell(Message("again", Author("u1"), "x", T0))
        assert await events(bot) == []


async def test_where_collection_is_off_nothing_is_recorded() -> None:
    """S5-48's switch."""
    async with talk(FakeModel(["hi", STOP]), memory={"enable_async_data_collection": False}) as bot:
        await bot.tell(*LINES)
        await bot.ask(turn(context=TRIGGER))
        assert await events(bot) == []
