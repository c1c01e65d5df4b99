"""Sources of candidates: order, limits, kinds of results, and strategies of one's own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.domain import Category, Reply, SpeakerStyle, TimeStyle
from backscroll_sidecar.strategies import (
    BUILTIN,
    Empty,
    Messages,
    Preferences,
    Strategy,
    StrategyQuery,
)
from tests.kit.chats import ANN, BEN, HOUR_MS, KEY, MINUTE_MS, say
from tests.kit.rooms import Fixed, Room, fates, ids, payload

LINES = [say(f"m{n:02}", BEN, f"line {n}", HOUR_MS - n * 1_000) for n in range(30)]


@dataclass
class Recorder:
    """A strategy that notes when it was asked and asks another one."""

    name: str
    log: list[str]
    result: object = Empty()

    def gather(self, query: StrategyQuery):
        self.log.append(self.name)
        return self.result


def test_presets_of_the_designs():
    """S0-01, S2-04, S2-05, S2-08, S3-09, S3-10, S3-18, S4-03, S5-16: defaults that disagree are presets by name."""
    retrieval, naive, room, classic = (
        PROFILES[name] for name in ("retrieval", "naive", "room", "classic")
    )
    assert (retrieval.recent_limit, retrieval.semantic_limit, retrieval.token_budget) == (
        10,
        5,
        4_096,
    )
    assert (naive.recent_limit, naive.max_messages, naive.max_chars_per_message) == (12, 12, 4_000)
    assert (room.recent_limit, room.max_context) == (20, 20)
    assert (classic.max_context, classic.window_hours, classic.threshold) == (20, 24, 0.3)
    assert (classic.window_limit, classic.thread_limit) == (50, 15)
    assert classic.parameters.weights == (0.4, 0.15, 0.2, 0.15, 0.1)


def test_retrieval_runs_recent_semantic_preferences():
    """S2-04, S2-05, S2-07: in this order, with 10 and 5 as limits; recorded as it happens."""
    log: list[str] = []
    own = [Recorder(name, log) for name in ("preferences", "semantic", "recent")]
    seen = Fixed("semantic", Empty())
    Room(LINES, own=own).build_now(profile="retrieval")
    assert log == ["recent", "semantic", "preferences"]
    built = Room(LINES, own=[seen]).build_now(profile="retrieval")
    assert len(built.items) == 10
    (query,) = seen.queries
    assert (query.semantic_limit, query.recent_limit) == (5, 10)


@pytest.mark.parametrize(
    "order", [("preferences", "recent"), ("recent", "preferences"), ("window", "thread", "recent")]
)
def test_the_order_is_configurable(order):
    """S2-07: sources run in the order asked for, and only those."""
    log: list[str] = []
    own = [Recorder(name, log) for name in BUILTIN]
    Room(LINES, own=own).build_now(profile="classic", overrides={"sources": order})
    assert log == list(order)


@pytest.mark.parametrize(
    ("result", "category"),
    [
        (Messages(Category.RECENT, message_ids=("m03", "unknown", "m01")), "recent"),
        (Messages(Category.SEMANTIC, message_ids=("m03", "m01")), "semantic"),
        (Messages(Category.SEMANTIC, rows=[3, 1, 3]), "semantic"),
        (Messages(Category.SEMANTIC, rows=np.array([1, 3], np.int32)), "semantic"),
        (Messages(Category.RECENT, rows=[1, 3, -1, 30, 999_999]), "recent"),
    ],
)
def test_a_strategy_of_ones_own(result, category):
    """S2-13, S2-23, S1-05: messages by id or row are merged by kind, each once, tagged with the source; what the view
    does not have is left out."""
    own = Fixed("mine", result)
    assert isinstance(own, Strategy)
    built = Room(LINES, own=[own]).build_now(
        profile="room", overrides={"sources": ("mine",)}, explain=True
    )
    assert [(i.message_id, i.sources, i.category.value) for i in built.items] == [
        ("m01", ("mine",), category),
        ("m03", ("mine",), category),
    ]
    assert fates(built) == {"m01": "selected", "m03": "selected"}


def test_what_a_strategy_is_asked():
    """S2-23, S2-10: store, channel, user, trimmed question, time, limits; the trigger is no eligible row."""
    own = Fixed("mine", Empty())
    question = say("q", ANN, " and where? ", 0)
    room = Room([*LINES, question], own=[own])
    room.build_now(profile="classic", overrides={"sources": ("mine",)}, preferences=(" tea ",),
                   question="", trigger_message_id="q", reply=Reply("m05"))  # fmt: skip
    (query,) = own.queries
    assert (query.store, query.key, query.user_id) == (room.reader, KEY, "u1")
    assert (query.question, query.asked_at_ms) == ("and where?", question.sent_at_ms)
    assert (query.end, len(query.eligible), bool(query.eligible.all())) == (30, 30, True)
    assert query.view.message_ids[query.parent_row] == "m05"
    assert query.parents is query.view.explicit_columns.parent


@pytest.mark.parametrize("trigger", [0, 3, 29])
def test_the_trigger_takes_no_place(trigger):
    """S2-04, S2-10: wherever the stored question stands among the newest lines, it is passed over: in a range that
    holds it, in the last so many, and in what a strategy is told of eligible rows.
    """
    others = [f"m{n:02}" for n in range(30) if n != trigger]
    now_ms = say("now", ANN, "", 0).sent_at_ms
    asked = {"question": "", "trigger_message_id": f"m{trigger:02}", "asked_at_ms": now_ms}
    overrides = {"recent_limit": 5, "max_context": 500}
    recent = Room(LINES).build_now(profile="room", overrides=overrides, **asked)
    assert ids(recent) == others[-5:]
    own = Fixed("mine", Messages(Category.RECENT, range(-3, 99)))
    overrides["sources"] = ("mine",)
    everything = Room(LINES, own=[own]).build_now(profile="room", overrides=overrides, **asked)
    assert ids(everything) == others
    (query,) = own.queries
    assert np.flatnonzero(~query.eligible).tolist() == list(query.excluded) == [trigger]


def test_three_kinds_of_results_in_their_places():
    """S2-13, S2-23, S1-10: Empty adds nothing, Preferences go to their line in the order of the sources, Messages to
    their section."""
    own = [
        Fixed("nothing", Empty()),
        Fixed("learnt", Preferences(("likes tea",))),
        Fixed("far", Messages(Category.SEMANTIC, message_ids=("m01",))),
    ]
    built = Room(LINES, own=own).build_now(
        profile="room", preferences=("is vegan",), speaker_style=SpeakerStyle.ROLE,
        overrides={"sources": ("nothing", "learnt", "far", "recent", "preferences"), "recent_limit": 1},
    )  # fmt: skip
    assert built.text == (
        "User Preferences: likes tea\n  is vegan\n\n"
        "Conversation (recent):\nUser: line 29\n\n"
        "Relevant reference (semantic):\nUser: line 1"
    )
    assert built.degradations == ()


async def test_a_strategy_that_waits():
    """S2-23: gather may be a coroutine."""

    class Waiting:
        name = "waiting"

        async def gather(self, query):
            return Messages(Category.RECENT, message_ids=("m07",))

    built = await Room(LINES, own=[Waiting()]).build(
        profile="room", overrides={"sources": ("waiting",)}
    )
    assert ids(built) == ["m07"]


def test_a_message_of_two_categories_is_recent():
    """S1-05, S5-15: what the conversation shows already is no reference; it is there once, with both sources."""
    own = Fixed("far", Messages(Category.SEMANTIC, message_ids=("m29", "m02")))
    built = Room(LINES, own=[own]).build_now(
        profile="room", overrides={"sources": ("far", "recent"), "recent_limit": 2}
    )
    assert [(i.message_id, i.category.value, i.sources) for i in built.items] == [
        ("m02", "semantic", ("far",)),
        ("m28", "recent", ("recent",)),
        ("m29", "recent", ("recent", "far")),  # an operator's own stand apart
    ]
    assert sum("line 29" in m["content"] for m in payload(built)["messages"]) == 1


def test_a_strategy_cannot_propose_the_question_or_the_future():
    """Law 3, law 7: rows behind the question and the trigger are no candidates, whoever proposes them."""
    own = Fixed("mine", Messages(Category.RECENT, message_ids=("q", "later", "m03")))
    lines = [*LINES, say("q", ANN, "and?", MINUTE_MS), say("later", BEN, "later", 0)]
    built = Room(lines, own=[own]).build_now(
        "", None, trigger_message_id="q", profile="room", overrides={"sources": ("mine",)}
    )
    assert ids(built) == ["m03"]


def test_given_preferences():
    """S2-06: a preference row appears in the block; blank ones do not."""
    built = Room(LINES).build_now(profile="retrieval", preferences=("", " 用户偏好喝茶。 ", "\n"))
    assert built.text.startswith("User Preferences: 用户偏好喝茶。\n\nConversation (recent):")
    assert Room().build_now(preferences=(" ",)).text == ""


def test_naive_needs_messages_only():
    """S3-15: the profile runs on history and events alone: one source of messages, no store but the channel."""
    assert PROFILES["naive"].message_sources == ("recent",)
    built = Room(LINES).build_now(profile="naive")
    assert ids(built) == [f"m{n}" for n in range(18, 30)]


def test_everything_without_a_key(monkeypatch):
    """P-18: every built-in profile builds with no key in the environment and no network."""
    import socket

    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    rooms = [(Room(LINES), profile) for profile in PROFILES]

    def no_network(*args, **kwargs):
        raise AssertionError("somebody opened a connection")

    monkeypatch.setattr(socket.socket, "connect", no_network)
    for room, profile in rooms:
        assert room.build_now(profile=profile).rung.name == "RANKED"


async def test_what_one_request_sets_is_its_own():
    """S5-50: settings are resolved once and kept; those of one request are not those of the next."""
    room = Room(LINES)
    asked = [
        ({}, 20, "gpt-4o-mini"),
        ({"overrides": {"max_context": 3}}, 3, "gpt-4o-mini"),
        ({"model": "small"}, 20, "small"),
        ({"overrides": {"max_context": 3, "use_intelligent_context": False}}, 3, "gpt-4o-mini"),
    ]
    for _ in range(2):
        for request, count, model in asked:
            built = await room.build(profile="room", **request)
            assert (len(built.items), payload(built)["model"]) == (count, model)
    zones = ("UTC", "Pacific/Kiritimati")  # 14 hours apart
    texts = [
        (await room.build(profile="room", time_style=TimeStyle.ISO_DATE, time_zone=zone)).text
        for zone in zones
    ]
    assert ["[2026-11-20]" in texts[0], "[2026-11-21]" in texts[1]] == [True, True]


@pytest.mark.parametrize("asked", [{}, {"question": "", "trigger_message_id": "m07"}])
@pytest.mark.parametrize(
    "proposed", [range(40), range(-3, 25), range(5, 8), range(30, 50), range(9, 4)]
)
def test_a_range_is_the_rows_in_it(proposed, asked):
    """S2-13, S2-23: what is no row, comes later or is the question itself is left out, as of rows one by one."""
    candidates = []
    for rows in (proposed, list(proposed)):
        room = Room(LINES, own=[Fixed("own", Messages(Category.RECENT, rows))])
        built = room.build_now(
            profile="classic", explain=True, overrides={"sources": ("own",)}, **asked
        )
        candidates.append(built.explanation.candidates)
    assert candidates[0] == candidates[1]
    last = 7 if asked else 30
    assert [c.message_id for c in candidates[0]] == [
        f"m{row:02}" for row in proposed if 0 <= row < last
    ]
