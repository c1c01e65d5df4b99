"""The profile `classic` as a whole: its pool, its threshold and limits, and every MEMORY_ setting that changes it."""

from __future__ import annotations

import pytest

from backscroll_sidecar.config.derived import context_settings
from backscroll_sidecar.config.settings import MemorySettings, Settings
from backscroll_sidecar.context.profiles import ContextSettings
from backscroll_sidecar.domain import Reply, Rung
from tests.kit.chats import ANN, BEN, CAT, DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS, say
from tests.kit.rooms import Room, Slow, fates, ids, ids_by_rank, payload


def sources(built) -> dict[str, tuple[str, ...]]:
    return {c.message_id: c.sources for c in built.explanation.candidates}


def test_thread_pool():
    """S5-13: the reply tree of the question, ancestors first, then its newest others; at most 15; the question itself
    not among them."""
    tree = [say("root", BEN, "root", 90 * DAY_MS)]
    tree += [
        say(f"c{n:02}", CAT, f"child {n}", 80 * DAY_MS - n, reply_to="root") for n in range(30)
    ]
    tree += [say("p", BEN, "parent", 70 * DAY_MS, reply_to="c00")]
    question = say("q", ANN, "question?", 0, reply_to="p")
    built = Room([*tree, question]).build_now(
        "", None, trigger_message_id="q", profile="classic", explain=True
    )
    newest_children = [f"c{n}" for n in range(18, 30)]
    assert sources(built) == dict.fromkeys(["root", "c00", *newest_children, "p"], ("thread",))


def test_no_root_no_thread():
    """S5-13: a question that answers nothing has no thread pool; an unknown parent is nothing."""
    room = Room([say("a", BEN, "x"), say("b", CAT, "y", reply_to="a")])
    for request in ({}, {"reply": Reply("unknown")}):
        built = room.build_now(profile="classic", explain=True, **request)
        assert set(sources(built).values()) == {("window",)}


def test_window_pool():
    """S5-14: the last 24 hours to the millisecond, at most the 50 newest, the question not among them."""
    lines = [say("out", BEN, "out", DAY_MS + 1), say("in", BEN, "in", DAY_MS)]
    question = say("q", ANN, "question?", 0)
    built = Room([*lines, question]).build_now(
        "", None, trigger_message_id="q", profile="classic", explain=True
    )
    assert sources(built) == {"in": ("window",)}
    many = [say(f"m{n:02}", BEN, f"x {n}", HOUR_MS - n) for n in range(60)]
    built = Room([*many, question]).build_now(
        "", None, trigger_message_id="q", profile="classic", explain=True
    )
    assert list(sources(built)) == [f"m{n:02}" for n in range(10, 60)]


def test_one_candidate_a_message():
    """S5-15, P-01: a message that both pools find is one candidate that names both."""
    room = Room([say("a", BEN, "x", MINUTE_MS)])
    built = room.build_now(profile="classic", explain=True, reply=Reply("a"))
    assert sources(built) == {"a": ("thread", "window")}
    assert len(built.items) == 1


def test_keep_and_order():
    """S5-16, S5-17: at least 0.3, the best 20, in time order, with role and name; the rest is told why."""
    parent = say("p", BEN, "parent", 23 * HOUR_MS)
    linked = [
        say(f"b{n:02}", CAT, f"sibling {n}", 10 * MINUTE_MS - n, reply_to="p") for n in range(25)
    ]
    lone = [say("lone", CAT, "unlinked", SECOND_MS)]
    built = Room([parent, *linked, *lone]).build_now(
        profile="classic", explain=True, reply=Reply("p"), include_names=True
    )
    # The parent .4 + .2·e^-2.3 = .42; a brother .24 + .2 = .44: the best are the newest brothers.
    assert ids(built) == [f"b{n:02}" for n in range(5, 25)]
    assert [item.rank for item in built.items] == list(range(20, 0, -1))
    fate = fates(built)
    assert fate.pop("lone") == "threshold"
    assert {id for id, word in fate.items() if word == "limit"} == {
        "p",
        "b00",
        "b01",
        "b02",
        "b03",
        "b04",
    }
    assert all(item.score >= 0.3 for item in built.items)
    message = payload(built)["messages"][0]
    assert message == {"role": "user", "content": "Cat <u3>: sibling 5", "name": "Cat"}


def test_the_threshold_is_inclusive():
    """S5-16: a score of exactly the threshold is kept, whatever the last bit of the sum says."""
    room = Room([say("m", BEN, "x", 0)])
    for threshold, kept in ((0.2, ["m"]), (0.2 + 9e-7, ["m"]), (0.201, [])):
        built = room.build_now(profile="classic", overrides={"relevance_threshold": threshold})
        assert ids(built) == kept


def test_no_floor_in_classic():
    """S5-16: a recent floor exists in other profiles only; asking for one in `classic` changes nothing."""
    room = Room([say(f"m{n}", BEN, f"unlinked {n}", HOUR_MS - n) for n in range(5)])
    assert ids(room.build_now(profile="classic", overrides={"recent_floor": 3})) == []
    floor = room.build_now(
        profile="balanced", overrides={"recent_floor": 3, "relevance_threshold": 1.0}
    )
    assert ids(floor) == ["m2", "m3", "m4"]


def test_switch_off():
    """S5-26: enable_intelligent_memory off: the last 10, unranked, in every profile."""
    settings = context_settings(Settings(memory=MemorySettings(enable_intelligent_memory=False)))
    lines = [say(f"m{n:02}", BEN, f"x {n}", HOUR_MS - n) for n in range(30)]
    for profile in settings.profiles:
        built = Room(lines, settings=settings).build_now("x 21?", profile=profile)
        assert ids(built) == [f"m{n}" for n in range(20, 30)]
        assert ids_by_rank(built)[0] == "m29"
        assert built.rung is Rung.RANKED


@pytest.mark.parametrize(
    ("config", "override", "expected"),
    [(True, None, 3), (True, False, 10), (False, None, 10), (False, True, 3)],
)
def test_intelligent_context_by_request(config, override, expected):
    """S5-50: use_intelligent_context of a request beats the configuration."""
    settings = ContextSettings(intelligent=config)
    lines = [say(f"m{n:02}", BEN, f"x {n}", HOUR_MS - n) for n in range(27)]
    lines += [say(f"a{n}", ANN, f"mine {n}", n * SECOND_MS) for n in range(3)]
    built = Room(lines, settings=settings).build_now(
        profile="classic", overrides={"use_intelligent_context": override}
    )
    assert len(built.items) == expected


@pytest.mark.parametrize("intelligent", [True, False])
def test_max_context_by_request(intelligent):
    """S5-50: max_context of a request beats configuration, ranked or not."""
    settings = ContextSettings(max_context=5, intelligent=intelligent)
    room = Room([say(f"m{n:02}", ANN, f"x {n}", HOUR_MS - n) for n in range(30)], settings=settings)
    low = {"relevance_threshold": 0.0}
    assert len(room.build_now(profile="classic", overrides=low).items) == 5
    assert len(room.build_now(profile="classic", overrides={**low, "max_context": 3}).items) == 3
    wide = room.build_now(profile="classic", overrides={**low, "max_context": 8})
    assert len(wide.items) == 8


def test_time_window_by_request():
    """S5-50: time_window_hours of a request beats configuration."""
    settings = context_settings(Settings(memory=MemorySettings(time_window_hours=2)))
    room = Room(
        [say(f"h{n}", BEN, f"x {n}", n * HOUR_MS) for n in range(9, 0, -1)], settings=settings
    )

    def found(**overrides):
        built = room.build_now(profile="classic", explain=True, overrides=overrides)
        return list(sources(built))

    assert found() == ["h2", "h1"]
    assert found(time_window_hours=5) == ["h5", "h4", "h3", "h2", "h1"]


# --- each MEMORY_ setting alone ------------------------------------------------------------------

LINES = [
    say("far", BEN, "alpha from last week", 7 * DAY_MS),
    say("old", BEN, "alpha beta", 30 * HOUR_MS),
    say("parent", BEN, "parent", 10 * HOUR_MS),
    say("named", CAT, "hello", 5 * HOUR_MS, mentions=("u1",)),
    say("words", BEN, "alpha beta gamma", 4 * HOUR_MS),
    say("own", ANN, "my own line", 30 * SECOND_MS),
    say("fresh", CAT, "unlinked", 10 * SECOND_MS),
]
ASK = {"reply": Reply("parent"), "profile": "classic", "explain": True}


def outcome(**changed):
    """Scores and fates of `classic` under settings with these changes."""
    settings = context_settings(Settings(memory=MemorySettings(**changed)))
    built = Room(LINES, settings=settings).build_now("alpha beta gamma?", ANN, **ASK)
    scores = {c.message_id: round(c.score, 9) for c in built.explanation.candidates}
    return scores, fates(built), built


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("reply_chain_weight", 0.1),
        ("user_continuity_weight", 0.5),
        ("time_decay_weight", 0.5),
        ("mention_relation_weight", 0.5),
        ("keyword_overlap_weight", 0.5),
    ],
)
def test_each_weight_changes_classic(name, value):
    """S5-27: every MEMORY_ weight, alone, changes scores, and only in its own column."""
    before, _, plain = outcome()
    after, _, built = outcome(**{name: value})
    assert before != after
    column = ["reply_chain_weight", "user_continuity_weight", "time_decay_weight", "mention_relation_weight",
              "keyword_overlap_weight"].index(name)  # fmt: skip
    pairs = zip(plain.explanation.candidates, built.explanation.candidates, strict=True)
    for one, other in pairs:
        differs = [a != b for a, b in zip(one.shares, other.shares, strict=True)]
        assert not any(differs[:column] + differs[column + 1 :])
    assert any(a.shares[column] != b.shares[column]
               for a, b in zip(plain.explanation.candidates, built.explanation.candidates, strict=True))  # fmt: skip


def test_threshold_window_and_maximum_change_classic():
    """S5-27: threshold 0.3, window 24 h, maximum 20 are the defaults, and each alone changes what is taken."""
    _, default, built = outcome()
    assert built.explanation.threshold == 0.3
    assert [id for id, fate in default.items() if fate == "selected"] == ["parent", "own"]
    _, lower, _ = outcome(relevance_threshold=0.15)
    assert [id for id, fate in lower.items() if fate == "selected"] == [
        "parent", "named", "words", "own", "fresh",
    ]  # fmt: skip
    scores, _, _ = outcome(time_window_hours=48)
    assert "old" in scores
    assert "old" not in default
    _, one, built = outcome(max_context_messages=1)
    assert ids(built) == ["parent"]
    assert one["own"] == "limit"


def test_switches_change_classic():
    """S5-27: enable_intelligent_memory and fallback_on_error."""
    _, _, built = outcome(enable_intelligent_memory=False)
    assert len(built.items) == 7
    settings = context_settings(Settings(memory=MemorySettings(fallback_on_error=False)))
    assert settings.fallback_on_error is False


def test_the_timeout_changes_classic():
    """S5-25, S5-27: context_build_timeout_seconds cuts a slow source off."""
    settings = context_settings(Settings(memory=MemorySettings(context_build_timeout_seconds=2.0)))
    built = Room(LINES, settings=settings, own=[Slow("window", 2_000)]).build_now("?", ANN, **ASK)
    assert [(d.source, d.reason) for d in built.degradations] == [("window", "TIMEOUT")]
    assert ids(built) == ["parent"]


def test_other_profiles_ignore_weights_threshold_and_window():
    """S5-27, S0-01: the MEMORY_ weights, threshold and window define `classic` only."""
    changed = MemorySettings(reply_chain_weight=0.9, relevance_threshold=0.9, time_window_hours=1)
    ours, plain = context_settings(Settings(memory=changed)), ContextSettings()
    for name, profile in plain.profiles.items():
        assert (ours.profiles[name] == profile) is (name != "classic")
