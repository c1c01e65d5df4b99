"""What a build reads: one generation of one channel, never changed after it was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import ChannelColumns, StringsView
from backscroll_sidecar.channels.batch import (
    BLANK,
    HIDDEN,
    LIVE,
    PARTIAL,
    WITHHELD,
    AuthorAs,
    Scope,
)
from backscroll_sidecar.channels.bodies import Fragments, Texts
from backscroll_sidecar.channels.lexicon import LexiconView, Words
from backscroll_sidecar.channels.line_cache import LineCache
from backscroll_sidecar.channels.people import People
from backscroll_sidecar.channels.reply_cache import ReplyCache
from backscroll_sidecar.channels.tool_exchanges import ToolExchanges
from backscroll_sidecar.domain import ChannelKey, Mention, MessageState, Part
from backscroll_sidecar.ports import FragmentCodec

MOST_BLANK = 512
"""Most blank rows that are passed over one by one. Fewer than the reply model's reach beyond its window."""


class Shown(NamedTuple):
    """Facts about a whole column `state`, so that few readers need the column.

    Attributes
    ----------
    all_live : whether no row is recalled, partial or withheld, and few are blank.
    blank_rows : tuple of int
        The blank rows, ascending; empty unless `all_live`.
    marks : bool[n], or None
        Which rows are neither blank nor withheld; None: all of them. Read-only.
    partial_rows : int64[k]
        The partial rows, ascending.
    """

    all_live: bool
    blank_rows: tuple[int, ...]
    marks: NDArray[np.bool_] | None
    partial_rows: NDArray[np.int64]

    @classmethod
    def of(cls, state: NDArray[np.uint8]) -> Shown:
        """The facts of one column."""
        others = np.flatnonzero(state != LIVE)
        if not len(others):
            return _ALL_SHOWN
        kinds = state[others]
        blank = others[(kinds == BLANK) | (kinds == WITHHELD)]
        all_live = len(blank) == len(others) <= MOST_BLANK and not (kinds == WITHHELD).any()
        marks = None
        if len(blank):
            marks = (state != BLANK) & (state != WITHHELD)
            marks.flags.writeable = False
        blank_rows = tuple(blank.tolist()) if all_live else ()
        return cls(all_live, blank_rows, marks, others[state[others] == PARTIAL])


_ALL_SHOWN = Shown(True, (), None, np.empty(0, np.int64))


@dataclass(frozen=True, slots=True, eq=False)
class MessageIds(Sequence[str]):
    """The ids of a view's rows, made on access. `number`: int32[n], places in `ids`."""

    ids: StringsView
    number: NDArray[np.int32]

    def __len__(self) -> int:
        return len(self.number)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self.ids[number] for number in self.number[row].tolist()]
        return self.ids[self.number.item(row)]


@dataclass(frozen=True, slots=True, eq=False)
class ChannelView:
    """A channel at one moment. Rows are in time order: (rank time, arrival).

    Attributes
    ----------
    count : int
        n, the number of rows.
    columns : ChannelColumns
        Columns for the scorer; `parent` holds every edge, inferred ones too.
    explicit_columns : ChannelColumns
        The same with the edges the platform knew only.
    seq : int64[n]
        Arrival number of each row within its channel.
    state, role, kind, message_type : uint8[n]
        `MessageState`, `BLANK`, `HIDDEN` or `WITHHELD`, `Role`, `AuthorKind`, `MessageType` of each row.
    token_count : int32[n]
        o200k_base tokens of the row's text and a newline.
    scope : int32[n]
        The place in `scopes` of each row: of what session it is and for whom.
    name : int32[n]
        Under which name by whom each message was written: its place in `authors`, and, case-folded, in `names`.
    target : int32[n]
        The number of the id each row replies to, -1 for none. `inferred`, uint8[n]: 1 where we found that out.
    message_ids, texts, fragments : sequences
        n long, made on access.
    id_rows : int32[m]
        The row of a message by the number of its id in `ids`; rows behind n belong to later generations.
    replies : ReplyCache
        The reply model's cache for these rows; no part of the value.
    lines : LineCache
        The cache of rendered rows; no part of the value.
    codec : FragmentCodec
        Reads fragments.
    pinned : tuple of str
        Ids of the pinned messages, in the order in which they were pinned; some may be recalled since.
    shown : Shown
        What `state` says of all rows.
    last_seq : int
        The newest arrival number.
    origins : sequence
        Of rows of several channels: channel and arrival number there, by `seq`, which counts from 1. Else empty.
    """

    key: ChannelKey
    generation: int
    count: int
    columns: ChannelColumns
    explicit_columns: ChannelColumns
    seq: NDArray[np.int64]
    state: NDArray[np.uint8]
    role: NDArray[np.uint8]
    kind: NDArray[np.uint8]
    message_type: NDArray[np.uint8]
    token_count: NDArray[np.int32]
    thread: NDArray[np.int32]
    scope: NDArray[np.int32]
    name: NDArray[np.int32]
    target: NDArray[np.int32]
    inferred: NDArray[np.uint8]
    message_ids: MessageIds
    texts: Texts
    fragments: Fragments
    people: People
    tool_exchanges: ToolExchanges
    ids: StringsView
    id_rows: NDArray[np.int32]
    lexicon: LexiconView
    thread_ids: Mapping[str, int]
    scopes: Sequence[Scope]
    authors: Sequence[AuthorAs]
    names: Sequence[str]
    replies: ReplyCache
    lines: LineCache
    codec: FragmentCodec
    pinned: tuple[str, ...]
    shown: Shown
    last_seq: int = 0
    origins: Sequence[tuple[str, int]] = ()

    def row_of(self, message_id: str) -> int:
        """The row of a message, -1 when this view has none of that id."""
        number = self.ids.find(message_id)
        return self.row_of_number(number) if number >= 0 else -1

    def row_of_number(self, number: int) -> int:
        """The row of the message whose id has this number in `ids`, -1 when this view has none."""
        row: int = self.id_rows.item(number)
        return row if row < self.count else -1

    def lost_target(self, row: int) -> int:
        """The number of the id that a row replies to by the platform's edge and that is not stored; -1 none."""
        number: int = self.target.item(row)
        is_known = number < 0 or self.inferred.item(row) or self.row_of_number(number) >= 0
        return -1 if is_known else number

    @staticmethod
    def as_parent(number: int) -> int:
        """How `ChannelColumns.parent` names a message that is not stored, by the number of its id."""
        return -2 - number

    def with_lost_parents(self, columns: ChannelColumns) -> ChannelColumns:
        """The columns in which replies to messages that are not stored have them as parents. O(channel)."""
        lost = (columns.parent < 0) & (self.target >= 0) & (self.inferred == 0)
        parent = np.where(lost, -2 - self.target, columns.parent)
        return replace(columns, parent=parent)

    def counting(self, rows: Sequence[int]) -> ChannelView:
        """The same view in which these rows are live. O(channel)."""
        state = self.state.copy()
        state[rows] = MessageState.LIVE
        return replace(self, state=state, shown=Shown.of(state))

    def hiding(self, marks: NDArray[np.bool_], as_state: int = HIDDEN) -> ChannelView:
        """The same view in which the live ones of the marked rows (bool[n]) have this state. O(channel).

        What is withheld may have broken off, too.
        """
        of_state = self.state == LIVE
        if as_state == WITHHELD:
            of_state |= self.state == PARTIAL
        hides = marks & of_state
        if not hides.any():
            return self
        state = np.where(hides, np.uint8(as_state), self.state)
        return replace(self, state=state, shown=Shown.of(state))

    @property
    def all_live(self) -> bool:
        """Whether `state` need not be looked at: see `Shown`."""
        return self.shown.all_live

    @property
    def keyword_ids(self) -> Words:
        """The numbers of keywords."""
        return self.lexicon.ids

    def is_tool_message(self, row: int) -> bool:
        """Whether a row holds calls of tools or their results."""
        return self.tool_exchanges.ids(self.message_ids[row]) is not None

    def tool_rows(self, rows: NDArray[np.int32]) -> list[int]:
        """Those of the rows that hold calls of tools or their results."""
        if not self.tool_exchanges:
            return []
        bodies = self.texts.bodies
        of_parts = rows[bodies.text_at[rows] >= bodies.size[rows]]
        return [row for row in of_parts.tolist() if self.is_tool_message(row)]

    def is_text(self, row: int) -> bool:
        """Whether a row is one run of text; else its text was put together of its parts."""
        bodies = self.texts.bodies
        return bodies.text_at.item(row) < bodies.size.item(row)

    def parts(self, row: int) -> Sequence[Part]:
        """The parts of a row, read of its fragment."""
        return self.codec.parts(self.fragments[row])

    def mentions(self, row: int) -> Sequence[Mention]:
        """The people a row marks as mentioned, read of its fragment."""
        return self.codec.mentions(self.fragments[row])

    def sent_at_ms(self, row: int) -> int:
        """When a row was sent, as its sender says, read of its fragment: it may be ranked by another time."""
        return self.codec.sent_at_ms(self.fragments[row])

    def author_id(self, row: int) -> str:
        """The user id of a row's author."""
        return self.people.ids[int(self.columns.author[row])]

    def author_name(self, row: int) -> str:
        """The name the author of a row goes by now."""
        return self.people.names[int(self.columns.author[row])]
