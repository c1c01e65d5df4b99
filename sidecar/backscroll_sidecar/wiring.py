"""The one place where the parts are put together, and the only one that knows which store there is."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import backscroll_scoring
from backscroll_sidecar import analyze
from backscroll_sidecar.background_jobs import (
    build_shadows,
    expire_messages,
    extract_preferences,
    look_after,
    make_ready,
    summarise_periods,
    summariser_of,
)
from backscroll_sidecar.channels import Channels
from backscroll_sidecar.chat.service import ChatService
from backscroll_sidecar.chat.turn_store import TurnStore
from backscroll_sidecar.concurrency.background import make_room
from backscroll_sidecar.concurrency.jobs import Jobs
from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.concurrency.threads import pool
from backscroll_sidecar.concurrency.time_slicing import Pacer
from backscroll_sidecar.config.derived import (
    chat_settings,
    compaction_settings,
    context_settings,
)
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.configured_models import chat_model, configured_embedder, upstream_of
from backscroll_sidecar.configured_traces import configured_spans
from backscroll_sidecar.context.answering_lines import AnsweringLines
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.opening import Opening
from backscroll_sidecar.context.profiles import PROFILES, Profile
from backscroll_sidecar.context.replaying import ReplayParts, Replays
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.edge import self_warmup
from backscroll_sidecar.edge.convert.built import AnswerFields
from backscroll_sidecar.edge.convert.codec import WireCodec
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.history.ingest import any_dims
from backscroll_sidecar.history.publishing import FanOut
from backscroll_sidecar.history.redaction_policy import Redaction
from backscroll_sidecar.history.replicas import Replicas
from backscroll_sidecar.history.rosters import Rosters
from backscroll_sidecar.history.semantic_search import SemanticSearch
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.history.unfinished import Unfinished
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.learning.learning import Learning
from backscroll_sidecar.learning.rated_builds import WEIGHTED_PROFILE
from backscroll_sidecar.models.echo import EchoModel
from backscroll_sidecar.other_servers import OtherServers, locks_of, patience_s
from backscroll_sidecar.own_parts import (
    OwnStages,
    own_modes,
    own_resolver,
    own_stages,
    own_strategies,
    own_topics,
)
from backscroll_sidecar.ports import (
    ChatModel,
    Clock,
    Embedder,
    EventSink,
    HistoryStore,
    Upstream,
)
from backscroll_sidecar.precompute import Precompute
from backscroll_sidecar.preferences.remembered import RememberedPreferences
from backscroll_sidecar.preferences.service import PreferenceService
from backscroll_sidecar.preferences.topics import Topics
from backscroll_sidecar.recording import Recorder
from backscroll_sidecar.rooms.rooms import Rooms
from backscroll_sidecar.semantic_parts import SemanticParts, permitted_scopes
from backscroll_sidecar.sessions.directory import SessionDirectory
from backscroll_sidecar.sessions.modes.registry import Modes
from backscroll_sidecar.store.opening import open_store
from backscroll_sidecar.strategies import BUILTIN, Strategy
from backscroll_sidecar.summaries.compactor import Compactor
from backscroll_sidecar.summaries.period_service import PeriodSummaries
from backscroll_sidecar.summaries.service import Summaries
from backscroll_sidecar.telemetry.build_telemetry import BuildTelemetry
from backscroll_sidecar.telemetry.feature_numbers import FeatureNumbers
from backscroll_sidecar.telemetry.feedback_numbers import FeedbackNumbers
from backscroll_sidecar.telemetry.metrics import Numbers
from backscroll_sidecar.telemetry.spans import Spans
from backscroll_sidecar.telemetry.tuning_numbers import TuningNumbers
from backscroll_sidecar.telemetry.usage_numbers import UsageNumbers

log = logging.getLogger(__name__)

DAY_MS = 24 * 3_600_000
WRITER_GRACE_S = 10.0
"""Seconds that queued messages get to become durable when the server stops."""


class SystemClock:
    """The machine's time."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    monotonic_s = staticmethod(time.monotonic)


class NoEvents:
    """Takes events and forgets them: MEMORY_ENABLE_ASYNC_DATA_COLLECTION is off."""

    def emit(self, key: ChannelKey, context_id: str, events: object, turn: object = None) -> None:
        pass


@dataclass(frozen=True, slots=True)
class App:
    """Everything that runs, for the edge to serve."""

    settings: Settings
    clock: Clock
    store: HistoryStore
    channels: Channels
    precompute: Precompute
    writer: Writer
    history: HistoryService
    preferences: PreferenceService
    remembered: RememberedPreferences
    builder: ContextBuilder
    chat: ChatService
    summaries: Summaries
    periods: PeriodSummaries
    rooms: Rooms
    learning: Learning
    replays: Replays
    embedding: SemanticParts | None
    numbers: Numbers
    spans: Spans | None
    upstream: Upstream | None = None
    replicas: Replicas | None = None
    unfinished: Unfinished | None = None
    """These are None where the store is this server's alone."""

    @property
    def profiles(self) -> Mapping[str, Profile]:
        """All profiles by name."""
        return self.builder.profiles

    async def warm_up(self) -> None:
        """Do once, in memory, what requests do, so that none of them loads or binds anything."""
        await rehearse(self.settings, self.clock)
        await self._preload()
        if self.embedding is not None:
            await self.embedding.start()

    async def _preload(self) -> None:
        """Load the channels used last and whose people have preferences, then make them ready. Nothing depends on it,
        and a load that takes longer goes on behind it.
        """
        if not self.settings.preload_seconds:
            return
        started = time.perf_counter()
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self.settings.preload_seconds):
                    async with aclosing(self.channels.lately_kept()) as loaded:
                        views = [view async for view in loaded]
                    for tenant in {view.key.tenant for view in views}:
                        await self.remembered.prepare(tenant)
                    for view in views:
                        await self.precompute.make_ready(view)
        except BackscrollError as error:
            log.warning("the channels used last cannot be loaded: %s", error.message)
        except Exception:
            log.exception("the channels used last could not be loaded; who asks first does it")
        taken_s = time.perf_counter() - started
        log.info("loaded %d channels in %.2f s", len(self.channels), taken_s)


async def rehearse(settings: Settings, clock: Clock | None = None) -> None:
    """Do in memory what requests do: kernels, tables and code are loaded then, whatever the store is.

    Done again in a process, it takes some 4 ms.
    """
    started = time.perf_counter()
    analyze.warm()
    backscroll_scoring.warm()
    await asyncio.to_thread(make_room)
    usual = Settings.model_construct(  # nothing else of the operator's: its port is open to this machine
        database=Path(":memory:"),
        embedder="none",
        default_profile=settings.default_profile,
    )
    async with open_app(usual, clock, EchoModel()) as app:
        edge = "grpc" if settings.tls_cert else settings.edge  # what will answer
        await self_warmup.warm_up(
            app.history,
            app.preferences,
            app.builder,
            app.chat,
            app.summaries,
            app.periods,
            PROFILES,
            edge,
        )
    log.info("warmed up in %.2f s", time.perf_counter() - started)


@asynccontextmanager
async def open_app(
    settings: Settings,
    clock: Clock | None = None,
    model: ChatModel | None = None,
    embedder: Embedder | None = None,
    recorder: Recorder | None = None,
    spans: Spans | None = None,
) -> AsyncIterator[App]:
    """Open the store and put everything over it together; at the end what was queued is committed.

    `clock`, `model`, `embedder` and `spans` take the places of the machine's time and of what is configured. The model
    is closed at the end. `recorder` notes what is asked of store, sources and model.
    """
    stages = own_stages(settings)
    async with AsyncExitStack() as stack:
        store = await open_store(settings.store_url, settings.durability)
        if recorder is not None:
            recorder.watch(store)
        spans = spans or configured_spans(settings)
        if spans is not None:
            stack.push_async_callback(spans.close)
        yield await _assemble(
            settings, stages, clock or SystemClock(), store, stack, model, embedder, recorder, spans
        )


async def _assemble(
    settings: Settings,
    stages: OwnStages,
    clock: Clock,
    store: HistoryStore,
    stack: AsyncExitStack,
    model: ChatModel | None = None,
    embedder: Embedder | None = None,
    recorder: Recorder | None = None,
    spans: Spans | None = None,
) -> App:
    """The parts, each given what it needs. What is opened is closed by `stack`, the store last."""
    locks = locks_of(store, stack)
    executor = stack.enter_context(pool("backscroll", 2))
    channels = Channels(store, WireCodec(), max_bytes=settings.hot_channel_bytes)
    rosters = Rosters(store)
    publishers = FanOut(channels, rosters)
    writer = Writer(store, publishers)
    others = OtherServers.of(store, publishers, writer, locks, stack)
    preferences, remembered = _preferences(settings, store, writer, clock, others.jobs)
    publishers.add(preferences, tenant_caches=[remembered])
    await writer.start()
    stack.push_async_callback(writer.close)
    stack.push_async_callback(writer.drain, WRITER_GRACE_S)
    clean_by_ms = await look_after(store, channels, writer, publishers, stack)
    codec = AnswerFields()
    precompute = await make_ready(channels, codec, publishers, stack)
    embedding: SemanticParts | None = None
    if (embedder := embedder or configured_embedder(settings)) is not None:
        embedding = SemanticParts.over(embedder, store, writer, executor, settings, others.jobs)
        embedding.close_with(stack)
        publishers.add(embedding.vectors, workers=[embedding.backlog])
    dims_of = any_dims if embedding is None else embedding.dims_of
    events: EventSink = writer if settings.memory.enable_async_data_collection else NoEvents()
    usage, feedback, tunings = UsageNumbers(), FeedbackNumbers(), TuningNumbers()
    analyzer = analyze.Analyzer(told=(features := FeatureNumbers(clock)).add)
    own = own_strategies(settings)
    building = context_settings(settings, tuple(own), stages)
    learning = await stack.enter_async_context(
        _learning(settings, store, writer, clock, building.profiles, feedback, tunings, others.jobs)
    )
    sources = _sources(own, stages, embedding, recorder)
    pacer = Pacer()
    model = model or chat_model(settings, pacer)
    upstream, model = upstream_of(model, settings), recorder.model(model) if recorder else model
    stack.push_async_callback(model.close)
    extractor = await extract_preferences(
        settings, store, preferences, learning, model, stack, others.jobs
    )
    summaries = _summaries(settings, store, writer, events, clock, model, stack, locks)
    periods = await summarise_periods(
        settings, channels, store, writer, clock, learning, model, stack, others.jobs
    )
    directory = SessionDirectory(store, clock)
    publishers.add(
        summaries,
        periods,
        learning.follow_ups,
        tenant_caches=[
            learning.channel_settings, learning.consent, learning.experiments, directory,
        ],
        workers=[extractor],
    )  # fmt: skip
    opening = Opening(
        channels, store, analyzer, building, clock, remembered, summaries, directory,
        learning.channel_settings, learning.experiments, periods,
    )  # fmt: skip
    builder = ContextBuilder(
        opening, sources, building, clock, events, codec,
        dims_of=dims_of, usage=learning.recorder,
        telemetry=BuildTelemetry(usage if settings.calibrate_tokens else None, spans),
    )  # fmt: skip
    builder.make_behind(build_shadows(learning, clock, stack))
    if embedding is not None:
        embedding.backlog.give_way_to(lambda: builder.build_count)
    history = _history(
        settings, store, writer, rosters, analyzer, clock, executor, embedding, learning
    )
    history.clean_by_ms = clean_by_ms
    chat = ChatService(
        builder, TurnStore(history, writer, store, clock, settings.wordings(), patience_s(store)), model,
        chat_settings(settings), clock, pacer, events, summaries, usage, spans, locks,
    )  # fmt: skip
    stack.push_async_callback(chat.drain)
    rooms = Rooms.over(
        store, writer, history, directory, Modes(own_modes(settings)), clock, builder, chat, model, summaries, locks
    )  # fmt: skip
    await others.follow(
        publishers,
        [channels, rooms.sessions, builder.opening.shared, history.semantic_search],
        [extractor, summaries, learning.follow_ups, *([] if embedding is None else [embedding.backlog])],
    )  # fmt: skip
    return App(
        settings, clock, store, channels, precompute, writer, history, preferences, remembered, builder, chat,
        summaries, periods, rooms, learning,
        _looking_back(
            learning,
            ReplayParts(channels, store, analyzer, building, clock, directory, sources, WireCodec(), codec),
        ),
        embedding,
        Numbers(
            builder.numbers, features, writer, learning.recorder, clock,
            None if embedding is None else embedding.backlog, usage, feedback, tunings, learning.experiments.numbers,
            damaged_segments=lambda: channels.damaged_segments, period_summaries=periods.made,
            expired_messages=await expire_messages(
                settings, store, writer, learning, clock, builder, stack, others.jobs
            ),
            unstored_turns=lambda: chat.unstored_turns,
        ),
        spans, upstream, others.replicas, others.unfinished,
    )  # fmt: skip


def _learning(
    settings: Settings,
    store: HistoryStore,
    writer: Writer,
    clock: Clock,
    profiles: Mapping[str, Profile],
    feedback: FeedbackNumbers,
    tunings: TuningNumbers,
    jobs: Jobs,
) -> AbstractAsyncContextManager[Learning]:
    """What records builds and learns from them, for as long as the block lasts."""
    return Learning.open(
        store,
        writer,
        clock,
        feedback,
        tunings,
        shared=_weights(profiles),
        keep_ms=settings.usage_days * DAY_MS
        if settings.memory.enable_async_data_collection
        else None,
        resolver=own_resolver(settings),
        jobs=jobs,
        check_hours=settings.tuning_check_hours,
        tune_hours=settings.tune_hours,
    )


def _looking_back(learning: Learning, parts: ReplayParts) -> Replays:
    """What asks again what was asked; weights that were tuned are not adopted before lines were looked at likewise."""
    learning.tuner.look_by(AnsweringLines(parts, learning.channel_settings).of)
    return Replays(parts, learning.usage)


def _weights(profiles: Mapping[str, Profile]) -> tuple[float, ...]:
    """The server's weights of the profile that tuning is about."""
    parameters = profiles[WEIGHTED_PROFILE].parameters
    if parameters is None:
        raise AssertionError(f"{WEIGHTED_PROFILE} has weights")
    return parameters.weights


def _history(
    settings: Settings,
    store: HistoryStore,
    writer: Writer,
    rosters: Rosters,
    analyzer: analyze.Analyzer,
    clock: Clock,
    executor: ThreadPoolExecutor,
    embedding: SemanticParts | None,
    learning: Learning,
) -> HistoryService:
    """What stores and reads messages, with or without an embedder."""
    redaction = Redaction(settings.redaction, learning.channel_settings, executor)
    learning.feedback.redact = redaction.of_text
    return HistoryService(
        store,
        writer,
        rosters,
        analyzer,
        clock,
        executor,
        embedding=None if embedding is None else embedding.backlog,
        dims_of=any_dims if embedding is None else embedding.dims_of,
        semantic_search=SemanticSearch(store, permitted_scopes(settings))
        if embedding is None
        else embedding.semantic_search,
        usage=learning.recorder,
        redaction=redaction,
    )


def _summaries(
    settings: Settings,
    store: HistoryStore,
    writer: Writer,
    events: EventSink,
    clock: Clock,
    model: ChatModel,
    stack: AsyncExitStack,
    locks: Locks,
) -> Summaries:
    """What summarises conversations, by a model where one is configured."""
    compaction = compaction_settings(settings)
    compactor = Compactor(
        store, writer, events, clock, compaction, summariser_of(settings, model), locks
    )
    summaries = Summaries(compactor, compaction)
    stack.push_async_callback(summaries.close)
    return summaries


def _sources(
    own: Mapping[str, Strategy],
    stages: OwnStages,
    embedding: SemanticParts | None,
    recorder: Recorder | None,
) -> dict[str, Strategy]:
    """All sources by name: the built-in ones, and the operator's own."""
    sources = {**BUILTIN, **({} if embedding is None else {"semantic": embedding.semantic}), **own}
    if stages.provider is not None:
        sources[stages.provider.name] = stages.provider
    if recorder is not None:
        sources = {name: recorder.strategy(one) for name, one in sources.items()}
    return sources


def _preferences(
    settings: Settings, store: HistoryStore, writer: Writer, clock: Clock, jobs: Jobs
) -> tuple[PreferenceService, RememberedPreferences]:
    """What is known of people, and what builds are told of it."""
    topics = Topics(own_topics(settings))
    return (
        PreferenceService(store, writer, clock, topics, jobs),
        RememberedPreferences(store, clock, topics, settings.preferences_shown),
    )
