"""Design S2 through the door: which strategies run, in which order, with which limits, and what they are asked."""

import pytest

from backscroll import Author, Message, Overrides
from backscroll.v1 import context_pb2
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

NOON = 1_795_176_000_000
MINUTE, DAY = 60_000, 86_400_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Helper", "bot")
FAR = [
    Message("ref1", ANN, "the kitten wants dinner", NOON - 9 * DAY),
    Message("ref2", BOT, "give the kitten\nsome fish", NOON - 9 * DAY + 1, role="assistant"),
]
TALK = [Message(f"m{n:02}", BEN, f"blah{n}", NOON - MINUTE + n) for n in range(30)]
MEANING = ["retrieval", "hybrid", "hybrid_linear"]


def fake() -> FakeEmbedder:
    return FakeEmbedder(synonyms={"feline": "cat", "kitten": "cat", "eats": "dinner"})


class Noted:
    """What is asked of the strategies of a server, in order, and of its vectors."""

    def __init__(self, app) -> None:
        self.queries = []
        self.searches = []
        picker = app.builder._picker
        picker._strategies = {
            name: _Noting(one, self.queries) for name, one in picker._strategies.items()
        }
        vectors = app.embedding.vectors if app.embedding else None
        if vectors:
            nearest = vectors.nearest

            async def noted(key, seqs, vector, limit):
                self.searches.append(limit)
                return await nearest(key, seqs, vector, limit)

            picker._strategies["semantic"].inner._vectors = _Changed(vectors, nearest=noted)

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.queries]


class _Noting:
    def __init__(self, inner, log) -> None:
        self.inner, self._log, self.name = inner, log, inner.name

    def gather(self, query):
        self._log.append((self.name, query))
        return self.inner.gather(query)


class _Changed:
    def __init__(self, inner, **changed) -> None:
        self._inner = inner
        vars(self).update(changed)

    def __getattr__(self, name):
        return getattr(self._inner, name)


async def ask(client, question="feline eats", **fields):
    fields = {"profile": "retrieval", "asked_at": NOON, "asker": ANN, **fields}
    return await client.build_context("room", question, **fields)


async def fill(client, *lines: Message) -> None:
    await client.append("room", [*FAR, *TALK, *lines])
    assert (await client.wait_for_index("room", wait_s=10)).ready


@pytest.mark.row("S2-04", "S2-05", "S2-07", "S2-13")
async def test_recent_then_semantic_then_preferences_with_their_limits():
    """Ten and five by default; a request may ask for others, in another order."""
    async with served(embedder=fake()) as (client, app):
        await fill(client)
        noted = Noted(app)
        context = await ask(client, preferences=["tea"])
        assert noted.names == ["recent", "semantic", "pinned", "preferences"]
        limits = {(one.recent_limit, one.semantic_limit) for _, one in noted.queries}
        assert (limits, noted.searches) == ({(10, 5)}, [5])
        recent, meant = (
            [i.message.id for i in context.items if source in i.sources]
            for source in (context_pb2.SOURCE_RECENT, context_pb2.SOURCE_SEMANTIC)
        )
        assert recent == [f"m{n:02}" for n in range(20, 30)]
        assert len(meant) == 5
        assert {"ref1", "ref2"} <= set(meant)
        assert context.text.startswith("User Preferences: tea\n\nConversation (recent):")
        for order in (
            ["semantic", "recent"],
            ["preferences", "semantic", "recent"],
            ["recent"],
            ["preferences"],
        ):
            noted.queries.clear()
            await ask(client, overrides=Overrides(sources=order))
            assert noted.names == order


@pytest.mark.row("S2-13", "S2-07", "S2-23")
async def test_three_kinds_of_results_are_merged_by_kind():
    """Empty adds nothing, Preferences go to their line in the order of the sources, Messages to their section."""
    own = ("tests.kit.own:Silent", "tests.kit.own:Learnt", "tests.kit.own:Reference")
    async with served(strategies=own) as (client, _):
        await client.append("room", [*FAR, *TALK])
        sources = ["silent", "learnt", "reference", "recent", "preferences"]
        asked = {"profile": "room", "preferences": ["is vegan"], "speaker_style": "role"}
        asked |= {"self_ids": ["bot"], "time_style": "none"}
        context = await ask(client, overrides=Overrides(sources=sources, recent_limit=1), **asked)
        assert context.text == (
            "User Preferences: u1 likes tea\n  is vegan\n\n"
            "Conversation (recent):\nUser: blah29\n\n"
            "Relevant reference (semantic):\nUser: the kitten wants dinner\n"
            "Assistant: give the kitten\n  some fish"
        )
        assert not context.degradations
        alone = await ask(client, overrides=Overrides(sources=["silent"]), **asked)
        assert (list(alone.items), alone.text, list(alone.degradations)) == ([], "", [])


@pytest.mark.row("S2-23")
@pytest.mark.injects_fault
@pytest.mark.parametrize("question", ["feline?", "nonsense?"])
@pytest.mark.parametrize("profile", ["room", "hybrid", "balanced"])
async def test_a_strategy_that_breaks_costs_only_itself(profile, question):
    """Raised or returned: named by its own name, the others go on."""
    own = ("tests.kit.own:Broken", "tests.kit.own:Learnt")
    async with served(strategies=own) as (client, _):
        await client.append("room", TALK)
        sources = Overrides(sources=["broken", "recent", "learnt"])
        context = await ask(client, question, profile=profile, overrides=sources)
        assert [(d.stage, d.source, d.reason) for d in context.degradations] == [
            ("gather", "broken", "ERROR")
        ]
        assert context.raw.rung == context_pb2.RUNG_RANKED
        assert len(context.items) >= 10
        assert "u1 likes tea" in context.text


@pytest.mark.row("S2-09")
@pytest.mark.parametrize("profile", [*MEANING, "balanced"])
@pytest.mark.parametrize("blank", ["", "   ", "\u3000\n"])
async def test_a_blank_question_is_neither_embedded_nor_searched(profile, blank):
    """Semantic is empty, the other sources go on: 0 embeds, 0 searches."""
    embedder = fake()
    async with served(embedder=embedder) as (client, app):
        await fill(client, Message("q", ANN, blank, NOON))
        noted = Noted(app)
        for question in {"", blank}:
            context = await ask(client, question, profile=profile, trigger_message_id="q")
            assert (embedder.query_count, noted.searches) == (0, [])
            assert len(context.items) >= 10
            assert not context.degradations
            assert not [i for i in context.items if context_pb2.SOURCE_SEMANTIC in i.sources]


@pytest.mark.row("S2-10", "S2-11")
@pytest.mark.parametrize("profile", MEANING)
async def test_a_question_is_embedded_once_and_trimmed(profile):
    """Asked or stored: the embedder sees it without the space around it; then one search with the limit."""
    embedder = fake()
    async with served(embedder=embedder) as (client, app):
        await fill(client, Message("q", ANN, "\n feline eats? \u3000", NOON))
        noted = Noted(app)
        for question, trigger in (("  \n feline eats? \u3000", ""), ("", "q")):
            embedder.calls.clear()
            noted.searches.clear()
            context = await ask(client, question, profile=profile, trigger_message_id=trigger)
            assert [(one.texts, one.is_query) for one in embedder.calls] == [
                (("feline eats?",), True)
            ]
            assert len(noted.searches) == 1
            assert "ref1" in [item.message.id for item in context.items]


@pytest.mark.row("S2-11")
async def test_no_embedding_where_the_gate_makes_it_needless():
    """Of the default profile: a question about the last lines costs none, one about long ago one."""
    embedder = fake()
    async with served(embedder=embedder) as (client, _):
        await fill(client)
        for explain in (False, True):
            embedder.calls.clear()
            near = await ask(client, "blah29, really?", profile="balanced", explain=explain)
            assert embedder.query_count == 0
            assert not near.degradations
            far = await ask(client, "what did the feline eat last week?", profile="balanced",
                            asked_at=NOON + DAY, explain=explain)  # fmt: skip
            assert embedder.query_count == 1
            assert "ref1" in [item.message.id for item in far.items]


@pytest.mark.row("S2-15")
@pytest.mark.parametrize("profile", MEANING)
async def test_a_failing_embedder_costs_only_what_is_found_by_meaning(profile):
    """The last lines and the preferences are still there, and the loss is named."""
    embedder = fake()
    async with served(embedder=embedder) as (client, _):
        await fill(client)
        asked = {"profile": profile, "preferences": ["likes tea"]}
        whole = await ask(client, **asked)
        embedder.broken = failed(ModelFault.CONNECTION)
        context = await ask(client, **asked)
        assert [(d.stage, d.source, d.reason) for d in context.degradations] == [
            ("gather", "semantic", "EMBEDDER_FAILED")
        ]
        recent = {i.message.id for i in whole.items if context_pb2.SOURCE_RECENT in i.sources}
        assert len(recent) >= 10
        assert recent <= {item.message.id for item in context.items}
        assert "likes tea" in context.text
        assert context.raw.rung == context_pb2.RUNG_RANKED


@pytest.mark.row("S2-12")
@pytest.mark.parametrize("explain", [False, True])
async def test_what_is_found_by_meaning_is_written_like_every_line(explain):
    """A golden, in both styles, whichever way the answer is put together."""
    async with served(embedder=fake()) as (client, _):
        await fill(client)
        asked = {"overrides": Overrides(recent_limit=1), "self_ids": ["bot"], "time_style": "none"}
        for style, user, ben in (("role", "User", "User"), ("tagged", "Ann <u1>", "Ben <u2>")):
            context = await ask(client, speaker_style=style, explain=explain, **asked)
            meant = context.text.split("\n\n")[1].split("\n")
            assert context.text.startswith(f"Conversation (recent):\n{ben}: blah29\n\n")
            assert meant[0] == "Relevant reference (semantic):"
            assert meant[1:4] == [
                f"{user}: the kitten wants dinner", "Assistant: give the kitten", "  some fish",
            ]  # fmt: skip
            assert len(context.items) == 6
