"""Who was called what when."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.known_names import MAX_NAME_TIMES, name_at, with_name_seen

SEEN = {
    "the first": ((), 5, "A", 0, ((5, "A"),)),
    "the same later": (((5, "A"),), 9, "A", 5, ((5, "A"),)),
    "the same earlier": (((5, "A"),), 3, "A", 9, ((3, "A"),)),
    "another one later": (((5, "A"),), 9, "B", 5, ((5, "A"), (9, "B"))),
    "another one earlier": (((5, "A"),), 3, "B", 9, ((3, "B"), (5, "A"))),
    "for a while": (((5, "A"),), 7, "B", 9, ((5, "A"), (7, "B"), (9, "A"))),
    "for a while, earlier": (((1, "A"), (9, "B")), 5, "C", 9, ((1, "A"), (5, "C"), (9, "B"))),
    "the next one earlier": (((1, "A"), (9, "B")), 5, "B", 9, ((1, "A"), (5, "B"))),
    "at the same moment": (((5, "A"),), 5, "B", 5, ((5, "A"), (5, "B"))),
}


@pytest.mark.parametrize(("times", "at_ms", "name", "last_ms", "after"), SEEN.values(), ids=SEEN)
def test_a_name_is_seen(times, at_ms, name, last_ms, after):
    assert with_name_seen(times, at_ms, name, last_ms) == after


@given(st.data())
def test_what_was_seen_can_be_looked_up(data):
    """Whoever has one name at a moment, seen in whatever order: the moments give the names back."""
    names = data.draw(st.lists(st.sampled_from("AB"), min_size=1, max_size=12))
    order = data.draw(st.permutations(range(len(names))))
    times, last_ms = (), -1
    for moment in order:
        times = with_name_seen(times, moment, names[moment], last_ms)
        last_ms = max(last_ms, moment)
        assert name_at(times, moment) == names[moment]
        assert name_at(times, last_ms) == names[last_ms] == times[-1][1]
        assert all(a[1] != b[1] and a[0] <= b[0] for a, b in pairwise(times))


def test_who_changes_name_all_the_time_costs_a_bounded_list():
    times = ()
    for moment in range(1_000):
        times = with_name_seen(times, moment, "AB"[moment % 2], moment)
    assert len(times) == MAX_NAME_TIMES
    assert name_at(times, 999) == "B"
