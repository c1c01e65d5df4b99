"""What a build reads: one generation of one channel, never changed after it was published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import ChannelColumns
from backscroll_sidecar.channels.fragments import Fragments
from backscroll_sidecar.channels.lexicon import LexiconView
from backscroll_sidecar.channels.memo import ReplyMemo
from backscroll_sidecar.channels.people import People
from backscroll_sidecar.channels.tool_rounds import ToolRounds
from backscroll_sidecar.domain import ChannelKey


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
        `MessageState`, `Role`, `AuthorKind`, `MessageType` of each row.
    token_count : int32[n]
        o200k_base tokens of the row's text and a newline.
    name : int32[n]
        The name each message was written under, case-folded: its place in `names`.
    message_ids, texts, fragments : sequences
        At least n long; entries behind n belong to later generations.
    replies : ReplyMemo
        What the reply model keeps of these rows: a cache, not a part of the value.
    written : Fragments
        What builds wrote of these rows: another one.
    all_live : bool
        Whether no row is recalled or partial, so that `state` need not be looked at.
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
    name: NDArray[np.int32]
    message_ids: Sequence[str]
    texts: Sequence[str]
    fragments: Sequence[bytes]
    people: People
    tool_rounds: ToolRounds
    rows: Mapping[str, int]
    keyword_ids: Mapping[str, int]
    lexicon: LexiconView
    thread_ids: Mapping[str, int]
    names: Sequence[str]
    replies: ReplyMemo
    written: Fragments
    all_live: bool

    def row_of(self, message_id: str) -> int:
        """The row of a message, -1 when this view has none of that id."""
        row = self.rows.get(message_id, -1)
        return row if row < self.count else -1

    def is_tool_message(self, row: int) -> bool:
        """Whether a row holds calls of tools or their results."""
        return self.tool_rounds.ids(self.message_ids[row]) is not None

    def author_id(self, row: int) -> str:
        """The user id of a row's author."""
        return self.people.ids[int(self.columns.author[row])]

    def author_name(self, row: int) -> str:
        """The name the author of a row goes by now."""
        return self.people.names[int(self.columns.author[row])]
