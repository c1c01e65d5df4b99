"""The sources that need nothing but the channel: the newest messages, however many gaps their rows have."""

from types import SimpleNamespace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from backscroll_sidecar.domain import MessageState
from backscroll_sidecar.strategies import BUILTIN, Messages

LIVE = MessageState.LIVE


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from(MessageState)), max_size=90),
    st.integers(0, 12),
    st.integers(0, 3),
)
def test_the_newest_live_messages_and_whatever_lies_among_them(rows, limit, behind):
    """S2-04: as many eligible live rows as are wanted; of those that are not live as many more, which take no place."""
    end = len(rows)
    eligible = np.array([may for may, _ in rows], np.bool_)
    state = np.array([one for _, one in rows] + [LIVE] * behind, np.uint8)
    view = SimpleNamespace(state=state, all_live=bool((state == LIVE).all()))
    query = SimpleNamespace(
        recent_limit=limit, excluded=None, end=end, view=view, eligible=eligible
    )
    may_be = [(row, one is LIVE) for row, (may, one) in enumerate(rows) if may]
    live = [row for row, is_live in may_be if is_live][
        max(0, sum(on for _, on in may_be) - limit) :
    ]
    first = 0 if len(live) < limit else live[0] if live else end
    others = [row for row, is_live in may_be if not is_live and row >= first]
    expected = sorted(live + others[max(0, len(others) - limit) :])
    found = BUILTIN["recent"].gather(query)  # type: ignore[arg-type]
    assert (list(found.rows) if isinstance(found, Messages) else []) == expected
