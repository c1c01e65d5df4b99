"""Messages and changes of a history, and small stand-ins for its ports, each with one knob."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

from backscroll_sidecar.domain import (
    Analysis,
    AppendOutcome,
    AppendResult,
    Author,
    ChannelKey,
    Event,
    Member,
    Message,
    MessageType,
    StoredMessage,
    TextPart,
)
from backscroll_sidecar.history.reads import SearchHits
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import (
    AppendChange,
    Applied,
    Change,
    EventsChange,
    LastMessage,
    ListQuery,
)

KEY = ChannelKey("default", "general")
ABROAD = ChannelKey("default", "never heard of")
NOW_MS = 1_700_000_000_000
STORED, DUPLICATE, CONFLICT, GONE, REFUSED = AppendOutcome
T = TypeVar("T")


def message(id: str = "m1", text: str = "hello", author: str | Author = "u1", **fields) -> Message:
    fields.setdefault("sent_at_ms", NOW_MS - 1_000)
    fields.setdefault("channel", KEY.channel)
    fields.setdefault("parts", (TextPart(text),))
    if isinstance(author, str):
        author = Author(author, author.title())
    return Message(id, author=author, **fields)


def talk(*lines: str) -> list[Message]:
    """m1, m2, ... a millisecond apart."""
    return [
        message(f"m{i}", line, sent_at_ms=NOW_MS - 1_000 + i) for i, line in enumerate(lines, 1)
    ]


def found(hits: SearchHits) -> list[str]:
    return [row.message.id for row in hits.messages]


def outcomes(results: Sequence[AppendResult]) -> list[AppendOutcome]:
    return [one.outcome for one in results]


async def listed(service: HistoryService, key: ChannelKey = KEY) -> list[str]:
    """Ids of all there is of a channel, of recalled messages, too."""
    rows = await service.list_messages(key, ListQuery(limit=1_000, include_recalled=True))
    return [row.message.id for row in rows]


def analysis(text: str = "hello") -> Analysis:
    return Analysis(text=text, message_type=MessageType.CASUAL)


def append_change(*ids: str, key: ChannelKey = KEY) -> AppendChange:
    messages = tuple(message(id) for id in ids)
    return AppendChange(
        key,
        messages,
        tuple(analysis(one.text) for one in messages),
        tuple(one.sent_at_ms for one in messages),
        NOW_MS,
    )


def stored(one: Message, seq: int = 1, **fields) -> StoredMessage:
    return StoredMessage(one, analysis(one.text), seq, one.sent_at_ms, **fields)


def events(count: int) -> list[Event]:
    return [Event(f"e{i}", "turn.started", "turn", NOW_MS) for i in range(count)]


class FakeClock:
    """Stands still until told otherwise."""

    def __init__(self, at_ms: int = NOW_MS) -> None:
        self.at_ms = at_ms

    def now_ms(self) -> int:
        return self.at_ms

    def monotonic_s(self) -> float:
        return self.at_ms / 1_000


class ScriptedStore:
    """The writing half of a store: keeps ids, counts groups, waits and fails when told to.

    `check` is called with each group before anything of it is kept; what it raises is raised.
    """

    def __init__(self, check: Callable[[Sequence[Change]], None] | None = None) -> None:
        self.groups: list[list[Change]] = []
        self.ids: Counter[str] = Counter()
        self.events = 0
        self.check = check or (lambda changes: None)
        self.open = asyncio.Event()
        self.open.set()
        self.entered = asyncio.Event()
        self.closed = False

    async def apply(self, changes: Sequence[Change]) -> Sequence[Applied]:
        self.groups.append(list(changes))
        self.entered.set()
        await self.open.wait()
        await asyncio.sleep(0)
        self.check(changes)
        return [self._apply(change) for change in changes]

    def _apply(self, change: Change) -> Applied:
        if isinstance(change, EventsChange):
            self.events += len(change.events)
            return Applied()
        if not isinstance(change, AppendChange):
            return Applied()
        self.ids.update(one.id for one in change.messages)
        first = self.ids.total() - len(change.messages) + 1
        rows = [stored(one, first + i) for i, one in enumerate(change.messages)]
        return Applied(
            append_results=tuple(
                AppendResult(one.message.id, AppendOutcome.STORED, seq=one.seq) for one in rows
            ),
            stored=tuple(rows),
        )

    async def close(self) -> None:
        self.closed = True


class Recorder:
    """A publisher that remembers."""

    def __init__(self) -> None:
        self.published: list[tuple[ChannelKey, Applied]] = []
        self.fail = False

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        if self.fail:
            raise RuntimeError("publisher down")
        self.published.append((key, applied))

    @property
    def ids(self) -> list[str]:
        return [row.message.id for _, applied in self.published for row in applied.stored]


class FakeReader:
    """The reading half of a store over plain dictionaries; `gate` holds loads back, `failure` makes them fail."""

    def __init__(self) -> None:
        self.people: dict[ChannelKey, list[Member]] = {}
        self.rows: dict[ChannelKey, list[StoredMessage]] = {}
        self.failure: Exception | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.loading = asyncio.Event()
        self.calls: Counter[str] = Counter()

    async def _answer(self, name: str) -> None:
        self.calls[name] += 1
        await asyncio.sleep(0)
        if self.failure is not None:
            raise self.failure

    async def latest(self, key: ChannelKey, limit: int) -> Sequence[StoredMessage]:
        await self._answer("latest")
        return sorted(self.rows.get(key, []), key=lambda row: row.rank_time_ms)[-limit:]

    async def members(self, key: ChannelKey) -> Sequence[Member]:
        await self._answer("members")
        return list(self.people.get(key, []))

    async def last_messages(self, key: ChannelKey) -> Mapping[str, LastMessage]:
        await self._answer("last_messages")
        rows = sorted(self.rows.get(key, []), key=lambda row: row.rank_time_ms)
        last = {
            row.message.author.id: LastMessage(row.message.id, row.analysis.message_type)
            for row in rows
        }
        self.loading.set()
        await self.gate.wait()
        return last

    async def latest_of_user(
        self, tenant: str, user_id: str, channels: Sequence[str], limit: int
    ) -> Sequence[StoredMessage]:
        await self._answer("latest_of_user")
        rows = self.rows.get(ChannelKey(tenant, channels[0]), [])
        rows = [row for row in rows if row.message.author.id == user_id]
        return sorted(rows, key=lambda row: row.rank_time_ms)[-limit:]

    async def get_messages(
        self, key: ChannelKey, message_ids: Sequence[str]
    ) -> Mapping[str, StoredMessage]:
        await self._answer("get_messages")
        rows = {row.message.id: row for row in self.rows.get(key, [])}
        return {id: rows[id] for id in message_ids if id in rows}


async def blocked(store: ScriptedStore, writer: Writer, *ids: str) -> list[asyncio.Task[Applied]]:
    """Tasks of a first change, whose commit hangs until `store.open` is set, and of a change an id behind it."""
    store.open.clear()
    store.entered.clear()
    first = asyncio.create_task(writer.submit(append_change("first")))
    await store.entered.wait()
    tasks = [asyncio.create_task(writer.submit(append_change(id))) for id in ids]
    await spin()
    return [first, *tasks]


async def let_go(store: ScriptedStore, *tasks: asyncio.Task[Applied], is_checked: bool = True):
    """Let the commit go on; what became of the tasks, errors among it where they are not to be raised."""
    store.open.set()
    return await asyncio.gather(*tasks, return_exceptions=not is_checked)


def numbered(count: int) -> list[str]:
    return [f"m{i}" for i in range(count)]


async def with_turns(call: Awaitable[T]) -> tuple[T, int]:
    """What a call returns, and how many turns others had on the loop meanwhile."""
    turns = 0
    done = asyncio.ensure_future(call)
    while not done.done():
        turns += 1
        await asyncio.sleep(0)
    return done.result(), turns


async def spin(times: int = 10) -> None:
    for _ in range(times):
        await asyncio.sleep(0)


def poisoned(*ids: str):
    """A check that fails unexpectedly on any group with one of these messages."""

    def check(changes: Sequence[Change]) -> None:
        if any(one.id in ids for change in changes for one in change.messages):
            raise OverflowError("Python int too large to convert to SQLite INTEGER")

    return check
