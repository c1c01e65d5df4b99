"""A restored backup answers as the server did when it was taken, byte for byte; only ids and timings differ."""

import asyncio

import pytest

from backscroll import Member
from tests.integration.cli.in_process import Commands
from tests.integration.context.test_restart import NOON, chat, everything
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

pytestmark = pytest.mark.sqlite("a backup copies a file of SQLite")


@pytest.mark.row("N-10")
@pytest.mark.parametrize("index", ["none", "exact", "hnsw"])
async def test_a_restored_backup_answers_byte_for_byte(tmp_path, index):
    """With edits, recalls, renames, pins and an erased person before, and more of them after the backup."""
    here = Commands("127.0.0.1:1")
    live, file, restored = (tmp_path / name for name in ("live.db", "chat.backup", "restored.db"))
    with_embedder = index != "none"

    def server(database):
        if not with_embedder:
            return served(database)
        return served(database, embedder=FakeEmbedder(), vector_index=index)

    async def answers(client):
        if with_embedder:
            assert (await client.wait_for_index("room", wait_s=20)).ready
        return await everything(client)

    async with server(live) as (client, app):
        lines = chat(120)
        for start in range(0, 120, 7):
            await client.append("room", lines[start : start + 7])
        await client.edit_message("room", "m10", text="edited, about cats", edited_at=NOON - 5)
        await client.recall_message("room", "m20")
        await client.pin_message("room", "m11")
        await client.upsert_members("room", [Member("u2", "Benedict", aliases=["boss"])])
        await client.erase("room", user_id="u3")
        before = await answers(client)
        if with_embedder:
            await app.embedding.vectors.settled()
            assert await answers(client) == before
        made = await asyncio.to_thread(
            here.json, "backup", "--database", str(live), "--to", str(file)
        )
        await client.append("room", chat(160)[120:])
        await client.recall_message("room", "m55")
        assert await answers(client) != before
    assert made["indexes"] == (index == "hnsw")
    done = await asyncio.to_thread(
        here.json, "restore", str(file), "--to", str(restored), "--verify"
    )
    assert done["indexes_taken_along"] == made["indexes"]
    async with server(restored) as (client, _):
        assert await answers(client) == before


@pytest.mark.row("N-10")
async def test_an_index_file_that_does_not_belong_to_it_goes(tmp_path):
    """Of the database that was replaced nothing is left, and an erased vector stands in no index file."""
    here = Commands("127.0.0.1:1")
    live, file, told = (tmp_path / name for name in ("live.db", "chat.backup", "erased.jsonl"))
    async with served(live, embedder=FakeEmbedder(), vector_index="hnsw") as (client, app):
        await client.append("room", chat(60))
        assert (await client.wait_for_index("room", wait_s=20)).ready
        await everything(client)
        await app.embedding.vectors.settled()
        await asyncio.to_thread(here.json, "backup", "--database", str(live), "--to", str(file))
    (index,) = tmp_path.glob("live.db-indexes/*.hnsw")
    index.with_name("ff.hnsw").write_bytes(b"of another channel")
    told.write_text(
        '{"tenant":"default","channel":"room","user_id":"u3","erased_at_ms":4000000000000}\n'
    )
    done = await asyncio.to_thread(
        here.json, "restore", str(file), "--to", str(live), "--force", "--tombstones", str(told)
    )
    assert (done["indexes_taken_along"], done["indexes_made_again"]) == (0, 1)
    assert not list(index.parent.iterdir())
    async with served(live, embedder=FakeEmbedder(), vector_index="hnsw") as (client, app):
        assert (await client.wait_for_index("room", wait_s=20)).ready
        assert not [
            one async for one in client.list_messages("room") if one.message.author.id == "u3"
        ]
        context = await client.build_context("room", "cats", asker="u1", profile="retrieval")
        assert not context.raw.degradations
