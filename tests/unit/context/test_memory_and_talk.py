"""`balanced` over a chat with a past: what wins a place, what explain says of it, what a missing embedder costs."""

from __future__ import annotations

import threading
from datetime import UTC, datetime

import numpy as np
import pytest

from backscroll_sidecar.domain import Author, Category, Fate, Overrides, Reply, ReplyKind
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import Comparison, ModelFault, Similarities
from backscroll_sidecar.strategies import Semantic
from backscroll_sidecar.strategies.names import named_in
from tests.kit.chats import (
    ANN,
    BEN,
    BOT,
    CAT,
    DAY_MS,
    HOUR_MS,
    KEY,
    MINUTE_MS,
    NOON_MS,
    SECOND_MS,
    say,
)  # fmt: skip
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.rooms import Room, ids, ids_by_rank

PAST = [
    say("p0", ANN, "we should plan the summer trip", 90 * DAY_MS),
    say("p1", BEN, "my sister moved to Lisbon in March", 90 * DAY_MS - MINUTE_MS),
    say("p2", CAT, "我家的猫叫小黑", 60 * DAY_MS),
    say("p3", ANN, "the printer in room four is broken", 60 * DAY_MS - MINUTE_MS),
]
NOISE = [
    say(f"n{n:03}", (ANN, BEN, CAT)[n % 3], f"talk number {n}", 2 * HOUR_MS - n * SECOND_MS)
    for n in range(300)
]
TALK = [
    say("t0", ANN, "does anybody know a good editor?", 50 * SECOND_MS),
    say("t1", BEN, "Ann: vim is fine", 40 * SECOND_MS, mentions=("u1",)),
    say("t2", ANN, "Ben: thanks, and for windows?", 20 * SECOND_MS, mentions=("u2",)),
]


class Shelf:
    """Vectors of a channel by the embedder's own words."""

    def __init__(self, room: Room, embedder: FakeEmbedder) -> None:
        self._room, self._embedder = room, embedder

    async def compare(self, key, seqs, query) -> Comparison:
        view = self._room.channels.hot_view(key)
        rows = [view.texts[row] for row in range(view.count) if view.seq[row] in set(seqs.tolist())]
        vectors = await self._embedder.embed(rows)
        values = vectors @ query
        return Comparison(1.0, lambda: Similarities(values, len(values), True))

    async def nearest(self, key, seqs, query, limit):
        raise AssertionError("the ranking compares")


def meaning(lines, synonyms=None) -> tuple[Room, FakeEmbedder]:
    embedder = FakeEmbedder(synonyms=synonyms or {})
    source = Semantic(embedder, Shelf(Room(), embedder))
    room = Room(lines, own=[source])
    source._vectors._room = room
    return room, embedder


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("where does the sister of Ben live, Lisbon?", "p1"),
        ("猫叫什么名字？", "p2"),
        ("what is broken in room four?", "p3"),
    ],
)
def test_a_line_of_long_ago_wins_a_place_by_its_words(question: str, found: str):
    """N-03, S5-47: three hundred lines later, behind a gate, found by words alone; it says which source found it."""
    built = Room([*PAST, *NOISE]).build_now(question, CAT, profile="balanced", explain=True)
    assert ids_by_rank(built)[0] == found
    (one,) = [one for one in built.explanation.candidates if one.message_id == found]
    assert one.sources == ("lexical",)
    assert (one.decided_by, one.fate) == ("memory", Fate.SELECTED)
    (item,) = [item for item in built.items if item.message_id == found]
    assert item.category is Category.SEMANTIC  # shown as a reference, apart from the talk


@pytest.mark.parametrize("question", ["what is broken in room four?", "猫叫什么名字？"])
def test_where_no_line_has_a_vector_the_words_decide_alone(
    question: str, monkeypatch: pytest.MonkeyPatch
):
    """S2-11: an embedder is there and has seen nothing yet: the same shares and order as without one."""
    room, embedder = meaning([*PAST, *NOISE])

    async def nothing(self, key, seqs, query) -> Comparison:
        values = np.full(len(seqs), np.nan, np.float32)
        return Comparison(1.0, lambda: Similarities(values, 0, True))

    monkeypatch.setattr(Shelf, "compare", nothing)
    told = [
        [(one.message_id, one.rank, one.shares) for one in built.explanation.candidates]
        for built in (
            one.build_now(question, CAT, profile="balanced", explain=True)
            for one in (room, Room([*PAST, *NOISE]))
        )
    ]
    assert embedder.calls
    assert told[0] == told[1]


CALLS = [
    say(f"c{n}", (ANN, CAT)[n % 2], f"@Helper {text}", (10 - n) * SECOND_MS)
    for n, text in enumerate(("hello", "good morning", "猫", "can you hear me", "thank you"))
]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("@Helper is the printer in room four repaired", True),
        ("@Helper 我家的猫叫什么名字", True),
        ("@助手我家的猫叫什么名字 小黑吗", True),  # the question stands in what could be a call
        # people ask each other about the talk
        ("@Ann is the printer in room four repaired", False),
        ("@Ann, is the printer in room four repaired", False),
        ("@Ann：the printer in room four is repaired, is it", False),
        ("@everyone is the printer in room four repaired", False),
        ("@Helper: is the printer in room four repaired", True),
    ],
)
def test_a_call_of_the_bot_is_no_word_of_the_question(question: str, found: bool):
    """N-03: the last lines call it, too, and are not what is meant; what is asked may lie months back."""
    room = Room([*PAST, *NOISE, *TALK, *CALLS])
    built = room.build_now(question, BEN, profile="balanced", self_ids=("bot",), explain=True)
    by_memory = {
        one.message_id
        for one in built.explanation.candidates
        if one.fate is Fate.SELECTED and one.decided_by == "memory"
    }
    assert bool(by_memory & {"p2", "p3"}) == found


def test_every_candidate_is_accounted_for():
    """N-04, law 7: of both rankings in one list: shares sum to the score's linear part, and each has a fate."""
    built = Room([*PAST, *NOISE]).build_now(
        "what is broken in room four?", CAT, profile="balanced", explain=True
    )
    explanation = built.explanation
    assert len({one.message_id for one in explanation.candidates}) == len(explanation.candidates)
    assert {"memory", "threshold"} <= {one.decided_by for one in explanation.candidates}
    for one in explanation.candidates:
        assert len(one.shares) == len(explanation.factors)
        assert sum(one.shares) == pytest.approx(one.linear, abs=1e-6)
        assert one.sources
        assert (one.fate is Fate.SELECTED) == (one.rank > 0)


def test_a_reply_in_mid_talk_asks_nobody_for_meaning():
    """S2-11: the gate says that the last lines are what it is about: no embed, no search in the history."""
    room, embedder = meaning([*PAST, *NOISE, *TALK])
    built = room.build_now("Ann: notepad++", BEN, profile="balanced", explain=True)
    assert embedder.calls == []
    assert ids_by_rank(built)[0] == "t2"
    assert {source for one in built.explanation.candidates for source in one.sources} <= {
        "recent",
        "thread",
        "asker",
        "mention",
    }


@pytest.mark.parametrize("later_ms", [HOUR_MS, DAY_MS])
def test_a_reply_after_a_pause_keeps_its_conversation(later_ms: int):
    """However long the pause, what plainly goes on with the talk finds it; of eight places the history has the last."""
    room = Room([*PAST, *NOISE, *TALK])
    built = room.build_now(
        "Ann: notepad++", BEN, profile="balanced", asked_at_ms=NOON_MS + later_ms
    )
    ranked = ids_by_rank(built)
    assert ranked[0] == "t2"
    assert "t1" in ranked[:4]
    assert not set(ranked[:7]) & {line.id for line in PAST}


def test_asked_plainly_after_a_pause_the_history_has_the_first_places():
    """The conversation keeps no place among the first ten where the history has as many that answer."""
    lunches = [
        say(f"b{n}", BEN, f"lunch number {n} with Zoe was soup", 90 * DAY_MS + n * DAY_MS)
        for n in range(12)
    ]
    room = Room([*lunches, *NOISE, *TALK])
    question = "what did Ben have for lunch with Zoe?"
    for later_ms, keeps in ((0, True), (HOUR_MS, False)):
        asked = {"profile": "balanced", "asked_at_ms": NOON_MS + later_ms}
        first = ids_by_rank(room.build_now(question, CAT, **asked))[:10]
        assert any(one[0] in "nt" for one in first) == keeps


def test_a_platforms_reply_edge_shuts_the_gate():
    """S2-11: what a platform says the question answers is what it is about, however much it sounds like long ago."""
    edge = Reply("n150", ReplyKind.QUOTE)
    room, embedder = meaning([*PAST, *NOISE])
    for reply, opens in ((edge, False), (None, True)):
        built = room.build_now(
            "what is broken in room four?", CAT, profile="balanced", reply=reply, explain=True
        )
        decided = {one.decided_by for one in built.explanation.candidates}
        assert ("memory" in decided) is opens
        assert bool(embedder.calls) is opens


def test_other_words_are_found_by_meaning_once_embedded():
    """S2-11, S2-22: one embed of the question at most; a paraphrase comes first, and says so."""
    room, embedder = meaning([*PAST, *NOISE], {"copier": "printer", "faulty": "broken"})
    built = room.build_now("which copier was faulty?", CAT, profile="balanced", explain=True)
    assert [call.is_query for call in embedder.calls].count(True) == 1
    assert "p3" in ids_by_rank(built)[:3]
    (one,) = [one for one in built.explanation.candidates if one.message_id == "p3"]
    assert "semantic" in one.sources
    assert not built.degradations


def test_without_meaning_the_words_decide():
    """S2-15, P-18: an embedder that fails costs its part only, and is named."""
    room, embedder = meaning([*PAST, *NOISE])
    embedder.broken = failed(ModelFault.CONNECTION)
    built = room.build_now("what is broken in room four?", CAT, profile="balanced")
    assert [(d.source, d.reason) for d in built.degradations] == [("semantic", "EMBEDDER_FAILED")]
    alone = Room([*PAST, *NOISE]).build_now("what is broken in room four?", CAT, profile="balanced")
    assert ids(built) == ids(alone)


@pytest.mark.injects_fault
@pytest.mark.parametrize("error", [RuntimeError("boom"), StoreUnavailable("disk I/O error")])
@pytest.mark.parametrize("part", ["embed", "compare", "make"])
def test_whatever_fails_in_the_semantic_part_costs_that_part(monkeypatch, part, error):
    """S2-15, law 5: an embedder or vectors that fail in a way nobody foresaw are named; the words decide."""

    def fail():
        raise error

    async def broken(*args, **kwargs):
        return Comparison(1.0, fail) if part == "make" else fail()

    room, _ = meaning([*PAST, *NOISE])
    if part == "embed":
        monkeypatch.setattr(FakeEmbedder, "embed", broken)
    else:
        monkeypatch.setattr(Shelf, "compare", broken)
    built = room.build_now("what is broken in room four?", CAT, profile="balanced")
    assert [(d.source, d.reason) for d in built.degradations] == [("semantic", "ERROR")]
    alone = Room([*PAST, *NOISE]).build_now("what is broken in room four?", CAT, profile="balanced")
    assert (ids(built), built.rung) == (ids(alone), alone.rung)


@pytest.mark.parametrize(("us", "inline"), [(1.0, True), (1e3, False)])
def test_a_long_comparison_leaves_the_loop(monkeypatch, us, inline):
    """Law 9: similarities and ranking together, in one thread; the answer is the same."""
    room, _ = meaning([*PAST, *NOISE])
    question = "what is broken in room four?"
    usual = ids(room.build_now(question, CAT, profile="balanced"))
    real, ran = Shelf.compare, []

    async def compare(*args):
        found = await real(*args)

        def make():
            ran.append(threading.current_thread() is threading.main_thread())
            return found.make()

        return Comparison(us, make)

    monkeypatch.setattr(Shelf, "compare", compare)
    built = room.build_now(question, CAT, profile="balanced")
    assert set(ran) == {inline}
    assert (ids(built), built.degradations) == (usual, ())


def test_a_comparison_that_would_come_too_late_is_left_out(monkeypatch):
    """N-09: what takes longer than there is time costs the meaning; the words decide."""

    async def compare(*args):
        return Comparison(1e9, lambda: pytest.fail("it was begun all the same"))

    room, _ = meaning([*PAST, *NOISE])
    monkeypatch.setattr(Shelf, "compare", compare)
    built = room.build_now("what is broken in room four?", CAT, profile="balanced")
    assert [(d.source, d.reason) for d in built.degradations] == [("semantic", "TIMEOUT")]
    alone = Room([*PAST, *NOISE]).build_now("what is broken in room four?", CAT, profile="balanced")
    assert (ids(built), built.rung) == (ids(alone), alone.rung)


def test_a_smaller_maximum_is_a_prefix():
    """One ranking of both lists, cut anywhere."""
    lines = [*PAST, *NOISE]
    question = "what is broken in room four?"
    whole = ids_by_rank(
        Room(lines).build_now(question, CAT, profile="balanced", overrides={"max_context": 40})
    )
    for most in (1, 2, 5, 9, 10, 11, 16, 27):
        built = Room(lines).build_now(
            question, CAT, profile="balanced", overrides={"max_context": most}
        )
        assert ids_by_rank(built) == whole[:most]


def test_sources_of_a_request_decide_what_is_looked_through():
    """S5-50: without `lexical` and `semantic` among them, the history stays shut."""
    room, embedder = meaning([*PAST, *NOISE])
    near = {"sources": ("thread", "recent")}
    built = room.build_now("what is broken in room four?", CAT, profile="balanced", overrides=near)
    assert embedder.calls == []
    assert not any(id.startswith("p") for id in ids(built))
    words = {"sources": ("recent", "lexical")}
    built = room.build_now("what is broken in room four?", CAT, profile="balanced", overrides=words)
    assert embedder.calls == []
    assert ids_by_rank(built)[0] == "p3"


def test_the_budget_is_filled_with_what_is_worth_its_tokens():
    """The 20 best whatever they score; behind them likely lines only; the token budget ends the list."""
    room = Room([*PAST, *NOISE, *TALK])
    asked = {"profile": "balanced", "explain": True}
    wide = room.build_now("talk about what?", BEN, **asked, token_budget=100_000)
    scores = [item.score for item in sorted(wide.items, key=lambda item: item.rank)]
    assert 20 < len(scores) < len(wide.explanation.candidates)
    assert min(scores[20:]) >= 0.1
    assert max(score_of_left_out(wide)) < 0.1
    tight = room.build_now(
        "talk about what?", BEN, **asked, token_budget=wide.tokens.total * 2 // 3
    )
    assert 20 <= len(tight.items) < len(scores)
    assert ids_by_rank(tight) == ids_by_rank(wide)[: len(tight.items)]
    few = room.build_now("talk about what?", BEN, **asked, overrides=Overrides(max_context=7))
    assert ids_by_rank(few) == ids_by_rank(wide)[:7]


def test_a_threshold_of_the_request_holds_for_every_place():
    """S5-50: who says what a line must score means the first ones, too; the newest stay whatever they score."""
    room = Room([*PAST, *NOISE, *TALK])
    built = room.build_now(
        "talk about what?", BEN, profile="balanced", explain=True,
        overrides=Overrides(relevance_threshold=0.5),
    )  # fmt: skip
    assert 0 < len(built.items) < 20
    chosen = [one for one in built.explanation.candidates if one.fate is Fate.SELECTED]
    assert min(one.score for one in chosen if one.decided_by != "floor") >= 0.5


def score_of_left_out(built) -> list[float]:
    return [one.score for one in built.explanation.candidates if one.fate is Fate.THRESHOLD]


WEDDING = (
    "my sister's wedding is on the fifth, in Lisbon",
    ("I have to book flights to Lisbon", "Tell me more.", "it is my sister's wedding", "How nice!"),
)
WEDDING_ZH = (
    "我姐姐的婚礼在五号，在厦门",
    ("要订去厦门的机票了", "嗯，说说。", "是姐姐的婚礼", "恭喜你姐姐！"),
)


@pytest.mark.parametrize(
    ("question", "told"),
    [("when?", WEDDING), ("which day was that?", WEDDING), ("哪天来着", WEDDING_ZH)],
)
def test_a_question_of_no_words_of_its_own_is_read_with_the_talk(question: str, told):
    """What is asked for stands in the talk: it finds the line of three months ago."""
    line, lines = told
    wedding = say("wedding", ANN, line, 90 * DAY_MS)
    talk = [
        say(f"w{n}", (ANN, BOT)[n % 2], text, (90 - 20 * n) * SECOND_MS)
        for n, text in enumerate(lines)
    ]
    room = Room([wedding, *PAST, *NOISE, *talk])
    built = room.build_now(question, ANN, profile="balanced", self_ids=(BOT.id,))
    assert ids_by_rank(built).index("wedding") < 5


def test_the_lines_of_a_long_talk_are_no_history():
    """However long asker and bot have been talking, what was said before keeps its place."""
    old = say("old", ANN, "I moved to Bergen for the fishery job and cooked alone", 50 * DAY_MS)
    said = [(ANN, BOT)[n % 2] for n in range(60)]
    talk = [
        say(
            f"w{n:02}",
            who,
            f"rain in Bergen, the fishery job on day {n}",
            (61 - n) * 15 * SECOND_MS,
        )
        for n, who in enumerate(said)
    ]
    built = Room([old, *NOISE, *talk]).build_now(
        "I felt so lonely then", ANN, profile="balanced", self_ids=(BOT.id,)
    )
    assert ids_by_rank(built).index("old") < 5


def test_what_is_embedded_of_a_long_talk_begins_with_the_question():
    """An embedder reads the beginning of a long text: two questions in one talk are two."""
    talk = [
        say(
            f"w{n}", (ANN, BOT)[n % 2], f"the garden of {n} years, " * 12, (40 - n) * 15 * SECOND_MS
        )
        for n in range(20)
    ]
    room, embedder = meaning([*PAST, *NOISE, *talk])
    for question in ("I felt so lonely then", "it made me so happy"):
        room.build_now(question, ANN, profile="balanced", self_ids=(BOT.id,))
        (asked,) = [call.texts for call in embedder.calls if call.is_query][-1]
        assert asked.startswith(question)
        assert "the garden of 19 years" in asked[:300]


def test_an_identifier_outweighs_whose_line_it_is():
    """ "We" prefers the asker's own lines, not before the only one with the code."""
    code = say("code", BEN, "if you get E4031 on startup delete the lock file", 40 * DAY_MS)
    own = [
        say(f"own{n}", ANN, f"ok so number {n} is fixed now", 30 * DAY_MS - n * MINUTE_MS)
        for n in range(30)
    ]
    room = Room([code, *own, *NOISE, *TALK])
    for profile in ("memory", "balanced"):
        built = room.build_now("how did we fix E4031?", ANN, profile=profile)
        assert ids_by_rank(built).index("code") < 2


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("what happened on {month} {day}?", "by the lake with everybody"),
        ("{month} {day} 号发生了什么", "大家都在湖边"),
        ("{year}年{number}月{day}日大家去了哪", "大家都在湖边"),
    ],
)
def test_a_time_that_is_over_is_asked_of_the_history(question: str, told: str):
    """In the middle of a talk, too, with no word of the line; not where nobody wrote then."""
    day = datetime.fromtimestamp((NOON_MS - 90 * DAY_MS) / 1_000, UTC)
    old = [say("old", CAT, told, 90 * DAY_MS)]
    filled = question.format(month=day.strftime("%B"), number=day.month, day=day.day, year=day.year)
    room = Room([*old, *NOISE, *TALK])
    built = room.build_now(filled, ANN, profile="balanced")
    assert ids_by_rank(built).index("old") < 8  # lines of the same numbers come first
    room = Room([say("older", CAT, told, 120 * DAY_MS), *NOISE, *TALK])
    nobody = room.build_now(filled, ANN, profile="balanced")
    assert "older" not in ids_by_rank(nobody)[:8]


@pytest.mark.parametrize("profile", ["memory", "balanced"])
def test_the_only_line_with_the_word_outweighs_whose_it_is(profile: str):
    """A question that speaks of nobody prefers the asker's lines, unless only others said what it is about."""
    question = "what was the name of that place with the gnocchi"
    own = [
        say(f"own{n}", ANN, f"the weather of day {n} is horrible", 29 * DAY_MS - n * MINUTE_MS)
        for n in range(30)
    ]
    there = say("there", BEN, "we ate at Trattoria Lucca, best gnocchi in town", 30 * DAY_MS)
    room = Room([there, *own, *NOISE, *TALK])
    assert ids_by_rank(room.build_now(question, ANN, profile=profile)).index("there") < 2


@pytest.mark.parametrize("thanks", ["thanks, that helps", "谢谢你", "ok thanks!"])
def test_thanks_in_a_talk_with_the_bot_ask_for_nothing(thanks: str):
    talk = [
        say("b0", ANN, "good morning", 90 * SECOND_MS),
        say("b1", ANN, "is the printer in room four working?", 60 * SECOND_MS),
        say("b2", BOT, "It is broken.", 45 * SECOND_MS),
    ]
    room = Room([*PAST, *NOISE, *talk])
    built = room.build_now(thanks, ANN, profile="balanced", self_ids=(BOT.id,), explain=True)
    decided = {one.decided_by for one in built.explanation.candidates if one.fate is Fate.SELECTED}
    assert "memory" not in decided


def test_who_is_spoken_of_may_stand_first_where_no_spaces_are():
    """老王生日是哪天 asks of somebody, 老王你几点来 calls them, and so does a name before a gap."""
    room = Room([say("m", Author("u9", "老王"), "早", MINUTE_MS)])
    room.build_now("早")
    parts = room.channels.hot_view(KEY).people.by_name_part
    assert named_in("老王生日是哪天", parts).speaks_of
    for called in ("老王你几点来", "老王，几点来", "老王 几点来", "老王"):
        named = named_in(called, parts)
        assert named.users
        assert not named.speaks_of, called
