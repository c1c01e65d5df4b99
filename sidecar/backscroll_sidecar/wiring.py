"""The one place where the parts are put together, and the only one that knows which store there is."""

from __future__ import annotations

import importlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path

import backscroll_scoring
from backscroll_sidecar import analyze
from backscroll_sidecar.channels import Channels
from backscroll_sidecar.chat import ChatService
from backscroll_sidecar.chat.records import ChatHistory
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.domain import Author, ChannelKey, Message, TextPart
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.history.rosters import Rosters
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.history.writer import FanOut, Writer
from backscroll_sidecar.models.echo import EchoModel
from backscroll_sidecar.models.openai import DEFAULT_BASE_URL, OpenAIModel, OpenAIOptions
from backscroll_sidecar.ports import ChatModel, Clock, EventSink, HistoryStore
from backscroll_sidecar.rpc.codec import WireCodec
from backscroll_sidecar.settings import Settings
from backscroll_sidecar.store.memory import MemoryStore
from backscroll_sidecar.store.sqlite import SqliteStore, files, migrate
from backscroll_sidecar.store.sqlite.files import StoreStats
from backscroll_sidecar.strategies import BUILTIN, Strategy

log = logging.getLogger(__name__)

WARM_UP = ChannelKey("warm-up", "warm-up")
WRITER_GRACE_S = 10.0
"""Seconds that queued messages get to become durable when the server stops."""


class SystemClock:
    """The machine's time."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()


class NoEvents:
    """Takes events and forgets them: MEMORY_ENABLE_ASYNC_DATA_COLLECTION is off."""

    def emit(self, key: ChannelKey, context_id: str, events: object) -> None:
        pass


@dataclass(frozen=True, slots=True)
class App:
    """Everything that runs, for the edge to serve."""

    settings: Settings
    clock: Clock
    store: HistoryStore
    channels: Channels
    writer: Writer
    history: HistoryService
    builder: ContextBuilder
    chat: ChatService

    async def warm_up(self) -> None:
        """Do once, in memory, what requests do, so that none of them loads or binds anything."""
        started = time.perf_counter()
        analyze.warm()
        backscroll_scoring.warm()
        async with AsyncExitStack() as stack:
            plain = self.settings.model_copy(update={"strategies": ()})
            app = await _assemble(plain, self.clock, MemoryStore(), stack)
            await app.history.append(WARM_UP, _warm_up_messages())
            for profile in PROFILES:
                request = BuildRequest(
                    WARM_UP, "warm line?", Author("u0"), asked_at_ms=10, profile=profile
                )
                await app.builder.build(replace(request, explain=True))
        log.info("warmed up in %.2f s", time.perf_counter() - started)


@asynccontextmanager
async def open_app(
    settings: Settings, clock: Clock | None = None, model: ChatModel | None = None
) -> AsyncIterator[App]:
    """Open the store and put everything over it together; at the end what was queued is committed.

    `clock` and `model` take the places of the machine's time and of the configured model, which is closed at the end.
    """
    async with AsyncExitStack() as stack:
        store = await _open_store(settings)
        yield await _assemble(settings, clock or SystemClock(), store, stack, model)


def _warm_up_messages() -> list[Message]:
    authors = (Author("u0", "Ann"), Author("u1", "Ben"))
    return [
        Message(
            f"m{n}", WARM_UP.channel, authors[n % 2], (TextPart(f"line {n}, @Ann 预热"),), n + 1
        )
        for n in range(3)
    ]


async def _open_store(settings: Settings) -> HistoryStore:
    if settings.in_memory:
        return MemoryStore()
    path = settings.database_path
    path.parent.mkdir(parents=True, exist_ok=True)
    return await SqliteStore.open(path, durability=settings.durability)


async def _assemble(
    settings: Settings,
    clock: Clock,
    store: HistoryStore,
    stack: AsyncExitStack,
    model: ChatModel | None = None,
) -> App:
    """The parts, each given what it needs. What is opened is closed by `stack`, the store last."""
    stack.push_async_callback(store.close)
    executor = stack.enter_context(ThreadPoolExecutor(2, thread_name_prefix="backscroll"))
    channels = Channels(store, WireCodec(), max_bytes=settings.hot_channel_bytes)
    rosters = Rosters(store)
    writer = Writer(store, FanOut(channels, rosters))
    await writer.start()
    stack.push_async_callback(writer.close)
    stack.push_async_callback(writer.drain, WRITER_GRACE_S)
    analyzer = analyze.Analyzer()
    own = own_strategies(settings)
    events: EventSink = writer if settings.memory.enable_async_data_collection else NoEvents()
    builder = ContextBuilder(
        channels,
        store,
        {**BUILTIN, **own},
        analyzer,
        settings.context_settings(tuple(own)),
        clock,
        events,
    )
    history = HistoryService(store, writer, rosters, analyzer, clock, executor)
    model = model or chat_model(settings)
    stack.push_async_callback(model.close)
    chat = ChatService(
        builder,
        ChatHistory(history, writer, store, clock),
        model,
        settings.chat_settings(),
        clock,
    )
    stack.push_async_callback(chat.drain)
    return App(settings, clock, store, channels, writer, history, builder, chat)


def chat_model(settings: Settings) -> ChatModel:
    """The configured model; without key and address an echo, which says that it is one (P-18)."""
    if settings.model_base_url is None and settings.model_api_key is None:
        return EchoModel()
    key = settings.model_api_key
    return OpenAIModel(
        OpenAIOptions(
            api_key=key.get_secret_value() if key else "",
            base_url=settings.model_base_url or DEFAULT_BASE_URL,
            headers={name: one.get_secret_value() for name, one in settings.model_headers.items()},
            query=settings.model_query,
            idle_s=settings.model_idle_seconds,
        )
    )


def own_strategies(
    settings: Settings, report: Callable[[str, Exception], None] | None = None
) -> Mapping[str, Strategy]:
    """The operator's strategies by name (S2-23). One that cannot be made is reported and left out."""
    found: dict[str, Strategy] = {}
    for path in settings.strategies:
        module, _, name = path.partition(":")
        try:
            strategy = getattr(importlib.import_module(module), name)()
            if not isinstance(strategy, Strategy):
                raise TypeError("it has no name or no gather")
            found[strategy.name] = strategy
        except Exception as error:  # noqa: BLE001 - an own module costs only itself (law 5)
            if report is not None:
                report(path, error)
            else:
                log.warning("the strategy %s cannot be used: %r", path, error)
    return found


@dataclass(frozen=True, slots=True)
class DatabaseReport:
    """What `doctor` learns of a database without changing it. `fault` says why it could not learn more."""

    sqlite_version: str
    exists: bool = False
    in_use: bool = False
    fault: str = ""
    damage: tuple[str, ...] = ()
    pending_migrations: int = 0
    stats: StoreStats | None = None


def examine_database(settings: Settings) -> DatabaseReport:
    """Look at the database: its schema, whether it is whole, whether a server has it. Blocks: not for an event loop."""
    with closing(files.connect_reader(Path(":memory:"))) as probe:
        (sqlite_version,) = probe.execute("SELECT sqlite_version()").fetchone()
    path = settings.database_path
    if settings.in_memory or not path.exists():
        return DatabaseReport(sqlite_version)
    in_use = _is_in_use(path)
    try:
        with closing(files.connect_reader(path)) as connection:
            waiting = len(migrate.pending(connection, migrate.known()))
            found = connection.execute("PRAGMA quick_check(5)").fetchall()
            damage = tuple(text for (text,) in found if text != "ok")
            stats = None if waiting else files.read_stats(connection, path)
    except Exception as error:  # noqa: BLE001 - whatever is wrong with it is what the caller wants to know
        return DatabaseReport(sqlite_version, exists=True, in_use=in_use, fault=str(error))
    return DatabaseReport(sqlite_version, True, in_use, "", damage, waiting, stats)


def _is_in_use(path: Path) -> bool:
    try:
        files.FileLock(path).release()
    except StoreUnavailable:
        return True
    return False
