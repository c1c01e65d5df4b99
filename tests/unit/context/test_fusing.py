"""What sources say of their proposals, and what becomes of it in a profile that fuses."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from backscroll_sidecar.context.profiles import PROFILES, ContextSettings
from backscroll_sidecar.domain import Analysis, Category, MessageState
from backscroll_sidecar.strategies import Messages, recall
from tests.kit.chats import ANN, BEN, DAY_MS, HOUR_MS, say, stored_in_order
from tests.kit.rooms import Fixed, Room, fates, ids, ids_by_rank, shares, with_profile

LINES = [say(f"m{n}", BEN, f"line {n} of the harbour", DAY_MS - n) for n in range(6)]


def room(result, lines=LINES, profile="hybrid", **changes):
    """`own` is the only source."""
    changes = {"sources": ("own",), "recency_share": 0.0, **changes}
    settings = with_profile(ContextSettings(), profile, **changes)
    return Room(lines, own=[Fixed("own", result)], settings=settings)


def test_the_two_profiles_differ_in_the_fusion_alone():
    """P-05: ranks or scores; otherwise they are the same."""
    one, other = PROFILES["hybrid"], PROFILES["hybrid_linear"]
    differing = {
        name for name in one.__dataclass_fields__ if getattr(one, name) != getattr(other, name)
    }
    assert differing == {"name", "fusion"}
    assert (one.fusion, other.fusion, one.recency_share) == ("rrf", "linear", 0.2)


def test_scores_run_over_rows_and_then_ids():
    """P-05: one for each row, then one for each id; those of unknown ids and of rows to come go with them."""
    scores = np.array([0.1, 9.0, 0.3, 8.0, 0.2])
    result = Messages(Category.RECENT, [0, 77, 2], ("nobody", "m4"), scores=scores)
    built = room(result, profile="hybrid_linear").build_now(profile="hybrid_linear", explain=True)
    assert ids_by_rank(built) == ["m2", "m4", "m0"]
    assert [shares(built, id)["own"] for id in ("m2", "m4", "m0")] == pytest.approx([1, 0.5, 0])


@pytest.mark.parametrize("profile", ["hybrid", "hybrid_linear"])
def test_without_scores_the_newest_is_the_best(profile):
    """P-05: in even steps, in whatever order the rows came, each once; of equal scores the newest first."""
    result = Messages(Category.RECENT, [4, 0, 5, 0])
    built = room(result, profile=profile).build_now(profile=profile, explain=True)
    assert ids_by_rank(built) == ["m5", "m4", "m0"]
    by_hand = {"hybrid": [1, 61 / 62, 61 / 63], "hybrid_linear": [1, 0.5, 0]}[profile]
    assert [shares(built, id)["own"] for id in ("m5", "m4", "m0")] == pytest.approx(by_hand)
    equal = Messages(Category.RECENT, [4, 0, 5], scores=[2.0, 2.0, 2.0])
    assert ids_by_rank(room(equal, profile=profile).build_now(profile=profile)) == [
        "m5", "m4", "m0",
    ]  # fmt: skip


@pytest.mark.injects_fault
@pytest.mark.parametrize("profile", ["hybrid", "room"])
@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ([1.0], "BAD_SCORES"),
        ([1.0, 2.0, 3.0], "BAD_SCORES"),
        ([1.0, float("nan")], "BAD_SCORES"),
        ([1.0, float("inf")], "BAD_SCORES"),
        ([[1.0], [2.0]], "BAD_SCORES"),
        (["good", "better"], "ERROR"),
    ],
)
def test_bad_scores_cost_their_source_only(profile, scores, reason):
    """Law 5: too few, too many, not finite, no numbers; named, whether or not the profile fuses; the rest goes on."""
    result = Messages(Category.RECENT, [0, 1], scores=scores)
    built = room(result, profile=profile, sources=("own", "recent"), recent_limit=3).build_now(
        profile=profile
    )
    assert [(d.source, d.reason) for d in built.degradations] == [("own", reason)]
    assert ids(built) == ["m3", "m4", "m5"]


def test_what_was_taken_back_takes_no_rank():
    """Law 7: a recalled line that a source still proposes is told as recalled; the next best is the first."""
    stored = stored_in_order(LINES)
    gone = stored[2]
    kind = gone.analysis.message_type
    stored[2] = type(gone)(
        gone.message, Analysis("", kind), gone.seq, gone.rank_time_ms, state=MessageState.RECALLED
    )
    result = Messages(Category.RECENT, [2, 1, 0], scores=[3.0, 2.0, 1.0])
    built = room(result, lines=stored).build_now(profile="hybrid", explain=True)
    assert fates(built) == {"m0": "selected", "m1": "selected", "m2": "recalled"}
    assert shares(built, "m1")["own"] == 1
    assert shares(built, "m2")["own"] == 0


@pytest.mark.parametrize("profile", ["hybrid", "memory"])
def test_long_histories_are_looked_through_in_a_thread(monkeypatch, profile):
    """Law 9: the same answer, and the loop's thread has not made it."""
    lines = [say(f"m{n}", ANN, f"line {n} about boats", HOUR_MS - n * 1_000) for n in range(40)]
    lines[3] = say("m3", BEN, "the anchor is green", HOUR_MS - 3_000)
    threads: list[str] = []
    seek = recall.seek

    def noted(*args):
        threads.append(threading.current_thread().name)
        return seek(*args)

    monkeypatch.setattr(recall, "seek", noted)
    inline = Room(lines).build_now("where is the anchor?", profile=profile)
    assert set(threads) == {"MainThread"}
    threads.clear()
    monkeypatch.setattr(recall, "RANK_US_PER_ROW", 8.0)
    away = Room(lines).build_now("where is the anchor?", profile=profile)
    assert threads
    assert "MainThread" not in threads
    assert (away.items, away.text) == (inline.items, inline.text)
    assert "m3" in ids(away)
