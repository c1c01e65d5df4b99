"""Builds whose semantic source looks beyond the channel: by permission, never past the tenant or what the asker saw."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from backscroll import AsyncClient, Author, Member, Message
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.concurrency.offload import INLINE_US
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.context import rendered_lines
from backscroll_sidecar.server import start_server
from backscroll_sidecar.wiring import open_app
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

NOON = 1_795_176_000_000
HOUR = 3_600_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
QUESTION = "where is the feline?"
PROFILES = ("balanced", "hybrid", "hybrid_linear", "retrieval")


async def fill(client: AsyncClient, name: str = "") -> None:
    """Ann is in `here` and `hers`, not in `theirs`; each has one line about the cat."""
    for room, author in (("here", ANN), ("hers", ANN), ("theirs", BEN)):
        texts = [
            f"the cat of {name or 'us'} sleeps in {room}",
            "buy bread and milk",
            "rain again today",
        ]
        lines = [
            Message(f"{room}{n}", author, text, NOON - 2 * HOUR + n) for n, text in enumerate(texts)
        ]
        await client.append(room, lines)
        assert (await client.wait_for_index(room, wait_s=10)).ready


@asynccontextmanager
async def house(permits: str | None = "tenant") -> AsyncIterator[AsyncClient]:
    scopes = {} if permits is None else {"default": permits}
    embedder = FakeEmbedder(synonyms={"feline": "cat"})
    async with served(embedder=embedder, search_scopes=scopes) as (client, _):
        await fill(client)
        yield client


async def ask(client: AsyncClient, scope: str | None, **fields: Any):
    fields = {"asker": ANN, "asked_at": NOON, "explain": True, **fields}
    return await client.build_context("here", QUESTION, semantic_scope=scope, **fields)


def elsewhere(context) -> dict[str, str]:
    """The channels of the lines of other channels, by id."""
    return {item.message.id: item.channel for item in context.items if item.channel}


@pytest.mark.row("S2-25")
@pytest.mark.parametrize("profile", PROFILES)
async def test_one_question_three_scopes_three_results(profile):
    """S2-25: the channel, the asker's channels, the tenant; lines from elsewhere are references and say whence."""
    async with house() as client:
        found = {}
        for scope in ("channel", "user", "tenant"):
            context = await ask(client, scope, profile=profile)
            assert not context.degradations
            found[scope] = elsewhere(context)
            for item in context.items:
                if item.channel:
                    assert item.category == pb.CATEGORY_SEMANTIC
                    assert list(item.sources) == [pb.SOURCE_SEMANTIC]
                    assert item.message.channel == item.channel
                    assert item.message.parts[0].text.text in context.text
            assert context.tokens.total <= context.tokens.budget
            assert [
                item.rank for item in sorted(context.items, key=lambda item: item.rank)
            ] == list(range(1, len(context.items) + 1))
            times = [item.message.sent_at_ms for item in context.items]
            assert times == sorted(times)
        assert found["channel"] == {}
        assert found["user"]["hers0"] == "hers"
        assert "theirs" not in found["user"].values()
        assert found["tenant"].items() > {"hers0": "hers", "theirs0": "theirs"}.items()
        assert elsewhere(await ask(client, None, profile=profile)) == {}


@pytest.mark.row("S2-25")
@pytest.mark.parametrize(
    ("permits", "scope"), [(None, "user"), (None, "tenant"), ("user", "tenant")]
)
async def test_what_is_not_permitted_is_a_named_degradation(permits, scope):
    """S2-25: never silence; the channel itself is looked through as ever."""
    async with house(permits) as client:
        context = await ask(client, scope)
        (lost,) = context.degradations
        assert (lost.stage, lost.source, lost.reason) == ("gather", "semantic", "NOT_ALLOWED")
        assert not elsewhere(context)
        assert context.items


@pytest.mark.row("S2-25", "P-34")
async def test_never_what_the_asker_could_not_see():
    """S2-25: in the asker's channels the asker's stays count; in the tenant they do where the request says so."""
    async with house() as client:
        await client.upsert_members("hers", Member("u1", "Ann", joined_at=NOON - HOUR))
        assert elsewhere(await ask(client, "user")) == {}
        assert set(elsewhere(await ask(client, "tenant")).values()) == {"hers", "theirs"}
        strict = await ask(client, "tenant", visible_since_membership=True)
        assert elsewhere(strict) == {}
        await client.upsert_members("theirs", Member("u1", "Ann", joined_at=NOON - 3 * HOUR))
        assert set(elsewhere(await ask(client, "user")).values()) == {"theirs"}
        before = await ask(client, "tenant", asked_at=NOON - 3 * HOUR)
        assert not before.items


@pytest.mark.row("S2-25")
async def test_every_candidate_from_elsewhere_is_accounted_for():
    """S2-25, N-04: scored by meaning, its shares sum to the total, a smaller maximum is a prefix."""
    async with house() as client:
        context = await ask(client, "tenant")
        scored = {one.message_id: one for one in context.explanation.candidates}
        line = scored["theirs0"]
        assert (line.scored_by, line.decided_by, line.fate) == (
            "meaning",
            "meaning",
            pb.FATE_SELECTED,
        )
        assert sum(line.shares) == pytest.approx(line.linear)
        assert context.explanation.factors[-1] == "meaning"
        ranks = {item.message.id: item.rank for item in context.items}
        for most in range(1, len(ranks) + 1):
            fewer = await ask(client, "tenant", overrides={"max_context": most})
            assert {i.message.id for i in fewer.items} == {
                id for id, rank in ranks.items() if rank <= most
            }
            assert {one.fate for one in fewer.explanation.candidates} <= {
                pb.FATE_SELECTED,
                pb.FATE_LIMIT,
            }


@pytest.mark.row("S2-25")
async def test_a_scope_that_cannot_be_looked_at_says_why():
    """S2-25: no semantic source in the profile, none in the server, nobody who asks."""
    async with house() as client:
        reasons = {
            (one.source, one.reason)
            for one in (await ask(client, "tenant", profile="room")).degradations
        }
        assert reasons == {("semantic", "NOT_IN_PROFILE")}
        (lost,) = (await ask(client, "user", asker=None)).degradations
        assert lost.reason == "NO_ASKER"
    async with served(search_scopes={"default": "tenant"}) as (client, _):
        await client.append("here", Message("m1", ANN, "hello there", NOON - 1))
        context = await ask(client, "tenant", profile="retrieval")
        assert [(one.source, one.reason) for one in context.degradations] == [
            ("semantic", "NOT_CONFIGURED")
        ]


@pytest.mark.row("S2-25", "S2-11")
async def test_a_wider_scope_embeds_the_question_once():
    """S2-11: whatever the scope, one question is embedded once."""
    embedder = FakeEmbedder(synonyms={"feline": "cat"})
    async with served(embedder=embedder, search_scopes={"default": "tenant"}) as (client, _):
        await fill(client)
        before = embedder.query_count
        await ask(client, "tenant", profile="hybrid")
        assert embedder.query_count == before + 1


@pytest.mark.row("S2-25")
async def test_the_tenant_is_never_crossed():
    """S2-25, law 6: two tenants with the same channels."""
    settings = Settings(
        database=":memory:", embedder="none", search_scopes={"a": "tenant", "b": "tenant"}
    )
    tokens = {"token-a": "a", "token-b": "b"}
    async with open_app(settings, embedder=FakeEmbedder(synonyms={"feline": "cat"})) as app:
        server = await start_server(app, listen=["127.0.0.1:0"], tokens=tokens)
        address = server.addresses[0]
        async with (
            AsyncClient(address, token="token-a") as a,
            AsyncClient(address, token="token-b") as b,
        ):
            await fill(a, "a")
            await fill(b, "b")
            for client, own, other in ((a, "cat of a", "cat of b"), (b, "cat of b", "cat of a")):
                context = await ask(client, "tenant")
                assert own in context.text
                assert other not in context.text
        await server.stop()


@pytest.mark.row("S2-25")
async def test_a_long_line_of_elsewhere_leaves_the_loop(monkeypatch):
    """What rendering it takes is predicted from its text, like that of a line said here."""
    costs_us = []

    async def run(cost_us, work):
        costs_us.append(cost_us)
        return work()

    monkeypatch.setattr(rendered_lines, "run", run)
    async with house() as client:
        text = "the cat sleeps " * 500
        await client.append("theirs", [Message("long", BEN, text, NOON - HOUR)])
        assert (await client.wait_for_index("theirs", wait_s=10)).ready
        for _ in range(2):  # the second time what was said here is there already
            assert "long" in elsewhere(await ask(client, "tenant", token_budget=20_000))
    assert costs_us[-1] > INLINE_US
