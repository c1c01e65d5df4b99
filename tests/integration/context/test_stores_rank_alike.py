"""PostgreSQL chooses what SQLite chooses: lengths, frequencies and scores of words, cosines, order (P-22)."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from backscroll import AsyncClient, Author, Member, Message
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.postgres import server
from tests.kit.served import served

NOON = 1_795_176_000_000
ROOM = "room"
PROFILES = ["memory", "hybrid", "hybrid_linear", "balanced", "retrieval", "classic"]
QUESTIONS = ["when does the cat get tuna?", "猫 吃 什么", "deploy the server again"]
WORDS = [
    "the", "cat", "eats", "tuna", "at", "nine", "deploy", "server", "again", "memory", "ticket", "Straße", "ﬁn",
    "猫", "吃", "鱼", "服务器", "今天", "部署",
]  # fmt: skip


async def live(client: AsyncClient, seed: int) -> None:
    """A history with everything that moves the numbers of words; the same for the same seed."""
    dice = Random(seed)
    for start in range(0, 240, 40):
        await client.append(
            ROOM,
            [
                Message(
                    f"m{n}",
                    Author(f"u{dice.randrange(5)}", dice.choice(["Ann", "Ben", "小黑"])),
                    " ".join(dice.choices(WORDS, k=dice.randrange(1, 14))),
                    NOON - 900_000 + 2_000 * n - dice.randrange(5_000),
                    reply_to=f"m{dice.randrange(n + 3)}" if n % 4 == 1 else None,
                )
                for n in range(start, start + 40)
            ],
        )
        await client.edit_message(ROOM, f"m{start + 3}", " ".join(dice.choices(WORDS, k=6)))
        await client.recall_message(ROOM, f"m{start + 7}")
        await client.erase(ROOM, message_ids=[f"m{start + 11}"])
    await client.upsert_members(ROOM, Member("u1", "Annie"))
    assert (await client.wait_for_index(ROOM, wait_s=20)).ready


async def ranked(client: AsyncClient) -> Sequence[object]:
    """What is chosen and how each candidate was scored."""
    answers: list[object] = []
    for profile in PROFILES:
        for question in QUESTIONS:
            built = await client.build_context(
                ROOM, question, asker="u1", asked_at=NOON, profile=profile, explain=True
            )
            assert not built.degradations
            scored = [
                (one.message_id, one.linear, list(one.shares), one.fate)
                for one in built.explanation.candidates
            ]
            answers.append((profile, question, built.payload, scored))
    return answers


@pytest.mark.row("P-22")
@pytest.mark.parametrize("seed", [1, 2])
async def test_both_stores_rank_alike(tmp_path: Path, seed: int) -> None:
    """As they came, and loaded again: from segments, and from the rows that an edit took out of one."""
    told: dict[str, list[object]] = {}
    for database in (str(tmp_path / "history.db"), await server().emptied()):
        answers = told[database] = []
        for start in range(3):
            async with served(database, embedder=FakeEmbedder()) as (client, _):
                if not start:
                    await live(client, seed)
                if start == 2:
                    await client.edit_message(ROOM, "m100", "tuna for the cat")
                    assert (await client.wait_for_index(ROOM, wait_s=20)).ready
                answers.append(await ranked(client))
        assert answers[1] == answers[0]
        assert answers[2] != answers[1]
        assert any(scored for _, _, _, scored in answers[0])
    of_sqlite, of_postgres = told.values()
    assert of_postgres == of_sqlite
