"""After an erasure no file of the server has any of it, however it is written (N-10)."""

import asyncio
from pathlib import Path

import pytest

from backscroll import Message
from tests.integration.erasure.person import AUTHOR, BEN, NOON_MS, ROOMS, USER, WORDS, clean, lives
from tests.kit.canaries import found_in
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.postgres import IN_POSTGRES
from tests.kit.served import served

KEPT = "keepthis"


@pytest.mark.row("N-10")
async def test_a_person_leaves_every_file(tmp_path: Path) -> None:
    """Texts, revisions, names, vectors, preferences, summaries, builds, feedback: what others wrote stays."""
    path = tmp_path / "b.db"
    async with served(path, embedder=FakeEmbedder(), vector_index="hnsw") as (client, _):
        await lives(client)
        for room in ROOMS:
            await client.wait_for_index(room, wait_s=30)
        assert all(found_in(tmp_path, word) for word in WORDS)
        told = await client.erase(user_id=USER, all_channels=True, dry_run=True)
        assert found_in(tmp_path, *WORDS)
        receipt = await client.erase(user_id=USER, all_channels=True)
        assert {name for name, count in receipt.items() if count} >= {
            "messages", "revisions", "aliases", "vectors", "members", "events", "pins", "preferences",
            "summaries", "usage_records", "signals",
        }  # fmt: skip
        # The embedder goes on while nobody asks: it may have added some in between.
        assert {**receipt, "vectors": 0} == {**told, "vectors": 0}
        assert not receipt.are_files_clean
        assert receipt.files_clean_by_ms == (0 if IN_POSTGRES else receipt.erased_at_ms + 60_000)
        await clean(tmp_path, *WORDS)
        assert found_in(tmp_path, KEPT)
        again = await client.erase(user_id=USER, all_channels=True)
        assert not any(again.values())
        left = [one async for one in client.list_messages(ROOMS[0])]
        assert {one.message.author.id for one in left} == {BEN.id}
    assert not found_in(tmp_path, *WORDS)


@pytest.mark.row("N-10")
async def test_a_tenant_leaves_every_file(tmp_path: Path) -> None:
    async with served(tmp_path / "b.db") as (client, _):
        await lives(client, 60)
        receipt = await client.erase(whole_tenant=True)
        assert receipt["messages"] == 2 * 61 + 1
        await clean(tmp_path, *WORDS, KEPT)
        assert [one async for one in client.list_channels()] == []


@pytest.mark.row("N-10")
async def test_erasures_one_after_another_are_clean_as_soon(tmp_path: Path) -> None:
    """Who is erased while the files are wiped for somebody else, goes as well; writes go on meanwhile."""
    async with served(tmp_path / "b.db") as (client, _):
        people = [f"person-{n}" for n in range(8)]
        for n, person in enumerate(people):
            await client.append(
                "room",
                [
                    Message(f"{person}-{k}", person, f"word-of-{n} " * (k % 30), NOON_MS + k)
                    for k in range(100)
                ],
            )
        for n, person in enumerate(people):
            await client.erase("room", user_id=person)
            await client.append("room", Message(f"b{n}", BEN, f"{KEPT} " * 40, NOON_MS))
            await asyncio.sleep(0.4)
        await clean(tmp_path, *(f"word-of-{n}" for n in range(8)))
        assert found_in(tmp_path, KEPT)


@pytest.mark.row("N-10")
async def test_what_was_recalled_leaves_every_file(tmp_path: Path) -> None:
    async with served(tmp_path / "b.db") as (client, _):
        await client.append("room", Message("m1", AUTHOR, "secretword", NOON_MS))
        await client.recall_message("room", "m1")
        await clean(tmp_path, "secretword")
