"""What is found by its words over the wire, in whatever script they are written."""

import re

import pytest

from backscroll import Author, Message, Overrides
from backscroll.v1 import context_pb2 as pb
from tests.unit.strategies.test_recall import HITS, NOISE

NOON, DAY = 1_795_176_000_000, 86_400_000


@pytest.mark.row("N-06")
@pytest.mark.parametrize(("question", "line"), HITS)
async def test_hit_rate_table(client, question, line):
    """Chinese, Japanese, Korean, English, mixed scripts, full width, one and two characters: the line comes
    first, with nothing set up for it."""
    texts = [*NOISE, line, *NOISE]
    await client.append(
        "room",
        [Message(f"m{n}", "u1", text, NOON - (99 - n) * DAY) for n, text in enumerate(texts)],
    )
    only = Overrides(sources=["lexical"])
    for profile in ("hybrid", "memory"):
        context = await client.build_context(
            "room", question, asker=Author("u2"), asked_at=NOON, profile=profile, overrides=only
        )
        (best,) = [item for item in context.items if item.rank == 1]
        assert best.message.parts[0].text.text == line
        assert pb.SOURCE_LEXICAL in best.sources


@pytest.mark.row("N-06")
@pytest.mark.parametrize("question", ["什么呢", "what is it", "👍", "…"])
async def test_nothing_is_found_by_what_says_nothing(client, question):
    """Particles, signs: nothing rather than everything."""
    texts = ["你们在说什么呢", "the one and only", *NOISE]
    await client.append(
        "room", [Message(f"m{n}", "u1", text, NOON - DAY + n) for n, text in enumerate(texts)]
    )
    context = await client.build_context(
        "room", question, asker="u2", asked_at=NOON, profile="hybrid", overrides=Overrides(sources=["lexical"])
    )  # fmt: skip
    assert not context.items


SCRIPTS = {
    "Chinese": r"[\u4e00-\u9fff]",
    "Japanese": r"[\u3040-\u30ff\uff66-\uff9f]",
    "Korean": r"[\uac00-\ud7a3]",
    "Latin": r"[A-Za-z\uff21-\uff5a]",
}


@pytest.mark.row("N-06")
@pytest.mark.parametrize("explain", [False, True])
async def test_hit_rates_of_the_default_profile(client, explain):
    """With nothing set at all, a month and hundreds of lines later: of each script, and of one or two characters,
    every line is found."""
    found: dict[str, list[bool]] = {}
    for n, (question, line) in enumerate(HITS):
        texts = [line, *NOISE * 40]
        channel = f"room {n}"
        await client.append(
            channel,
            [
                Message(f"m{at}", f"u{at % 3}", text, NOON - 30 * DAY + at * DAY // 10)
                for at, text in enumerate(texts)
            ],
        )
        context = await client.build_context(
            channel, question, asker=Author("u9"), asked_at=NOON, explain=explain
        )
        kinds = [name for name, signs in SCRIPTS.items() if re.search(signs, question)]
        kinds += ["short"] if len(question) <= 2 else []
        for kind in kinds:
            found.setdefault(kind, []).append("m0" in [item.message.id for item in context.items])
    rates = {kind: sum(hits) / len(hits) for kind, hits in found.items()}
    assert rates == dict.fromkeys((*SCRIPTS, "short"), 1.0)
    assert min(map(len, found.values())) >= 3
