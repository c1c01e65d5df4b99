"""Whichever server answers, and whenever it was started: the same is found by meaning (P-22, law 2)."""

import pytest

from backscroll import AsyncClient, Author, Message
from backscroll.v1 import context_pb2
from backscroll_scoring import hnsw, index
from backscroll_sidecar.vectors import block, service
from backscroll_sidecar.wiring import App
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.postgres import server
from tests.kit.served import served

pytestmark = pytest.mark.row("P-22")
NOON_MS = 1_795_176_000_000
ROOM = "room"
QUESTIONS = ("where was word5, word77?", "what of word299 and word4?", "was it word61 or word8?")


@pytest.fixture(autouse=True)
def large_is_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """A channel is large with so few lines, and few rows are looked at exactly; signs need more rows than a centre."""
    monkeypatch.setattr(block, "CENTRE_ROWS", 100)
    monkeypatch.setattr(service, "SIGN_ROWS", 200)
    monkeypatch.setattr(service, "GRAPH_ROWS", 400)
    monkeypatch.setattr(index, "SIGN_RERANK_LEAST", 24)
    monkeypatch.setattr(hnsw, "BREADTH", 2)  # a graph would miss much
    monkeypatch.setattr(index, "GRAPH_FIRST", 2)


def lines(first: int, count: int) -> list[Message]:
    return [
        Message(
            f"m{n}",
            Author(f"u{n % 7}", f"U{n % 7}"),
            " ".join(f"word{n * step % 300}" for step in (1, 7, 11, 13, 29)),
            NOON_MS - 9_000_000 + n * 1_000,
        )
        for n in range(first, first + count)
    ]


async def put(client: AsyncClient, first: int, count: int) -> None:
    await client.append(ROOM, lines(first, count))
    assert (await client.wait_for_index(ROOM, wait_s=30)).ready


async def answers(client: AsyncClient, app: App) -> list[bytes]:
    """All that is said but for names of the answers; what is made behind them is made."""
    await client.build_context(ROOM, QUESTIONS[0], asker="u1", asked_at=NOON_MS)
    await app.embedding.vectors.settled()
    told = []
    for question in QUESTIONS:
        for profile in ("retrieval", "balanced", "hybrid"):
            built = await client.build_context(
                ROOM, question, asker="u1", asked_at=NOON_MS, profile=profile, explain=True
            )
            assert not built.degradations
            assert not built.raw.diagnostics.exhaustive_search
            raw = context_pb2.BuildContextResponse()
            raw.CopyFrom(built.raw)
            for field in ("diagnostics", "context_id", "events"):
                raw.ClearField(field)
            told.append(raw.SerializeToString(deterministic=True))
    return told


async def test_every_server_finds_the_same_in_a_large_channel() -> None:
    """One that told it all, one that followed, one that met the channel late, and one started behind all of it."""
    url = await server().emptied()
    async with served(url, embedder=FakeEmbedder()) as (here, here_app):
        await put(here, 0, 350)
        async with served(url, embedder=FakeEmbedder()) as (there, there_app):
            await answers(there, there_app)
            for start in range(350, 950, 150):
                await put(here, start, 75)
                await put(there, start + 75, 75)
                await answers(here, here_app)
            await here.recall_message(ROOM, "m5")
            await there.recall_message(ROOM, "m377")
            await here.edit_message(ROOM, "m9", "word5 word77 word8")
            await there.edit_message(ROOM, "m600", "word299 word4")
            await put(there, 950, 20)
            expected = await answers(here, here_app)
            assert await answers(there, there_app) == expected
            async with served(url, embedder=FakeEmbedder()) as (late, late_app):
                assert await answers(late, late_app) == expected
    async with served(url, embedder=FakeEmbedder()) as (later, later_app):
        assert await answers(later, later_app) == expected
