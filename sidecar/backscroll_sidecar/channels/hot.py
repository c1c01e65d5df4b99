"""One channel in memory. Appends go behind the published rows; everything else publishes a new generation."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import ChannelColumns
from backscroll_sidecar.channels.columns import Column, RaggedColumn
from backscroll_sidecar.channels.fragments import Fragments
from backscroll_sidecar.channels.lexicon import Lexicon
from backscroll_sidecar.channels.links import Links
from backscroll_sidecar.channels.memo import ReplyMemo
from backscroll_sidecar.channels.people import People
from backscroll_sidecar.channels.tool_rounds import ToolRounds
from backscroll_sidecar.channels.view import ChannelView
from backscroll_sidecar.domain import Author, ChannelKey, Member, MessageState, StoredMessage
from backscroll_sidecar.ports import Applied, FragmentCodec

ROW_OVERHEAD_BYTES = 420
"""Rough bytes a row costs beside arrays and characters: four Python objects, one dict entry (measured: 380-450)."""
WORD_BYTES, PERSON_BYTES, CHANNEL_BYTES = 120, 300, 8_000
"""Rough bytes of a distinct keyword (text, number, dict entry), of a user with one name, of a channel with no rows."""
_EMPTY_TEXT_BYTES = sys.getsizeof("")

SCALARS: dict[str, type[np.generic]] = {
    "time_ms": np.int64,
    "seq": np.int64,
    "author": np.int32,
    "state": np.uint8,
    "role": np.uint8,
    "kind": np.uint8,
    "message_type": np.uint8,
    "token_count": np.int32,
    "thread": np.int32,
    "name": np.int32,
}


class HotChannel:
    """Columns, texts and fragments of one channel. Owned by the event loop; `view` may be read from any thread.

    Rows stand in time order (rank time, arrival). The same rows in the same order come out whether they were
    appended one by one or loaded at once (law 2).
    """

    def __init__(
        self,
        key: ChannelKey,
        codec: FragmentCodec,
        stored: Sequence[StoredMessage] = (),
        members: Iterable[Member] = (),
    ) -> None:
        self.key = key
        self.people = People()
        self.generation = 1
        self._codec = codec
        self._scalars = {name: Column(dtype) for name, dtype in SCALARS.items()}
        self._keywords = RaggedColumn()
        self._mentions = RaggedColumn()
        self._lexicon = Lexicon()
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._fragments: list[bytes] = []
        self._rows: dict[str, int] = {}
        self._links = Links()
        self._tool_rounds = ToolRounds()
        self._keyword_ids: dict[str, int] = {}
        self._thread_ids: dict[str, int] = {"": 0}
        self._name_ids: dict[str, int] = {}
        self._names: list[str] = []
        self._text_bytes = 0
        self._replies = ReplyMemo()
        self._written = Fragments()
        self._view: ChannelView | None = None
        self._append(sorted(stored, key=lambda s: s.seq))
        self._sort()
        self.people.note_members(members)

    def __len__(self) -> int:
        return len(self._ids)

    @property
    def known(self) -> bool:
        """Whether anything was ever heard of the channel: a message or a member."""
        return bool(self._ids or self.people.ids)

    @property
    def nbytes(self) -> int:
        """Memory held, estimated: arrays and texts exactly, Python objects by their number."""
        arrays = (
            sum(c.nbytes for c in self._scalars.values())
            + self._keywords.nbytes
            + self._mentions.nbytes
            + self._lexicon.nbytes
            + self._replies.nbytes
            + self._written.nbytes
        )
        return (
            CHANNEL_BYTES
            + arrays
            + self._text_bytes
            + len(self._ids) * ROW_OVERHEAD_BYTES
            + len(self._keyword_ids) * WORD_BYTES
            + len(self.people.ids) * PERSON_BYTES
        )

    def publish(self, applied: Applied) -> None:
        """Take over what a committed change did. Idempotent: rows already held are only replaced by newer revisions."""
        known = [s for s in applied.stored if s.message.id in self._rows]
        fresh = [s for s in applied.stored if s.message.id not in self._rows]
        renamed = self.people.renamed
        if known:
            self._replace(known)
        if fresh:
            first = len(self._ids)
            self._append(sorted(fresh, key=lambda s: s.seq))
            self._sort(first)
        self.people.note_members(applied.members)
        if self.people.renamed > renamed:
            self._written = Fragments()
        self._view = None

    def view(self) -> ChannelView:
        """The channel as it stands, as a value that later changes do not touch."""
        if self._view is None:
            self._view = self._make_view()
        return self._view

    def _make_view(self) -> ChannelView:
        scalar = {name: column.view() for name, column in self._scalars.items()}
        parent, explicit_parent = self._links.parents()
        keyword_offsets, keyword_ids = self._keywords.view()
        mention_offsets, mention_ids = self._mentions.view()

        def columns(edges: NDArray[np.int32]) -> ChannelColumns:
            return ChannelColumns(
                scalar["time_ms"], scalar["author"], edges,
                keyword_offsets, keyword_ids, mention_offsets, mention_ids,
            )  # fmt: skip

        return ChannelView(
            key=self.key,
            generation=self.generation,
            count=len(self._ids),
            columns=columns(parent),
            explicit_columns=columns(explicit_parent),
            seq=scalar["seq"],
            state=scalar["state"],
            role=scalar["role"],
            kind=scalar["kind"],
            message_type=scalar["message_type"],
            token_count=scalar["token_count"],
            thread=scalar["thread"],
            name=scalar["name"],
            message_ids=self._ids,
            texts=self._texts,
            fragments=self._fragments,
            people=self.people,
            tool_rounds=self._tool_rounds,
            rows=self._rows,
            keyword_ids=self._keyword_ids,
            lexicon=self._lexicon.view(),
            thread_ids=self._thread_ids,
            names=self._names,
            replies=self._replies,
            written=self._written,
            all_live=not (scalar["state"] != MessageState.LIVE).any(),
        )

    def _append(self, stored: Sequence[StoredMessage]) -> None:
        first = len(self._ids)
        fragments = [self._codec.encode(item) for item in stored]  # it alone may raise
        self._ids.extend(item.message.id for item in stored)
        self._texts.extend(item.analysis.text for item in stored)
        self._fragments.extend(fragments)
        values = [self._row_scalars(item) for item in stored]
        for name, column in self._scalars.items():
            column.extend([v[name] for v in values])
        self._keywords.extend([self._keyword_run(item) for item in stored])
        self._mentions.extend([self._mention_run(item) for item in stored])
        self._lexicon.append(
            first, ((item.analysis.text, item.analysis.keywords) for item in stored)
        )
        late_parent = self._links.append(
            self._ids[first:], [_edge(item) for item in stored], self._rows
        )
        for item in stored:
            self._tool_rounds.note(item.message.id, item.seq, item.message.parts)
        self._text_bytes += _text_bytes(self._texts[first:], self._fragments[first:])
        if late_parent:
            self._changed(0)

    def _replace(self, stored: Sequence[StoredMessage]) -> None:
        """Edits and recalls: the rows stay where they are. One copy of what changes, however many rows do."""
        new = {self._rows[item.message.id]: item for item in stored}  # the last revision of each
        fragments = {
            row: self._codec.encode(item) for row, item in new.items()
        }  # it alone may raise
        self._texts, self._fragments = self._texts.copy(), self._fragments.copy()
        for row, item in new.items():
            here = slice(row, row + 1)
            self._text_bytes -= _text_bytes(self._texts[here], self._fragments[here])
            self._texts[row], self._fragments[row] = item.analysis.text, fragments[row]
            self._text_bytes += _text_bytes(self._texts[here], self._fragments[here])
        rows = np.array(list(new), np.intp)
        values = [self._row_scalars(item) for item in new.values()]
        for name in SCALARS.keys() - {"time_ms", "seq"}:
            self._scalars[name] = self._scalars[name].replace(rows, [v[name] for v in values])
        self._keywords = self._keywords.replace({r: self._keyword_run(s) for r, s in new.items()})
        self._mentions = self._mentions.replace({r: self._mention_run(s) for r, s in new.items()})
        self._lexicon.replace({r: (s.analysis.text, s.analysis.keywords) for r, s in new.items()})
        self._links = self._links.with_edges(
            {row: _edge(item) for row, item in new.items()}, self._ids, self._scalars["seq"].view()
        )
        changed = {item.message.id: (item.seq, item.message.parts) for item in new.values()}
        self._tool_rounds = self._tool_rounds.replaced(changed)
        self._written = self._written.without(self._scalars["seq"].view()[rows].tolist())
        self._changed(min(new))

    def _sort(self, first: int = 0) -> None:
        """Late messages among the rows from `first` on move to their place in time; those before are in order."""
        time_ms, seq = self._scalars["time_ms"].view(), self._scalars["seq"].view()
        tail = slice(max(0, first - 1), None)
        behind = np.diff(time_ms[tail])
        if (behind < 0).any() or ((behind == 0) & (np.diff(seq[tail]) < 0)).any():
            start = int(np.searchsorted(time_ms[:first], time_ms[first:].min()))
            moved = np.lexsort((seq[start:], time_ms[start:])) + start
            self._take(np.concatenate([np.arange(start), moved]), start)

    def _take(self, order: NDArray[np.intp], start: int = 0) -> None:
        """Keep the rows `order` names, in that order; the first `start` of them stay where they are."""
        self._scalars = {name: column.take(order) for name, column in self._scalars.items()}
        self._keywords, self._mentions = self._keywords.take(order), self._mentions.take(order)
        places = order[start:].tolist()
        new_rows = np.empty(len(order), np.int32)
        new_rows[order] = np.arange(len(order), dtype=np.int32)
        self._lexicon.renumber(new_rows)
        self._links = self._links.take(order, start)
        self._ids = self._ids[:start] + [self._ids[i] for i in places]
        self._texts = self._texts[:start] + [self._texts[i] for i in places]
        self._fragments = self._fragments[:start] + [self._fragments[i] for i in places]
        rows = self._rows if start else {}
        self._rows = rows | {id: row for row, id in enumerate(self._ids[start:], start)}
        self._changed(start)

    def _changed(self, row: int) -> None:
        """Another generation: rows from `row` on are not what they were."""
        self.generation += 1
        self._replies = self._replies.before(row)

    def _row_scalars(self, item: StoredMessage) -> dict[str, int]:
        message, thread_id = item.message, item.message.thread_id
        return {
            "time_ms": item.rank_time_ms,
            "seq": item.seq,
            "author": self.people.note_author(message.author),
            "state": item.state,
            "role": message.role,
            "kind": message.author.kind,
            "message_type": item.analysis.message_type,
            "token_count": item.analysis.token_count,
            "thread": self._thread_ids.setdefault(thread_id, len(self._thread_ids)),
            "name": self._name_id(message.author),
        }

    def _name_id(self, author: Author) -> int:
        """The name a message was written under: unlike `people` it never changes with a later one."""
        name = (author.name or author.id).strip().casefold()
        number = self._name_ids.setdefault(name, len(self._names))
        if number == len(self._names):
            self._names.append(name)
        return number

    def _keyword_run(self, item: StoredMessage) -> list[int]:
        table = self._keyword_ids
        return [table.setdefault(word, len(table)) for word in item.analysis.keywords]

    def _mention_run(self, item: StoredMessage) -> list[int]:
        return [self.people.intern(user_id) for user_id in item.analysis.mention_ids]


def _edge(item: StoredMessage) -> tuple[str, bool]:
    """The id a row replies to (empty: none) and whether the edge was inferred."""
    reply = item.analysis.reply
    return (reply.message_id, reply.inferred) if reply else ("", False)


def _text_bytes(texts: Sequence[str], fragments: Sequence[bytes]) -> int:
    """Bytes of characters, which Python keeps in 1, 2 or 4 each: Chinese takes twice what Latin text does."""
    characters = sum(map(sys.getsizeof, texts)) - len(texts) * _EMPTY_TEXT_BYTES
    return characters + sum(map(len, fragments))
