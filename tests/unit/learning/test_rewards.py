"""P-21: explicit feedback counts 1, implicit feedback little, and alone it is no evidence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.learning.rewards import MAX_IMPLICIT_WEIGHT, Reward, reward_of
from backscroll_sidecar.ports import Signal, SignalKind

IMPLICIT = [kind for kind in SignalKind if kind is not SignalKind.FEEDBACK]


def rated(value: float | None) -> Signal:
    return Signal(SignalKind.FEEDBACK, "u1", "", value, 1.0, 0)


def implied(value: float, confidence: float, kind: SignalKind = SignalKind.THANKED) -> Signal:
    return Signal(kind, "u1", "m1", value, confidence, 0)


THANKED = implied(1.0, 0.8)
CITED = implied(0.2, 0.4, SignalKind.CITED_LEFT_OUT)


def test_nothing_said_is_no_reward():
    assert reward_of([]) is None
    assert reward_of([rated(None)]) is None  # only a text
    assert reward_of([implied(1.0, 0.0)]) is None


def test_feedback_alone():
    assert reward_of([rated(1.0)]) == Reward(1.0, 1.0, is_explicit=True)
    assert reward_of([rated(0.0)]) == Reward(0.0, 1.0, is_explicit=True)
    mean = reward_of([rated(1.0), rated(0.0), rated(0.0), rated(None)])
    assert mean == Reward(pytest.approx(1 / 3), 1.0, is_explicit=True)


def test_signals_alone_count_little_and_are_no_evidence():
    assert reward_of([THANKED]) == Reward(1.0, pytest.approx(0.24), is_explicit=False)
    both = reward_of([THANKED, CITED, rated(None)])
    assert both == Reward(pytest.approx(0.88 / 1.2), pytest.approx(0.24), is_explicit=False)


def test_signals_refine_feedback():
    # A rating of 1 with weight 1, and .2 with weight .3 x .4.
    refined = reward_of([CITED, rated(1.0)])
    assert refined == Reward(pytest.approx(1.024 / 1.12), 1.0, is_explicit=True)


SHARES = st.floats(0, 1)
FEEDBACK = st.lists(st.builds(rated, SHARES), max_size=4)
SIGNALS = st.lists(st.builds(implied, SHARES, SHARES, st.sampled_from(IMPLICIT)), max_size=5)


@given(FEEDBACK, SIGNALS)
def test_rewards_are_bounded(feedback, signals):
    reward = reward_of(signals + feedback)
    if reward is None:
        assert not feedback
        return
    assert -1e-9 <= reward.value <= 1 + 1e-9
    assert reward.is_explicit is bool(feedback)
    assert reward.weight == 1 if feedback else 0 <= reward.weight <= MAX_IMPLICIT_WEIGHT


@given(st.lists(st.builds(rated, SHARES), min_size=1, max_size=4), SIGNALS)
def test_signals_never_outvote_feedback(feedback, signals):
    said, moved = reward_of(feedback), reward_of(feedback + signals)
    assert said is not None
    assert moved is not None
    share = MAX_IMPLICIT_WEIGHT / (1 + MAX_IMPLICIT_WEIGHT)
    assert abs(moved.value - said.value) <= share + 1e-9
