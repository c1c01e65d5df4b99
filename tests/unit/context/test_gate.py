"""The gate between the conversation and the whole history, and the one ranking it makes of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.analyze import recall_signs
from backscroll_sidecar.context.gate import (
    SOUNDS_LONG_AGO,
    SOUNDS_WHEN_CALLED,
    Reach,
    decisive_score,
    reach,
    settled,
    united,
)
from backscroll_sidecar.strategies.long_ago import PAUSE_MS, LongAgo


def sounds(
    pause_ms: int = 5_000, *, like_long_ago: bool = False, scattered: bool = False
) -> LongAgo:
    text = "when did we first meet?" if like_long_ago else "ok"
    far = 1.0 if like_long_ago else 0.0
    sign = LongAgo(far, 0.0, recall_signs(text), like_long_ago, pause_ms, scattered)
    assert (sign.score >= SOUNDS_LONG_AGO) == like_long_ago
    return sign


@pytest.mark.parametrize(
    ("starts_new", "sign", "expected"),
    [
        (0.1, sounds(), Reach.NEAR),
        (0.75, sounds(), Reach.TURNS),
        (0.95, sounds(), Reach.MOSTLY_FAR),
        (0.1, sounds(like_long_ago=True), Reach.TURNS),
        (0.1, sounds(PAUSE_MS), Reach.MOSTLY_NEAR),
        (0.75, sounds(PAUSE_MS), Reach.TURNS),
        (0.95, sounds(PAUSE_MS), Reach.MOSTLY_FAR),
        (0.1, sounds(PAUSE_MS, like_long_ago=True), Reach.FAR),
        (0.1, sounds(PAUSE_MS, scattered=True), Reach.FAR),
        (0.1, sounds(scattered=True), Reach.TURNS),
        (0.1, sounds(PAUSE_MS - 1), Reach.NEAR),
    ],
)
def test_four_signs(starts_new: float, sign: LongAgo, expected: Reach):
    """No sign alone gives the history most places but the model's."""
    assert reach(starts_new, sign) is expected


def test_who_calls_the_bot_is_sooner_believed_to_ask_about_long_ago():
    """N-03: in the middle of a talk; after a pause the same holds for all."""
    sign = LongAgo(0.6, 0.0, recall_signs("printer"), speaks_of=False, pause_ms=5_000)
    assert SOUNDS_WHEN_CALLED <= sign.score < SOUNDS_LONG_AGO
    assert reach(0.1, sign) is Reach.NEAR
    assert reach(0.1, replace(sign, calls_bot=True)) is Reach.TURNS
    late = replace(sign, pause_ms=PAUSE_MS)
    assert decisive_score(late) == decisive_score(replace(late, calls_bot=True))


@given(
    st.floats(0, 1),
    st.sampled_from(["ok", "you?", "when did we first meet?", "什么时候说过？", "谢谢你"]),
    st.booleans(),
    st.sampled_from([-1, 5_000, PAUSE_MS]),
    st.booleans(),
    st.floats(0, 30),
    st.floats(0, 30),
)
def test_nothing_is_looked_up_that_could_change_it(
    starts_new: float,
    text: str,
    speaks_of: bool,
    pause_ms: int,
    scattered: bool,
    far: float,
    near: float,
) -> None:
    """What is settled by the most that rows can say is what any rows say; what is not worth it misses the score."""
    most = LongAgo(1.0, 0.0, recall_signs(text), speaks_of, pause_ms, scattered)
    found = most.but(far, near)
    assert settled(starts_new, most) in {None, reach(starts_new, found)}
    cap, slope, least = most.worth(decisive_score(most))
    if min(cap, far) - slope * near < least:
        assert found.score < decisive_score(most)


lists = st.lists(st.integers(0, 40), unique=True, max_size=30).map(lambda x: np.array(x, np.int32))


@given(lists, lists, st.sampled_from(Reach))
def test_each_row_once_in_the_order_of_its_list(near, far, how):
    """All rows of the lists that count, each once; rows of one list only keep its order."""
    out = united(near, far, how).rows.tolist()
    wanted = set(near.tolist()) | (set(far.tolist()) if how is not Reach.NEAR else set())
    assert sorted(out) == sorted(wanted)
    for one, other in ((near, far), (far, near)):
        alone = [row for row in out if row in set(one.tolist()) - set(other.tolist())]
        assert alone == [row for row in one.tolist() if row in set(alone)]


def test_what_each_reach_gives():
    near, far = np.arange(100, dtype=np.int32), np.arange(200, 300, dtype=np.int32)
    share = {how: [row >= 200 for row in united(near, far, how).rows.tolist()] for how in Reach}
    assert not any(share[Reach.NEAR])
    assert sum(share[Reach.MOSTLY_NEAR][:30]) == 10
    assert share[Reach.TURNS][:6] == [False, True] * 3
    assert sum(share[Reach.MOSTLY_FAR][:20]) == 14
    assert [at for at, far_ in enumerate(share[Reach.FAR][:16]) if not far_] == [4, 12]


def test_who_gave_a_place_is_told():
    """Law 7: a row of both rankings is shown with the scores of the one that gave it its place."""
    both = united(np.array([5, 7], np.int32), np.array([7, 5, 9], np.int32), Reach.TURNS)
    assert both.rows.tolist() == [5, 7, 9]
    assert both.by_first.tolist() == [True, False, False]
