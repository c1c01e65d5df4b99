"""A question about long ago in a long channel, from outside: the same lines, found without a look at all of them."""

import pytest

from backscroll import Author, Message
from backscroll_sidecar.strategies import long_history
from backscroll_sidecar.vectors import service
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

NOON = 1_795_176_000_000
DAY_MS = 86_400_000
WORDS = [
    "train",
    "lunch",
    "garden",
    "printer",
    "window",
    "music",
    "bread",
    "river",
    "paper",
    "chair",
]
ASKED = [
    ("what was the wifi password again?", "the wifi password is swordfish"),
    ("之前说的那家面馆叫什么名字？", "面馆叫老王家，在桥边"),
    ("who wrote that the kettle is broken?", "kettle broken since monday"),
]
PLACES = {line: 100 + 200 * n for n, (_, line) in enumerate(ASKED)}


def lines():
    said = [f"{WORDS[n % 10]} and {WORDS[n // 10 % 10]} number {n % 37}" for n in range(1_200)]
    for line, place in PLACES.items():
        said[place] = line
    return [
        Message(
            f"m{n}", Author(f"u{n % 5}", f"Person{n % 5}"), text, NOON - (1_300 - n) * DAY_MS // 4
        )
        for n, text in enumerate(said)
    ]


async def answers(database, index, profile="balanced"):
    async with served(database, embedder=FakeEmbedder(), vector_index=index) as (client, app):
        found = []
        for question, _ in ASKED:
            context = await client.build_context("room", question, asker="u1", asked_at=NOON)
            await app.embedding.vectors.settled()
            context = await client.build_context(
                "room", question, asker="u1", asked_at=NOON, profile=profile
            )
            assert not context.raw.degradations
            found.append(
                (
                    [item.message.id for item in context.raw.items],
                    context.raw.diagnostics.exhaustive_search,
                )
            )
        return found


@pytest.mark.row("N-22")
async def test_a_long_channel_is_answered_as_a_short_one(tmp_path, monkeypatch):
    """The lines that answer are there either way; only the long way says that it looked at candidates alone."""
    database = tmp_path / "history.db"
    async with served(database, embedder=FakeEmbedder()) as (client, _):
        said = lines()
        for start in range(0, len(said), 300):
            await client.append("room", said[start : start + 300])
        assert (await client.wait_for_index("room", wait_s=30)).ready
    scanned = await answers(database, "exact")
    monkeypatch.setattr(long_history, "LONG_ROWS", 1_000)
    monkeypatch.setattr(service, "GRAPH_ROWS", 1_000)
    found = await answers(database, "auto")
    for (ids, exhaustive), (_, line) in zip(found, ASKED, strict=True):
        assert f"m{PLACES[line]}" in ids
        assert not exhaustive
    assert all(exhaustive for _, exhaustive in scanned)
    assert [set(ids) for ids, _ in found] == [set(ids) for ids, _ in scanned]
    for (ids, exhaustive), (_, line) in zip(
        await answers(database, "auto", "memory"), ASKED, strict=True
    ):
        assert f"m{PLACES[line]}" in ids
        assert not exhaustive
