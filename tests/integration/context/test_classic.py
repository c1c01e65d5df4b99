"""Design S5's factors and pools over the wire, by tables: edges of windows, caps, cycles, maxima, what never counts."""

import math

import pytest

from backscroll import Author, Message, Overrides, Reply
from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import history_pb2, message_pb2

NOON = 1_795_176_000_000
MINUTE, HOUR = 60_000, 3_600_000
ANN, BEN, CAT = Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "小黑")
BOT = Author("bot", "Helper", "bot")


async def ask(client, messages, question="and now?", **fields):
    """The answer of `classic`, explained, with everything kept unless the threshold is asked for."""
    await client.append("room", messages)
    fields = {
        "asker": ANN,
        "asked_at": NOON,
        "overrides": Overrides(relevance_threshold=0.0),
    } | fields
    return await client.build_context("room", question, profile="classic", explain=True, **fields)


def shares(context, factor: str) -> dict[str, float]:
    place = list(context.explanation.factors).index(factor)
    return {one.message_id: one.shares[place] for one in context.explanation.candidates}


def line(
    id: str, author: Author = BEN, age_ms: int = HOUR, text: str = "word", **fields
) -> Message:
    return Message(id, author, text, NOON - age_ms, **fields)


@pytest.mark.row("S5-06")
async def test_the_reply_chain(client):
    """The parent 1, each ancestor further up x 0.8, another answer to the parent 0.6, its answers and the rest 0."""
    chain = [line("a0", age_ms=5 * HOUR)]
    chain += [line(f"a{n}", reply_to=f"a{n - 1}", age_ms=(5 - n) * HOUR) for n in (1, 2, 3)]
    others = [
        line("beside", reply_to="a3", age_ms=9_000),
        line("below", reply_to="beside", age_ms=8_000),
        line("uncle", reply_to="a2", age_ms=7_000),
        line("none", age_ms=6_000),
        line("lost", reply_to="gone", age_ms=5_000),
    ]
    found = shares(await ask(client, [*chain, *others], reply="a3"), "reply_chain")
    by_hand = {"a3": 1, "a2": 0.8, "a1": 0.64, "a0": 0.512, "beside": 0.6}
    assert found == pytest.approx(
        {one.id: 0.4 * by_hand.get(one.id, 0) for one in [*chain, *others]}
    )
    nothing = shares(await ask(client, [], reply=None), "reply_chain")
    assert set(nothing.values()) == {0.0}


@pytest.mark.row("S5-06")
@pytest.mark.parametrize("length", [1, 2, 3, 7])
async def test_cycles_of_replies_end(client, length):
    """Every one of the ring once, by its steps from the question; the last answers what the question answers, too."""
    ring = [line(f"r{n}", reply_to=f"r{(n + 1) % length}", age_ms=HOUR - n) for n in range(length)]
    found = shares(await ask(client, ring, reply="r0"), "reply_chain")
    by_hand = {f"r{n}": 0.4 * 0.8**n for n in range(length)}
    by_hand |= {f"r{length - 1}": 0.4 * 0.6} if length > 1 else {}
    assert found == pytest.approx(by_hand)


@pytest.mark.row("S5-02", "S5-06")
async def test_a_parent_known_elsewhere_is_followed_once_it_is_here(client):
    """Platforms count each chat from 1: the same id in another channel is another message."""
    await client.append("elsewhere", line("7"))
    report = await client.append("room", line("child", reply_to="7", age_ms=9_000))
    assert [list(one.warnings) for one in report.warnings] == [
        [history_pb2.APPEND_WARNING_REPLY_PARENT_IN_OTHER_CHANNEL]
    ]
    assert shares(await ask(client, [], reply="child"), "reply_chain") == {"child": 0.4}
    found = shares(await ask(client, [line("7")], reply="child"), "reply_chain")
    assert found == pytest.approx({"child": 0.4, "7": 0.4 * 0.8})


@pytest.mark.row("S5-02", "S5-06")
async def test_an_inferred_edge_keeps_no_platforms_edge_out(client):
    """The answer comes before what it answers, whose edge back to it is a guess."""
    await client.append("room", line("answer", reply_to="asked", age_ms=9_000))
    guess = Reply("answer", inferred=True)
    found = shares(
        await ask(client, [line("asked", age_ms=9_500, reply_to=guess)], reply="answer"),
        "reply_chain",
    )
    assert found == pytest.approx({"answer": 0.4, "asked": 0.4 * 0.8})


@pytest.mark.row("S5-07")
async def test_continuity_is_linear_in_five_minutes(client):
    """Of the asker's own lines alone; none from five minutes on."""
    ages_s = [0, 1, 60, 150, 299, 300, 301, 3_600]
    lines = [line(f"{age}", ANN, age * 1_000) for age in ages_s]
    found = shares(await ask(client, [*lines, line("other", BEN, 1_000)]), "user_continuity")
    expected = {f"{age}": 0.15 * max(0, 1 - age / 300) for age in ages_s}
    assert found == pytest.approx({**expected, "other": 0}, abs=1e-9)


@pytest.mark.row("S5-08")
async def test_decay_by_the_hour(client):
    """exp(-0.1 an hour), 1 for what is not older than the question."""
    ages_h = [0, 0.5, 1, 7, 23.5]
    lines = [line(f"{age}", age_ms=round(age * HOUR)) for age in ages_h]
    found = shares(await ask(client, lines), "time_decay")
    assert found == pytest.approx({f"{age}": 0.2 * math.exp(-0.1 * age) for age in ages_h})


@pytest.mark.row("S5-09")
@pytest.mark.parametrize(
    ("line_names", "question_names", "expected"),
    [
        ([], [], 0),
        (["u1"], [], 0.5),  # it names who asks
        ([], ["u2"], 0.5),  # the question names who wrote it
        (["u1"], ["u2"], 1),
        (["u7"], ["u7"], 0.3),  # both name a third
        (["u7", "u8", "u9"], ["u7", "u8"], 0.6),
        (["u7", "u8", "u9", "u10"], ["u7", "u8", "u9", "u10"], 1),
        (["u1", "u7"], ["u2", "u7"], 1),
        (["u7"], ["u8"], 0),
    ],
)
async def test_mentions(client, line_names, question_names, expected):
    """0.5 each way, 0.3 for each in common, 1 at most."""
    said = line("m", BEN, mentions=line_names, text="look")
    found = shares(await ask(client, [said], mentions=question_names), "mention_relation")
    assert found == pytest.approx({"m": 0.15 * expected})


@pytest.mark.row("S5-10")
@pytest.mark.parametrize(
    ("said", "asked", "expected"),
    [
        ("alpha beta", "alpha gamma?", 1 / 3),
        ("alpha beta", "beta alpha", 1),
        ("alpha alpha alpha", "alpha", 1),
        ("alpha", "beta", 0),
        ("👍", "alpha", 0),
        ("火车 票", "火车 汽车", 1 / 3),
    ],
)
async def test_words_in_common(client, said, asked, expected):
    """Jaccard: of all their words those in both."""
    found = shares(await ask(client, [line("m", text=said)], asked), "keyword_overlap")
    assert found == pytest.approx({"m": 0.1 * expected})


@pytest.mark.row("S5-11", "S5-12")
async def test_the_best_possible_line_scores_one(client):
    """In [0, 1] even where every factor is at its best; the shares sum to the score, which each item repeats."""
    best = line("m", ANN, 0, "alpha", mentions=["u1", "u7", "u8"], reply_to=None)
    asked = {"reply": "m", "mentions": ["u1", "u7", "u8"]}
    context = await ask(client, [best, line("far", age_ms=20 * HOUR)], "alpha?", **asked)
    for one in context.explanation.candidates:
        assert 0 <= one.score <= 1
        assert one.score == pytest.approx(min(1, math.fsum(one.shares)))
        (item,) = [item for item in context.items if item.message.id == one.message_id]
        assert item.score == pytest.approx(one.score)
    assert {one.message_id: one.score for one in context.explanation.candidates}["m"] == 1.0


@pytest.mark.row("S5-14", "S5-15")
async def test_the_window_holds_fifty_and_not_the_question(client):
    """The newest 50 of the last 24 hours, each once whoever proposes it; the current message is none of them."""
    lines = [line(f"m{n:02}", age_ms=24 * HOUR - n * MINUTE) for n in range(60)]
    trigger = line("q", ANN, 0, "and now?", reply_to="m59")
    context = await ask(client, [*lines, trigger], "", trigger_message_id="q")
    found = [one.message_id for one in context.explanation.candidates]
    assert found == [f"m{n:02}" for n in range(10, 60)]
    both = {one.message_id: list(one.sources) for one in context.explanation.candidates}["m59"]
    assert sorted(both) == sorted([pb.SOURCE_THREAD, pb.SOURCE_WINDOW])
    assert len({item.message.id for item in context.items}) == len(context.items)


@pytest.mark.row("S5-14")
async def test_the_window_ends_after_24_hours(client):
    """To the millisecond; a request may ask for another."""
    ages = [24 * HOUR + 1, 24 * HOUR, 2 * HOUR + 1, 2 * HOUR, 1]
    lines = [line(f"{age}", age_ms=age) for age in ages]
    context = await ask(client, lines)
    assert [one.message_id for one in context.explanation.candidates] == [f"{a}" for a in ages[1:]]
    two = Overrides(relevance_threshold=0.0, time_window_hours=2)
    context = await ask(client, [], overrides=two)
    assert [one.message_id for one in context.explanation.candidates] == [f"{a}" for a in ages[3:]]


@pytest.mark.row("S5-16")
async def test_the_best_twenty_in_time_order_with_role_and_name(client):
    """Of 30 that reach the threshold the 20 best; those below it never, however few are left."""
    people = [(BEN, "user"), (CAT, "user"), (BOT, "assistant")]
    lines = [
        line(f"m{n:02}", people[n % 3][0], (30 - n) * MINUTE, role=people[n % 3][1], mentions=["u1", "u7"])
        for n in range(30)
    ]  # fmt: skip
    context = await ask(client, lines, mentions=["u7", "u2", "u3", "bot"], overrides=Overrides())
    scores = {one.message_id: one.score for one in context.explanation.candidates}
    assert min(scores.values()) >= 0.3
    best = sorted(scores, key=scores.__getitem__)[-20:]
    assert [item.message.id for item in context.items] == sorted(best)
    for item in context.items:
        author, role = people[int(item.message.id[1:]) % 3]
        assert item.message.author.name == author.name
        assert item.role == message_pb2.Role.Value(f"ROLE_{role.upper()}")
    none = await ask(client, [], asked_at=NOON + 20 * HOUR, overrides=Overrides())
    assert not none.items


@pytest.mark.row("S5-16")
@pytest.mark.parametrize("explain", [False, True])
async def test_a_floor_of_recent_lines_in_other_profiles_only(client, explain):
    """`classic` knows none, not even on request; `balanced` has one and takes another."""
    await client.append("room", [line(f"m{n}", age_ms=9 * HOUR - n) for n in range(9)])
    for profile, floor, expected in (
        ("classic", None, 0),
        ("classic", 5, 0),
        ("balanced", None, 2),
        ("balanced", 5, 5),
    ):
        context = await client.build_context(
            "room", "unlike?", asker=ANN, asked_at=NOON, profile=profile, explain=explain,
            overrides=Overrides(relevance_threshold=1.0 if profile == "balanced" else None, recent_floor=floor),
        )  # fmt: skip
        assert [item.message.id for item in context.items] == [f"m{n}" for n in range(9)][
            9 - expected :
        ]
