"""Which replies that broke off are shown: mostly none. Pure."""

from __future__ import annotations

from enum import StrEnum

import numpy as np

from backscroll_sidecar.analyze import asks_to_go_on
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.trigger import NO_ROW, Moment, names_called
from backscroll_sidecar.domain import MessageState, Role

LOOKED_BACK = 64
"""So many rows before the question are looked at for a reply that broke off."""
_LIVE, _PARTIAL, _RECALLED = MessageState.LIVE, MessageState.PARTIAL, MessageState.RECALLED


class PartialReplies(StrEnum):
    """When a reply of the bot's that broke off is shown."""

    WHEN_ASKED = "when_asked"
    NEVER = "never"
    ALWAYS = "always"


def continued_row(request: BuildRequest, view: ChannelView, moment: Moment, text: str) -> int:
    """The row of the bot's own reply that broke off and that the question asks to go on with; -1 none.

    It is the last thing that was said in the question's thread but for who asked to go on in vain.
    """
    trigger = moment.trigger_row
    if view.all_live or not asks_to_go_on(text, names_called(view, trigger)):
        return NO_ROW
    asker = request.asker.id if request.asker else view.author_id(trigger) if trigger >= 0 else ""
    thread = view.thread.item(trigger) if trigger >= 0 else NO_ROW
    for row in range(moment.end - 1, max(-1, moment.end - 1 - LOOKED_BACK), -1):
        state = view.state.item(row)
        is_elsewhere = thread != NO_ROW and view.thread.item(row) != thread
        is_unsaid = moment.later and row > trigger and row not in moment.later
        if is_unsaid or row in (trigger, moment.own_row) or state == _RECALLED or is_elsewhere:
            continue
        if state == _PARTIAL:
            return row if _is_own(request, view, row) else NO_ROW
        if view.author_id(row) != asker:
            return NO_ROW
        if not asks_to_go_on(view.texts[row], names_called(view, row)):
            return NO_ROW
    return NO_ROW


def with_partials(
    request: BuildRequest, view: ChannelView, policy: PartialReplies, continued: int
) -> ChannelView:
    """The view in which the replies that are shown count like whole ones; itself where none is."""
    if view.all_live or policy is PartialReplies.NEVER:
        return view
    if policy is PartialReplies.ALWAYS:
        rows = np.flatnonzero(view.state == _PARTIAL).tolist()
        shown = [row for row in rows if _is_own(request, view, row)]
    else:
        shown = [continued] if continued >= 0 else []
    shown = [row for row in shown if view.texts[row].strip()]
    return view.counting(shown) if shown else view


def _is_own(request: BuildRequest, view: ChannelView, row: int) -> bool:
    """Whether the bot that the context is for said it."""
    is_bot = view.role.item(row) == Role.ASSISTANT
    return is_bot and (not request.self_ids or view.author_id(row) in request.self_ids)
