"""The parts that learn from use, put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from backscroll_scoring import CLASSIC_FACTORS
from backscroll_sidecar.concurrency.jobs import ALONE, Jobs
from backscroll_sidecar.learning.channel_settings import ChannelSettingsService
from backscroll_sidecar.learning.consent import UsageConsent
from backscroll_sidecar.learning.experiment_reads import ExperimentReports
from backscroll_sidecar.learning.experiments import ExperimentService
from backscroll_sidecar.learning.feedback import FeedbackService
from backscroll_sidecar.learning.follow_ups import FollowUps
from backscroll_sidecar.learning.recorder import NoUsage, UsageRecorder
from backscroll_sidecar.learning.resolver import ArmResolver, Resolving
from backscroll_sidecar.learning.topic_labels import TopicLabels
from backscroll_sidecar.learning.tuner import Tuner
from backscroll_sidecar.learning.tuning import Weights
from backscroll_sidecar.learning.tuning_schedule import TuningSchedule
from backscroll_sidecar.learning.usage import UsageReads
from backscroll_sidecar.learning.usage_export import UsageExport
from backscroll_sidecar.learning.weight_versions import WeightVersions
from backscroll_sidecar.ports import ChangeWriter, Clock, HistoryReader
from backscroll_sidecar.telemetry.feedback_numbers import FeedbackNumbers
from backscroll_sidecar.telemetry.tuning_numbers import TuningNumbers


@dataclass(frozen=True, slots=True)
class Learning:
    """What is recorded of builds, how it is read and handed out, what people say of answers, of messages and of being
    recorded, what is set for channels.
    """

    recorder: UsageRecorder | NoUsage
    usage: UsageReads
    feedback: FeedbackService
    channel_settings: ChannelSettingsService
    follow_ups: FollowUps
    labels: TopicLabels
    consent: UsageConsent
    export: UsageExport
    tuner: Tuner
    experiments: ExperimentService
    reports: ExperimentReports

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        reader: HistoryReader,
        writer: ChangeWriter,
        clock: Clock,
        numbers: FeedbackNumbers,
        tunings: TuningNumbers,
        *,
        shared: Weights,
        keep_ms: int | None,
        check_hours: float,
        tune_hours: float,
        resolver: ArmResolver | None = None,
        jobs: Jobs = ALONE,
    ) -> AsyncIterator[Learning]:
        """Put them together; at the end what waits is handed to the writer. Without `keep_ms` nothing is recorded.

        `shared`: the server's weights of the factors of `classic`. `check_hours`, `tune_hours`: see `TuningSchedule`.
        `resolver`: the team's own assignment of channels to arms.
        """
        consent = UsageConsent(reader, writer, clock, jobs.locks)
        recorder = NoUsage() if keep_ms is None else UsageRecorder(writer, consent, keep_ms)
        usage = UsageReads(reader, recorder.flush)
        channel_settings = ChannelSettingsService(reader, writer, clock)
        labels = TopicLabels(reader, writer, clock)
        resolving = None if resolver is None else Resolving(resolver, clock)
        experiments = ExperimentService(reader, writer, clock, resolving, jobs.locks)
        follow_ups = FollowUps(reader, writer, clock)
        tuner = Tuner(
            reader,
            recorder.flush,
            WeightVersions(reader, writer, clock),
            channel_settings,
            consent,
            clock.now_ms,
            tunings,
            factors=CLASSIC_FACTORS,
            shared=shared,
            locks=jobs.locks,
        )
        schedule = TuningSchedule(
            tuner,
            reader,
            writer,
            clock,
            check_hours=check_hours,
            tune_hours=tune_hours,
            jobs=jobs,
        )
        await recorder.start()
        await schedule.start()
        if keep_ms is not None:
            await follow_ups.start()
        try:
            yield cls(
                recorder,
                usage,
                FeedbackService(reader, recorder.flush, writer, clock, numbers),
                channel_settings,
                follow_ups,
                labels,
                consent,
                UsageExport(usage, reader, labels, channel_settings, consent),
                tuner,
                experiments,
                ExperimentReports(reader, recorder.flush, experiments),
            )
        finally:
            await schedule.close()
            await follow_ups.close()
            await recorder.close()
            if resolving is not None:
                resolving.close()
