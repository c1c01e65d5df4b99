"""Each factor against values worked out by hand."""

import math

import numpy as np
import pytest

from backscroll_scoring import CLASSIC_FACTORS, ScoreParameters, decay_per_hour, score_rows

HOUR = 3_600_000


@pytest.fixture
def factor(columns, query):
    """Values of one named factor for all rows of a channel."""

    def values(name, messages, parameters=None, **asked):
        rows = np.arange(len(messages), dtype=np.int32)
        scored = score_rows(
            columns(messages), query(**asked), rows, parameters or ScoreParameters()
        )
        return scored.factors[:, CLASSIC_FACTORS.index(name)]

    return values


def replies(*parents):
    return [{"parent": parent} for parent in parents]


@pytest.mark.parametrize(
    ("parents", "query_parent", "expected"),
    [
        pytest.param([-1, 0, 1, 2], 3, [0.512, 0.64, 0.8, 1.0], id="parent and ancestors"),
        pytest.param([-1, 0, 1, -1], 2, [0.64, 0.8, 1.0, 0.0], id="a stranger is 0"),
        pytest.param([-1, 0, 0, -1], 0, [1.0, 0.6, 0.6, 0.0], id="siblings .6"),
        pytest.param([-1, 0, 1, 1], 1, [0.8, 1.0, 0.6, 0.6], id="an uncle is 0, not .6"),
        pytest.param([-1, -1, -1], -1, [0, 0, 0], id="no parent matches no parent"),
        pytest.param([-1, 2, 1], 1, [0, 1.0, 0.8], id="cycle of two"),
        pytest.param([-1, 2, 1, 1], 1, [0, 1.0, 0.8, 0.6], id="cycle of two, and a sibling"),
        pytest.param([1, 1], 1, [0.6, 1.0], id="a reply to itself keeps the larger"),
        pytest.param(
            [1, 2, 3, 4, 0], 0, [1.0, 0.8, 0.64, 0.512, 0.6], id="sibling and far ancestor"
        ),
        pytest.param([1, 2, 0], 0, [1.0, 0.8, 0.64], id="cycle of three, forwards"),
        pytest.param([2, -1, -1], 0, [1.0, 0.0, 0.8], id="a parent may be a later row"),
        pytest.param(
            [-1, -2, -2, -3], -2, [0, 0.6, 0.6, 0], id="siblings under an unstored parent"
        ),
        pytest.param([-1, 9, -1], 9, [0, 0.6, 0], id="a parent outside the channel is not read"),
    ],
)
def test_reply_chain(factor, parents, query_parent, expected):
    """S5-06: the parent 1, further ancestors x0.8, the same parent 0.6, cycles end."""
    got = factor("reply_chain", replies(*parents), parent=query_parent)
    np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_reply_chain_ends_after_fifteen(factor):
    """S5-06: the parent and fourteen more; row 19 is the parent."""
    got = factor("reply_chain", replies(*range(-1, 19)), parent=19)
    np.testing.assert_allclose(got[5:], [0.8 ** (19 - row) for row in range(5, 20)], rtol=1e-14)
    assert not got[:5].any()


def test_reply_chain_takes_its_numbers_from_the_parameters(factor):
    """S5-06: depth, decay and sibling score can be set."""
    parameters = ScoreParameters(chain_decay=0.5, sibling_score=0.25, max_chain_depth=2)
    got = factor("reply_chain", replies(-1, 0, 1, 2, 2), parameters, parent=2)
    np.testing.assert_array_equal(got, [0.0, 0.5, 1.0, 0.25, 0.25])
    without = ScoreParameters(max_chain_depth=0)
    np.testing.assert_array_equal(
        factor("reply_chain", replies(-1, 0, 0), without, parent=0), [0, 0.6, 0.6]
    )


@pytest.mark.parametrize(
    ("sent_ms", "author", "expected"),
    [
        (1_000_000, 7, 1.0),
        (1_000_000 - 60_000, 7, 0.8),
        (1_000_000 - 150_000, 7, 0.5),
        (1_000_000 - 300_000, 7, 0.0),
        (1_000_000 - 300_001, 7, 0.0),
        (1_000_000 + 60_000, 7, 0.8),
        (1_000_000, 8, 0.0),
    ],
)
def test_user_continuity(factor, sent_ms, author, expected):
    """S5-07: linear within five minutes, on both sides, for the asker only."""
    got = factor(
        "user_continuity", [{"time_ms": sent_ms, "author": author}], time_ms=1_000_000, author=7
    )
    assert got[0] == pytest.approx(expected, abs=1e-15)


def test_an_unknown_asker_is_nobody(factor):
    """S5-07, S5-09: -1 equals no author and no mention, not even another -1."""
    message = {"author": -1, "mentions": [-1]}
    asked = {"author": -1, "mentions": [-1]}
    assert factor("user_continuity", [message], **asked)[0] == 0
    assert factor("mention_relation", [message], **asked)[0] == 0


def test_user_continuity_window(factor):
    """S5-07: the window can be set."""
    parameters = ScoreParameters(continuity_window_ms=1_000)
    messages = [{"time_ms": t} for t in (0, 250, 1_000)]
    got = factor("user_continuity", messages, parameters, time_ms=1_000, author=0)
    np.testing.assert_allclose(got, [0.0, 0.25, 1.0], rtol=1e-15)


def test_time_decay(factor):
    """S5-08: exp(-0.1 per hour); the future counts as now."""
    messages = [{"time_ms": 100 * HOUR - ago} for ago in (100 * HOUR, 10 * HOUR, HOUR, 0, -HOUR)]
    got = factor("time_decay", messages, time_ms=100 * HOUR)
    expected = [4.5399929762484854e-05, 0.36787944117144233, 0.90483741803595957, 1.0, 1.0]
    np.testing.assert_allclose(got, expected, rtol=1e-14)


def test_time_decay_by_half_life(factor):
    """S5-08: two minutes of half-life, as `balanced` may ask."""
    parameters = ScoreParameters(decay_per_hour=decay_per_hour(half_life_minutes=2))
    messages = [{"time_ms": -minutes * 60_000} for minutes in (20, 4, 2, 1, 0)]
    got = factor("time_decay", messages, parameters, time_ms=0)
    np.testing.assert_allclose(got, [2**-10, 0.25, 0.5, math.sqrt(0.5), 1.0], rtol=1e-13)


def test_time_decay_far_and_flat(factor):
    """S5-08: ages of millions of hours go to 0 without a fuss; rate 0 is flat."""
    ages = [0, 7_079 * HOUR, 7_090 * HOUR, 10**9 * HOUR, 2**62]
    messages = [{"time_ms": -age} for age in ages]
    got = factor("time_decay", messages, time_ms=0)
    np.testing.assert_allclose(got, [1, math.exp(-707.9), 0, 0, 0], rtol=1e-12, atol=1e-300)
    assert (factor("time_decay", messages, ScoreParameters(decay_per_hour=0), time_ms=0) == 1).all()


def test_time_decay_is_exact_and_never_rises(columns, query):
    """S5-08: the kernel's own exponential is libm's to a unit of the last place, and monotone."""
    ages = np.r_[np.arange(20_000) * 9_973, np.arange(20_000) * 1_270_000]
    messages = [{"time_ms": -int(age)} for age in np.sort(ages)]
    rows = np.arange(len(messages), dtype=np.int32)
    got = score_rows(columns(messages), query(time_ms=0), rows).factors[:, 2]
    expected = [math.exp(-0.1 * (-message["time_ms"] / HOUR)) for message in messages]
    np.testing.assert_allclose(got, expected, rtol=2.3e-16)
    assert (np.diff(got) <= 0).all()


ASKER, BOB, EVE, ZOE = 0, 1, 2, 3


@pytest.mark.parametrize(
    ("author", "mentions", "asked", "expected"),
    [
        (BOB, [], [], 0.0),
        (BOB, [], [BOB], 0.5),
        (BOB, [ASKER], [], 0.5),
        (BOB, [ASKER], [BOB], 1.0),
        (BOB, [EVE], [EVE], 0.3),
        (BOB, [EVE, ZOE], [EVE, ZOE], 0.6),
        (BOB, [EVE, ZOE], [BOB, EVE], 0.8),
        (BOB, [ASKER, EVE], [BOB, EVE], 1.0),
        (BOB, [EVE, ZOE, 4, 5], [EVE, ZOE, 4, 5], 1.0),
        (BOB, [EVE], [ZOE], 0.0),
        (BOB, [BOB], [EVE], 0.0),
        (BOB, [EVE], [-9, -8], 0.0),
    ],
)
def test_mention_relation(factor, author, mentions, asked, expected):
    """S5-09: .5 each way, .3 for each user mentioned by both, at most 1."""
    messages = [{"author": author, "mentions": mentions}]
    got = factor("mention_relation", messages, author=ASKER, mentions=asked)
    assert got[0] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("words", "asked", "expected"),
    [
        ([1, 2, 3], [1, 2, 3], 1.0),
        ([1, 2, 3], [2, 3, 4], 0.5),
        ([1, 2], [2, 3, 4], 0.25),
        ([1], [2], 0.0),
        ([], [1], 0.0),
        ([1], [], 0.0),
        ([], [], 0.0),
        ([1, 2], [-5, 1], 1 / 3),
        ([1, 2], [-6, -5], 0.0),
        ([1, 4097, 8193], [4097], 1 / 3),
        ([1, 8193], [4097], 0.0),
    ],
)
def test_keyword_overlap(factor, words, asked, expected):
    """S5-10: Jaccard; unknown words count in the union; 4097 and 8193 share a mark with 1."""
    got = factor("keyword_overlap", [{"keywords": words}], keywords=asked)
    assert got[0] == pytest.approx(expected, abs=1e-15)
    padded = [{"keywords": range(100, 105)}, {"keywords": words}, {}, {"keywords": range(100, 111)}]
    np.testing.assert_allclose(
        factor("keyword_overlap", padded, keywords=asked), [0, expected, 0, 0], atol=1e-15
    )
