"""The weighted total, its shares, the link, and the order of rows."""

import math

import numpy as np
import pytest

from backscroll_scoring import CLASSIC, ScoreParameters, score_only, score_rows

MINUTE = 60_000
TALK = [
    {"time_ms": 0, "author": 1, "keywords": [1, 2], "mentions": [0]},
    {"time_ms": 1 * MINUTE, "author": 0, "parent": 0, "keywords": [2, 3]},
    {"time_ms": 2 * MINUTE, "author": 2, "parent": 1, "keywords": [9]},
    {"time_ms": 3 * MINUTE, "author": 1, "parent": 2, "mentions": [0, 2]},
]
# First and last are as far apart as in consecutive rows; what is between is not.
ODD_ROWS = ([10, 14, 11, 12, 14], [10, 13, 12, 11, 14], [20, 20, 22])
ASKED = {"time_ms": 4 * MINUTE, "author": 0, "parent": 2, "keywords": [2, 3, 9], "mentions": [2]}


@pytest.fixture
def scored(columns, query):
    def run(parameters=CLASSIC, rows=(0, 1, 2, 3)):
        return score_rows(columns(TALK), query(**ASKED), np.array(rows, np.int32), parameters)

    return run


def test_classic_is_the_designs_sum(scored):
    """S5-11: with the semantic term off the total is .4 .15 .2 .15 .1 times the five factors."""

    def decay(minutes):
        return math.exp(-0.1 * minutes / 60)

    expected = [
        0.4 * 0.64 + 0.2 * decay(4) + 0.15 * 0.5 + 0.1 * 0.25,
        0.4 * 0.8 + 0.15 * 0.4 + 0.2 * decay(3) + 0.1 * 2 / 3,
        0.4 * 1.0 + 0.2 * decay(2) + 0.15 * 0.5 + 0.1 / 3,
        0.4 * 0.6 + 0.2 * decay(1) + 0.15 * 0.8,
    ]
    np.testing.assert_allclose(scored().linear, expected, rtol=1e-14)
    np.testing.assert_array_equal(scored().scores, scored().linear)


def test_total_of_everything_is_one(columns, query):
    """S5-11: all factors at 1 give 1, nothing at all gives 0."""
    best = {"author": 0, "keywords": [1], "mentions": [0]}
    rows = np.arange(1, dtype=np.int32)
    asked = query(author=0, parent=0, keywords=[1], mentions=[0])
    assert score_only(columns([best]), asked, rows)[0] == pytest.approx(1.0)
    ages_ago = query(time_ms=2**62, author=5)
    assert score_only(columns([best]), ages_ago, rows)[0] == 0.0


def test_identity_link_clips(scored):
    """S5-11: weights that add up to more than 1, or to less than 0, stay in [0, 1]."""
    assert (scored(ScoreParameters(weights=(9, 9, 9, 9, 9))).scores == 1).all()
    low = scored(ScoreParameters(weights=(-1, -1, -1, -1, -1)))
    assert (low.scores == 0).all()
    assert (low.linear < 0).all()


def test_logistic_link(scored):
    """S5-11: fitted weights go through 1 / (1 + exp(-x)), without overflow at either end."""
    got = scored(ScoreParameters(weights=(3, -2, 1, 0.5, -0.25), link="logistic"))
    np.testing.assert_allclose(got.scores, 1 / (1 + np.exp(-got.linear)), rtol=1e-14)
    assert (scored(ScoreParameters(weights=(0, 0, 1e6, 0, 0), link="logistic")).scores == 1).all()
    assert (scored(ScoreParameters(weights=(0, 0, -1e6, 0, 0), link="logistic")).scores == 0).all()


def test_shares_sum_to_the_total(scored):
    """S5-12: the shares of a row, added from left to right, are the linear total to the bit."""
    got = scored(ScoreParameters(weights=(0.1, 0.2, 0.3, 0.7, -0.9)))
    np.testing.assert_array_equal(got.shares, got.factors * [0.1, 0.2, 0.3, 0.7, -0.9])
    total = np.zeros(len(TALK))
    for column in got.shares.T:
        total += column
    np.testing.assert_array_equal(got.linear, total)


def test_rows_in_any_order_get_the_same_scores(columns, query):
    """S5-12: a row's result is its own, whatever is scored beside it, in blocks or alone."""
    rng = np.random.default_rng(5)
    talk = [
        {
            "time_ms": int(t),
            "author": int(rng.integers(5)),
            "parent": int(rng.integers(-1, 700)),
            "keywords": rng.integers(0, 50, rng.integers(0, 9)).tolist(),
            "mentions": rng.integers(0, 5, rng.integers(0, 3)).tolist(),
        }
        for t in np.sort(rng.integers(0, 10**9, 700))
    ]
    channel = columns(talk)
    asked = query(time_ms=10**9, author=1, parent=650, keywords=range(0, 50, 3), mentions=[2, 4])
    in_order = score_rows(channel, asked, np.arange(700, dtype=np.int32))
    again = score_rows(channel, asked, np.arange(700, dtype=np.int32))
    for some in (
        rng.permutation(700),
        rng.integers(0, 700, 900),
        np.arange(300, 555),
        [699],
        *ODD_ROWS,
    ):
        rows = np.array(some, np.int32)
        got = score_rows(channel, asked, rows)
        only = score_only(channel, asked, rows)
        np.testing.assert_array_equal(only, got.scores)
        for name in ("factors", "shares", "linear", "scores"):
            np.testing.assert_array_equal(getattr(got, name), getattr(in_order, name)[rows])
            np.testing.assert_array_equal(getattr(again, name), getattr(in_order, name))
    assert np.unique(in_order.scores).size > 600
