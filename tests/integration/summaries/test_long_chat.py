"""A chat that never ends, under a small budget, with a summariser that misbehaves and a restart in the middle."""

from itertools import pairwise
from pathlib import Path

import pytest

from backscroll import AsyncClient, Author, Message, ToolCall, ToolResult
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault, ModelRequest
from tests.kit.chats import NOON_MS
from tests.kit.fake_model import CALLS, LENGTH, STOP, FakeModel, Script, call
from tests.kit.served import served

ROOM = "room"
TURNS = 300
MESSAGES_A_TURN = 10
BUDGET = 8_000
KEEP_TOKENS = 2_000
BOT = Author("bot", "Cat", kind="bot")
PEOPLE = [Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "小黑")]
WORDS = [
    "we",
    "could",
    "meet",
    "near",
    "the",
    "old",
    "station",
    "and",
    "bring",
    "the",
    "blue",
    "box",
    "猫",
    "在",
    "沙发",
    "上",
    "睡觉",
]


class MisbehavingSummariser:
    """Of seven answers two are notes; the others may not be kept."""

    def __init__(self) -> None:
        self.asked = 0

    def __call__(self, request: ModelRequest) -> Script:
        self.asked += 1
        bad: list[Script] = [
            [failed(ModelFault.SERVER_ERROR)],
            ["half a summ", LENGTH],
            [" ", STOP],
            ["word " * 30_000, STOP],
            ["x", call("c1"), CALLS],
        ]
        kind = self.asked % 7
        return bad[kind] if kind < len(bad) else [f"## Goal\nNotes {self.asked}", STOP]


def turn(number: int) -> list[Message]:
    """Ten messages of one turn; in every third one the bot calls a tool, whose result now and then is huge."""
    first = number * MESSAGES_A_TURN
    out = []
    for n in range(first, first + MESSAGES_A_TURN):
        at = NOON_MS - (TURNS * MESSAGES_A_TURN - n) * 20_000
        text = f"line {n} " + " ".join(WORDS[(n * 7 + k) % len(WORDS)] for k in range(25))
        out.append(Message(f"m{n}", PEOPLE[n % 3], text, at))
    if number % 3 == 0:
        asked, told = out[-2], out[-1]
        result = "r" * (40_000 if number % 30 == 0 else 500)
        out[-2] = Message(
            asked.id, BOT, None, asked.sent_at, parts=[ToolCall(f"c{number}", "look", "{}")],
            role="assistant",
        )  # fmt: skip
        out[-1] = Message(
            told.id, BOT, ToolResult(f"c{number}", result, "look"), told.sent_at, role="tool"
        )
    return out


async def build(client: AsyncClient, number: int):
    return await client.build_context(
        ROOM,
        f"what about line {max(0, number * 5)}?",
        asker="u1",
        system="You are the bot of this room. " * 30,
        profile="room",
        asked_at=NOON_MS - (TURNS - number - 1) * MESSAGES_A_TURN * 20_000,
        token_budget=BUDGET,
        tools_json='[{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}]',
        payload_formats=["openai_chat", "anthropic_messages"],
    )


@pytest.mark.row("P-13")
@pytest.mark.row("N-20")
@pytest.mark.timeout(300)
async def test_three_thousand_messages_in_three_hundred_turns(tmp_path: Path):
    """Never over the budget, never stuck, each summary accounts for its messages, a restart changes nothing."""
    summariser = MisbehavingSummariser()
    database = tmp_path / "b.db"
    settings = {"compaction_keep_tokens": KEEP_TOKENS}
    made: list[pb.CompactResponse] = []
    shown = 0
    for half in range(2):
        async with served(database, model=FakeModel(answer=summariser), **settings) as (client, _):
            if half:
                assert (await build(client, TURNS // 2 - 1)).payload == built.payload  # noqa: F821
            for number in range(half * TURNS // 2, (half + 1) * TURNS // 2):
                await client.append(ROOM, turn(number))
                if number % 5 == 4:
                    one = await client.compact(ROOM)
                    made.append(one)
                    assert one.outcome == pb.COMPACT_OUTCOME_COMPACTED
                    assert one.first_kept_message_id == f"m{one.message_count}"
                    assert (number + 1) * MESSAGES_A_TURN - one.message_count <= 60
                built = await build(client, number)
                assert built.raw.rung == pb.RUNG_RANKED
                assert built.raw.tokens.total <= BUDGET
                shown += built.raw.HasField("summary")
                if built.raw.HasField("summary"):
                    assert built.raw.summary == made[-1].summary
            count = len([row async for row in client.list_messages(ROOM)])
            assert count == (half + 1) * TURNS * MESSAGES_A_TURN // 2
    assert all(a.message_count < b.message_count for a, b in pairwise(made))
    assert {pb.SUMMARY_KIND_MODEL, pb.SUMMARY_KIND_KEY_LINES} == {one.kind for one in made}
    assert not any(word in one.summary for one in made for word in ("half a summ", "word word"))
    assert max(len(one.summary) for one in made[-10:]) <= 2 * max(
        len(one.summary) for one in made[:10]
    )
    assert shown > TURNS - 30
    assert summariser.asked == len(made)
