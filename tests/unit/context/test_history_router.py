"""The gate between the conversation and the whole history, and the one ranking it makes of both."""

from __future__ import annotations

from itertools import cycle, islice

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.strategies.history_router import (
    ASKS,
    ASKS_PLAINLY,
    CLEAR,
    CLEAR_BY_WORDS,
    PATTERNS,
    PAUSE_MS,
    SOUNDS_LONG_AGO,
    SOUNDS_WHEN_CALLED,
    Reach,
    Talk,
    decisive_score,
    long_ago_score,
    most_long_ago,
    reach_by_words,
    reaches,
    said_of_long_ago,
    settled,
    worth,
)


def reach(
    starts_new: float, pause_ms: int = 5_000, *, said=ASKS, scattered=False, to_bot=False
) -> Reach:
    return reaches(starts_new, Talk(pause_ms, scattered), said, to_bot=to_bot)


def by_words(said: float, score: float, pause_ms: int = 5_000, was: Reach = Reach.NEAR) -> Reach:
    return reach_by_words(was, pause_ms, said, score)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (reach(0.1), Reach.NEAR),
        (reach(0.75), Reach.TURNS),
        (reach(0.75, said=0.0), Reach.NEAR),
        (reach(0.95, said=0.0), Reach.NEAR),
        (reach(0.95), Reach.MOSTLY_FAR),
        (reach(0.1, PAUSE_MS), Reach.HARDLY_FAR),
        (reach(0.1, PAUSE_MS, to_bot=True), Reach.TURNS),
        (reach(0.1, to_bot=True), Reach.NEAR),
        (reach(0.75, PAUSE_MS), Reach.TURNS),
        (reach(0.95, PAUSE_MS), Reach.MOSTLY_FAR),
        (reach(0.1, PAUSE_MS, scattered=True), Reach.FAR),
        (reach(0.1, scattered=True), Reach.TURNS),
        (reach(0.1, PAUSE_MS - 1), Reach.NEAR),
    ],
)
def test_what_the_talk_says(found: Reach, expected: Reach):
    """No sign alone gives the history most places but the model's; who goes on an hour later keeps the talk."""
    assert found is expected


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (by_words(0.8, 0.6), Reach.TURNS),
        (by_words(0.8, 0.8), Reach.FAR),
        (by_words(0.3, 0.9), Reach.TURNS),
        (by_words(0.3, 0.9, was=Reach.MOSTLY_FAR), Reach.MOSTLY_FAR),
        (by_words(0.8, 0.6, PAUSE_MS), Reach.FAR),
        (by_words(0.8, 0.8, PAUSE_MS), Reach.LONG_AGO),
        (by_words(0.3, 0.9, PAUSE_MS), Reach.MOSTLY_FAR),
        (by_words(0.3, 0.9, PAUSE_MS, was=Reach.FAR), Reach.FAR),
    ],
)
def test_what_the_words_say(found: Reach, expected: Reach):
    """The conversation keeps the fifth place unless it is plain, after a pause, what is asked for."""
    assert found is expected


def test_the_history_has_the_last_word_on_a_line_of_a_talk_with_the_bot():
    assert settled(Reach.IN_TALK, CLEAR) is Reach.IN_TALK
    assert settled(Reach.IN_TALK, CLEAR - 0.01) is Reach.MOSTLY_NEAR
    assert settled(Reach.IN_TALK, CLEAR_BY_WORDS, by_words=True) is Reach.IN_TALK
    for how in set(Reach) - {Reach.IN_TALK}:
        assert settled(how, 0.0) is how


def test_who_calls_the_bot_is_sooner_believed_to_ask_about_long_ago():
    """N-03: in the middle of a talk; after a pause the same holds for all."""
    said = said_of_long_ago("printer", speaks_of=False)
    assert SOUNDS_WHEN_CALLED <= long_ago_score(6.0, 0.0, said) < SOUNDS_LONG_AGO
    assert decisive_score(5_000, said, calls_bot=True) == SOUNDS_WHEN_CALLED
    for one in (said, ASKS, ASKS_PLAINLY):
        after = [decisive_score(PAUSE_MS, one, calls_bot=calls) for calls in (True, False)]
        assert after[0] == after[1]


def test_rare_words_alone_open_nothing():
    """Who tells another where to read asks nothing, however rare the words; who asks needs fewer of them."""
    said = said_of_long_ago("ann: see the wiki page on grub", speaks_of=False)
    assert most_long_ago(said) < decisive_score(5_000, said, calls_bot=False)
    falling = [decisive_score(5_000, one, calls_bot=False) for one in (0.0, ASKS, ASKS_PLAINLY)]
    assert falling == sorted(falling, reverse=True)


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
    decisive = decisive_score(pause_ms, said, calls_bot=calls_bot)
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
    assert [at for at, is_far in enumerate(far(Reach.HARDLY_FAR, 16)) if is_far] == [7, 15]
    assert [at for at, is_far in enumerate(far(Reach.IN_TALK, 10)) if not is_far] == [0, 5]
    assert all(far(Reach.LONG_AGO, 10))
    assert not far(Reach.LONG_AGO, 11)[10]
