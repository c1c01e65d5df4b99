"""The gate between the conversation and the whole history, and the one ranking it makes of both."""

from __future__ import annotations

from itertools import cycle, islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.strategies.history_router import (
    PATTERNS,
    PAUSE_MS,
    SOUNDS_LONG_AGO,
    SOUNDS_WHEN_CALLED,
    Reach,
    Talk,
    decisive_score,
    long_ago_score,
    most_long_ago,
    reaches,
    said_of_long_ago,
    worth,
)


def reach(starts_new: float, pause_ms: int = 5_000, *, sounds=False, scattered=False) -> Reach:
    return reaches(starts_new, Talk(pause_ms, scattered))[sounds]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (reach(0.1), Reach.NEAR),
        (reach(0.75), Reach.TURNS),
        (reach(0.95), Reach.MOSTLY_FAR),
        (reach(0.1, sounds=True), Reach.TURNS),
        (reach(0.95, sounds=True), Reach.MOSTLY_FAR),
        (reach(0.1, PAUSE_MS), Reach.MOSTLY_NEAR),
        (reach(0.75, PAUSE_MS), Reach.TURNS),
        (reach(0.95, PAUSE_MS), Reach.MOSTLY_FAR),
        (reach(0.1, PAUSE_MS, sounds=True), Reach.FAR),
        (reach(0.95, PAUSE_MS, sounds=True), Reach.FAR),
        (reach(0.1, PAUSE_MS, scattered=True), Reach.FAR),
        (reach(0.1, scattered=True), Reach.TURNS),
        (reach(0.1, PAUSE_MS - 1), Reach.NEAR),
    ],
)
def test_four_signs(found: Reach, expected: Reach):
    """No sign alone gives the history most places but the model's."""
    assert found is expected


def test_who_calls_the_bot_is_sooner_believed_to_ask_about_long_ago():
    """N-03: in the middle of a talk; after a pause the same holds for all."""
    score = long_ago_score(6.0, 0.0, said_of_long_ago("printer", speaks_of=False))
    assert SOUNDS_WHEN_CALLED <= score < SOUNDS_LONG_AGO
    assert decisive_score(5_000, calls_bot=False) == SOUNDS_LONG_AGO
    assert decisive_score(5_000, calls_bot=True) == SOUNDS_WHEN_CALLED
    assert decisive_score(PAUSE_MS, calls_bot=True) == decisive_score(PAUSE_MS, calls_bot=False)


@given(
    st.sampled_from(["ok", "you?", "when did we first meet?", "什么时候说过？", "谢谢你"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from([-1, 5_000, PAUSE_MS]),
    st.floats(0, 30),
    st.floats(0, 30),
)
def test_nothing_is_looked_up_that_could_change_it(
    text: str, speaks_of: bool, calls_bot: bool, pause_ms: int, far: float, near: float
) -> None:
    """What misses the score whatever rows say misses it with these rows, and so does what is not worth it."""
    said = said_of_long_ago(text, speaks_of=speaks_of)
    decisive = decisive_score(pause_ms, calls_bot=calls_bot)
    found = long_ago_score(far, near, said)
    assert found <= most_long_ago(said)
    cap, slope, least = worth(decisive, said)
    if min(cap, far) - slope * near < least:
        assert found < decisive


lists = st.lists(st.integers(0, 40), unique=True, max_size=30).map(lambda x: np.array(x, np.int32))


def test_what_each_reach_gives():
    """The share of the history among the first places, and where the talk has its own."""

    def far(how: Reach, count: int) -> list[bool]:
        return [not near for near in islice(cycle(PATTERNS[how].tolist()), count)]

    assert not any(far(Reach.NEAR, 100))
    assert sum(far(Reach.MOSTLY_NEAR, 30)) == 10
    assert far(Reach.TURNS, 6) == [False, True] * 3
    assert sum(far(Reach.MOSTLY_FAR, 20)) == 14
    assert [at for at, is_far in enumerate(far(Reach.FAR, 16)) if not is_far] == [4, 12]
