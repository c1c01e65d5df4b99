"""Index files that are not as they were written: the server starts, answers exactly, and makes them again (law 2)."""

from pathlib import Path

import numpy as np
import pytest

from backscroll import Author, Message
from backscroll_scoring import hnsw
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

pytestmark = pytest.mark.sqlite("files of indexes are kept beside a file of SQLite")

NOON = 1_795_176_000_000


def lines(count: int = 400) -> list[Message]:
    return [
        Message(f"m{n}", Author("u1", "Ann"), f"line {n} of {n * 7 % 90}", NOON - 9_000_000 + n)
        for n in range(count)
    ]


async def ask(client):
    assert (await client.wait_for_index("room", wait_s=20)).ready
    context = await client.build_context(
        "room", "line 33 of 51", asker="u1", profile="retrieval", asked_at=NOON
    )
    assert not context.raw.degradations
    items = [(item.message.id, item.score) for item in context.raw.items]
    return items, context.raw.diagnostics.exhaustive_search


def spoil(kind: str, path: Path) -> None:
    whole = bytearray(path.read_bytes())
    if kind == "missing":
        path.unlink()
    elif kind == "empty":
        path.write_bytes(b"")
    elif kind == "truncated":
        path.write_bytes(whole[: len(whole) // 2])
    elif kind == "flipped":
        for place in np.random.default_rng(1).integers(len(whole), size=5):
            whole[place] ^= 0x10
        path.write_bytes(whole)
    else:
        vectors = np.eye(32, dtype=np.float32)
        hnsw.Graph.build(vectors, np.arange(1, 33, dtype=np.int64)).save(str(path))


@pytest.mark.row("S2-22")
@pytest.mark.parametrize("kind", ["missing", "empty", "truncated", "flipped", "other dimensions"])
async def test_a_bad_file_costs_nothing_but_its_making(tmp_path, kind):
    """Law 2, S2-22: whatever lies there, the first answer is exact and the file is soon as it was."""
    database = tmp_path / "history.db"
    async with served(database, embedder=FakeEmbedder(), vector_index="hnsw") as (client, app):
        for start in (0, 600):
            await client.append("room", lines()[start : start + 600])
        assert (await client.wait_for_index("room", wait_s=20)).ready
        await ask(client)
        await app.embedding.vectors.settled()
    (path,) = tmp_path.glob("*-indexes/*.hnsw")
    whole = path.read_bytes()
    spoil(kind, path)
    async with served(database, embedder=FakeEmbedder(), vector_index="hnsw") as (client, app):
        first, exhaustive = await ask(client)
        assert exhaustive
        await app.embedding.vectors.settled()
        again, _ = await ask(client)
        assert again == first
    assert path.read_bytes() == whole


async def test_files_that_the_database_does_not_know_are_swept_at_start(tmp_path):
    """Erasure: a crash between an erase and the removal of its file leaves none of the erased on the disk."""
    database = tmp_path / "history.db"
    async with served(database, embedder=FakeEmbedder(), vector_index="hnsw") as (client, app):
        for room in ("room", "kept"):
            await client.append(room, lines()[:50])
            assert (await client.wait_for_index(room, wait_s=20)).ready
            await client.build_context(room, "line 3", asker="u1", profile="retrieval")
        await app.embedding.vectors.settled()
        left = {path: path.read_bytes() for path in tmp_path.glob("*-indexes/*.hnsw")}
        assert len(left) == 2
        await client.erase("room", message_ids=["m3"])
        await app.embedding.vectors.settled()
    for path, content in left.items():
        path.write_bytes(content)
    (part := path.with_suffix(".part")).write_bytes(b"half")
    async with served(database, embedder=FakeEmbedder(), vector_index="hnsw") as (_, app):
        await app.embedding.vectors.swept()
        assert len(list(tmp_path.glob("*-indexes/*.hnsw"))) == 1
        assert not part.exists()


async def test_a_recall_takes_the_file_and_a_stop_writes_it_again(tmp_path):
    """The server that stops still stores which file it is: the next one loads it, without what was taken back."""
    database = tmp_path / "history.db"
    async with served(database, embedder=FakeEmbedder(), vector_index="hnsw") as (client, app):
        await client.append("room", lines())
        await ask(client)
        await app.embedding.vectors.settled()
        for n in range(3):
            await client.recall_message("room", f"m{n}")
            await app.embedding.vectors.settled()
            assert not list(tmp_path.glob("*-indexes/*"))
        before, _ = await ask(client)
    (path,) = tmp_path.glob("*-indexes/*.hnsw")
    written = path.stat().st_mtime_ns
    async with served(database, embedder=FakeEmbedder(), vector_index="hnsw") as (client, app):
        after, exhaustive = await ask(client)
        assert after == before
        assert not exhaustive
        await app.embedding.vectors.settled()
        assert path.stat().st_mtime_ns == written
