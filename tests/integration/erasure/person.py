"""A person who left a trace of every kind in a tenant, each with a word of its own."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backscroll import AsyncClient, Embedding, Member, Message
from backscroll import Author as Person
from tests.kit.canaries import Find, found_in

NOON_MS = 1_795_176_000_000
USER = "canary-id-4711"
NAME = "金丝雀-name-4711"
AUTHOR = Person(USER, NAME)
BEN = Person("u2", "Ben")
ROOMS = ("room", "other")
WORDS = ("canary", "金丝雀")
"""Every trace has one of them in it."""


def lines(count: int, room: str) -> list[Message]:
    """A talk of two, hers of many lengths, so that rows move between pages."""
    return [
        Message(
            f"m{n}",
            AUTHOR if n % 3 == 0 else BEN,
            f"canary-text-{n} 金丝雀 {room} " + "canary " * (n % 40)
            if n % 3 == 0
            else f"keepthis {n} " + "word " * (n * 7 % 60),
            NOON_MS + n * 1_000,
        )
        for n in range(count)
    ]


async def lives(client: AsyncClient, count: int = 180) -> None:
    """She writes, edits, recalls, is renamed, asks, gets summarised, says what she thinks of it."""
    for room in ROOMS:
        sent = lines(count, room)
        for start in range(0, count, 60):
            await client.append(room, sent[start : start + 60])
        await client.append(
            room,
            Message("v", AUTHOR, "canary-vector", NOON_MS, embeddings=(Embedding("e", (1, 2)),)),
        )
        for n in range(0, count, 9):
            await client.edit_message(room, f"m{n}", f"canary-edited-{n} " + "canary " * (n % 50))
        for n in range(3, count, 12):
            await client.recall_message(room, f"m{n}")
        await client.upsert_members(room, [Member(USER, "canary-renamed", aliases=("金丝雀",))])
        await client.alias_message(room, "m0", f"{room}-platform-id")
        await client.pin_message(room, "m6")
        await client.compact(room)
        context = await client.build_context(room, "canary-question", asker=USER)
        await client.record_feedback(context.id, user_id=USER, rating=2, text="canary-feedback")
        await client.set_preference(USER, "canary-preference 金丝雀", channel=room)
    await client.set_preference(USER, "canary-everywhere")
    await client.append("bens", Message("b1", BEN, "keepthis, too", NOON_MS))


async def clean(folder: Path, *words: str) -> None:
    """Return once no file below the folder has any of the words."""
    found: list[Find] = []
    try:
        async with asyncio.timeout(60):
            while found := found_in(folder, *words):  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.25)
    except TimeoutError:
        raise AssertionError(f"still there: {found[:5]}") from None


@contextmanager
def found_before(folder: Path, *words: str) -> Iterator[None]:
    """Each of the words stands in some file before the block."""
    for word in words:
        assert found_in(folder, word), word
    yield
