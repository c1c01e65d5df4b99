"""What is asked, by whom, when, and where it stands in the channel. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from functools import lru_cache
from itertools import islice

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_scoring import QueryFeatures, newest_by
from backscroll_sidecar.analyze import (
    PLAIN_DATES,
    Analyzer,
    DateStyle,
    classify,
    is_addressed,
    mention_ids,
)
from backscroll_sidecar.analyze.ends import QUESTION_CHARS, ends_of
from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.moment import (
    NO_ROW,
    PartialReplies,
    answered_user,
    chain,
    continued_row,
    lost_parent,
    moment_of,
    seen_by,
)
from backscroll_sidecar.domain import Author, AuthorKind, MessageType, Role

_NONE = np.empty(0, np.int32)
_HUMAN = AuthorKind.HUMAN
US_PER_ASCII_CHAR, US_PER_CHAR = 0.4, 1.0
"""Words, tokens and type of a question; Chinese must be cut into words."""
HIDE_US_PER_ROW = 0.005
"""Hiding what an asker may not see: 100,000 rows take some 500 microseconds."""
MARK_US_PER_ROW = 0.0011
"""Saying of each row whether it may be a candidate: of a million, whose marks are new memory each time; of 300,000 it
takes a fifth of that."""


class Question(msgspec.Struct, frozen=True, eq=False):
    """The question of a build.

    Attributes
    ----------
    view : ChannelView
        The channel as the question sees it: what its asker may see, and the replies that broke off as far as it goes on
        with them.
    read : str
        What is read of the text: of one longer than `QUESTION_CHARS` its ends. The tokens of all of it are reckoned
        from theirs.
    read_us : float
        Microseconds it takes to read it for one purpose, predicted.
    end : int
        Rows of the view before it were there when the question was asked.
    trigger_row : int
        The row that holds the question itself, never part of its context; -1 when it is not stored.
    told_rows : tuple of int
        Other rows that the question tells, as little part of its context.
    own_row : int
        The row under which a chat stored the question just now, as little part of it; -1 none. It tells nothing else:
        whether the commit came before the build changes no context.
    parent_row, explicit_parent_row : int
        The row it replies to, by any edge and by the platform's own; -1 none.
    self_ids : the bot's own ids.
    lost_parent : int
        The number (`ChannelView.ids`) of the id it replies to by the platform's edge where no such message is stored;
        -1 none, or nobody else replies to that.
    thread_id : str
        Where it stands: the request's, else the trigger's; empty outside of threads.
    later : tuple of int
        Rows behind the trigger that it answers, directly or not, or that came before it: clocks set them after it. Of
        the rows between the trigger and `end` no others were said before.
    continued_row : int
        The bot's reply that broke off and that it asks to go on with, its parent then; -1 none.
    is_narrow : bool
        Only messages of its thread are candidates, and what it replies to wherever that stands.
    is_trigger_text : bool
        The request brought no text: it is the trigger's.
    skips_system : bool
        Rows of ROLE_SYSTEM are no candidates.
    dates : how the dates in it are read.
    """

    view: ChannelView
    text: str
    read: str
    read_us: float
    asker: Author | None
    asked_at_ms: int
    end: int
    trigger_row: int
    own_row: int
    parent_row: int
    explicit_parent_row: int
    mentioned: tuple[str, ...]
    keywords: tuple[str, ...]
    message_type: MessageType
    addressed: bool
    token_count: int
    self_ids: tuple[str, ...] = ()
    thread_id: str = ""
    is_narrow: bool = False
    is_trigger_text: bool = False
    skips_system: bool = False
    later: tuple[int, ...] = ()
    continued_row: int = NO_ROW
    lost_parent: int = NO_ROW
    told_rows: tuple[int, ...] = ()
    dates: DateStyle = PLAIN_DATES
    _numbers: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = msgspec.field(
        default_factory=list
    )

    def features(self, *, follow_inferred: bool) -> QueryFeatures:
        """The question as the scorer sees it. Unknown words and people get negative ids of their own."""
        people = self.view.people.index
        parent = self.parent_row if follow_inferred else self.explicit_parent_row
        if parent < 0 <= self.lost_parent:
            parent = self.view.as_parent(self.lost_parent)
        return QueryFeatures(
            time_ms=self.asked_at_ms,
            author=people.get(self.asker.id, NO_ROW) if self.asker else NO_ROW,
            parent=parent,
            keyword_ids=self.keyword_ids(),
            mention_ids=_numbered([people.get(user, NO_ROW) for user in self.mentioned]),
        )

    def numbers(self) -> list[int]:
        """The number of each keyword in the channel, -1 for unknown ones."""
        numbers: list[int] = self._looked_up()[0].tolist()
        return numbers

    def keyword_ids(self) -> NDArray[np.int32]:
        """Its keywords in the channel's numbers, ascending; unknown ones get negative ones of their own."""
        return self._looked_up()[1]

    def _looked_up(self) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Both, worked out once a build."""
        if not self._numbers:
            self._numbers.append(self.view.keyword_ids.looked_up(self.keywords))
        return self._numbers[0]

    @property
    def narrow_thread_id(self) -> str:
        """The thread whose messages alone are candidates; empty: the whole channel is looked at."""
        return self.thread_id if self.is_narrow else ""

    def excluded(self) -> tuple[int, ...] | None:
        """The rows before `end` that may not be candidates, ascending; None: ask `eligible`."""
        if self.is_narrow or self.later or self.skips_system or not self.view.all_live:
            return None
        own_rows, blank = self._own_rows(), self.view.shown.blank_rows
        blank = blank[: bisect_left(blank, self.end)]
        return tuple(sorted({*own_rows, *blank})) if own_rows else blank

    def eligible_us(self) -> float:
        """Microseconds `eligible` takes, predicted; 0 where `excluded` tells as much: then hardly anybody asks."""
        return MARK_US_PER_ROW * self.end if self.excluded() is None else 0.0

    def eligible(self) -> NDArray[np.bool_]:
        """bool[end]: rows that may be candidates: not the question's and, where it is narrow, of its thread. Read-only.

        A partial reply only when the question answers it, at whatever distance: then its fate is told.
        """
        view, own_rows = self.view, self._own_rows()
        shown = view.shown.marks
        if not self.is_narrow:
            every = (_all_of(self.end.bit_length()) if shown is None else shown)[: self.end]
            if not (own_rows or self.skips_system or len(view.shown.partial_rows)):
                return every
            out = every.copy()
        else:
            out = view.thread[: self.end] == view.thread_ids.get(self.thread_id, NO_ROW)
            answered = chain(view, view.explicit_columns.parent, self.explicit_parent_row)
            out[[row for row in answered if row < self.end]] = True
        if self.later:
            behind = list(self.later)
            may_be = out[behind]
            out[self.trigger_row :] = False
            out[behind] = may_be
        if shown is not None:
            out &= shown[: self.end]
        out[list(own_rows)] = False
        if self.skips_system:
            out &= view.role[: self.end] != Role.SYSTEM
        if len(partial := view.shown.partial_rows):
            answered = chain(view, view.columns.parent, self.parent_row)
            partial = partial[partial < self.end]
            out[partial[~np.isin(partial, answered)]] = False
        return out

    def _own_rows(self) -> tuple[int, ...]:
        """The rows before `end` that hold the question, ascending; mostly none."""
        if self.trigger_row < 0 and self.own_row < 0 and not self.told_rows:
            return ()
        own = (self.trigger_row, self.own_row, *self.told_rows)
        return tuple(sorted({row for row in own if 0 <= row < self.end}))


@lru_cache(maxsize=4)
def _all_of(bits: int) -> NDArray[np.bool_]:
    """True for all numbers of so many bits: made once, read-only."""
    out = np.ones(1 << bits, np.bool_)
    out.flags.writeable = False
    return out


def resolve_question(
    request: BuildRequest,
    view: ChannelView,
    analyzer: Analyzer,
    now_ms: int,
    *,
    keep_thread: bool = True,
    partial_replies: PartialReplies = PartialReplies.NEVER,
    skips_system: bool = False,
    dates: DateStyle = PLAIN_DATES,
) -> Question:
    """Find the trigger, the time, the asker, the edges and the thread of a request's question.

    `keep_thread`: a trigger inside a thread narrows the question to that thread where the request leaves it open.
    `partial_replies`: when replies of the bot's that broke off are shown; who asks to go on then answers the one.
    `skips_system`: stored system rows are no candidates. `dates`: how the dates in the question are read.

    Raises
    ------
    NotFound, Gone
        When `trigger_message_id` names no message, or a recalled one, and there is no question text to go on with.
    InvalidRequest
        When there is neither a question nor a trigger.
    """
    moment = moment_of(request, view, now_ms)
    trigger_row, end = moment.trigger_row, moment.end
    text = request.question.strip()
    is_trigger_text = trigger_row >= 0 and not text
    if is_trigger_text:
        text = view.texts[trigger_row].strip()
    asker = _asker(request, view, trigger_row)
    mentioned = _mentioned(request, view, trigger_row, text)
    parent_row, explicit_row = _parents(request, view, trigger_row, mentioned, end)
    continued = NO_ROW
    if partial_replies is not PartialReplies.NEVER:
        continued = continued_row(request, view, moment, text, explicit_row)
    if continued >= 0:
        parent_row = explicit_row = continued
    thread_id, is_narrow = _thread(request, view, trigger_row, keep_thread=keep_thread)
    read = ends_of(text, QUESTION_CHARS)
    words, token_count = analyzer.features(read)
    return Question(
        view=seen_by(request, asker, view, partial_replies, continued, end, explicit_row),
        text=text,
        read=read,
        read_us=_read_us(text),
        asker=asker,
        asked_at_ms=moment.asked_at_ms,
        end=end,
        trigger_row=trigger_row,
        own_row=moment.own_row,
        parent_row=parent_row,
        explicit_parent_row=explicit_row,
        mentioned=mentioned,
        keywords=words,
        message_type=_type_of(text, view, explicit_row, asker),
        addressed=is_addressed(
            mentioned,
            answered_user(request, view, explicit_row),
            frozenset(request.self_ids),
        ),
        token_count=token_count if read is text else token_count * len(text) // len(read),
        self_ids=request.self_ids,
        thread_id=thread_id,
        later=moment.later,
        continued_row=continued,
        is_trigger_text=is_trigger_text,
        skips_system=skips_system,
        lost_parent=lost_parent(request, view, trigger_row),
        is_narrow=is_narrow,
        told_rows=tuple([view.row_of(one) for one in request.own_message_ids]),
        dates=dates,
    )


def resolve_us(request: BuildRequest, view: ChannelView) -> float:
    """Microseconds `resolve_question` takes at most, predicted: what costs is to cut words and to hide rows."""
    text = request.question
    if not text.strip():
        row = view.row_of(request.trigger_message_id)
        text = view.texts[row] if row >= 0 else ""
    hides = request.visible_since_membership or request.viewer.is_narrow
    hide_us = HIDE_US_PER_ROW * view.count if hides or len(view.scopes) > 1 else 0.0
    return _read_us(text) + hide_us


def _read_us(text: str) -> float:
    """Microseconds it takes to read a question for one purpose: measured, new words each time."""
    per_char = US_PER_ASCII_CHAR if text.isascii() else US_PER_CHAR
    return per_char * min(len(text), QUESTION_CHARS)


def _asker(request: BuildRequest, view: ChannelView, trigger_row: int) -> Author | None:
    """The request's asker, by the name the channel knows if the request has none; else the trigger's author."""
    if request.asker is None:
        return _author_of(view, trigger_row) if trigger_row >= 0 else None
    index = view.people.index.get(request.asker.id)
    if request.asker.name or index is None:
        return request.asker
    return replace(request.asker, name=view.people.names[index])


def _type_of(text: str, view: ChannelView, answered: int, asker: Author | None) -> MessageType:
    """The type of a question that answers this row, -1 none."""
    return classify(
        text,
        is_reply=answered >= 0,
        parent_is_question=_is_question(view, answered),
        author_kind=asker.kind if asker else _HUMAN,
    )


def _thread(
    request: BuildRequest, view: ChannelView, trigger_row: int, *, keep_thread: bool
) -> tuple[str, bool]:
    """The thread a question stands in, empty outside of threads, and whether it is narrowed to that.

    A thread that the request names narrows it, one that it says is none does not; else `keep_thread` decides.
    """
    if request.thread_id:
        return request.thread_id, True
    thread_id = _thread_of(view, trigger_row) if trigger_row >= 0 else ""
    return thread_id, bool(thread_id) and request.thread_id is None and keep_thread


def _thread_of(view: ChannelView, row: int) -> str:
    """The thread that a row stands in; empty outside of threads."""
    number = view.thread.item(row)
    return next(islice(view.thread_ids, number, None))  # they are numbered as they came


def _author_of(view: ChannelView, row: int) -> Author:
    return Author(view.author_id(row), view.author_name(row), AuthorKind(int(view.kind[row])))


def _mentioned(
    request: BuildRequest, view: ChannelView, trigger_row: int, text: str
) -> tuple[str, ...]:
    if request.mentions or trigger_row < 0:
        return mention_ids(text, request.mentions, view.people)
    columns = view.columns
    first, last = columns.mention_offsets[trigger_row : trigger_row + 2].tolist()
    return tuple(view.people.ids[i] for i in columns.mention_ids[first:last].tolist())


def _parents(
    request: BuildRequest,
    view: ChannelView,
    trigger_row: int,
    mentioned: tuple[str, ...],
    end: int,
) -> tuple[int, int]:
    """Parent by any edge, parent by the platform's edge: the request's, else the trigger's, else by a mention."""
    if request.reply is not None:
        row = view.row_of(request.reply.message_id)
        row = row if row < end else NO_ROW
        return row, NO_ROW if request.reply.inferred else row
    if trigger_row >= 0:
        return int(view.columns.parent[trigger_row]), int(view.explicit_columns.parent[trigger_row])
    if mentioned and mentioned[0] in view.people.index:
        columns = view.columns
        user = view.people.index[mentioned[0]]
        return newest_by(columns.author, columns.time_ms, user, end), NO_ROW
    return NO_ROW, NO_ROW


def _is_question(view: ChannelView, row: int) -> bool | None:
    return bool(view.message_type[row] == MessageType.QUESTION) if row >= 0 else None


def _numbered(numbers: Sequence[int]) -> NDArray[np.int32]:
    """Ascending; each unknown one, -1, gets a negative number of its own. The known ones are all different."""
    if not numbers:
        return _NONE
    ordered = sorted(numbers)
    unknown = ordered.count(NO_ROW)
    ordered[:unknown] = range(NO_ROW - unknown, NO_ROW)
    return np.array(ordered, np.int32)
