"""What of a channel a question sees: what membership shows, and the replies that broke off and are gone on with."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.analyze import asks_to_go_on
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.trigger import NO_ROW, Moment, names_called
from backscroll_sidecar.domain import Author, MessageState, Role, Stay
from backscroll_sidecar.scripts import shows_nothing

LOOKED_BACK = 64
"""So many rows before the question are looked at for a reply that broke off."""
_LIVE, _PARTIAL, _RECALLED = MessageState.LIVE, MessageState.PARTIAL, MessageState.RECALLED


def seen_by(
    request: BuildRequest,
    asker: Author | None,
    view: ChannelView,
    policy: PartialReplies,
    continued: int,
    end: int,
) -> ChannelView:
    """The view as a question sees it; itself where that is all of it. `end`: rows from there on were not there yet."""
    if len(view.shown.partial_rows) and policy is not PartialReplies.NEVER:
        view = _with_partials(request, view, policy, continued, end)
    return _hiding(asker, view) if request.visible_since_membership else view


def _hiding(asker: Author | None, view: ChannelView) -> ChannelView:
    """The view in which what was said while the asker was no member is hidden; itself where nothing is.

    All of it is for who never was one; nothing for a member whose stays are not known.
    """
    people = view.people
    index = people.index.get(asker.id, -1) if asker else -1
    stays = people.stays.get(index)
    if index not in people.members:
        stays = ()
    if stays is None:
        return view
    return view.hiding(~_seen_in(stays, view.columns.time_ms))


def _seen_in(stays: Iterable[Stay], times_ms: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[n]: what was said at these times was said in one of the stays."""
    seen = np.zeros(len(times_ms), np.bool_)
    for joined_at_ms, left_at_ms in stays:
        here = (
            np.ones(len(times_ms), np.bool_) if joined_at_ms is None else times_ms >= joined_at_ms
        )
        seen |= here if left_at_ms is None else here & (times_ms < left_at_ms)
    return seen


class PartialReplies(StrEnum):
    """When a reply of the bot's that broke off is shown."""

    WHEN_ASKED = "when_asked"
    NEVER = "never"
    ALWAYS = "always"


def continued_row(
    request: BuildRequest, view: ChannelView, moment: Moment, text: str, answered: int
) -> int:
    """The row of the bot's own reply that broke off and that the question answers or asks to go on with; -1 none.

    `answered`: the row that the question replies to by the platform's edge, -1 none.
    """
    if not len(view.shown.partial_rows):
        return NO_ROW
    if answered >= 0 and view.state.item(answered) == _PARTIAL:
        return answered if _is_own(request, view, answered) else NO_ROW
    trigger = moment.trigger_row
    if not asks_to_go_on(text, names_called(view, trigger)):
        return NO_ROW
    asker = request.asker.id if request.asker else view.author_id(trigger) if trigger >= 0 else ""
    thread = view.thread.item(trigger) if trigger >= 0 else NO_ROW
    passed_over = {trigger, moment.own_row}
    if moment.later:  # of the rows behind the trigger no others were said before
        passed_over.update(set(range(trigger, moment.end)).difference(moment.later))
    row = _broken_off(request, view, moment.end, passed_over, asker, thread)
    copy = _copy_of(view, row, moment.end) if row >= 0 else NO_ROW
    return row if copy < 0 else copy


def _broken_off(
    request: BuildRequest,
    view: ChannelView,
    end: int,
    passed_over: Collection[int],
    asker: str,
    thread: int,
) -> int:
    """The bot's reply before `end` that broke off and that `asker` asks to go on with in a thread, -1 any; -1 none.

    Since then they only asked to go on, in vain. Others may have said something where it is the asker's answer.
    """
    others_spoke = False
    for row in range(end - 1, max(-1, end - 1 - LOOKED_BACK), -1):
        state = view.state.item(row)
        is_elsewhere = thread != NO_ROW and view.thread.item(row) != thread
        if row in passed_over or state == _RECALLED or is_elsewhere:
            continue
        if state == _PARTIAL:
            is_meant = not others_spoke or _whom(view, row) == asker
            return row if is_meant and _is_own(request, view, row) else NO_ROW
        if view.role.item(row) == Role.ASSISTANT:
            return NO_ROW
        if view.author_id(row) != asker:
            others_spoke = True
        elif not asks_to_go_on(view.texts[row], names_called(view, row)):
            return NO_ROW
    return NO_ROW


def _whom(view: ChannelView, row: int) -> str:
    """Who wrote what a row replies to; empty: nobody that is known."""
    parent = view.explicit_columns.parent.item(row)
    return view.author_id(parent) if parent >= 0 else ""


def _with_partials(
    request: BuildRequest, view: ChannelView, policy: PartialReplies, continued: int, end: int
) -> ChannelView:
    """The view in which the replies that broke off and are shown count like whole ones.

    `continued`: the one that the question goes on with, -1 none.
    """
    rows = [row for row in view.shown.partial_rows.tolist() if row < end]
    if policy is PartialReplies.ALWAYS:
        shown = [row for row in rows if _is_own(request, view, row)]
    else:
        shown = _gone_on_with(request, view, rows[-LOOKED_BACK:], continued, end)
    copied = {row for row in shown[-LOOKED_BACK:] if _copy_of(view, row, end) >= 0}
    shown = [row for row in shown if row not in copied and not shows_nothing(view.texts[row])]
    return view.counting(shown) if shown else view


def _gone_on_with(
    request: BuildRequest, view: ChannelView, partials: Sequence[int], continued: int, end: int
) -> list[int]:
    """The replies that broke off and that the question, or a later whole reply, goes on with: its beginnings."""
    shown = {continued} - {NO_ROW}
    for row in reversed(partials):
        follows = _following(request, view, row, end)
        if follows in shown or (follows >= 0 and view.state.item(follows) == _LIVE):
            shown.add(row)
    return sorted(shown)


def _following(request: BuildRequest, view: ChannelView, row: int, end: int) -> int:
    """The bot's reply to who answered a reply that broke off, or asked to go on with it; -1 none."""
    parents, last = view.explicit_columns.parent, min(end, row + 1 + LOOKED_BACK)
    behind = slice(row + 1, last)
    replies = (view.role[behind] == Role.ASSISTANT) & (parents[behind] > row)
    for reply in (np.flatnonzero(replies) + row + 1).tolist():
        asked = parents.item(reply)
        if view.state.item(reply) in (_LIVE, _PARTIAL) and (
            parents.item(asked) == row or _went_on(request, view, asked) == row
        ):
            return int(reply)
    return NO_ROW


def _copy_of(view: ChannelView, row: int, end: int) -> int:
    """The platform's copy of a reply that broke off, stored as a whole reply near it and before `end`; -1 none."""
    if view.state.item(row) != _PARTIAL:
        return NO_ROW
    first, last = max(0, row - LOOKED_BACK), min(end, row + LOOKED_BACK)
    near = slice(first, last)
    author = view.columns.author.item(row)
    live = (view.state[near] == _LIVE) & (view.role[near] == Role.ASSISTANT)
    rows = np.flatnonzero(live & (view.columns.author[near] == author)) + first
    words = view.texts[row].strip()
    return next((one for one in rows.tolist() if view.texts[one].strip() == words), NO_ROW)


def _went_on(request: BuildRequest, view: ChannelView, asked: int) -> int:
    """The reply that broke off and that a line asks to go on with, in words; -1 none."""
    if not asks_to_go_on(view.texts[asked], names_called(view, asked)):
        return NO_ROW
    return _broken_off(request, view, asked, (), view.author_id(asked), view.thread.item(asked))


def _is_own(request: BuildRequest, view: ChannelView, row: int) -> bool:
    """Whether the bot that the context is for said it."""
    is_bot = view.role.item(row) == Role.ASSISTANT
    return is_bot and (not request.self_ids or view.author_id(row) in request.self_ids)
