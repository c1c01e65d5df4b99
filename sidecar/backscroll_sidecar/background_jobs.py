"""The jobs that run behind the answers, each started, and closed by the server's stack."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack

from backscroll_sidecar.channels import Channels, SegmentWriter
from backscroll_sidecar.concurrency.jobs import Jobs
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.context.builder import ContextBuilder
from backscroll_sidecar.context.shadows import Shadows
from backscroll_sidecar.domain import Retention
from backscroll_sidecar.edge.convert.built import AnswerFields
from backscroll_sidecar.history.publishing import FanOut
from backscroll_sidecar.history.retention import RetentionSweep
from backscroll_sidecar.history.secure_delete import SecureDelete
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.learning.learning import Learning
from backscroll_sidecar.models.echo import EchoModel
from backscroll_sidecar.ports import ChatModel, Clock, HistoryStore
from backscroll_sidecar.precompute import Precompute
from backscroll_sidecar.preferences.extractor import Extractor
from backscroll_sidecar.preferences.model_reader import ModelReader
from backscroll_sidecar.preferences.service import PreferenceService
from backscroll_sidecar.preferences.topics import Topics
from backscroll_sidecar.summaries.period_service import PeriodSummaries
from backscroll_sidecar.summaries.summariser import Summariser


async def look_after(
    store: HistoryStore,
    channels: Channels,
    writer: Writer,
    publishers: FanOut,
    stack: AsyncExitStack,
) -> Callable[[int], int | None]:
    """What works on the store behind the answers: segments are written, what was deleted goes from its files.

    Returns what tells until when (`EraseReceipt.files_clean_by_ms`).
    """
    if store.keeps_segments:
        segment_writer = SegmentWriter(channels, writer.submit)
        await segment_writer.start()
        stack.push_async_callback(segment_writer.close)
        publishers.add(workers=[segment_writer])
    if store.maintenance is None:
        by_itself = None if store.shared is None else 0
        return lambda _: by_itself
    secure_delete = SecureDelete(store.maintenance)
    await secure_delete.start()
    stack.push_async_callback(secure_delete.close)
    publishers.add(workers=[secure_delete])
    return secure_delete.clean_by_ms


async def make_ready(
    channels: Channels, codec: AnswerFields, publishers: FanOut, stack: AsyncExitStack
) -> Precompute:
    """What makes answers ready before anybody asks, started."""
    precompute = Precompute(channels, codec)
    await precompute.start()
    stack.push_async_callback(precompute.close)
    publishers.add(precompute)
    return precompute


async def expire_messages(
    settings: Settings,
    store: HistoryStore,
    writer: Writer,
    learning: Learning,
    clock: Clock,
    builder: ContextBuilder,
    stack: AsyncExitStack,
    jobs: Jobs,
) -> Callable[[], int]:
    """Erase messages that are too old or too many, from now on; what counts them."""
    sweep = RetentionSweep(
        store,
        writer.submit,
        learning.channel_settings,
        clock,
        Retention(settings.retention_days, settings.retention_messages),
        lambda: builder.build_count,
        jobs,
    )
    await sweep.start()
    stack.push_async_callback(sweep.close)
    return lambda: sweep.expired


def build_shadows(learning: Learning, clock: Clock, stack: AsyncExitStack) -> Shadows:
    """What makes builds behind the answers, for experiments."""
    shadows = Shadows(clock, learning.experiments.numbers)
    stack.push_async_callback(shadows.close)
    return shadows


async def summarise_periods(
    settings: Settings,
    channels: Channels,
    store: HistoryStore,
    writer: Writer,
    clock: Clock,
    learning: Learning,
    model: ChatModel,
    stack: AsyncExitStack,
    jobs: Jobs,
) -> PeriodSummaries:
    """What summarises past periods behind everything else."""
    periods = PeriodSummaries(
        channels, store, writer, clock, learning.channel_settings, settings.summary_hours,
        summariser_of(settings, model), jobs,
    )  # fmt: skip
    await periods.start()
    stack.push_async_callback(periods.close)
    return periods


async def extract_preferences(
    settings: Settings,
    store: HistoryStore,
    preferences: PreferenceService,
    learning: Learning,
    model: ChatModel,
    stack: AsyncExitStack,
    jobs: Jobs,
) -> Extractor:
    """What reads messages for preferences, started."""
    extractor = Extractor(
        store,
        preferences,
        learning.channel_settings,
        learning.consent,
        settings.preference_extraction,
        _model_reader(settings, model, preferences.topics),
        jobs,
    )
    await extractor.start()
    stack.push_async_callback(extractor.close)
    return extractor


def _model_reader(settings: Settings, model: ChatModel, topics: Topics) -> ModelReader | None:
    """Who reads messages for preferences beside the rules; nobody where no model is configured."""
    if settings.preference_model == "none" or isinstance(model, EchoModel):
        return None
    name = settings.preference_model or settings.default_model
    return ModelReader(model, name, topics, settings.model_api)


def summariser_of(settings: Settings, model: ChatModel) -> Summariser | None:
    """Who writes summaries; nobody where no model is configured."""
    if settings.summary_model == "none" or isinstance(model, EchoModel):
        return None
    return Summariser(model, settings.summary_model or settings.default_model, settings.model_api)
