"""The reply graph, on whatever hypothesis finds. Also run with NUMBA_DISABLE_JIT=1."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_scoring import GraphParameters, graph_scores
from tests.kit.examples import examples
from tests.reference.graph import graph_values

channels = st.integers(0, 14).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-2, n + 1), min_size=n, max_size=n),
        st.lists(st.integers(-1, 3), min_size=n, max_size=n),
        st.integers(0, n),
        st.integers(-1, n),
    )
)
share = st.floats(0, 1)


@settings(deadline=None, max_examples=examples(200))
@given(
    channels,
    st.integers(-2, 16),
    st.lists(st.integers(0, 3), max_size=2),
    st.builds(
        GraphParameters,
        up=share, down=share, own=share,
        max_up=st.integers(0, 6), max_down=st.integers(0, 6),
        own_lines=st.integers(0, 4), reach=st.integers(0, 16),
    ),
)  # fmt: skip
def test_graph(channel, question_parent, own, parameters):
    """N-02: to the bit, cycles and parents outside the channel included; ascending, in (0, 1], none beyond the end."""
    parent, author, end, question_row = channel
    arrays = np.array(parent, np.int32), np.array(author, np.int32)
    for array in arrays:
        array.flags.writeable = False
    fast = graph_scores(
        *arrays,
        question_parent=question_parent,
        end=end,
        question_row=question_row,
        own_authors=np.array(own, np.int32),
        parameters=parameters,
    )
    expected = graph_values(parent, author, end, question_parent, question_row, own, parameters)
    assert dict(zip(fast.rows.tolist(), fast.values.tolist(), strict=True)) == expected
    assert (np.diff(fast.rows) > 0).all()
    assert ((fast.values > 0) & (fast.values <= 1)).all()
    assert question_row not in fast.rows
    assert (fast.rows < end).all()
