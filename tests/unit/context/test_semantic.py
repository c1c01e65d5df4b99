"""The strategy `semantic` inside a build: what is embedded, when, and what a failure costs."""

from __future__ import annotations

import numpy as np
import pytest

from backscroll_sidecar.domain import Embedding
from backscroll_sidecar.errors import InvalidRequest, StoreUnavailable
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import Comparison, ModelFault, Nearest, Similarities
from backscroll_sidecar.strategies import Semantic
from tests.kit.chats import KEY, MINUTE_MS, say
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.rooms import Room, ids

LINES = [say(f"m{n:02}", f"u{n % 3 + 1}", f"line {n}", (40 - n) * MINUTE_MS) for n in range(40)]


class Shelf:
    """A `VectorSearch` that finds the oldest rows, and keeps what it was asked."""

    def __init__(self, *, exhaustive: bool = True) -> None:
        self.asked: list[tuple[list[int], np.ndarray, int]] = []
        self.exhaustive = exhaustive
        self.error: Exception | None = None

    async def nearest(self, key, seqs, query, limit) -> Nearest:
        assert key == KEY
        self.asked.append((seqs.tolist(), query, limit))
        if self.error:
            raise self.error
        count = min(limit, len(seqs))
        return Nearest(
            np.arange(count, dtype=np.int32), np.ones(count, np.float32), self.exhaustive
        )

    async def compare(self, key, seqs, query) -> Comparison:
        self.asked.append((seqs.tolist(), query, 0))
        values = np.linspace(0, 1, len(seqs), dtype=np.float32)
        return Comparison(1.0, lambda: Similarities(values, len(seqs), self.exhaustive))


class Kit:
    def __init__(self, lines=LINES, **shelf) -> None:
        self.embedder, self.shelf = FakeEmbedder(), Shelf(**shelf)
        self.semantic = Semantic(self.embedder, self.shelf)
        dims = self.embedder.dims
        self.room = Room(lines, own=[self.semantic], dims_of=lambda id: dims if id == "fake" else 0)

    async def build(self, question: str = "what was line 3?", **fields):
        return await self.room.build(question, profile="retrieval", **fields)


def of(built, source: str = "semantic") -> list[str]:
    return [item.message_id for item in built.items if source in item.sources]


def losses(built) -> list[tuple[str, str]]:
    return [(one.source, one.reason) for one in built.degradations]


async def test_five_by_default_and_the_limit_is_passed_through():
    """S2-05: semantic strategy, default 5: the limit that reaches the search is 5."""
    kit = Kit()
    built = await kit.build()
    assert [limit for _, _, limit in kit.shelf.asked] == [5]
    assert of(built) == ["m00", "m01", "m02", "m03", "m04"]
    assert built.diagnostics.exhaustive_search


@pytest.mark.parametrize("question", ["", "   ", "\u3000\n"])
async def test_a_blank_question_is_neither_embedded_nor_searched(question):
    """S2-09: mock counts 0 and 0; the other sources go on."""
    kit = Kit(lines=[*LINES, say("q", "u1", "  ", 1)])
    built = await kit.build(question, trigger_message_id="q")
    assert (kit.embedder.calls, kit.shelf.asked) == ([], [])
    assert len(of(built, "recent")) == 10
    assert not losses(built)


async def test_the_question_is_trimmed_before_it_is_embedded():
    """S2-10: the embedder sees trimmed text."""
    kit = Kit()
    await kit.build("  \n what was it? \u3000")
    assert [call.texts for call in kit.embedder.calls] == [("what was it?",)]
    assert kit.embedder.calls[0].is_query


async def test_one_embedding_a_build_however_often_it_is_used():
    """S2-11: the source and the ranking share one; then vector search with the limit."""
    kit = Kit()
    seen = []

    class Twice:
        name = "twice"

        async def gather(self, query):
            seen.append(await kit.semantic.compare(query))
            seen.append(await kit.semantic.question_vector(query))
            return await kit.semantic.gather(query)

    kit.room = Room(LINES, own=[kit.semantic, Twice()])
    await kit.build(overrides={"sources": ("twice", "semantic", "recent")})
    assert kit.embedder.query_count == 1
    assert [limit for _, _, limit in kit.shelf.asked] == [0, 5, 5]
    assert len(seen[0].make().values) == len(kit.shelf.asked[0][0]) == 40


async def test_no_embedding_where_a_vector_is_given():
    """S2-11: one of the same embedder is used as it is; one of another embedder is none of ours."""
    kit = Kit()
    own = Embedding("fake", tuple(float(n + 1) for n in range(64)))
    built = await kit.build(query_embedding=own)
    assert kit.embedder.calls == []
    assert kit.shelf.asked[0][1].tolist() == list(own.values)
    assert len(of(built)) == 5
    kit = Kit()
    await kit.build(query_embedding=Embedding("another", (1.0, 2.0)))
    assert kit.embedder.query_count == 1


async def test_a_vector_of_another_size_is_refused():
    """The issue's line: vectors of another size are refused at the door."""
    with pytest.raises(InvalidRequest) as caught:
        await Kit().build(query_embedding=Embedding("fake", (1.0, 2.0)))
    assert caught.value.field == "query_embedding.values"


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (failed(ModelFault.CONNECTION), "EMBEDDER_FAILED"),
        (failed(ModelFault.LOADING), "EMBEDDER_LOADING"),
        (failed(ModelFault.TIMEOUT), "TIMEOUT"),
    ],
)
async def test_a_failing_embedder_drops_the_semantic_part_only(error, reason):
    """S2-15: recents and preferences are still there, the loss is named."""
    kit = Kit()
    kit.embedder.errors = [error]
    built = await kit.build(preferences=("likes cats",))
    assert losses(built) == [("semantic", reason)]
    assert len(of(built, "recent")) == 10
    assert "likes cats" in built.text
    assert of(built) == []
    assert not losses(await kit.build())


async def test_an_embedder_that_never_answers_costs_a_share_of_the_time():
    """S2-15, S5-25: cut off, named."""
    kit = Kit()
    kit.embedder.delay_s = 60
    built = await kit.build(time_left_s=0.2)
    assert losses(built) == [("semantic", "TIMEOUT")]
    assert len(of(built, "recent")) == 10


@pytest.mark.injects_fault
async def test_vectors_that_cannot_be_read_cost_the_source_only():
    kit = Kit()
    kit.shelf.error = StoreUnavailable("down")
    built = await kit.build()
    assert losses(built) == [("semantic", "ERROR")]
    assert len(of(built, "recent")) == 10


async def test_an_approximate_search_says_so():
    """Law 2: `exhaustive_search` is false in the diagnostics."""
    assert not (await Kit(exhaustive=False).build()).diagnostics.exhaustive_search


async def test_only_what_may_be_a_candidate_is_searched():
    """The trigger, recalled rows and those after the question are none of it."""
    kit = Kit()
    built = await kit.build("", trigger_message_id="m30")
    (asked, _, _) = kit.shelf.asked[0]
    assert asked == list(range(1, 31))
    assert "m30" not in ids(built)


async def test_another_provider_drops_in():
    """S3-24: the same pipeline on another Provider, which finds by meaning: rows of its own view."""
    kit = Kit()
    inner = kit.room.channels

    class Elsewhere:
        def hot_view(self, key):
            return None

        async def view(self, key):
            return await inner.view(key)

        async def view_of_user(self, tenant, user_id, limit):
            return None

        def empty_view(self, key):
            return inner.empty_view(key)

    other = Room(LINES, own=[Semantic(kit.embedder, kit.shelf)], views=Elsewhere())
    here, there = await kit.build(), await other.build("what was line 3?", profile="retrieval")
    assert of(here) == of(there) == ["m00", "m01", "m02", "m03", "m04"]
    assert here.text == there.text
