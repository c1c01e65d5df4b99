"""Sources over the wire: each alone gives its lines, and every candidate tells who proposed it."""

import pytest

from backscroll import Author, Message
from backscroll.v1 import context_pb2 as pb

NOON = 1_795_176_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
ANN, BEN, CAT = Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "小黑")
BOT = Author("bot", "Helper", "bot")
PROFILES = (
    "balanced", "classic", "chain_recent", "retrieval", "naive", "memory", "hybrid", "hybrid_linear", "room", "steady",
)  # fmt: skip
CHAT = [
    Message("own-old", ANN, "the cellar key hangs behind the clock", NOON - 40 * HOUR),
    Message("to-ann", BEN, "did you water the ferns?", NOON - 30 * HOUR, mentions=["u1"]),
    Message("by-cat", CAT, "猫在屋顶上睡觉", NOON - 29 * HOUR),
    Message("bot-said", BOT, "It is raining.", NOON - 28 * HOUR, role="assistant"),
    *[Message(f"noise{n}", BEN, f"line {n} of the long talk", NOON - 10 * HOUR + n * MINUTE) for n in range(30)],
    Message("own-new", ANN, "good morning", NOON - 2 * MINUTE),
]  # fmt: skip


async def ask(client, sources, *, question="what about the stairs?", room="room", **fields):
    fields = {"asker": ANN, "asked_at": NOON, "self_ids": ["bot"], **fields}
    overrides = {"sources": sources, "relevance_threshold": 0.0, "time_window_hours": 100}
    return await client.build_context(room, question, overrides=overrides, explain=True, **fields)


def candidates(context) -> dict[str, list[str]]:
    """The sources of each candidate by its id."""
    return {
        one.message_id: [pb.Source.Name(source) for source in one.sources]
        for one in context.explanation.candidates
    }


@pytest.mark.row("P-33", "N-03")
@pytest.mark.parametrize("profile", PROFILES)
async def test_asker_alone_gives_what_the_asker_wrote(client, profile):
    """P-33: in every profile that names it, however old the lines are."""
    await client.append("room", CHAT)
    context = await ask(client, ["asker"], profile=profile)
    assert candidates(context) == {"own-old": ["SOURCE_ASKER"], "own-new": ["SOURCE_ASKER"]}
    assert [item.message.id for item in context.items] == ["own-old", "own-new"]
    nobody = await ask(client, ["asker"], profile=profile, asker=Author("stranger"))
    assert not nobody.items
    assert not nobody.degradations


@pytest.mark.row("P-33", "N-03")
@pytest.mark.parametrize("profile", PROFILES)
async def test_mention_alone_gives_who_is_named_and_who_names_the_asker(client, profile):
    """P-33: by somebody the question names, or naming the asker; a call of the bot names nobody else."""
    await client.append("room", CHAT)
    plain = await ask(client, ["mention"], profile=profile)
    assert candidates(plain) == {"to-ann": ["SOURCE_MENTION"]}
    named = await ask(client, ["mention"], question="@小黑你好，猫呢？", profile=profile)
    assert candidates(named) == {"to-ann": ["SOURCE_MENTION"], "by-cat": ["SOURCE_MENTION"]}
    called = await ask(client, ["mention"], question="@Helper what now?", profile=profile)
    assert candidates(called) == {"to-ann": ["SOURCE_MENTION"]}


@pytest.mark.row("N-03")
async def test_each_candidate_tells_all_its_sources(client):
    """N-03: united before scoring; one that several proposed names all of them, in every profile."""
    await client.append("room", CHAT)
    for profile in PROFILES:
        context = await ask(client, ["recent", "asker", "mention"], profile=profile)
        found = candidates(context)
        assert found["own-new"] == ["SOURCE_RECENT", "SOURCE_ASKER"]
        assert found["own-old"][-1:] == ["SOURCE_ASKER"]
        assert found["to-ann"][-1:] == ["SOURCE_MENTION"]
        assert all(len(set(sources)) == len(sources) for sources in found.values())


@pytest.mark.row("N-03")
@pytest.mark.parametrize("profile", ["balanced", "hybrid", "hybrid_linear"])
async def test_a_hit_by_words_alone_wins_a_slot(client, profile):
    """N-03: forty hours old, by nobody concerned, found by its words."""
    long = [Message(f"more{n}", CAT, f"and again {n}", NOON - HOUR + n) for n in range(120)]
    await client.append("room", CHAT + long)
    context = await client.build_context(
        "room",
        "where did you say the cellar key hangs, behind which clock?",
        asker=BEN,
        asked_at=NOON + 5 * DAY,
        profile=profile,
    )
    (hit,) = [item for item in context.items if item.message.id == "own-old"]
    assert hit.sources == [pb.SOURCE_LEXICAL]
    assert hit.rank <= 10


async def test_what_nobody_wrote_is_no_candidate(client):
    """A recalled line of the asker's takes no place, one of later than the question is not seen."""
    await client.append("room", [*CHAT, Message("later", ANN, "afterwards", NOON + HOUR)])
    await client.recall_message("room", "own-old")
    assert list(candidates(await ask(client, ["asker"]))) == ["own-new"]
