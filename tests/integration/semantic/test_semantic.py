"""The semantic source through the door: appended, embedded behind the answer, found by meaning."""

from __future__ import annotations

import asyncio
import math
import struct

import pytest

from backscroll import Author, BackscrollError, Embedding, Message
from backscroll.v1 import context_pb2
from backscroll_sidecar.models.fake_embedder import FakeEmbedder
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from tests.kit.served import served

NOON = 1_795_176_000_000
WORDS = {"feline": "cat", "kitten": "cat", "猫咪": "猫", "eats": "food", "dinner": "food"}
FAR = [
    ("f0", "the kitten wants dinner"),
    ("f1", "the train is late again"),
    ("f2", "猫咪睡着了"),
    ("f3", "who took my umbrella"),
]


def fake() -> FakeEmbedder:
    return FakeEmbedder(synonyms=WORDS)


def talk(count: int = 30) -> list[Message]:
    """Four lines of long ago, then lines about nothing."""
    long_ago = [
        Message(id, Author("u1", "Ann"), text, NOON - 90_000_000 + n)
        for n, (id, text) in enumerate(FAR)
    ]
    return long_ago + [
        Message(f"m{n}", Author("u2", "Ben"), f"noise {n * 31} blah{n}", NOON - 60_000 + n)
        for n in range(count)
    ]


def semantic(context) -> list[str]:
    return [
        item.message.id for item in context.raw.items if context_pb2.SOURCE_SEMANTIC in item.sources
    ]


def degraded(context) -> list[tuple[str, str]]:
    return [(d.source, d.reason) for d in context.raw.degradations]


async def ask(client, question="feline eats", **fields):
    return await client.build_context(
        "room", question, asker="u1", profile="retrieval", asked_at=NOON, **fields
    )


async def test_a_message_is_found_by_a_paraphrase():
    """S2-22, S2-05: ingest, then found by other words; five at most; reported as looked at exhaustively."""
    async with served(embedder=fake()) as (client, _):
        await client.append("room", talk())
        assert (await client.wait_for_index("room", wait_s=10)).ready
        context = await ask(client)
        found = semantic(context)
        assert "f0" in found
        assert len(found) == 5
        assert not degraded(context)
        assert context.raw.diagnostics.exhaustive_search
        (item,) = [item for item in context.raw.items if item.message.id == "f0"]
        assert item.category == context_pb2.CATEGORY_SEMANTIC
        assert "f2" in semantic(await ask(client, "猫"))
