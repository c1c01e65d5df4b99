"""The store is a part that can be changed: what is recent, meant and preferred is the same from each; and what of it a
history needs.
"""

from contextlib import asynccontextmanager

import pytest

from backscroll import Author, Member, Message
from backscroll.v1 import context_pb2
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.kept import rows, tables
from tests.kit.postgres import server
from tests.kit.served import served

NOON = 1_795_176_000_000
MINUTE, DAY = 60_000, 86_400_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "小黑"), Author("bot", "Cat", "bot")
SELF = ["bot"]


@asynccontextmanager
async def over(database):
    embedder = FakeEmbedder(synonyms={"feline": "cat", "kitten": "cat", "eats": "dinner"})
    async with served(database, embedder=embedder) as (client, _):
        yield client


async def fill(client) -> None:
    """A chat with everything a store must keep: late arrivals, replies, edits, recalls, people, pins, preferences."""
    far = [
        Message("far1", ANN, "the kitten wants dinner", NOON - 9 * DAY),
        Message("far2", BOT, "give the kitten some fish", NOON - 8 * DAY, role="assistant"),
    ]
    talk = [
        Message(f"m{n:02}", (ANN, BEN)[n % 2], f"blah{n} 火车\nand more", NOON - DAY // 2 + n * MINUTE,
                reply_to=f"m{n - 3:02}" if n % 4 == 3 else None)
        for n in range(30)
    ]  # fmt: skip
    await client.append("room", [*talk[5:], *far, *reversed(talk[:5])])
    await client.append("other", [Message("x1", BEN, "elsewhere", NOON - MINUTE)])
    await client.upsert_members("room", [Member("u2", "小白"), Member("u3", "Eve", aliases=["E"])])
    await client.edit_message("room", "m29", "blah29, corrected")
    await client.recall_message("room", "m28")
    await client.pin_message("room", "far2")
    for user, text in (
        ("u1", "likes tea"),
        ("u1", "is called Dr. Ann"),
        ("u1", "is vegan"),
        ("u2", "说中文"),
    ):
        await client.set_preference(user, text)
    await client.set_preference("u1", "speaks of trains here", channel="room")
    first = (await client.list_preferences("u1"))[0]
    await client.delete_preference("u1", first.id)
    assert (await client.wait_for_index("room", wait_s=10)).ready


async def told(client) -> dict[str, object]:
    """All that a caller can learn, in plain values."""
    out: dict[str, object] = {}
    anywhere = await client.build_context("", "so?", asker=ANN, profile="naive", asked_at=NOON)
    other = await client.build_context("other", "so?", asker=ANN, profile="room", asked_at=NOON)
    out["other"] = other.text
    out["anywhere"] = [item.message.id for item in anywhere.items]
    for profile in ("retrieval", "balanced", "classic", "naive", "memory", "hybrid"):
        for asker in (ANN, BEN):
            context = await client.build_context(
                "room", "the feline eats 火车?", asker=asker, profile=profile, asked_at=NOON,
                self_ids=SELF, explain=True,
            )  # fmt: skip
            assert not context.degradations
            assert context.raw.rung == context_pb2.RUNG_RANKED
            out[f"{profile} {asker.id}"] = (
                context.payload, context.text, [(i.message.id, i.rank) for i in context.items],
                [(c.message_id, c.fate, list(c.sources)) for c in context.explanation.candidates],
            )  # fmt: skip
    out["messages"] = [
        (
            m.sequence, m.rank_time_ms, m.revision, m.recalled, m.message.id, m.reply.message_id, list(m.keywords),
            "".join(part.text.text for part in m.message.parts),
        )
        async for m in client.list_messages("room")
    ]  # fmt: skip
    out["preferences"] = [
        (p.channel, p.text)
        for user in ("u1", "u2", "u3")
        for p in await client.list_preferences(user)
    ]
    out["of one"] = [m.sequence async for m in client.list_messages("room", author_id="u2")]
    hits = await client.search("room", "kitten", limit=3)
    out["found"] = [hit.message.message.id for hit in hits]
    return out


@pytest.mark.row("S2-17", "P-22")
async def test_each_store_gives_the_same_answers(tmp_path):
    """In memory; in a file and in PostgreSQL, and after a restart from what each has kept."""
    async with over(":memory:") as client:
        await fill(client)
        kept = await told(client)
    for database in (tmp_path / "history.db", await server().emptied()):
        async with over(database) as client:
            await fill(client)
            assert await told(client) == kept
        async with over(database) as client:
            assert await told(client) == kept
    payload, text, items, _ = kept["retrieval u1"]
    ids = [name for name, _ in items]
    assert ids[:2] == ["far1", "far2"]
    assert ids[-10:] == [f"m{n}" for n in (19, 20, 21, 22, 23, 24, 25, 26, 27, 29)]
    assert text.startswith(
        "User Preferences: is called Dr. Ann\n  is vegan\n  speaks of trains here\n\n"
    )
    assert kept["anywhere"] == [f"m{n:02}" for n in range(4, 27, 2)]
    assert "is vegan\n\n" in kept["other"]
    assert "blah29, corrected" in text
    assert "blah28" not in str(payload)
    assert sorted(kept["found"]) == ["far1", "far2"]
    assert kept["preferences"] == [
        ("", "is called Dr. Ann"),
        ("", "is vegan"),
        ("room", "speaks of trains here"),
        ("", "说中文"),
    ]


def counts_of(database) -> dict[str, int]:
    """How many rows each table has."""
    return {name: rows(database, f"SELECT count(*) FROM {name}")[0][0] for name in tables(database)}


@pytest.mark.row("S3-15")
async def test_naive_needs_messages_and_events_alone(tmp_path):
    """What else is written is read by no build, or follows from these: a counter, names, segments. All of it may go."""
    database = tmp_path / "history.db"
    sent = [Message(f"m{n}", (ANN, BEN)[n % 2], f"line {n}", NOON - DAY + n) for n in range(30)]
    asked = {"asker": ANN, "profile": "naive", "asked_at": NOON, "token_budget": 120}
    async with served(database) as (client, _):
        await client.append("room", sent)
        first = await client.build_context("room", "so?", **asked)
        assert 0 < len(first.items) < 12
    used = {name for name, count in counts_of(database).items() if count}
    beside = {
        "channels",
        "channel_changes",
        "losses",
        "lineages",
        "unfinished",
        "members",
        "segments",
        "schema_migrations",
        "usage_records",
    }
    assert used - beside == {"messages", "events"}
    for name in counts_of(database).keys() - {"messages", "events", "schema_migrations"}:
        rows(database, f"DELETE FROM {name}")
    async with served(database) as (client, _):
        again = await client.build_context("room", "so?", **asked)
        assert again.payload == first.payload
        assert [item.message.id for item in again.items] == [
            item.message.id for item in first.items
        ]
        assert not again.degradations
    async with served(database) as (client, _):
        cuts = [e async for e in client.list_events("room", types=["context.compressed"])]
        assert len(cuts) == 2
