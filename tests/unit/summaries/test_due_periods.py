"""Which past periods are due, whatever the messages are."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.summaries.compaction import KEPT_MESSAGES
from backscroll_sidecar.summaries.periods import MS_PER_HOUR, due_periods

TIMES = st.lists(st.integers(0, 400), max_size=120).map(sorted)


@given(TIMES, st.integers(1, 48), st.integers(0, 500), st.data())
def test_each_message_is_in_one_period_that_is_over(hours, length, now_hours, data):
    """The oldest first; none of the newest messages; once made, nothing is due until something changes."""
    times = np.array(hours, np.int64) * MS_PER_HOUR
    counts = np.array(
        data.draw(st.lists(st.booleans(), min_size=len(hours), max_size=len(hours))), bool
    )
    now_ms = now_hours * MS_PER_HOUR
    due = due_periods(times, counts, length, now_ms, {})
    starts = [one.start_ms for one in due]
    assert starts == sorted(set(starts))
    newest = set(np.flatnonzero(counts)[-KEPT_MESSAGES:].tolist())
    for one in due:
        end_ms = one.start_ms + length * MS_PER_HOUR
        assert end_ms <= now_ms
        within = counts & (times >= one.start_ms) & (times < end_ms)
        assert one.rows.tolist() == np.flatnonzero(within).tolist() != []
        assert not newest & set(one.rows.tolist())
    known = {one.start_ms: len(one.rows) for one in due}
    assert due_periods(times, counts, length, now_ms, known) == []
    if due:
        known[due[0].start_ms] += 1
        assert [
            one.start_ms for one in due_periods(times, counts, length, now_ms, known)
        ] == starts[:1]
