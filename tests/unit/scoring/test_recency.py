"""P-06: recency as a bounded multiplier."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_scoring import recency_multipliers, top_order

HOUR_MS = 3_600_000
NOW = 1_000 * HOUR_MS
LN2 = math.log(2)


def multipliers(hours_ago, share, decay=LN2):
    times = np.array([NOW - round(h * HOUR_MS) for h in hours_ago], np.int64)
    return recency_multipliers(times, NOW, share=share, decay_per_hour=decay)


def test_by_hand():
    """P-06: golden ranking: half-life one hour, a fifth at stake: fresh 1, an hour .9, long ago .8, the future 1."""
    assert multipliers([0, 1, 500, -3], 0.2) == pytest.approx([1, 0.9, 0.8, 1])
    assert multipliers([0, 7], 0.0).tolist() == [1, 1]
    assert multipliers([0, 7], 1.0)[1] == pytest.approx(1 / 128)
    relevance = np.array([0.5, 0.6, 0.64])
    assert top_order(relevance * multipliers([0, 1, 500], 0.2)).tolist() == [1, 2, 0]
    assert top_order(relevance * multipliers([0, 300, 500], 0.2)).tolist() == [2, 0, 1]


@given(
    st.floats(1e-6, 1),
    st.floats(0, 1),
    st.floats(1e-9, 1),
    st.lists(st.floats(-1e4, 1e6), min_size=2, max_size=2),
    st.floats(0, 100),
)
def test_it_cannot_overturn_a_lead_of_more_than_its_share(score, share, beyond, hours_ago, decay):
    """P-06: a lead of more than x % of the leader's score holds, whoever is the older."""
    second = score * (1 - share) * (1 - beyond)
    factors = multipliers(hours_ago, share, decay)
    assert ((factors >= 1 - share) & (factors <= 1)).all()
    assert score * factors[0] > second * factors[1] or second == score * factors[0] == 0


@pytest.mark.parametrize("share", [0.05, 0.2, 0.9])
def test_the_bound_is_tight(share):
    """P-06: a lead of a little less than x % is overturned when the leader is old and the other fresh."""
    old, fresh = multipliers([1e5, 0], share)
    assert 1.0 * old < (1 - share) * 1.0001 * fresh


@given(st.lists(st.floats(0, 1e5), max_size=20), st.floats(0, 1), st.floats(0, 50))
def test_it_is_the_formula(hours_ago, share, decay):
    """P-06: 1 - x + x * decay, one at a time."""
    times = [NOW - round(h * HOUR_MS) for h in hours_ago]
    plain = [1 - share + share * math.exp(-decay * ((NOW - t) / HOUR_MS)) for t in times]
    got = recency_multipliers(np.array(times, np.int64), NOW, share=share, decay_per_hour=decay)
    np.testing.assert_allclose(got, plain, rtol=1e-14, atol=1e-15)
    assert (np.diff(got[np.argsort(times, kind="stable")]) >= 0).all()  # the newer, the more


def test_times_at_the_ends_of_int64():
    limits = np.array([-(2**63), 2**63 - 1], np.int64)
    got = recency_multipliers(limits, 0, share=0.5, decay_per_hour=1.0)
    assert got.tolist() == [0.5, 1]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"share": 1.1}, "share"),
        ({"share": math.nan}, "share"),
        ({"decay_per_hour": -1}, "decay_per_hour"),
        ({"decay_per_hour": math.inf}, "decay_per_hour"),
    ],
)
def test_arguments_are_checked(change, text):
    with pytest.raises(ValueError, match=text):
        recency_multipliers(
            np.zeros(1, np.int64), 0, **({"share": 0.1, "decay_per_hour": 1.0} | change)
        )
