"""A question without a channel, without an asker, without both: what can be looked through is, the rest is named."""

import pytest
import pytest_asyncio

from backscroll import Author, Message
from backscroll.v1 import context_pb2
from backscroll_sidecar.context.profiles import PROFILES
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

NOON = 1_795_176_000_000
DAY = 86_400_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
MEANING = ["retrieval", "hybrid", "hybrid_linear"]
SEMANTIC = context_pb2.SOURCE_SEMANTIC


async def filled(client):
    """Ann speaks of a kitten in one room, of other things in three; the same ids everywhere; Ben has a cat, too."""
    for room in ("one", "two", "three"):
        lines = [
            Message(f"m{n}", ANN, f"{room} talks about subject {n}", NOON - 9 * DAY + n)
            for n in range(30)
        ]
        await client.append(room, [*lines, Message("b", BEN, f"my cat of {room}", NOON - DAY)])
    await client.append("two", [Message("k", ANN, "the kitten sleeps", NOON - 20 * DAY)])
    for room in ("one", "two", "three"):
        assert (await client.wait_for_index(room, wait_s=10)).ready


def embedder() -> FakeEmbedder:
    return FakeEmbedder(synonyms={"feline": "cat", "kitten": "cat"})


@pytest.mark.row("S2-03")
@pytest.mark.parametrize("profile", MEANING)
async def test_without_a_channel_the_askers_own_messages_are_looked_through(profile):
    """In whatever channel they stand, and of nobody else."""
    async with served(embedder=embedder()) as (client, _):
        await filled(client)
        built = await client.build_context(
            "", "where does the feline sleep?", asker="u1", profile=profile
        )
        (found,) = [i for i in built.items if "kitten" in i.message.parts[0].text.text]
        assert SEMANTIC in found.sources
        assert found.message.id == "k"
        assert not [i for i in built.items if i.message.author.id != "u1"]
        assert built.raw.rung == context_pb2.RUNG_RANKED
        assert not built.degradations


@pytest.mark.row("S2-03")
async def test_so_does_the_default_profile():
    """Its memory is asked where the question is about long ago."""
    async with served(embedder=embedder()) as (client, _):
        await filled(client)
        for explain in (False, True):
            built = await client.build_context(
                "", "where did the feline sleep that day?", asker="u1", explain=explain
            )
            assert "kitten" in " ".join(i.message.parts[0].text.text for i in built.items)
            assert built.raw.rung == context_pb2.RUNG_RANKED
            assert not built.degradations


@pytest.mark.row("S2-03")
@pytest.mark.parametrize("profile", MEANING)
async def test_without_an_asker_the_channel_is_looked_through(profile):
    async with served(embedder=embedder()) as (client, _):
        await filled(client)
        built = await client.build_context("two", "where does the feline sleep?", profile=profile)
        (found,) = [i for i in built.items if i.message.id == "k"]
        assert SEMANTIC in found.sources
        assert not built.degradations


@pytest.mark.row("S2-03")
@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("has_embedder", [True, False])
async def test_without_both_there_is_nothing_and_it_is_said(profile, has_embedder):
    async with served(embedder=embedder() if has_embedder else None) as (client, _):
        await filled(client)
        for explain in (False, True):
            built = await client.build_context(
                "", "where does the feline sleep?", profile=profile, explain=explain
            )
            assert not built.items
            lost = {(d.stage, d.source, d.reason) for d in built.degradations}
            not_there = {("gather", "semantic", "NOT_CONFIGURED")}
            assert lost - not_there == {("question", "", "NO_ASKER")}
            assert not has_embedder or not lost & not_there


@pytest.mark.row("S2-03")
@pytest.mark.parametrize("channel", ["", "two"])
@pytest.mark.parametrize("profile", MEANING)
async def test_a_source_that_is_not_there_is_named(channel, profile):
    async with served() as (client, _):
        built = await client.build_context(channel, "where?", asker="u1", profile=profile)
        assert [(d.source, d.reason) for d in built.degradations] == [
            ("semantic", "NOT_CONFIGURED")
        ]


@pytest.mark.parametrize("profile", sorted(PROFILES))
async def test_the_same_id_in_several_channels_is_several_messages(profile):
    """Each with its own text and channel."""
    async with served(embedder=embedder()) as (client, _):
        await filled(client)
        built = await client.build_context(
            "", "which subject?", asker="u1", profile=profile, asked_at=NOON - 9 * DAY + 10_000
        )
        texts = [i.message.parts[0].text.text for i in built.items]
        assert len(texts) == len(set(texts)) > 0
        assert built.raw.rung == context_pb2.RUNG_RANKED


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["here", "elsewhere"])
async def quiet_room(request):
    """A server without an embedder; the kitten was mentioned before a hundred other lines."""
    async with served() as (client, _):
        lines = [
            Message(f"m{n}", ANN, f"about subject {n}", NOON - 9 * DAY + n) for n in range(120)
        ]
        kitten = Message("k", ANN, "the kitten sleeps", NOON - 20 * DAY)
        await client.append("two", [kitten, *lines])
        yield client, "two" if request.param == "here" else ""


NAMED = {
    "alone": (["semantic"], set()),
    "with preferences": (["semantic", "preferences"], set()),
    "with the newest": (["recent", "semantic"], {context_pb2.SOURCE_RECENT}),
}


@pytest.mark.row("S2-03", "N-03")
@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("question", ["where did the kitten sleep that day?", "ok and the kitten?"])
@pytest.mark.parametrize(("sources", "others"), NAMED.values(), ids=NAMED)
@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.asyncio(loop_scope="module")
async def test_who_asks_for_meaning_is_not_given_words(
    profile, sources, others, question, explain, quiet_room
):
    """Where there is no embedder it is said, in every profile, and no other source stands in for it."""
    client, channel = quiet_room
    built = await client.build_context(
        channel, question, asker="u1", self_ids=["bot"], profile=profile, explain=explain,
        asked_at=NOON - 9 * DAY + 1_000, overrides={"sources": sources},
    )  # fmt: skip
    assert [(d.source, d.reason) for d in built.degradations] == [("semantic", "NOT_CONFIGURED")]
    assert {source for item in built.items for source in item.sources} <= others
    assert bool(built.items) == bool(others)


@pytest.mark.row("S2-03", "N-03")
@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("question", ["where did the feline sleep that day?", "the feline?"])
async def test_one_source_of_the_history_alone_gives_its_own_lines(question, explain):
    """Those that it proposed and no others, whatever the gate makes of the question."""
    async with served(embedder=embedder()) as (client, _):
        await filled(client)
        for sources, source, ids in (
            (["semantic"], SEMANTIC, {"k"}),
            (["lexical"], context_pb2.SOURCE_LEXICAL, set()),
        ):
            built = await client.build_context(
                "two", question, asker="u2", self_ids=["bot"], explain=explain,
                asked_at=NOON - DAY + 5, overrides={"sources": sources},
            )  # fmt: skip
            assert ids <= {item.message.id for item in built.items}
            assert {one for item in built.items for one in item.sources} <= {source}
            assert not built.degradations


@pytest.mark.row("S2-03")
@pytest.mark.asyncio(loop_scope="module")
async def test_who_names_no_source_is_told_nothing_of_an_embedder_that_is_optional(quiet_room):
    client, channel = quiet_room
    built = await client.build_context(
        channel, "where did the kitten sleep that day?", asker="u1", asked_at=NOON
    )
    assert "k" in {item.message.id for item in built.items}
    assert not built.degradations
