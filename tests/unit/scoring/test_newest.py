"""Who said something last. Also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import newest_by
from tests.kit.examples import examples

rows = st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), max_size=12)


@settings(deadline=None, max_examples=examples(150))
@given(rows, st.integers(-1, 4), st.data())
def test_newest(said, user, data):
    """The newest before the end, of those since a moment; never one that is too old."""
    author = np.array([one for one, _ in said], np.int32)
    time_ms = np.array(sorted(at for _, at in said), np.int64)
    end = data.draw(st.integers(0, len(said)))
    since_ms = data.draw(st.integers(-6, 6) | st.just(-(2**63)))
    found = newest_by(author, time_ms, user, end, since_ms=since_ms)
    own = [n for n in range(end) if author[n] == user and time_ms[n] >= since_ms]
    assert found == (own[-1] if own else -1)
