"""The semantic source through the door: appended, embedded behind the answer, found by meaning."""

import json
import math

import pytest
from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from backscroll import Author, BackscrollError, Embedding, Message
from backscroll.v1 import context_pb2
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from tests.kit.fake_embedder import FakeEmbedder
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
    fields = {"profile": "retrieval", "asked_at": NOON, **fields}
    return await client.build_context("room", question, asker="u1", **fields)


@pytest.mark.row("S2-16")
@pytest.mark.parametrize("behind", ["", "/embeddings?api-version=1"])
async def test_vectors_may_come_from_any_server_of_openais_kind(
    httpserver: HTTPServer, behind: str
):
    """S2-16: the same through a server that speaks /embeddings; the bundled one is in test_local.py."""

    def embed(request: Request) -> Response:
        body = json.loads(request.data)
        rows = [
            {"index": n, "embedding": fake().vector(text).tolist()}
            for n, text in enumerate(body["input"])
        ]
        assert body["model"] == "small"
        return Response(json.dumps({"data": rows}), content_type="application/json")

    httpserver.expect_request("/v1/embeddings", method="POST").respond_with_handler(embed)
    url = httpserver.url_for("/v1") + behind
    options = {"embedder_base_url": url, "embedder_model": "small", "embedder_api_key": "sk-x"}
    async with served(embedder="openai", **options) as (client, _):
        await client.append("room", talk())
        assert (await client.wait_for_index("room", wait_s=30)).ready
        context = await ask(client)
    assert semantic(context)[0] == "f0"
    assert degraded(context) == []


@pytest.mark.row("S1-05", "S2-05", "S2-16", "S2-22")
async def test_a_message_is_found_by_a_paraphrase():
    """S2-22, S2-05, S1-05: ingest, then found by other words; five at most; reported as looked at exhaustively."""
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


@pytest.mark.parametrize("late_ms", [0, 3_600_000])
@pytest.mark.parametrize("token_budget", [4_096, 420])
async def test_who_asks_how_it_was_picked_is_shown_the_same(late_ms, token_budget):
    """Law 7: a plain question is picked by kernels (decision 0012), an explained one step by step.

    What was found by meaning and by words is among it, and with the smaller budget something must be cut.
    """
    async with served(embedder=fake()) as (client, _):
        await client.append("room", talk(120))
        assert (await client.wait_for_index("room", wait_s=10)).ready
        asked = {"profile": "balanced", "asked_at": NOON + late_ms, "token_budget": token_budget}
        for question in (
            "feline eats",
            "when did my umbrella go missing?",
            "who has a kitten",
            "猫",
        ):
            plain = (await ask(client, question, **asked)).raw
            explained = (await ask(client, question, **asked, explain=True)).raw
            assert plain.items == explained.items
            assert plain.payloads == explained.payloads
            assert plain.tokens == explained.tokens
            assert plain.diagnostics.candidate_count == explained.diagnostics.candidate_count
        sources = [item.sources for item in (await ask(client, "feline eats", **asked)).raw.items]
        assert any(context_pb2.SOURCE_SEMANTIC in some for some in sources) == (late_ms > 0)


async def test_edit_recall_and_erasure_are_followed():
    """An edit is found by its new words only; what was taken back is not found at all."""
    async with served(embedder=fake()) as (client, _):
        await client.append("room", talk())
        await client.wait_for_index("room", wait_s=10)
        await client.edit_message("room", "f1", text="another kitten wants dinner")
        await client.wait_for_index("room", wait_s=10)
        assert {"f0", "f1"} <= set(semantic(await ask(client)))
        await client.recall_message("room", "f0")
        await client.erase("room", message_ids=["f1"])
        found = semantic(await ask(client))
        assert not {"f0", "f1"} & set(found)
        assert found


@pytest.mark.row("P-26")
async def test_the_backlog_is_counted_and_waited_for():
    """P-26: `unembedded_count`; WaitForIndex answers in time whether or not it is done; appends wait for nothing."""
    embedder = fake()
    embedder.broken = failed(ModelFault.CONNECTION)
    async with served(embedder=embedder) as (client, _):
        await client.append("room", [*talk(10), Message("blank", Author("u1"), " ", NOON)])
        assert (await client.get_channel("room")).unembedded_count == 14
        waited = await client.wait_for_index("room", wait_s=0.05)
        assert (waited.ready, waited.unembedded_count) == (False, 14)
        context = await ask(client)
        assert degraded(context) == [("semantic", "EMBEDDER_FAILED")]
        assert len(context.raw.items) == 10
        embedder.broken = None
        assert (await client.wait_for_index("room", wait_s=20)).ready
        assert (await client.get_channel("room")).unembedded_count == 0


@pytest.mark.row("S2-15")
async def test_without_an_embedder_everything_else_works():
    """S2-15: no backlog, nothing to wait for, the source is named."""
    async with served() as (client, _):
        await client.append("room", talk(10))
        assert (await client.wait_for_index("room", wait_s=5)).ready
        assert (await client.get_channel("room")).unembedded_count == 0
        context = await ask(client)
        assert degraded(context) == [("semantic", "NOT_CONFIGURED")]
        assert len(context.raw.items) == 10
        assert not degraded(await client.build_context("room", "cat?", asker="u1", asked_at=NOON))


async def raw_answer(client, question: str, **fields) -> bytes:
    raw = context_pb2.BuildContextResponse()
    raw.CopyFrom((await ask(client, question, explain=True, **fields)).raw)
    for field in ("diagnostics", "context_id", "events"):
        raw.ClearField(field)
    return raw.SerializeToString(deterministic=True)


@pytest.mark.parametrize(
    "index",
    [
        "auto",
        "exact",
        pytest.param(
            "hnsw", marks=pytest.mark.sqlite("PostgreSQL keeps no graph: it is made anew")
        ),
    ],
)
async def test_the_same_bytes_after_a_restart(tmp_path, index):
    """Law 2, and `index = hnsw` forced: appended bit by bit, edited, recalled; then loaded, the graph from its file."""
    asked = [
        (question, profile)
        for question in ("feline eats", "猫", "is the train late", "who has blah7")
        for profile in ("retrieval", "hybrid", "hybrid_linear")
    ]
    database = tmp_path / "history.db"
    async with served(database, embedder=fake(), vector_index=index) as (client, app):
        lines = talk(1_200)  # so many that the graph answers whatever it lacks when the talk ends
        for start in range(0, len(lines), 151):
            await client.append("room", lines[start : start + 151])
            await ask(client)
        await client.edit_message("room", "m3", text="a feline at dinner")
        await client.recall_message("room", "f3")
        assert (await client.wait_for_index("room", wait_s=20)).ready
        await app.embedding.vectors.settled()
        before = [
            await raw_answer(client, question, profile=profile) for question, profile in asked
        ]
        exhaustive = (await ask(client)).raw.diagnostics.exhaustive_search
    async with served(database, embedder=fake(), vector_index=index) as (client, app):
        after = [await raw_answer(client, question, profile=profile) for question, profile in asked]
        assert after == before
        assert (await client.wait_for_index("room", wait_s=20)).ready
        assert app.embedding.embedder.text_count == 0
        context = await ask(client)
    assert {"f0", "m3"} <= set(semantic(context))
    assert context.raw.diagnostics.exhaustive_search is (index != "hnsw")
    assert exhaustive or index == "hnsw"
    assert len(list(tmp_path.glob("*-indexes/*.hnsw"))) == (index == "hnsw")


@pytest.mark.row("S2-11", "S2-22")
async def test_vectors_of_the_caller_are_searched_too():
    """S2-11, S2-22: sent with the message and with the question: nothing is embedded."""
    embedder = fake()
    async with served(embedder=embedder) as (client, _):
        given = [
            Message(
                m.id,
                m.author,
                m.text,
                m.sent_at,
                embeddings=[Embedding("fake", embedder.vector(m.text).tolist())],
            )
            for m in talk(20)
        ]
        await client.append("room", given)
        assert (await client.wait_for_index("room", wait_s=10)).ready
        vector = Embedding("fake", embedder.vector("feline eats").tolist())
        assert "f0" in semantic(await ask(client, "???", query_embedding=vector))
        assert embedder.calls == []


@pytest.mark.parametrize(
    "values", [[0.0] * 64, [math.nan] * 64, [math.inf] * 64, [1.0] * 63, [1.0] * 65]
)
async def test_vectors_that_cannot_be_used_are_refused_at_the_door(values):
    """The issue's line: NaN, infinite, zero, of another size: with a message, and with a question."""
    async with served(embedder=fake()) as (client, _):
        await client.append("room", talk(3))
        bad = Embedding("fake", values)
        line = Message("bad", Author("u1"), "text", NOON, embeddings=[bad])
        (problem,) = (await client.append("room", [line])).problems
        assert "embeddings[0]" in str(problem)
        with pytest.raises(BackscrollError) as caught:
            await ask(client, query_embedding=bad)
        assert "query_embedding.values" in str(vars(caught.value))


async def test_many_lines_are_searched_in_the_same_way_after_a_restart(tmp_path):
    """Law 2: from 4,000 lines on signs find what is similar; an early line recalled and one edited, then a restart:
    the same items, scores and bytes, and the answer says that not every line was looked at."""
    database, count = tmp_path / "history.db", 4_300
    lines = [
        Message(
            f"m{n}",
            Author(f"u{n % 7}", f"U{n % 7}"),
            " ".join(f"word{n * step % 300}" for step in (1, 7, 11, 13, 29)),
            NOON - 9_000_000 - (count - n) * 1_000,
        )
        for n in range(count)
    ]

    async def answers(client) -> list:
        out = []
        for question in ("where was word5, word77?", "what of word299 and word4?"):
            context = await client.build_context(
                "room", question, asker="u1", profile="balanced", asked_at=NOON, explain=True
            )
            items = [(i.message.id, i.rank, i.score) for i in context.raw.items]
            out.append((items, context.raw.payloads[0].body, context.raw.explanation))
            assert not context.raw.diagnostics.exhaustive_search
        return out

    async with served(database, embedder=fake(), durability="normal") as (client, _):
        for start in range(0, count, 1_000):
            await client.append("room", lines[start : start + 1_000])
        assert (await client.wait_for_index("room", wait_s=60)).ready
        await answers(client)
        await client.recall_message("room", "m7")
        await client.edit_message("room", "m9", "word5 word77 word8")
        assert (await client.wait_for_index("room", wait_s=60)).ready
        before = await answers(client)
    async with served(database, embedder=fake(), durability="normal") as (client, _):
        assert await answers(client) == before


@pytest.mark.row("S2-15")
@pytest.mark.parametrize("profile", ["balanced", "retrieval", "hybrid"])
async def test_an_embedder_that_loads_is_no_loss_where_nothing_has_a_vector_yet(profile):
    """The server's first second: with it the build would be the same. With vectors there it is a loss, and named."""
    embedder = fake()
    embedder.broken = failed(ModelFault.LOADING)
    question = "what did she say about the feline long ago?"
    async with served(embedder=embedder) as (client, _):
        for number, text in enumerate(("hi", "👍", "好的")):
            await client.append("room", [Message(f"n{number}", Author("u1"), text, NOON - 9_000)])
            context = await ask(client, question, profile=profile)
            assert (context.raw.rung, degraded(context)) == (1, [])
        await client.append("room", talk(10))
        embedder.broken = None
        assert (await client.wait_for_index("room", wait_s=20)).ready
        embedder.broken = failed(ModelFault.LOADING)
        context = await ask(client, question, profile=profile)
        assert ("semantic", "EMBEDDER_LOADING") in degraded(context)
