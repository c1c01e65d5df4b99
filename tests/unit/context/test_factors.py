"""The five factors of `classic`, seen through explain: what a share is, and that shares are all there is."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from backscroll_sidecar.context.profiles import ContextSettings
from backscroll_sidecar.domain import Mention, Reply
from tests.kit.chats import ANN, BEN, CAT, DAY_MS, HOUR_MS, MINUTE_MS, say
from tests.kit.rooms import Room, shares, with_profile

WEIGHTS = {
    "reply_chain": 0.4,
    "user_continuity": 0.15,
    "time_decay": 0.2,
    "mention_relation": 0.15,
    "keyword_overlap": 0.1,
}


def classic(room: Room, question: str = "zzz", asker=ANN, **request):
    request.setdefault("profile", "classic")
    return room.build_now(question, asker, explain=True, **request)


def factor(room: Room, name: str, message_id: str, *args, **request) -> float:
    """The raw value of a factor: its share divided by its weight."""
    return shares(classic(room, *args, **request), message_id)[name] / WEIGHTS[name]


def chain(length: int) -> list:
    """c0 answered by c1 answered by c2 …"""
    return [
        say(f"c{n}", BEN, f"line {n}", HOUR_MS - n * MINUTE_MS, reply_to=f"c{n - 1}" if n else "")
        for n in range(length)
    ]


@pytest.mark.parametrize(
    ("message_id", "value"),
    [("c4", 1.0), ("c3", 0.8), ("c2", 0.64), ("c1", 0.512), ("c0", 0.4096), ("brother", 0.6), ("lone", 0.0),
     ("nephew", 0.0)],
)  # fmt: skip
def test_reply_chain(message_id, value):
    """S5-06: the parent 1, each further ancestor × 0.8, a message with the same parent 0.6, anything else 0."""
    room = Room([
        *chain(5),
        say("brother", CAT, "also", 9 * MINUTE_MS, reply_to="c4"),
        say("nephew", CAT, "to the brother", 8 * MINUTE_MS, reply_to="brother"),
        say("lone", CAT, "by the way", 7 * MINUTE_MS),
    ])  # fmt: skip
    request = {"reply": Reply("c4"), "overrides": {"relevance_threshold": 0.0}}
    assert factor(room, "reply_chain", message_id, **request) == pytest.approx(value)


def test_empty_ids_never_match():
    """S5-06, S5-61: messages that reply to nothing have no common parent; those that reply to one unknown id have."""
    room = Room([say("a", BEN, "x"), say("b", CAT, "y", reply_to="unknown")])
    for request in ({}, {"reply": Reply("unknown")}, {"reply": Reply("other")}):
        assert factor(room, "reply_chain", "a", **request) == 0
        is_sibling = request.get("reply") == Reply("unknown")
        assert factor(room, "reply_chain", "b", **request) == (0.6 if is_sibling else 0)


def test_circles_end():
    """S5-06: edges in a circle, and a message that answers itself, neither hang nor score twice."""
    room = Room([
        say("a", BEN, "x", 4 * MINUTE_MS, reply_to="c"),
        say("b", BEN, "y", 3 * MINUTE_MS, reply_to="a"),
        say("c", BEN, "z", 2 * MINUTE_MS, reply_to="b"),
        say("self", BEN, "w", MINUTE_MS, reply_to="self"),
    ])  # fmt: skip
    values = {id: factor(room, "reply_chain", id, reply=Reply("c")) for id in "abc"}
    assert values == {"c": 1.0, "b": pytest.approx(0.8), "a": pytest.approx(0.64)}
    assert factor(room, "reply_chain", "self", reply=Reply("self")) == 1.0


def test_inferred_edges_are_ignored_by_classic():
    """S5-02, S5-06: an edge inferred from a mention is stored as inferred and does not count."""
    room = Room([
        say("a", BEN, "x", 3 * MINUTE_MS),
        say("b", CAT, "y", 2 * MINUTE_MS, reply_to=Reply("a", inferred=True)),
    ])  # fmt: skip
    assert factor(room, "reply_chain", "a", reply=Reply("b")) == 0
    assert factor(room, "reply_chain", "b", reply=Reply("b", inferred=True)) == 0
    assert factor(room, "reply_chain", "b", reply=Reply("b")) == 1


@pytest.mark.parametrize(
    ("author", "ago_ms", "value"),
    [(ANN, 0, 1.0), (ANN, 75_000, 0.75), (ANN, 150_000, 0.5), (ANN, 299_999, 1 / 300_000), (ANN, 300_000, 0.0),
     (ANN, HOUR_MS, 0.0), (BEN, 0, 0.0), (BEN, 1_000, 0.0)],
)  # fmt: skip
def test_user_continuity(author, ago_ms, value):
    """S5-07: the asker's own lines, linear over five minutes."""
    room = Room([say("m", author, "x", ago_ms)])
    assert factor(room, "user_continuity", "m") == pytest.approx(value, abs=1e-9)


def test_nobody_asks():
    """S5-07, S5-09, S2-03: without an asker nothing is said about persons."""
    room = Room([say("m", ANN, "x @Ann", 1_000, mentions=("u1",))])
    given = shares(classic(room, asker=None), "m")
    assert given["user_continuity"] == given["mention_relation"] == 0


@pytest.mark.parametrize("hours", [0, 0.5, 1, 6, 24])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.0])
def test_time_decay(hours, rate):
    """S5-08: exp(-rate × hours), rate 0.1 by default, configurable."""
    settings = ContextSettings()
    parameters = replace(settings.profiles["classic"].parameters, decay_per_hour=rate)
    if rate != 0.1:
        settings = with_profile(settings, "classic", parameters=parameters)
    room = Room([say("m", BEN, "x", int(hours * HOUR_MS))], settings=settings)
    assert factor(room, "time_decay", "m") == pytest.approx(math.exp(-rate * hours))


@pytest.mark.parametrize(
    ("author", "in_message", "in_question", "value"),
    [
        (BEN, (), (), 0.0),
        (BEN, (), ("u2",), 0.5),  # the question names the author
        (BEN, ("u1",), (), 0.5),  # the message names the asker
        (BEN, ("u1",), ("u2",), 1.0),  # each way
        (BEN, ("u3",), ("u3",), 0.3),  # a common one
        (BEN, ("u3", "u4"), ("u3", "u4"), 0.6),
        (BEN, ("u3", "u4", "u5", "u6"), ("u3", "u4", "u5", "u6"), 1.0),  # capped
        (BEN, ("u1", "u3"), ("u2", "u3"), 1.0),
        (BEN, ("u4",), ("u3",), 0.0),
    ],
)
def test_mention_relation(author, in_message, in_question, value):
    """S5-09: 0.5 each way, 0.3 for each person both name, capped at 1. Ids as sent, never names."""
    room = Room([say("m", author, "x", mentions=in_message)])
    asked = tuple(Mention(user_id) for user_id in in_question)
    assert factor(room, "mention_relation", "m", mentions=asked) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "question", "value"),
    [
        ("alpha beta", "alpha beta", 1.0),
        ("alpha beta", "alpha gamma", 1 / 3),
        ("alpha beta", "gamma delta", 0.0),
        ("alpha", "alpha beta gamma delta", 1 / 4),
        ("the of and", "the of and", 0.0),  # nothing but stop words
        ("train 10.04", "10.04", 1 / 2),
    ],
)
def test_keyword_overlap(text, question, value):
    """S5-10: Jaccard over keywords."""
    room = Room([say("m", BEN, text)])
    assert factor(room, "keyword_overlap", "m", question) == pytest.approx(value)


def test_a_shared_chinese_word_counts():
    """S5-05, S5-10: a run of Chinese is several keywords, so a shared word is seen."""
    room = Room([say("m", BEN, "我家的猫喜欢吃鱼"), say("n", BEN, "今天天气不错")])
    assert factor(room, "keyword_overlap", "m", "猫粮和鱼") > 0
    assert factor(room, "keyword_overlap", "n", "猫粮和鱼") == 0


def test_the_sum_is_the_score():
    """S5-11, S5-12: the shares of every candidate sum to its score, and the score is the design's weighted sum."""
    room = Room([*chain(6), say("m", ANN, "alpha beta", MINUTE_MS, mentions=("u3",))])
    asked = (Mention("u3"),)
    built = classic(
        room, "alpha", mentions=asked, reply=Reply("c5"), overrides={"relevance_threshold": 0.0}
    )
    explanation = built.explanation
    assert dict(zip(explanation.factors, explanation.weights, strict=True)) == WEIGHTS
    assert (explanation.link, explanation.profile) == ("identity", "classic")
    assert len(explanation.candidates) == 7
    for one in explanation.candidates:
        assert sum(one.shares) == pytest.approx(one.linear, abs=1e-12)
        assert one.score == pytest.approx(min(1.0, one.linear))
    by_hand = 0.15 * 0.8 + 0.2 * math.exp(-0.1 / 60) + 0.15 * 0.3 + 0.1 / 2
    assert {c.message_id: c.score for c in explanation.candidates}["m"] == pytest.approx(by_hand)


def test_a_score_is_at_most_one():
    """S5-11: with weights that sum to more, the total is clipped; the shares still say what was added."""
    parameters = replace(ContextSettings().profiles["classic"].parameters, weights=(1, 1, 1, 1, 1))
    room = Room(
        [say("m", ANN, "alpha", 0)],
        settings=with_profile(ContextSettings(), "classic", parameters=parameters),
    )
    (one,) = classic(room, "alpha alpha", reply=Reply("m")).explanation.candidates
    assert (one.linear, one.score) == (pytest.approx(4.0), 1.0)


def test_a_build_reaches_rung_one():
    """S5-56: the document's scorer was called with an argument missing and always fell back; ours ranks, and its
    settings are read."""
    built = classic(Room(chain(3)), reply=Reply("c2"))
    assert built.rung.name == "RANKED"
    assert built.degradations == ()
    assert built.explanation.threshold == 0.3


def test_old_lines_are_as_good_as_their_links():
    """S5-06, S5-08: an ancestor from long ago still has its share of the chain."""
    room = Room([say("a", BEN, "x", 20 * DAY_MS)])
    given = shares(classic(room, reply=Reply("a")), "a")
    assert given["reply_chain"] == pytest.approx(0.4)
    assert given["time_decay"] < 1e-9
