"""Every store gives the same answers through the door: recent, semantic, preferences, pins, members, changes."""

from __future__ import annotations

import pytest

from backscroll import Author, Member, Message
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.models.fake_embedder import FakeEmbedder
from tests.kit.served import served

NOON = 1_795_176_000_000
DAY = 86_400_000
ANN, BEN, HEI = Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "小黑")
BOT = Author("bot", "Helper", "bot")
LINES = [
    Message("far", BEN, "the kitten sleeps 在屋顶上", NOON - 9 * DAY),
    *[
        Message(
            f"m{n}", (ANN, BEN, HEI, BOT)[n % 4], f"line {n} 火车 @Ben" if n % 5 else f"cats {n}",
            NOON - 600_000 + n * 5_000 - (40_000 if n % 7 == 3 else 0),
            role="assistant" if n % 4 == 3 else "user",
            reply_to=f"m{n * 13 % 40}" if n % 3 == 0 else None, thread_id="topic" if n % 9 == 0 else "",
        )
        for n in range(40)
    ],
]  # fmt: skip


async def live(client) -> None:
    """A day of a chat: late lines, an edit, a recall, an erasure, a rename, pins, preferences."""
    for start in range(0, len(LINES), 9):
        await client.append("room", LINES[start : start + 9])
    await client.append("other", [Message("o1", ANN, "elsewhere", NOON - DAY)])
    await client.edit_message("room", "m5", text="a feline, edited", edited_at=NOON - 1)
    await client.recall_message("room", "m6")
    await client.erase("room", message_ids=["m7"])
    await client.upsert_members("room", [Member("u2", "Benedict", aliases=["boss"])])
    await client.upsert_members("room", [Member("u1", "Ann", joined_at=NOON - 500_000)])
    await client.pin_message("room", "m2")
    await client.set_preference("u1", "likes tea")
    await client.set_preference("u1", "说中文", channel="room")
    assert (await client.wait_for_index("room", wait_s=20)).ready


async def answers(client) -> list[bytes]:
    """What every profile answers, ids and timings taken out; and what is listed."""
    asked = [
        {"question": "where does the feline sleep?", "asker": "u1"},
        {"question": "", "trigger_message_id": "m36"},
        {"question": "@boss 火车呢？", "asker": HEI, "reply": "m30", "token_budget": 400},
        {"question": "which cats?", "asker": "u1", "visible_since_membership": True},
    ]
    told = []
    for profile in sorted(PROFILES):
        for fields in asked:
            context = await client.build_context(
                "room", profile=profile, asked_at=NOON, explain=True, self_ids=["bot"], **fields
            )
            raw = pb.BuildContextResponse()
            raw.CopyFrom(context.raw)
            for field in ("diagnostics", "context_id", "events"):
                raw.ClearField(field)
            told.append(raw.SerializeToString(deterministic=True))
    wide = await client.build_context("", "火车?", asker="u1", asked_at=NOON, profile="room")
    told.append(wide.payload_bytes)
    listed = [one async for one in client.list_messages("room", include_recalled=True)]
    members = sorted(await client.list_members("room"), key=lambda one: one.user_id)
    return told + [one.SerializeToString(deterministic=True) for one in [*listed, *members]]


@pytest.mark.row("S2-17", "S2-22", "S2-24")
async def test_the_same_answers_from_every_store(tmp_path):
    """In memory, in SQLite, and in SQLite opened again."""
    synonyms = {"feline": "cat", "kitten": "cat", "cats": "cat"}
    found = []
    for database in (":memory:", tmp_path / "history.db"):
        async with served(database, embedder=FakeEmbedder(synonyms=synonyms)) as (client, _):
            await live(client)
            found.append(await answers(client))
    async with served(database, embedder=FakeEmbedder(synonyms=synonyms)) as (client, _):
        found.append(await answers(client))
    assert found[1] == found[0]
    assert found[2] == found[1]
    assert any(b"likes tea" in one and b"kitten" in one for one in found[0])
