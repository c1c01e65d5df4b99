"""What a selection scores and takes. Also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import SCORE_BUCKETS, no_scores, tally
from tests.kit.examples import examples


@settings(deadline=None, max_examples=examples(200))
@given(st.data())
def test_a_selection_added_up(data):
    """The same as a list comprehension, with scores of all candidates or of some."""
    n = data.draw(st.integers(1, 12))
    token_count = np.array(
        data.draw(st.lists(st.integers(0, 50), min_size=n, max_size=n)), np.int32
    )
    elsewhere = data.draw(st.integers(0, 3))
    rows = np.array(
        sorted(data.draw(st.sets(st.integers(0, n + elsewhere - 1), min_size=1))), np.int32
    )
    shown = np.array(sorted(data.draw(st.sets(st.integers(0, len(rows) - 1)))), np.int64)
    some = data.draw(st.none() | st.sets(st.integers(0, len(rows) - 1)).map(sorted))
    of = range(len(rows)) if some is None else some
    scores = np.array([data.draw(st.floats(0, 1)) for _ in of])
    scored = None if some is None else np.array(some, np.int32)
    if some == []:
        scored = None
    window = np.array(sorted(data.draw(st.sets(st.integers(0, n - 1)))), np.int32)
    room = data.draw(st.integers(0, 200))
    buckets = no_scores()
    score, text, fits = tally(shown, rows, scores, scored, token_count, window, room, buckets)

    by_place = dict(zip(of, scores.tolist(), strict=True))
    values = [by_place[one] for one in shown.tolist() if one in by_place]
    assert score == pytest.approx(sum(values))
    assert text == sum(token_count[row] for row in rows[shown] if row < n)
    taken = 0
    for row in window[::-1].tolist():
        if taken + token_count[row] > room:
            break
        taken += int(token_count[row])
    assert fits == taken
    bounds = [(i + 1) / SCORE_BUCKETS for i in range(SCORE_BUCKETS)]
    for i, bound in enumerate(bounds):
        assert buckets[: i + 1].sum() == sum(value <= bound for value in values)
