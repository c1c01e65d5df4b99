"""Whose birthday? A question that speaks of no person at all is taken to be about who asks."""

import json
from pathlib import Path

import pytest

from backscroll import Author, Message

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "data" / "unsaid_asker.jsonl").read_text("utf-8").splitlines()
]  # fmt: skip
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
NOON = 1_795_176_000_000
HOUR, DAY = 3_600_000, 86_400_000
LEAST_SHARE = 0.9


@pytest.mark.parametrize("asker", [ANN, BEN])
async def test_own_lines_come_first(client, asker):
    """Forty questions in two languages without a word for the speaker; two people said the same of themselves."""
    other = BEN if asker is ANN else ANN
    lines = []
    for n, case in enumerate(CASES):
        for at, (author, text) in enumerate(((asker, case["own"]), (other, case["other"]))):
            # whoever speaks second has the newer line: neither order may decide
            shift = at if n % 2 else 1 - at
            lines.append(
                Message(f"{author.id}-{n}", author, text, NOON - 90 * DAY + n * DAY + shift * HOUR)
            )
    lines.sort(key=lambda line: line.sent_at)
    await client.append("room", lines)
    wrong: dict[bool, list[str]] = {True: [], False: []}
    for n, case in enumerate(CASES):
        context = await client.build_context("room", case["question"], asker=asker, asked_at=NOON)
        rank = {item.message.id: item.rank for item in context.items}
        if rank.get(f"{asker.id}-{n}") != 1:
            wrong[case["question"].isascii()].append(case["question"])
    for is_english, missed in wrong.items():
        asked = sum(case["question"].isascii() == is_english for case in CASES)
        assert asked == 20
        assert len(missed) <= (1 - LEAST_SHARE) * asked, missed


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("what did Ben paint, the fence?", "ben"),
        ("what did she paint, the fence?", "ben"),  # of another: the better line wins
        ("what was painted, the fence?", "ann"),
    ],
)
async def test_who_is_spoken_of_goes_before(client, question, first):
    """A name or a word for somebody else says that it is not about the asker."""
    await client.append(
        "room",
        [
            Message(
                "ann", ANN, "painted the fence, and the shed and the gate as well", NOON - 9 * DAY
            ),
            Message("ben", BEN, "painted the fence", NOON - 5 * DAY),
        ],
    )
    context = await client.build_context("room", question, asker=ANN, asked_at=NOON)
    assert min(context.items, key=lambda item: item.rank).message.id == first
