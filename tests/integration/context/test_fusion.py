"""Hybrid profiles through the door: sources ranked, fused, weighed by age, thinned out (P-05, P-06, N-02, N-03)."""

import itertools
import math

import pytest

from backscroll import Author, Message, Overrides
from backscroll.v1 import context_pb2
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

NOON = 1_795_176_000_000
MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
ANN, BEN, CAT, DAN = (Author(f"u{n}", name) for n, name in enumerate(("Ann", "Ben", "Cat", "Dan")))
BOT = Author("bot", "Helper", "bot")
GRAPH, LEXICAL = context_pb2.SOURCE_GRAPH, context_pb2.SOURCE_LEXICAL
HYBRIDS = ["hybrid", "hybrid_linear"]

HARBOUR = [
    Message("words", BEN, "harbour keys", NOON - 2 * HOUR),
    Message("word", CAT, "my keys rattle", NOON - 2 * HOUR),
    Message("root", CAT, "shall we sail tomorrow", NOON - HOUR),
    Message("parent", BEN, "yes at nine", NOON - HOUR, reply_to="root"),
    Message("side", CAT, "rain is coming", NOON, reply_to="root"),
    Message("last", BEN, "bring a coat", NOON),
]
"""What each source ranks, with the last 3 as recent and an answer to `parent` as the question:

recent   last, side, parent      scores 3 2 1, by min-max 1 .5 0
lexical  words, word             both words of the question, then one: 1 0
graph    parent, root, side      1, .8 up, .8 up * .6 down = .48: by min-max 1 8/13 0
"""
AGE = {"last": 1, "side": 1, "parent": 0.9, "root": 0.9, "words": 0.85, "word": 0.85}
"""A fifth at stake and a half-life of an hour: 1 - .2 / 2 after one, 1 - .2 * 3 / 4 after two."""
FUSED = {
    "hybrid": {  # recent, lexical, graph: 61 / (60 + rank), a third each
        "last": (1, 0, 0),
        "side": (61 / 62, 0, 61 / 63),
        "parent": (61 / 63, 0, 1),
        "root": (0, 0, 61 / 62),
        "words": (0, 1, 0),
        "word": (0, 61 / 62, 0),
    },
    "hybrid_linear": {
        "last": (1, 0, 0),
        "side": (0.5, 0, 0),
        "parent": (0, 0, 1),
        "root": (0, 0, 8 / 13),
        "words": (0, 1, 0),
        "word": (0, 0, 0),
    },
}
ORDER = {
    # .590, then .651 .333 .295 .283 .279
    "hybrid": ["parent", "side", "last", "root", "words", "word"],
    # .300, then .333 .283 .185 .167 0
    "hybrid_linear": ["parent", "last", "words", "root", "side", "word"],
}
"""What the question replies to comes first, the others by score."""


async def ask(client, question: str, **fields):
    fields = {"asker": ANN, "asked_at": NOON, "profile": "hybrid", "explain": True, **fields}
    return await client.build_context("room", question, **fields)


def by_rank(context) -> list[str]:
    return [item.message.id for item in sorted(context.items, key=lambda item: item.rank)]


def told(context):
    return {one.message_id: one for one in context.explanation.candidates}


@pytest.mark.row("P-05")
@pytest.mark.parametrize("profile", HYBRIDS)
async def test_a_golden_ranking(client, profile):
    """P-05: both fusions on the same six lines, by hand; one factor a source with its share, one for age, and their
    sum; the source that cannot be had is named and has no factor."""
    await client.append("room", HARBOUR)
    context = await ask(
        client,
        "where are the harbour keys?",
        profile=profile,
        reply="parent",
        overrides=Overrides(recent_limit=3),
    )
    assert by_rank(context) == ORDER[profile]
    explanation = context.explanation
    assert list(explanation.factors) == ["recent", "lexical", "graph", "recency"]
    assert list(explanation.weights) == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0.2])
    for id, one in told(context).items():
        shares = [factor / 3 for factor in FUSED[profile][id]]
        assert list(one.shares) == pytest.approx([*shares, sum(shares) * (AGE[id] - 1)]), id
        assert one.linear == pytest.approx(sum(shares) * AGE[id]), id
        assert one.score == pytest.approx(one.linear)
        assert math.fsum(one.shares) == pytest.approx(one.linear)
    assert [(d.source, d.reason) for d in context.degradations] == [("semantic", "NOT_CONFIGURED")]
    assert [i.message.id for i in context.items if i.category == context_pb2.CATEGORY_SEMANTIC] == [
        "words", "word",
    ]  # fmt: skip


@pytest.mark.row("P-05", "S2-05")
@pytest.mark.parametrize("profile", HYBRIDS)
async def test_meaning_is_one_of_the_lists(profile):
    """P-05, S2-05: with an embedder what means the same has a share of its own, at a quarter of the weight."""
    embedder = FakeEmbedder(synonyms={"feline": "cat", "kitten": "cat"})
    async with served(embedder=embedder) as (client, _):
        lines = [Message("far", BEN, "the kitten sleeps", NOON - 9 * DAY), *HARBOUR]
        await client.append("room", lines)
        assert (await client.wait_for_index("room", wait_s=10)).ready
        context = await ask(client, "the feline sleeps", profile=profile, reply="parent")
        factors = list(context.explanation.factors)
        assert factors == ["recent", "lexical", "semantic", "graph", "recency"]
        assert told(context)["far"].shares[2] == pytest.approx(0.25)
        assert not context.degradations


def ages() -> list[Message]:
    """Lines of some hours; the older, the more words of the questions they have."""
    words = ["anchor", "compass", "lantern", "rope", "sail"]
    rare = {0: "pearl coral", 24: "pearl"}
    return [
        Message(
            f"m{n:02}",
            (BEN, CAT)[n % 2],
            " ".join([*words[n // 6 :], f"tale{n}", rare.get(n, "")]),
            NOON - (29 - n) * 30 * MINUTE,
        )
        for n in range(30)
    ]


@pytest.mark.row("P-06")
@pytest.mark.parametrize("profile", HYBRIDS)
async def test_recency_cannot_overturn_a_lead(client, profile):
    """P-06: age takes a fifth at most; a lead of more than that stands whatever the ages, smaller ones may fall."""
    await client.append("room", ages())
    fallen = 0
    for question in (
        "pearl or coral?",
        "a compass and a rope?",
        "anchor compass lantern rope sail?",
    ):
        few = Overrides(recent_limit=3)
        context = await ask(client, question, profile=profile, overrides=few)
        candidates = list(context.explanation.candidates)
        assert len(candidates) >= 5
        for one in candidates:
            fused = math.fsum(one.shares[:-1])
            assert -0.2 * fused - 1e-12 <= one.shares[-1] <= 0
        for one, other in itertools.permutations(candidates, 2):
            lead, behind = math.fsum(one.shares[:-1]), math.fsum(other.shares[:-1])
            if lead * 0.8 > behind + 1e-12:
                assert one.score > other.score
            fallen += lead > behind + 1e-12 and one.score < other.score
    assert fallen


PARTY = [
    Message("top", CAT, "who brings snacks", NOON - 90 * MINUTE),
    Message("parent", BEN, "Dan does", NOON - 89 * MINUTE, reply_to="top"),
    Message("sibling", ANN, "no he never did", NOON - 88 * MINUTE, reply_to="parent"),
    Message("lone", CAT, "lorem ipsum", NOON - 87 * MINUTE),
    Message("own", BOT, "eight at my place", NOON - 86 * MINUTE, role="assistant"),
    Message("child", CAT, "fine by me", NOON - 85 * MINUTE, reply_to="own"),
    Message("grandchild", BEN, "me too then", NOON - 84 * MINUTE, reply_to="child"),
    Message("turn", BOT, "round we go", NOON - 83 * MINUTE, role="assistant", reply_to="again"),
    Message("again", CAT, "and round", NOON - 82 * MINUTE, reply_to="turn"),
    *(Message(f"noise{n:02}", DAN, f"blah{n}", NOON - (40 - n) * MINUTE) for n in range(30)),
]


@pytest.mark.row("N-02")
@pytest.mark.parametrize("profile", HYBRIDS)
async def test_replies_alone_win_slots(client, profile):
    """N-02: parents, siblings, the bot's own lines and their descendants, long out of sight of every other source, in
    the order of the steps; the ring of replies ends; who the bot is decides which lines are its own."""
    await client.append("room", PARTY)
    asked = {"asker": DAN, "reply": "parent", "profile": profile}
    few = Overrides(max_context=24)
    context = await ask(client, "really?", self_ids=["bot"], overrides=few, **asked)
    assert len(told(context)) == 28
    by_graph = {id for id, one in told(context).items() if list(one.sources) == [GRAPH]}
    near = {"parent", "top", "sibling", "own", "child", "grandchild", "turn", "again"}
    assert by_graph == near
    place = list(context.explanation.factors).index("graph")
    share = {id: told(context)[id].shares[place] for id in near}
    steps = ["parent", "top", "sibling", "own", "child", "grandchild"]
    assert sorted(steps, key=lambda id: -share[id]) == steps
    assert share["turn"] > share["again"] > 0
    ranked = by_rank(context)
    # By scores the last of a list is worth nothing: it loses to the 17th of the newest.
    assert near - set(ranked) == ({"grandchild"} if profile == "hybrid_linear" else set())
    assert next(id for id in ranked if id in near) == "parent"
    assert "lone" not in told(context)
    other = await ask(client, "really?", self_ids=["another"], **asked)
    assert {id for id, one in told(other).items() if GRAPH in one.sources} == {
        "parent", "top", "sibling",
    }  # fmt: skip
    unnamed = await ask(client, "really?", **asked)
    assert {id for id, one in told(unnamed).items() if GRAPH in one.sources} == near
    without = Overrides(sources=["recent", "lexical"])
    fewer = told(await ask(client, "really?", overrides=without, **asked))
    assert near & set(fewer) == {"parent"}  # what the question replies to needs no source


@pytest.mark.row("N-03")
@pytest.mark.parametrize("profile", HYBRIDS)
@pytest.mark.parametrize(
    ("line", "question"),
    [
        ("the spare fuse is behind the aquarium", "where is the fuse?"),
        ("备用钥匙在水族箱后面", "钥匙在哪里？"),
    ],
)
async def test_a_line_found_by_words_alone_wins_a_slot(client, profile, line, question):
    """N-03: of a year ago, known to no other source, shown as a reference."""
    noise = [Message(f"m{n:02}", CAT, f"blah{n}", NOON - (80 - n) * MINUTE) for n in range(70)]
    await client.append("room", [Message("old", BEN, line, NOON - 365 * DAY), *noise])
    context = await ask(client, question, profile=profile)
    (item,) = [item for item in context.items if item.message.id == "old"]
    assert list(item.sources) == [LEXICAL]
    assert item.category == context_pb2.CATEGORY_SEMANTIC
    assert len(context.items) == 20


@pytest.mark.row("P-05")
@pytest.mark.parametrize(
    ("copied", "new", "question"),
    [
        (
            "The keys are under the blue flower pot at the back door",
            "Dan has keys of his own, and he is at sea until Sunday or so",
            "keys, back door?",
        ),
        ("钥匙在后门旁边的蓝色花盆下面", "老丹也有一把钥匙，不过他星期天之前都在海上", "后门钥匙？"),
    ],
)  # fmt: skip
async def test_mmr_changes_which_references_are_shown(client, copied, new, question):
    """P-05, law 7: of three references two say the same; with room for two the third comes before the better ranked
    copy, and the copy says why it lost."""
    lines = [
        Message("new", CAT, new, NOON - 30 * DAY),
        Message("copy", CAT, copied + "!", NOON - 20 * DAY),
        Message("first", BEN, copied, NOON - 10 * DAY),
    ]
    await client.append("room", lines)
    context = await ask(client, question, overrides=Overrides(sources=["lexical"], max_context=2))
    assert by_rank(context) == ["first", "new"]
    scores = {id: one.score for id, one in told(context).items()}
    assert scores["first"] > scores["copy"] > scores["new"]
    assert told(context)["copy"].fate == context_pb2.FATE_DIVERSITY


@pytest.mark.row("P-05", "S2-23")
async def test_an_operators_strategy_ranks_what_it_proposes():
    """S2-23, P-05: `Messages.scores` of a strategy of one's own decide, in both fusions, with a share in its name."""
    async with served(strategies=("tests.kit.own:Starred",)) as (client, _):
        stars = ["*", "***", "**", "plain", "*"]
        await client.append(
            "room", [Message(f"m{n}", BEN, text, NOON - DAY + n) for n, text in enumerate(stars)]
        )
        for profile, factors in (
            ("hybrid", {"m1": 1, "m2": 61 / 62, "m4": 61 / 63, "m0": 61 / 64}),
            ("hybrid_linear", {"m1": 1, "m2": 0.5, "m4": 0, "m0": 0}),
        ):
            only = Overrides(sources=["starred"])
            context = await ask(client, "best?", profile=profile, overrides=only)
            assert by_rank(context) == ["m1", "m2", "m4", "m0"]
            assert list(context.explanation.factors) == ["starred", "recency"]
            assert {id: one.shares[0] for id, one in told(context).items()} == pytest.approx(
                factors
            )
