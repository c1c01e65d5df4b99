"""One channel in memory. Appends go behind the published rows; everything else publishes a new generation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import ChannelColumns, Packed, StringTable
from backscroll_sidecar.channels import reply_snapshot
from backscroll_sidecar.channels.batch import (
    EVERYBODY,
    NONE,
    SENT,
    AuthorAs,
    Batch,
    Runs,
    Scope,
    Terms,
    batch_of,
)
from backscroll_sidecar.channels.bodies import Bodies, BodyColumns, Fragments, Texts
from backscroll_sidecar.channels.columns import Column, RaggedColumn
from backscroll_sidecar.channels.lexicon import Lexicon
from backscroll_sidecar.channels.line_cache import LineCache
from backscroll_sidecar.channels.links import NO_PARENT, NO_ROW, Edges
from backscroll_sidecar.channels.people import People
from backscroll_sidecar.channels.reply_cache import ReplyCache
from backscroll_sidecar.channels.segment_ranges import SegmentRange
from backscroll_sidecar.channels.tool_exchanges import ToolExchanges
from backscroll_sidecar.channels.view import ChannelView, MessageIds, Shown
from backscroll_sidecar.domain import ChannelKey, Member, StoredMessage
from backscroll_sidecar.ports import PIN, Applied, FragmentCodec, RecordChange

PERSON_BYTES, CHANNEL_BYTES = 900, 16_000
"""Rough bytes of a user with one name, and of a channel without rows."""
WORN_BYTES = 1 << 20
"""Bytes of replaced revisions that any channel may hold."""

COLUMNS: Mapping[str, type[np.generic]] = {
    **SENT,
    "author": np.int32,
    "name": np.int32,
    "thread": np.int32,
    "scope": np.int32,
    "number": np.int32,
    "target": np.int32,
    "start": np.int64,
    "parent": np.int32,
    "explicit_parent": np.int32,
}
"""A row's numbers: what was sent, and places in the channel's tables. `start`: of its body (see `Bodies`)."""
IDENTITY = {"seq", "number"}
"""What never changes."""


class HotChannel:
    """Columns, texts and fragments of one channel. Owned by the event loop; `view` may be read from any thread.

    Rows stand in time order (rank time, arrival). The same rows in the same order come out whether they were
    appended one by one or loaded at once, from rows or from segments.
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
        self.revised: dict[int, int] = {}
        """How often each row changed since it came, by seq: its revision and its moves together."""
        self.loose_count = 0
        """Rows that the load read as rows: no segment held them."""
        self.segment_ranges: list[SegmentRange] = []
        """What segments hold. A change drops the range of its row here as in the store."""
        self._codec = codec
        self._columns = {name: Column(dtype) for name, dtype in COLUMNS.items()}
        self._keywords = RaggedColumn()
        self._mentions = RaggedColumn()
        self._lexicon = Lexicon()
        self._ids = StringTable()
        self._id_rows = Column(np.int32)
        self._aliases = Column(np.int32)
        """Numbers of aliases, and behind each the number of its message's own id."""
        self._bodies = Bodies()
        self._replaced_bytes = 0
        self._decoded: dict[int, str] = {}
        self._tool_exchanges = ToolExchanges()
        self._thread_ids: dict[str, int] = {"": 0}
        self._scope_numbers: dict[Scope, int] = {EVERYBODY: 0}
        self._scopes: list[Scope] = [EVERYBODY]
        self._author_numbers: dict[AuthorAs, int] = {}
        self._authors: list[AuthorAs] = []
        self._names: list[str] = []
        self._replies = ReplyCache()
        self._lines = LineCache()
        self._pinned: tuple[str, ...] = ()
        self._last_seq = 0
        self._view: ChannelView | None = None
        if stored:
            self.load([batch_of(sorted(stored, key=lambda s: s.seq), codec)])
        self.people.note_members(members)

    def __len__(self) -> int:
        return len(self._columns["seq"])

    @property
    def known(self) -> bool:
        """Whether anything was ever heard of the channel: a message or a member."""
        return bool(len(self) or self.people.ids)

    @property
    def is_worn(self) -> bool:
        """Whether most bodies held are of replaced revisions. A reload would be much smaller."""
        return self._replaced_bytes > WORN_BYTES + self._bodies.nbytes // 2

    @property
    def nbytes(self) -> int:
        """Memory held, estimated: arrays and bodies exactly, people by their number."""
        return (
            CHANNEL_BYTES
            + sum(column.nbytes for column in self._columns.values())
            + self._keywords.nbytes
            + self._mentions.nbytes
            + self._lexicon.nbytes
            + self._ids.nbytes
            + self._id_rows.nbytes
            + self._aliases.nbytes
            + self._bodies.nbytes
            + self._replies.nbytes
            + self._lines.nbytes
            + len(self.people.ids) * PERSON_BYTES
        )

    def publish(self, applied: Applied) -> None:
        """Take over what a committed change did. Idempotent: rows already held are only replaced by newer revisions."""
        renamed = self.people.renamed
        if applied.stored:
            rows = self._rows_of([s.message.id for s in applied.stored])
            here = list(zip(applied.stored, rows, strict=True))
            known = {
                s.message.id: s for s, row in here if row != NO_ROW
            }  # the last revision of each
            fresh = sorted((s for s, row in here if row == NO_ROW), key=lambda s: s.seq)
            if known:
                self._replace(known)
            if fresh:
                self.load([batch_of(fresh, self._codec)])
        for change in applied.records:
            self._note_pin(change)
        self.take_aliases(applied.aliases)
        self.people.note_members(applied.members)
        if self.people.renamed > renamed:
            self._lines.forget()
            self._lines = LineCache(self._lines.wanted)
        self._view = None

    def take_pins(self, message_ids: Sequence[str]) -> None:
        """Set the pinned messages, in this order."""
        if self._pinned != (pinned := tuple(message_ids)):
            self._pinned, self._view = pinned, None

    def _note_pin(self, change: RecordChange) -> None:
        if change.kind != PIN:
            return
        if change.body is None:
            self.take_pins([id_ for id_ in self._pinned if change.id not in ("", id_)])
        elif change.id not in self._pinned:
            self.take_pins([*self._pinned, change.id])

    def load(self, batches: Sequence[Batch]) -> None:
        """Add rows that came after all that are there, in order of arrival."""
        if not batches:
            return
        first, ids_before = len(self), len(self._ids)
        if first == 0:
            self._ids.reserve([batch.ids for batch in batches])
            self._lexicon.reserve([batch.words for batch in batches])
        new: list[dict[str, NDArray[Any]]] = []
        for batch in batches:
            new.append(self._numbered(batch))
            self._enter_runs(batch)
            for message_id, ids in batch.tools:
                self._tool_exchanges.enter(message_id, ids)
        for name, column in self._columns.items():
            values = [columns[name] for columns in new]
            column.extend(np.concatenate(values) if len(values) > 1 else values[0])
        self._last_seq = max(
            self._last_seq, *(int(columns["seq"].max(initial=0)) for columns in new)
        )
        if first == 0:
            self._lexicon.trim()
        self._link_new(first, ids_before)
        self._view = None
        self._sort(first)

    def take_aliases(self, aliases: Sequence[tuple[str, str]]) -> None:
        """Add aliases: pairs of an alias and the id of its message. Idempotent."""
        if not aliases:
            return
        packed = (Packed.of([one[place] for one in aliases]) for place in (0, 1))
        alias, own = (self._ids.add(ids) for ids in packed)
        self._id_rows.extend(np.full(len(self._ids) - len(self._id_rows), NO_ROW, np.int32))
        self._aliases.extend(np.stack([alias, own], axis=1).ravel())
        self._place_aliases()
        self._view = None

    def _place_aliases(self) -> None:
        """An alias is found where its message is."""
        alias, own = self._aliases.view().reshape(-1, 2).T
        rows = self._id_rows.raw()
        rows[alias] = rows[own]

    def take_links(self, kept: reply_snapshot.Arrays) -> None:
        """Start from a snapshot of the reply model, if it was made from these rows."""
        column = {name: self._columns[name].view() for name in ("seq", "state", "author")}
        self._replies = ReplyCache(reply_snapshot.unpacked(kept, **column, revised=self.revised))
        self._view = None

    def view(self) -> ChannelView:
        """The channel as it stands, as a value that later changes do not touch."""
        if self._view is None:
            self._view = self._make_view()
        return self._view

    def _make_view(self) -> ChannelView:
        column = {name: column.view() for name, column in self._columns.items()}
        keyword_offsets, keyword_ids = self._keywords.view()
        mention_offsets, mention_ids = self._mentions.view()

        def columns(edges: NDArray[np.int32]) -> ChannelColumns:
            return ChannelColumns(
                column["time_ms"], column["author"], edges,
                keyword_offsets, keyword_ids, mention_offsets, mention_ids,
            )  # fmt: skip

        bodies = BodyColumns(
            self._bodies.chunks, column["start"], column["fragment_size"], column["text_at"], column["text_size"]
        )  # fmt: skip
        ids = self._ids.view()
        return ChannelView(
            key=self.key,
            generation=self.generation,
            count=len(self),
            columns=columns(column["parent"]),
            explicit_columns=columns(column["explicit_parent"]),
            seq=column["seq"],
            state=column["state"],
            role=column["role"],
            kind=column["kind"],
            message_type=column["message_type"],
            token_count=column["token_count"],
            thread=column["thread"],
            scope=column["scope"],
            name=column["name"],
            target=column["target"],
            inferred=column["inferred"],
            message_ids=MessageIds(ids, column["number"]),
            texts=Texts(bodies, self._decoded),
            fragments=Fragments(
                bodies, column["parent"], column["author"], self.people.ids, self._codec
            ),
            people=self.people,
            tool_exchanges=self._tool_exchanges,
            ids=ids,
            id_rows=self._id_rows.view(),
            lexicon=self._lexicon.view(),
            thread_ids=self._thread_ids,
            scopes=self._scopes,
            authors=self._authors,
            names=self._names,
            replies=self._replies,
            lines=self._lines,
            last_seq=self._last_seq,
            codec=self._codec,
            pinned=self._pinned,
            shown=Shown.of(column["state"]),
        )

    def _rows_of(self, message_ids: Sequence[str]) -> list[int]:
        numbers = self._ids.view().numbers(message_ids)
        id_rows = self._id_rows.view()
        return [id_rows.item(number) if number >= 0 else NO_ROW for number in numbers.tolist()]

    def _numbered(self, batch: Batch) -> dict[str, NDArray[Any]]:
        """A batch's columns in the channel's numbers; its bodies are kept."""
        authors, users = self._author_numbers_of(batch.authors)
        threads = np.array([self._thread_number(thread) for thread in batch.threads], np.int32)
        scopes = np.array([self._scope_number(scope) for scope in batch.scopes], np.int32)
        is_first = not len(self._ids)
        numbers = self._ids.add(batch.ids, distinct=True)
        number, target = batch.number, batch.target
        if not is_first:  # else the ids have the numbers of their places
            number = numbers[number]
            target = np.where(target != NONE, numbers[target], np.int32(NONE))
        self.revised.update(batch.revised.tolist())
        no_parent = np.full(len(batch), NO_PARENT, np.int32)
        return {
            **batch.sent,
            "author": users[batch.author],
            "name": authors[batch.author],
            "thread": threads[batch.thread],
            "scope": scopes[batch.scope],
            "number": number,
            "target": target,
            "start": self._bodies.add(batch.bodies) + batch.body_ends[:-1],
            "parent": no_parent,
            "explicit_parent": no_parent,
        }

    def _runs(self, batch: Batch) -> tuple[Runs, Runs, Terms]:
        """A batch's keywords and mentions in the channel's numbers, each run ascending, and its terms."""
        words = self._lexicon.number(batch.words, batch.starts_with_digit)
        users = np.array([self.people.intern(user) for user in batch.users], np.int32)
        return (
            batch.keywords.numbered(words).ascending(),
            batch.mentions.numbered(users).ascending(),
            batch.terms.numbered(words),
        )

    def _enter_runs(self, batch: Batch) -> None:
        first = len(self._keywords)
        rows = np.arange(first, first + len(batch), dtype=np.int32)
        keywords, mentions, terms = self._runs(batch)
        self._keywords.extend(keywords.offsets, keywords.values)
        self._mentions.extend(mentions.offsets, mentions.values)
        self._lexicon.append(rows, terms)

    def _link_new(self, first: int, ids_before: int) -> None:
        """Link the rows from `first` on, and earlier rows that reply to them."""
        rows = np.arange(first, len(self))
        numbers = self._columns["number"].raw()[first:]
        self._id_rows.extend(np.full(len(self._ids) - len(self._id_rows), NO_ROW, np.int32))
        self._id_rows.raw()[numbers] = rows
        if ids_before:
            waiting = self._edges().waiting_for(numbers[numbers < ids_before])
            waiting = waiting[waiting < first]
            if len(waiting):
                for name in ("parent", "explicit_parent"):
                    self._columns[name] = self._columns[name].copy()
                self._lines = self._lines.without(self._columns["seq"].raw()[waiting].tolist())
                self._changed(int(waiting.min()))
                rows = np.concatenate([waiting, rows])
        if gave_way := [row for row in self._link(rows) if row < first]:
            self._lines = self._lines.without(self._columns["seq"].raw()[gave_way].tolist())
            self._changed(min(gave_way))

    def _link(self, rows: NDArray[np.intp]) -> list[int]:
        """The rows whose inferred edge gave way."""
        parent = self._columns["parent"].raw()
        gave_way = self._edges().link(rows, parent)
        inferred = self._columns["inferred"].raw()[rows] != 0
        self._columns["explicit_parent"].raw()[rows] = np.where(inferred, NO_PARENT, parent[rows])
        return gave_way

    def _edges(self) -> Edges:
        column = self._columns
        return Edges(
            column["seq"].raw(), column["number"].raw(), column["target"].raw(), column["inferred"].raw(),
            self._id_rows.raw(),
        )  # fmt: skip

    def _replace(self, changed: Mapping[str, StoredMessage]) -> None:
        """Apply edits, retractions and moves behind a late parent. Each changed column is copied once."""
        batch = batch_of(list(changed.values()), self._codec)  # it alone may raise
        columns = self._numbered(batch)
        self._id_rows.extend(np.full(len(self._ids) - len(self._id_rows), NO_ROW, np.int32))
        rows = self._id_rows.raw()[columns["number"]].astype(np.intp)
        self._replaced_bytes += int(self._columns["fragment_size"].raw()[rows].sum())
        edges = (self._columns["target"], self._columns["inferred"])
        times = self._columns["time_ms"]
        for name in COLUMNS.keys() - IDENTITY - {"parent", "explicit_parent"}:
            self._columns[name] = self._columns[name].replace(rows, columns[name])
        keywords, mentions, terms = self._runs(batch)
        self._keywords = self._keywords.replace(dict(zip(rows.tolist(), keywords, strict=True)))
        self._mentions = self._mentions.replace(dict(zip(rows.tolist(), mentions, strict=True)))
        self._lexicon.replace(rows.astype(np.int32), terms)
        first = int(rows.min())
        if edges != (self._columns["target"], self._columns["inferred"]):
            first = min(first, self._link_again())
        parts = {id: (item.seq, item.message.parts) for id, item in changed.items()}
        self._tool_exchanges = self._tool_exchanges.replaced(parts)
        seqs = [item.seq for item in changed.values()]
        self.segment_ranges = [s for s in self.segment_ranges if not any(map(s.holds, seqs))]
        self._lines = self._lines.without(seqs)
        self._changed(first)
        if self._columns["time_ms"] is not times:
            self._sort(first)

    def _link_again(self) -> int:
        """Work out all parents anew; the first row that has another one, or the number of rows."""
        before = self._columns["parent"].view()
        for name in ("parent", "explicit_parent"):
            self._columns[name] = Column(np.int32, np.full(len(self), NO_PARENT, np.int32))
        self._link(np.arange(len(self)))
        other = np.flatnonzero(before != self._columns["parent"].view())
        return int(other[0]) if len(other) else len(self)

    def _sort(self, first: int = 0) -> None:
        """Move late messages among the rows from `first` on to their place in time."""
        time_ms, seq = self._columns["time_ms"].raw(), self._columns["seq"].raw()
        tail = time_ms[max(0, first - 1) :]
        if not (tail[:-1] <= tail[1:]).all():
            start = int(np.searchsorted(time_ms[:first], time_ms[first:].min()))
            self._take(np.lexsort((seq[start:], time_ms[start:])) + start, start)

    def _take(self, order: NDArray[np.intp], start: int) -> None:
        """The first `start` rows stay where they are, the others come in this order."""
        new_rows = np.arange(len(self), dtype=np.int32)
        new_rows[order] = np.arange(start, len(self), dtype=np.int32)
        self._columns = {name: column.take(order, start) for name, column in self._columns.items()}
        for name in ("parent", "explicit_parent"):
            parent = self._columns[name].raw()
            has_parent = parent != NO_PARENT
            parent[has_parent] = new_rows[parent[has_parent]]
        self._keywords = self._keywords.take(order, start)
        self._mentions = self._mentions.take(order, start)
        self._lexicon.renumber(new_rows)
        self._id_rows = self._id_rows.copy()
        self._id_rows.raw()[self._columns["number"].raw()[start:]] = np.arange(start, len(self))
        self._place_aliases()
        self._changed(start)

    def _changed(self, row: int) -> None:
        """Begin another generation: rows from `row` on have changed."""
        self.generation += 1
        self._replies = self._replies.before(row)
        self._decoded = {}

    def _author_numbers_of(
        self, authors: Sequence[AuthorAs]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Numbers of (user, name at the time), which later names never change, and the users' indices."""
        numbers, people = self._author_numbers, self.people
        for who in authors:
            if who not in numbers:
                numbers[who] = len(numbers)
                user_id, name = who
                people.note_author_as(user_id, name)
                self._authors.append(who)
                self._names.append((name or user_id).strip().casefold())
        index = people.index
        users = np.array([index[user_id] for user_id, _ in authors], np.int32)
        return np.array([numbers[who] for who in authors], np.int32), users

    def _thread_number(self, thread_id: str) -> int:
        return self._thread_ids.setdefault(thread_id, len(self._thread_ids))

    def _scope_number(self, scope: Scope) -> int:
        number = self._scope_numbers.setdefault(scope, len(self._scopes))
        if number == len(self._scopes):
            self._scopes.append(scope)
        return number
