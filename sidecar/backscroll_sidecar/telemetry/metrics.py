"""The numbers as metrics: what is divided by what, and for which period. Read when somebody asks, by any thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple, Protocol

from backscroll_scoring import SCORE_BUCKETS
from backscroll_sidecar.domain import Rung
from backscroll_sidecar.ports import Clock
from backscroll_sidecar.telemetry import catalogue as all_metrics
from backscroll_sidecar.telemetry.build_numbers import (
    BUILD_BOUNDS_S,
    STAGES,
    BuildNumbers,
    BuildTally,
)
from backscroll_sidecar.telemetry.catalogue import HOUR, START, Metric
from backscroll_sidecar.telemetry.feature_numbers import FeatureNumbers, FeatureTally
from backscroll_sidecar.telemetry.feedback_numbers import FeedbackNumbers, FeedbackTally
from backscroll_sidecar.telemetry.tuning_numbers import TuningNumbers
from backscroll_sidecar.telemetry.usage_numbers import UsageNumbers, UsageTally

HOUR_S = 3_600.0


class Writes(Protocol):
    """What is asked of the one writer."""

    @property
    def queued_items(self) -> int:
        """Rows that wait for their commit."""

    @property
    def queued_bytes(self) -> int:
        """About the memory that they hold."""

    @property
    def dropped_events(self) -> int:
        """Events that were not recorded."""

    @property
    def dropped_records(self) -> int:
        """Usage records that were handed over and could not be stored."""

    @property
    def publish_failures(self) -> int:
        """Commits that a reader in memory was not told of."""


class Records(Protocol):
    """What is asked of the recorder of usage."""

    @property
    def queued_count(self) -> int:
        """Builds that wait."""

    @property
    def noted_count(self) -> int:
        """Builds that came."""

    @property
    def dropped_count(self) -> int:
        """Those of them that were not handed to the writer."""


class Embeds(Protocol):
    """What is asked of the backlog of messages without a vector."""

    @property
    def due_channels(self) -> int:
        """Channels that have some."""

    @property
    def embedded(self) -> int:
        """Messages that were given one."""

    @property
    def refused(self) -> Sized:
        """Messages that will never have one."""


class Arms(Protocol):
    """What is asked of experiments."""

    @property
    def builds(self) -> Mapping[tuple[str, str], int]:
        """By experiment and arm."""

    @property
    def shadows(self) -> Mapping[str, int]:
        """Builds behind answers, by what became of them."""

    def ratios(self) -> Mapping[str, float]:
        """By experiment: the probability of its sample ratio."""


@dataclass(frozen=True, slots=True)
class Numbers:
    """Where metrics come from.

    Attributes
    ----------
    builds, feedback, tunings : what builds came to, what people said of them, what that changed.
    usage : how our token counts compare with the vendors'.
    features : how often the features of a text were known.
    clock : what these count by.
    writes, records, embeds : the writer, the recorder of usage, and the backlog of embeddings if there is an embedder.
    experiments : builds by arm; None: nobody counts them.
    period_summaries : how many summaries of periods were made, by kind.
    damaged_segments : loads of a channel that met a damaged segment; asked at each scrape.
    expired_messages : messages that retention erased; asked at each scrape.
    unstored_turns : turns of chats of which something was not stored, by reason; asked at each scrape.
    """

    builds: BuildNumbers
    features: FeatureNumbers
    writes: Writes
    records: Records
    clock: Clock
    embeds: Embeds | None = None
    usage: UsageNumbers = field(default_factory=UsageNumbers)
    feedback: FeedbackNumbers = field(default_factory=FeedbackNumbers)
    tunings: TuningNumbers = field(default_factory=TuningNumbers)
    experiments: Arms | None = None
    damaged_segments: Callable[[], int] = int
    period_summaries: Mapping[str, int] = field(default_factory=dict)
    expired_messages: Callable[[], int] = int
    unstored_turns: Callable[[], Mapping[str, int]] = dict


class Sample(NamedTuple):
    """One number. `labels` run parallel to those of its metric; `part` is what its name ends with beside it, such as
    ``_bucket`` with the bound `le`.
    """

    value: float
    labels: tuple[str, ...] = ()
    part: str = ""
    le: str = ""

    def labelled(self, metric: Metric) -> dict[str, str]:
        """Its labels by their names."""
        found = dict(zip(metric.labels, self.labels, strict=True))
        return found | {"le": self.le} if self.le else found


Reading = tuple[Metric, list[Sample]]
"""A metric and what there is of it: nothing, where there is no data."""


class Metrics:
    """Everything there is to tell.

    Parameters
    ----------
    numbers : where it comes from.
    missed_deadlines : calls by RPC that were not answered in their caller's time; asked at each scrape.
    """

    def __init__(
        self, numbers: Numbers, missed_deadlines: Callable[[], Mapping[str, int]] = dict
    ) -> None:
        self._numbers = numbers
        self._missed_deadlines = missed_deadlines

    def read(self) -> Iterator[Reading]:
        """Every metric of the catalogue, in its order."""
        found = dict(self._found())
        for metric in all_metrics.CATALOGUE:
            yield metric, found[metric]

    def by_minute(self, count: int) -> list[tuple[int, list[Reading]]]:
        """What counters of builds grew by in each of the last minutes, 60 at most, the oldest first; and when each
        began, Unix milliseconds.
        """
        clock = self._numbers.clock
        now_s, now_ms = clock.monotonic_s(), clock.now_ms()
        return [
            (now_ms - round((now_s - began_s) * 1e3), list(_grown(tallies)))
            for began_s, tallies in self._numbers.builds.tallies.by_minute(now_s, count)
        ]

    def _found(self) -> Iterator[Reading]:
        numbers, now_s = self._numbers, self._numbers.clock.monotonic_s()
        builds = numbers.builds
        start = builds.tallies.since_start()
        hour = builds.tallies.last_hour(now_s)
        yield from _averages(_sum(start.values()), _sum(hour.values()))
        yield all_metrics.RELEVANCE, _relevance(start, hour)
        total = _sum(start.values())
        hours = max(1.0, (now_s - builds.began_s) / HOUR_S)
        yield (
            all_metrics.PER_HOUR,
            _both(total.builds / hours, float(_sum(hour.values()).builds)),
        )
        yield (
            all_metrics.GROUPS,
            _both(builds.groups.since_start(), builds.groups.last_hour(now_s)),
        )
        yield from _satisfaction(numbers.feedback, now_s)
        yield from _counts(total)
        yield all_metrics.SCORES, _score_samples(start)
        yield from _outcomes(total)
        yield from _usage(numbers.usage, now_s)
        yield from _queues(numbers.writes, numbers.records, numbers.embeds)
        yield from _experiments(numbers.experiments)
        yield from _features(numbers.features, now_s)
        yield from self._others()

    def _others(self) -> Iterator[Reading]:
        reasons = sorted(self._numbers.tunings.reasons.items())
        yield all_metrics.TUNINGS, [Sample(n, (reason,)) for reason, n in reasons]
        missed = sorted(dict(self._missed_deadlines()).items())
        yield all_metrics.MISSED_DEADLINES, [Sample(n, (method,)) for method, n in missed]
        unstored = sorted(dict(self._numbers.unstored_turns()).items())
        yield all_metrics.UNSTORED_TURNS, [Sample(n, (reason,)) for reason, n in unstored]
        made = sorted(dict(self._numbers.period_summaries).items())
        yield all_metrics.PERIOD_SUMMARIES, [Sample(n, (kind,)) for kind, n in made]
        yield all_metrics.DAMAGED_SEGMENTS, [Sample(self._numbers.damaged_segments())]
        yield all_metrics.EXPIRED_MESSAGES, [Sample(self._numbers.expired_messages())]


def _grown(tallies: Mapping[str, BuildTally]) -> Iterator[Reading]:
    """The counters of builds."""
    total = _sum(tallies.values())
    yield from _counts(total)
    yield all_metrics.SCORES, _score_samples(tallies)
    yield from _outcomes(total)


def _averages(start: BuildTally, hour: BuildTally) -> Iterator[Reading]:
    """Those of all builds."""

    def of(ratio: Callable[[BuildTally], tuple[float, float]]) -> list[Sample]:
        return _ratios(ratio(start), ratio(hour))

    yield all_metrics.BUILD_TIME, of(lambda one: (one.seconds * 1e3, one.builds))
    yield all_metrics.CACHE_HIT_RATE, of(lambda one: (one.hits, one.builds))
    yield all_metrics.MESSAGE_COUNT, of(lambda one: (one.messages, one.builds))
    saved = of(lambda one: (one.window_tokens - one.shown_tokens, one.window_tokens))
    yield all_metrics.TOKEN_SAVINGS, saved


def _ratios(start: tuple[float, float], hour: tuple[float, float], *labels: str) -> list[Sample]:
    """A quotient for each period; none where there is nothing to divide by."""
    return [
        Sample(above / below, (*labels, period))
        for period, (above, below) in ((START, start), (HOUR, hour))
        if below
    ]


def _both(start: float, hour: float) -> list[Sample]:
    """A number for each period; none where it is 0: nothing happened."""
    return [Sample(n, (period,)) for period, n in ((START, start), (HOUR, hour)) if n]


def _relevance(start: Mapping[str, BuildTally], hour: Mapping[str, BuildTally]) -> list[Sample]:
    nothing = BuildTally()
    found: list[Sample] = []
    for profile, tally in sorted(start.items()):
        late = hour.get(profile, nothing)
        found += _ratios((tally.score, tally.scored), (late.score, late.scored), profile)
    return found


def _satisfaction(feedback: FeedbackNumbers, now_s: float) -> Iterator[Reading]:
    nothing = FeedbackTally()
    start = feedback.tallies.since_start().get("", nothing)
    hour = feedback.tallies.last_hour(now_s).get("", nothing)
    success = _ratios((start.success, start.rated), (hour.success, hour.rated))
    yield all_metrics.SATISFACTION, success
    effective = _ratios((start.effective, start.rated), (hour.effective, hour.rated))
    yield all_metrics.EFFECTIVENESS, effective


def _features(features: FeatureNumbers, now_s: float) -> Iterator[Reading]:
    nothing = FeatureTally()
    start = features.tallies.since_start().get("", nothing)
    hour = features.tallies.last_hour(now_s).get("", nothing)
    yield all_metrics.FEATURE_REQUESTS, _requests(start.hits, start.misses)
    rate = _ratios((start.hits, start.hits + start.misses), (hour.hits, hour.hits + hour.misses))
    yield all_metrics.FEATURE_HIT_RATE, rate


def _counts(total: BuildTally) -> Iterator[Reading]:
    """What is added up since the start."""
    bounds = [*map(str, BUILD_BOUNDS_S), "+Inf"]
    yield all_metrics.BUILD_SECONDS, _histogram(bounds, total.times, total.seconds)
    yield (
        all_metrics.STAGE_SECONDS,
        [
            sample
            for stage, us in zip(STAGES, total.stage_us, strict=True)
            if total.builds
            for sample in (
                Sample(us / 1e6, (stage,), "_sum"),
                Sample(total.builds, (stage,), "_count"),
            )
        ],
    )
    yield all_metrics.MESSAGES, [Sample(total.messages)]
    yield all_metrics.SHARED_MESSAGES, [Sample(total.shared)]
    shown, window = total.shown_tokens, total.window_tokens
    yield all_metrics.TEXT_TOKENS, [Sample(shown, ("shown",)), Sample(window, ("window",))]
    yield all_metrics.CACHE_REQUESTS, _requests(total.hits, total.builds - total.hits)


def _score_samples(start: Mapping[str, BuildTally]) -> list[Sample]:
    bounds = [str((i + 1) / SCORE_BUCKETS) for i in range(SCORE_BUCKETS)]
    found: list[Sample] = []
    for profile, tally in sorted(start.items()):
        if tally.scored:
            counts = [*tally.scores.tolist(), 0]
            found += _histogram([*bounds, "+Inf"], counts, tally.score, profile)
    return found


def _histogram(bounds: list[str], counts: list[int], total: float, *labels: str) -> list[Sample]:
    """Counts up to each bound, their number and their sum."""
    upto = list(accumulate(counts))
    buckets = [Sample(n, labels, "_bucket", bound) for bound, n in zip(bounds, upto, strict=True)]
    return [*buckets, Sample(upto[-1], labels, "_count"), Sample(total, labels, "_sum")]


def _requests(hits: int, misses: int) -> list[Sample]:
    return [Sample(hits, ("hit",)), Sample(misses, ("miss",))]


def _outcomes(total: BuildTally) -> Iterator[Reading]:
    """How builds ended."""
    rungs = {(one.name.lower(),): total.rungs[one] for one in Rung}
    fallbacks = {(one.name.lower(), why): n for (one, why), n in total.fallbacks.items()}
    errors = {(reason,): n for reason, n in total.errors.items()}
    yield all_metrics.EXPLORED, [Sample(total.explored)] if total.builds else []
    for metric, counts in (
        (all_metrics.BUILDS, rungs),
        (all_metrics.FALLBACKS, fallbacks),
        (all_metrics.DEGRADATIONS, total.losses),
        (all_metrics.BUILD_ERRORS, errors),
    ):
        yield metric, [Sample(count, labels) for labels, count in sorted(counts.items())]


def _usage(usage: UsageNumbers, now_s: float) -> Iterator[Reading]:
    """How our counts compare with the vendors', by model."""
    nothing = UsageTally()
    start, hour = usage.tallies.since_start(), usage.tallies.last_hour(now_s)
    ratios: list[Sample] = []
    errors: list[Sample] = []
    factors: list[Sample] = []
    tokens: list[Sample] = []
    for of, whole in sorted(start.items()):
        late, labels = hour.get(of, nothing), (of.model, of.tokenizer.value)
        ratios += _ratios((whole.prompt, whole.counted), (late.prompt, late.counted), *labels)
        errors += _ratios((whole.error, whole.calls), (late.error, late.calls), *labels, "plain")
        calibrated = (
            (whole.calibrated_error, whole.calibrated),
            (late.calibrated_error, late.calibrated),
        )
        errors += _ratios(*calibrated, *labels, "calibrated")
        if (factor := usage.factor(of)) is not None:
            factors.append(Sample(factor, labels))
        for name, n in (
            ("counted", whole.counted),
            ("prompt", whole.prompt),
            ("completion", whole.completion),
        ):
            tokens.append(Sample(n, (*labels, name)))
    yield all_metrics.TOKEN_RATIO, ratios
    yield all_metrics.TOKEN_ERROR, errors
    yield all_metrics.TOKEN_FACTOR, factors
    yield all_metrics.MODEL_TOKENS, tokens


def _queues(writes: Writes, records: Records, embeds: Embeds | None) -> Iterator[Reading]:
    """What waits, and what was given up."""
    yield all_metrics.QUEUE_ITEMS, [Sample(writes.queued_items)]
    yield all_metrics.QUEUE_BYTES, [Sample(writes.queued_bytes)]
    yield all_metrics.DROPPED_EVENTS, [Sample(writes.dropped_events)]
    yield all_metrics.PUBLISH_FAILURES, [Sample(writes.publish_failures)]
    yield all_metrics.RECORD_QUEUE, [Sample(records.queued_count)]
    yield all_metrics.RECORDS, [Sample(records.noted_count)]
    dropped = records.dropped_count + writes.dropped_records
    yield all_metrics.DROPPED_RECORDS, [Sample(dropped)]
    yield all_metrics.BACKLOG, [Sample(embeds.due_channels)] if embeds else []
    yield all_metrics.EMBEDDED, [Sample(embeds.embedded)] if embeds else []
    yield all_metrics.REFUSED_EMBEDDINGS, [Sample(len(embeds.refused))] if embeds else []


def _experiments(arms: Arms | None) -> Iterator[Reading]:
    """Who was built by which arm."""
    builds = {} if arms is None else dict(arms.builds)
    ratios = {} if arms is None else arms.ratios()
    shadows = {} if arms is None else dict(arms.shadows)
    told = [Sample(count, labels) for labels, count in sorted(builds.items())]
    yield all_metrics.EXPERIMENT_BUILDS, told
    yield all_metrics.SAMPLE_RATIO, [Sample(p, (name,)) for name, p in sorted(ratios.items())]
    yield all_metrics.SHADOW_BUILDS, [Sample(n, (name,)) for name, n in sorted(shadows.items())]


def _sum(tallies: Iterable[BuildTally]) -> BuildTally:
    total = BuildTally()
    for one in tallies:
        total.add(one)
    return total
