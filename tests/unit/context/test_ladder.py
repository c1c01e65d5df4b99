"""Law 5: degrade is a value. Whatever part fails, the bot gets an answer that names it."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from backscroll_sidecar.adapters import OpenAIChat
from backscroll_sidecar.context.profiles import PROFILES, ContextSettings
from backscroll_sidecar.context.ranking import rank
from backscroll_sidecar.domain import Layout, Rung
from backscroll_sidecar.edge.convert.built import AnswerFields
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.strategies import BUILTIN, Empty, Preferences
from tests.kit.chats import BEN, HOUR_MS, StillClock, say
from tests.kit.rooms import Failing, Fixed, Room, Slow, broken_store, fates, ids, payload

LINES = [say(f"m{n:02}", BEN, f"line {n}", HOUR_MS - n * 1_000) for n in range(40)]
LAST_20 = [f"m{n}" for n in range(20, 40)]


def named(built) -> list[tuple[str, str, str]]:
    return [(d.stage, d.source, d.reason) for d in built.degradations]


def broken(*args, **kwargs):
    raise RuntimeError("boom, and a secret")


def assert_answers(built, question: str = "what now?") -> None:
    """Whatever was lost, the question is there to be posted."""
    assert payload(built)["messages"][-1]["content"].endswith(question)
    assert "secret" not in repr(built.degradations)


# --- the rungs -----------------------------------------------------------------------------------


@pytest.mark.injects_fault
@pytest.mark.parametrize("profile", PROFILES)
def test_rung_two(profile):
    """S5-24: ranking breaks: the last messages, at most 20 and at most the maximum, and the rung is told."""
    built = Room(LINES, ranker=broken).build_now(profile=profile, preferences=("tea",))
    assert built.rung is Rung.RECENT
    assert ("rank", "", "ERROR") in named(built)
    most = min(20, PROFILES[profile].max_context, PROFILES[profile].max_messages or 20)
    assert ids(built) == LAST_20[-most:]
    assert "tea" in built.text
    assert_answers(built)


@pytest.mark.injects_fault
def test_rung_two_keeps_the_maximum_of_the_request():
    """S5-24, S5-50: the last max_context."""
    built = Room(LINES, ranker=broken).build_now(profile="classic", overrides={"max_context": 5})
    assert ids(built) == LAST_20[-5:]


@pytest.mark.injects_fault
def test_rung_three_without_fallback():
    """S5-26: fallback_on_error off: from an error straight to an empty context."""
    room = Room(LINES, ranker=broken, settings=ContextSettings(fallback_on_error=False))
    built = room.build_now(profile="classic", preferences=("tea",))
    assert (built.rung, ids(built), built.text) == (Rung.EMPTY, [], "")
    assert named(built) == [("rank", "", "ERROR")]
    assert_answers(built)


@pytest.mark.injects_fault
def test_rung_three_when_rung_two_breaks(monkeypatch):
    """S5-24: the fallback breaks as well: an empty context, and the answer comes."""
    monkeypatch.setattr("backscroll_sidecar.context.fallback_ladder.select", broken)
    built = Room(LINES).build_now(profile="classic")
    assert (built.rung, ids(built)) == (Rung.EMPTY, [])
    assert named(built) == [("select", "", "ERROR")]
    assert_answers(built)


# --- parts ---------------------------------------------------------------------------------------


@pytest.mark.injects_fault
@pytest.mark.parametrize("source", ["recent", "thread", "window", "preferences"])
def test_a_source_that_raises_drops_out(source):
    """Law 5, S2-14, S2-15: a strategy that raises costs only itself; the others are there."""
    overrides = {
        "sources": ("recent", "thread", "window", "preferences"),
        "relevance_threshold": 0.0,
    }
    built = Room(LINES, own=[Failing(source)]).build_now(
        profile="classic", overrides=overrides, preferences=("tea",), explain=True
    )
    assert named(built) == [("gather", source, "ERROR")]
    assert built.rung is Rung.RANKED
    assert ids(built) == LAST_20
    assert ("tea" in built.text) is (source != "preferences")
    assert not any(source in c.sources for c in built.explanation.candidates)
    assert_answers(built)


@pytest.mark.injects_fault
def test_all_sources_raise():
    """Law 5: nothing is left to show, everything that failed is named, the answer comes."""
    built = Room(LINES, own=[Failing(name) for name in BUILTIN]).build_now(profile="classic")
    assert named(built) == [
        ("gather", name, "ERROR") for name in ("thread", "window", "preferences")
    ]
    assert ids(built) == []
    assert_answers(built)


@pytest.mark.injects_fault
@pytest.mark.parametrize(
    "result", [None, 7, Empty(), Preferences((1, 2)), Preferences(None)], ids=repr
)
def test_a_source_that_returns_nonsense(result):
    """Law 5: somebody else's strategy cannot break a build with what it returns."""
    overrides = {"sources": ("recent", "mine")}
    built = Room(LINES, own=[Fixed("mine", result)]).build_now(profile="room", overrides=overrides)
    assert ids(built) == LAST_20
    assert {source for _, source, _ in named(built)} <= {"mine"}
    assert_answers(built)


def test_a_source_nobody_registered():
    """Law 5: a source that is not there is named, not silent."""
    built = Room(LINES).build_now(profile="retrieval")
    assert named(built) == [("gather", "semantic", "NOT_CONFIGURED")]
    assert len(built.items) == 10


async def test_a_slow_source_leaves_time_for_the_rest():
    """S5-25, N-09: a source that waits is cut off, named, and the others are ranked."""
    room = Room(LINES, own=[Slow("mine", 3_000)], settings=ContextSettings(timeout_s=2.0))
    overrides = {"sources": ("mine", "recent"), "relevance_threshold": 0.0}
    async with asyncio.timeout(60):
        built = await room.build(profile="classic", overrides=overrides)
    assert named(built) == [("gather", "mine", "TIMEOUT")]
    assert (built.rung, ids(built)) == (Rung.RANKED, LAST_20)


@pytest.mark.injects_fault
def test_a_failed_source_is_named_on_every_rung():
    """Law 5: what was lost before ranking broke is named as well."""
    built = Room(LINES, own=[Failing("window")], ranker=broken).build_now(profile="classic")
    assert named(built) == [("gather", "window", "ERROR"), ("rank", "", "ERROR")]
    assert ids(built) == LAST_20


class BadCompressor:
    def compress(self, lines, limits):
        raise RuntimeError("boom, and a secret")


class BadAssembler:
    def assemble(self, parts, layout, *, include_system):
        raise RuntimeError("boom, and a secret")


@pytest.mark.injects_fault
@pytest.mark.parametrize(
    ("parts", "stage"),
    [({"compressor": BadCompressor()}, "compress"), ({"assembler": BadAssembler()}, "assemble")],
)
@pytest.mark.parametrize("layout", Layout)
def test_a_compressor_or_assembler_that_raises(parts, stage, layout):
    """Law 5: it is replaced by the plain one and named; the history stays."""
    built = Room(LINES, **parts).build_now(
        profile="room", layout=layout, preferences=("tea",), explain=True
    )
    assert named(built) == [(stage, "", "ERROR")]
    assert ids(built) == LAST_20
    assert fates(built)["m39"] == "selected"
    assert "tea" in built.text
    assert_answers(built)


class BadAdapter:
    name = "bad"
    payload = parse_reply = broken


@pytest.mark.injects_fault
def test_an_adapter_that_raises():
    """Law 5: one vendor's payload costs only itself; the others and the neutral list are there."""
    room = Room(LINES, adapters={"bad": BadAdapter(), "openai_chat": OpenAIChat()})
    built = room.build_now(profile="room", payload_formats=("bad", "openai_chat"))
    assert named(built) == [("adapt", "bad", "ERROR")]
    assert [p.format for p in built.payloads] == ["openai_chat"]
    assert len(built.messages) == 21


class Other(OpenAIChat):
    """Another vendor: the same, with another word."""

    name = "other"

    def around(self, role, name=""):
        head, tail = super().around(role, name)
        return head.replace(b"content", b"said"), tail


def test_two_vendors(monkeypatch):
    """P-09: each has its payload of the same messages, whichever is named first, as often as it is named."""
    monkeypatch.setitem(AnswerFields.formats, "other", AnswerFields.formats["openai_chat"])
    room = Room(LINES, adapters={"other": Other(), "openai_chat": OpenAIChat()})
    for formats in (("openai_chat", "other"), ("other", "openai_chat"), ("other", "other")):
        built = room.build_now(profile="room", payload_formats=formats, include_names=True)
        assert not built.degradations
        bodies = [json.loads(one.body)["messages"] for one in built.payloads]
        assert len(bodies) == 2
        for name, body in zip(formats, bodies, strict=True):
            key = "said" if name == "other" else "content"
            assert [one[key] for one in body] == [one.content for one in built.payload_messages]


# --- the history is away -------------------------------------------------------------------------


@pytest.mark.injects_fault
@pytest.mark.parametrize(
    ("error", "reason"),
    [(broken_store(), "STORE_UNAVAILABLE"), (RuntimeError("a bug, and a secret"), "ERROR")],
)
def test_a_store_that_is_down(error, reason):
    """S2-14, S5-29, law 5: a cold channel and a store that is down: an empty context, named, and the answer goes on;
    the channel is not called unknown."""
    room = Room(LINES, hot=False)
    room.reader.error = error
    built = room.build_now(profile="classic", preferences=("tea",))
    assert named(built) == [("gather", "history", reason)]
    assert (built.rung, ids(built), built.channel_known) == (Rung.EMPTY, [], True)
    assert_answers(built)
    room.reader.error = None
    assert room.build_now(profile="room").rung is Rung.RANKED


def test_a_hot_channel_needs_no_store():
    """Law 5: builds go on when the store is away."""
    room = Room(LINES)
    room.build_now(profile="room")
    room.reader.error = broken_store()
    built = room.build_now(profile="room")
    assert (named(built), ids(built), built.diagnostics.cache_hit) == ([], LAST_20, True)


def test_a_store_that_is_down_and_no_question():
    """Law 5, law 3: only the store knows what the trigger says, so there is nothing to answer: a typed, retryable
    error."""
    room = Room(LINES, hot=False)
    room.reader.error = broken_store()
    with pytest.raises(StoreUnavailable):
        room.build_now("", None, trigger_message_id="m39")


@pytest.mark.parametrize("time_left_s", [0.005, 0.02, 0.1, 1.0])
async def test_a_slow_store_and_a_deadline(time_left_s):
    """S5-25, N-09: the answer comes before the caller's deadline, with the rung and the reason. (One try in 40 must
    make it: the machine may be busy. The rate on a quiet one is a proof of its own.)"""
    room = Room(LINES, hot=False)
    room.reader.delay_s = 30
    for _ in range(40):
        started = time.perf_counter()
        built = await room.build(profile="classic", time_left_s=time_left_s)
        took_s = time.perf_counter() - started
        assert named(built) == [("gather", "history", "TIMEOUT")]
        assert built.rung is Rung.EMPTY
        assert_answers(built)
        if took_s < time_left_s:
            return
    pytest.fail(f"never in time, last {took_s} s of {time_left_s}")


async def test_giving_up_does_not_stop_the_load():
    """N-09: the next build finds what the one that gave up had asked for."""
    room = Room(LINES, hot=False)
    room.reader.delay_s = 0.05
    built = await room.build(profile="room", time_left_s=0.01)
    assert built.rung is Rung.EMPTY
    await asyncio.sleep(0.1)
    built = await room.build(profile="room", time_left_s=0.01)
    assert (ids(built), room.reader.loads) == (LAST_20, 1)


def test_no_time_to_rank():
    """N-09: a CPU stage whose usual cost no longer fits is skipped; the last messages are there."""
    clock = StillClock(at_s=0.0)
    room = Room(LINES, clock=clock)
    built = room.build_now(profile="classic", time_left_s=0.00001)
    assert built.rung is Rung.RECENT
    assert named(built) == [("rank", "", "DEADLINE")]
    assert ids(built) == LAST_20


def test_one_slow_ranking_is_forgotten():
    """N-09: a pause of the machine must not keep later builds with short deadlines from ranking for ever."""
    clock = StillClock(at_s=0.0)

    def slow_once(view, question, gathered, profile):
        clock.at_s += 0 if slow_once.done else 1.0
        slow_once.done = True
        return rank(view, question, gathered, profile)

    slow_once.done = False
    room = Room(LINES, clock=clock, ranker=slow_once)
    assert room.build_now(profile="classic").rung is Rung.RANKED
    rungs = [room.build_now(profile="classic", time_left_s=0.05).rung for _ in range(60)]
    assert rungs[0] is Rung.RECENT
    assert rungs[-1] is Rung.RANKED


def test_a_lost_history_keeps_what_the_request_brings():
    """Law 5, S2-14: with the store down the preferences of the request are still there."""
    room = Room(LINES, hot=False)
    room.reader.error = broken_store()
    built = room.build_now("still there?", BEN, preferences=("likes tea",))
    assert (built.rung, len(built.items)) == (Rung.EMPTY, 0)
    assert built.text == "User Preferences: likes tea"
