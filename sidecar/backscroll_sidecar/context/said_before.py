"""What was said before a question though it is ranked behind it: clocks disagree. Pure."""

from __future__ import annotations

import numpy as np

from backscroll_sidecar import turn_ids
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.domain import Role
from backscroll_sidecar.times import looks_like_microseconds, looks_like_seconds

LONGEST_SKEW_MS = 24 * 3_600_000
"""Clocks are further apart only where one is broken; a time zone taken for another is within."""
_BY_THE_BOT = (Role.ASSISTANT, Role.TOOL)


def said_before(view: ChannelView, trigger_row: int) -> list[int]:
    """Rows behind the trigger, ascending, that came before it and were not sent later by its own clock.

    So are the bot's answers where the platform's clock is behind ours, and what people answered to these.
    """
    first, times_ms = trigger_row + 1, view.columns.time_ms
    if first == view.count:
        return []
    until_ms = times_ms.item(trigger_row) + LONGEST_SKEW_MS
    last = int(times_ms.searchsorted(until_ms, side="right"))
    came_before = view.seq[first:last] < view.seq.item(trigger_row)
    rows = (np.flatnonzero(came_before) + first).tolist()
    if not rows or (asked_ms := _platform_ms(view, trigger_row)) is None:
        return rows
    return [row for row in rows if (_platform_ms(view, row) or 0) <= asked_ms]


def _platform_ms(view: ChannelView, row: int) -> int | None:
    """When a row was sent by the platform's clock; None for what the bot or the server dated."""
    if view.role.item(row) in _BY_THE_BOT or turn_ids.is_question(view.message_ids[row]):
        return None
    sent_ms = view.sent_at_ms(row)
    is_ranked_as_received = (
        sent_ms == 0
        or looks_like_seconds(sent_ms)
        or looks_like_microseconds(sent_ms)
        or sent_ms > view.columns.time_ms.item(row)
    )
    return None if is_ranked_as_received else sent_ms
