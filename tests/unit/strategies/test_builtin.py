"""The sources that need nothing but the channel: the newest messages, however many gaps their rows have."""

from __future__ import annotations

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
    """S2-04: as many eligible live rows as are wanted; eligible ones that are not live take no place."""
    end = len(rows)
    eligible = np.array([may for may, _ in rows], np.bool_)
    state = np.array([one for _, one in rows] + [LIVE] * behind, np.uint8)
    view = SimpleNamespace(state=state, all_live=bool((state == LIVE).all()))
    query = SimpleNamespace(
        recent_limit=limit, excluded=None, end=end, view=view, eligible=eligible
    )
    live = (
        [row for row, (may, one) in enumerate(rows) if may and one is LIVE][-limit:]
        if limit
        else []
    )
    expected = [row for row in range(live[0], end) if eligible[row]] if live else []
    found = BUILTIN["recent"].gather(query)  # type: ignore[arg-type]
    assert (list(found.rows) if isinstance(found, Messages) else []) == expected
