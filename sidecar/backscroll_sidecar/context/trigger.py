"""Which stored message is the question, when it was asked, and what was there then. Pure."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import ancestors, newest_by
from backscroll_sidecar import turn_ids
from backscroll_sidecar.analyze import is_same_question
from backscroll_sidecar.channels import RECALLED, ChannelView
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.domain import Role
from backscroll_sidecar.errors import Gone, InvalidRequest, NotFound, Reason
from backscroll_sidecar.times import looks_like_microseconds, looks_like_seconds

SAME_TEXT_WINDOW_MS = 60_000
NO_ROW = -1


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
