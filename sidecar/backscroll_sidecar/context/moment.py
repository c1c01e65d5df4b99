"""Where a question stands in a channel: which stored message it is, when it was asked, what was there then, and what
of it is seen: what membership shows, and the replies that broke off and are gone on with. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import ancestors, newest_by
from backscroll_sidecar import turn_ids
from backscroll_sidecar.analyze import asks_to_go_on, is_same_question
from backscroll_sidecar.channels import LIVE, PARTIAL, RECALLED, ChannelView
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.visibility import withheld
from backscroll_sidecar.domain import Author, Role, Stay
from backscroll_sidecar.errors import Gone, InvalidRequest, NotFound, Reason
from backscroll_sidecar.scripts import shows_nothing
from backscroll_sidecar.times import looks_like_microseconds, looks_like_seconds

SAME_TEXT_WINDOW_MS = 60_000
LONGEST_SKEW_MS = 24 * 3_600_000
"""Clocks are further apart only where one is broken; a time zone taken for another is within."""
_BY_THE_BOT = (Role.ASSISTANT, Role.TOOL)
LOOKED_BACK = 64
"""So many rows before the question are looked at for a reply that broke off."""
NO_ROW = -1


class PartialReplies(StrEnum):
    """When a reply of the bot's that broke off is shown."""

    WHEN_ASKED = "when_asked"
    NEVER = "never"
    ALWAYS = "always"


class Moment(NamedTuple):
    """Where a question stands in a channel: see `Question` for the attributes."""

    trigger_row: int
    own_row: int
    asked_at_ms: int
    end: int
    later: tuple[int, ...]


def moment_of(request: BuildRequest, view: ChannelView, now_ms: int) -> Moment:
    """Find the trigger and the time of a request's question.

    Raises
    ------
    NotFound, Gone
        When `trigger_message_id` names no message, or a recalled one, and there is no question text to go on with.
    InvalidRequest
        When there is neither a question nor a trigger.
    """
    trigger_row = _named_trigger(request, view)
    if request.asked_at_ms is not None:
        asked_at_ms = request.asked_at_ms
    elif trigger_row >= 0:
        asked_at_ms = view.columns.time_ms.item(trigger_row)
    else:
        asked_at_ms = now_or_newest(view, now_ms)
    end = _first_after(view.columns.time_ms, asked_at_ms)
    later: tuple[int, ...] = ()
    if trigger_row >= 0 and request.asked_at_ms is None:
        end, later = trigger_row, _seen_later(request, view, trigger_row)
        if later:
            end = later[-1] + 1
            asked_at_ms = view.columns.time_ms.item(later[-1])
    own_row = view.row_of(request.own_question_id) if request.own_question_id else NO_ROW
    if 0 <= own_row == end - 1:
        end = own_row  # as if it were not stored yet
    text = request.question.strip()
    if trigger_row < 0 and request.asker and text:
        trigger_row = _line_with_same_text(view, request, text, asked_at_ms, end)
    return Moment(trigger_row, own_row, asked_at_ms, end, later)


def now_or_newest(view: ChannelView | None, now_ms: int) -> int:
    """When a question without a time of its own is asked: now, and not before the newest line of its channel."""
    return max(now_ms, view.columns.time_ms.item(-1)) if view and view.count else now_ms


def chain(view: ChannelView, parents: NDArray[np.int32], row: int) -> list[int]:
    """A row and what it answers, directly or not; nothing where it is none."""
    return [] if row < 0 else [row, *ancestors(parents, row, view.count).tolist()]


def answered_user(request: BuildRequest, view: ChannelView, parent_row: int) -> str | None:
    """Who wrote what the question answers: the author of the row, else whom the request says."""
    if parent_row >= 0:
        return view.author_id(parent_row)
    reply = request.reply
    return reply.user_id or None if reply is not None and not reply.inferred else None


def lost_parent(request: BuildRequest, view: ChannelView, trigger_row: int) -> int:
    """The number of the id that is answered where no such message is stored: the request's, else the trigger's."""
    if request.reply is not None:
        number = NO_ROW if request.reply.inferred else view.ids.find(request.reply.message_id)
        return number if number >= 0 and view.row_of_number(number) < 0 else NO_ROW
    return view.lost_target(trigger_row) if trigger_row >= 0 else NO_ROW


def _first_after(times_ms: NDArray[np.int64], asked_at_ms: int) -> int:
    """The first row of a later time; mostly none is later."""
    if not len(times_ms) or times_ms.item(-1) <= asked_at_ms:
        return len(times_ms)
    return int(times_ms.searchsorted(asked_at_ms, side="right"))


def _named_trigger(request: BuildRequest, view: ChannelView) -> int:
    if not request.trigger_message_id:
        if not request.question.strip():
            raise InvalidRequest(
                "question is blank and trigger_message_id is unset",
                field="question",
                reason=Reason.QUESTION_MISSING,
            )
        return NO_ROW
    row = view.row_of(request.trigger_message_id)
    if request.question.strip() or (row >= 0 and view.state[row] != RECALLED):
        return row
    if row >= 0:
        raise Gone("trigger_message_id names a recalled message", field="trigger_message_id")
    raise NotFound(
        "trigger_message_id names no message of the channel and question is blank",
        field="trigger_message_id",
        reason=Reason.MESSAGE_NOT_FOUND,
    )


def _line_with_same_text(
    view: ChannelView, request: BuildRequest, text: str, asked_at_ms: int, end: int
) -> int:
    """The newest line of the asker that asks the same within 60 s: the question itself.

    A chat stores its question by itself. Where its caller brought the line as well, that is the question; what an
    earlier turn stored or answered is not: the words were said again.
    """
    since_ms, columns = asked_at_ms - SAME_TEXT_WINDOW_MS, view.columns
    author = view.people.index.get(request.asker.id, NO_ROW) if request.asker else NO_ROW
    row = end if author != NO_ROW else NO_ROW
    while row >= 0:
        row = newest_by(columns.author, columns.time_ms, author, row, since_ms=since_ms)
        if (
            row >= 0
            and is_same_question(view.texts[row], text, names_called(view, row))
            and not (request.own_question_id and _was_asked_before(view, row, request, end))
        ):
            break
    return row


def names_called(view: ChannelView, row: int) -> list[str]:
    """The names of those whom a row mentions; -1: nobody's."""
    if row < 0:
        return []
    columns = view.columns
    first, last = columns.mention_offsets[row : row + 2].tolist()
    return [view.people.names[i] for i in columns.mention_ids[first:last].tolist()]


def _was_asked_before(view: ChannelView, row: int, request: BuildRequest, end: int) -> bool:
    """Whether an earlier turn stored this line, or the bot answered it."""
    message_id = view.message_ids[row]
    if message_id == request.own_question_id or message_id.endswith(turn_ids.QUESTION):
        return True
    answers = view.explicit_columns.parent[row:end] == row
    return bool((answers & (view.role[row:end] == Role.ASSISTANT)).any())


def _seen_later(request: BuildRequest, view: ChannelView, trigger_row: int) -> tuple[int, ...]:
    """Rows behind the trigger, ascending, that were said before it: what it answers, directly or not, as the platform
    or the request has it, and what came before it by other clocks.
    """
    if trigger_row == view.count - 1:
        return ()
    parents = view.explicit_columns.parent
    parent = parents.item(trigger_row)
    if request.reply is not None:
        parent = NO_ROW if request.reply.inferred else view.row_of(request.reply.message_id)
    answered = chain(view, parents, parent)
    behind = {row for row in answered if row > trigger_row}
    return tuple(sorted(behind.union(said_before(view, trigger_row))))


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


def seen_by(
    request: BuildRequest,
    asker: Author | None,
    view: ChannelView,
    policy: PartialReplies,
    continued: int,
    end: int,
    quoted_row: int,
) -> ChannelView:
    """The view as a question sees it; itself where that is all of it. `end`: rows from there on were not there yet.

    `quoted_row`: what it replies to by the platform's edge, -1 nothing.
    """
    if len(view.shown.partial_rows) and policy is not PartialReplies.NEVER:
        view = _with_partials(request, view, policy, continued, end)
    viewer = request.viewer.asked_by(asker.id) if asker else request.viewer
    view = withheld(view, viewer, quoted_row)
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


def continued_row(
    request: BuildRequest, view: ChannelView, moment: Moment, text: str, answered: int
) -> int:
    """The row of the bot's own reply that broke off and that the question answers or asks to go on with; -1 none.

    `answered`: the row that the question replies to by the platform's edge, -1 none.
    """
    if not len(view.shown.partial_rows):
        return NO_ROW
    if answered >= 0 and view.state.item(answered) == PARTIAL:
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
    row = row if copy < 0 else copy
    return row if answered in (NO_ROW, row) else NO_ROW


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
        if row in passed_over or state == RECALLED or is_elsewhere:
            continue
        if state == PARTIAL:
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
        if follows in shown or (follows >= 0 and view.state.item(follows) == LIVE):
            shown.add(row)
    return sorted(shown)


def _following(request: BuildRequest, view: ChannelView, row: int, end: int) -> int:
    """The bot's reply to who answered a reply that broke off, or asked to go on with it; -1 none."""
    parents, last = view.explicit_columns.parent, min(end, row + 1 + LOOKED_BACK)
    behind = slice(row + 1, last)
    replies = (view.role[behind] == Role.ASSISTANT) & (parents[behind] > row)
    for reply in (np.flatnonzero(replies) + row + 1).tolist():
        asked = parents.item(reply)
        if view.state.item(reply) in (LIVE, PARTIAL) and (
            parents.item(asked) == row or _went_on(request, view, asked) == row
        ):
            return int(reply)
    return NO_ROW


def _copy_of(view: ChannelView, row: int, end: int) -> int:
    """The platform's copy of a reply that broke off, stored as a whole reply near it and before `end`; -1 none."""
    if view.state.item(row) != PARTIAL:
        return NO_ROW
    first, last = max(0, row - LOOKED_BACK), min(end, row + LOOKED_BACK)
    near = slice(first, last)
    author = view.columns.author.item(row)
    live = (view.state[near] == LIVE) & (view.role[near] == Role.ASSISTANT)
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
