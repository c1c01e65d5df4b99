"""Reads what is recorded of an experiment's builds and sums it up."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import structlog

from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.learning.experiment_builds import Builds, recall_of, wanted_triggers
from backscroll_sidecar.learning.experiment_report import ArmReport
from backscroll_sidecar.learning.experiment_settings import ExperimentSettings, shares
from backscroll_sidecar.learning.experiments import ExperimentService, KeptExperiment
from backscroll_sidecar.learning.report_notes import notes
from backscroll_sidecar.ports import HistoryReader, SignalKind, StoredUsage, UsageQuery

log = structlog.get_logger(__name__)

MOST_BUILDS = 100_000
PAGE, GOLD_PAGE = 1_000, 500
BUILD_US = 10


@dataclass(frozen=True, slots=True)
class FoundReport:
    """What an experiment came to.

    Attributes
    ----------
    arms : control and holdout behind the others, where there are such.
    signals : by arm and kind.
    probability : that of the sample ratio; None: there is nothing to compare.
    listed : arms by builds of listed channels: nobody drew their arm.
    """

    experiment: KeptExperiment
    arms: Sequence[ArmReport]
    listed: Sequence[ArmReport]
    shadow: ArmReport | None
    signals: Mapping[tuple[str, SignalKind], int]
    since_ms: int
    probability: float | None
    is_alarming: bool
    notes: Sequence[str]


class ExperimentReports:
    """Makes reports. Safe from any task of one event loop.

    Parameters
    ----------
    flush : hands over builds that wait to be recorded, so that what was just built is counted.
    """

    def __init__(
        self,
        reader: HistoryReader,
        flush: Callable[[], Awaitable[None]],
        experiments: ExperimentService,
    ) -> None:
        self._reader = reader
        self._flush = flush
        self._experiments = experiments

    async def report(
        self, tenant: str, id: str, since_ms: int | None = None, until_ms: int | None = None
    ) -> FoundReport:
        """Sum up its builds, by default since its arms are what they are. Raises `NotFound`, `StoreUnavailable`."""
        kept = await self._experiments.get(tenant, id)
        await self._flush()
        settings = kept.settings
        since = settings.comparable_since_ms if since_ms is None else since_ms
        wanted = _shares_in_order(settings, id)
        builds = Builds(tuple(wanted), has_shadow=settings.shadow is not None)
        query = UsageQuery(
            experiment_id=id, since_ms=since, until_ms=until_ms, with_shadows=True,
            limit=PAGE, newest_first=True,
        )  # fmt: skip
        is_cut = await self._gather(tenant, query, builds)
        compared = await asyncio.to_thread(
            builds.compared, list(wanted.values()), max(since, settings.assigned_since_ms)
        )
        shadow = (
            await asyncio.to_thread(builds.shadow, settings.shadow.name)
            if settings.shadow
            else None
        )
        listed = await asyncio.to_thread(builds.listed)
        probability = compared.ratio.probability if len(wanted) > 1 and builds.has_drawn else None
        is_alarming = probability is not None and compared.ratio.is_alarming
        if is_alarming:
            log.warning("sample ratio alarm", experiment=id, probability=probability)
        told = notes(
            compared.arms,
            listed,
            shadow,
            probability if is_alarming else None,
            is_cut=is_cut,
            has_older_arms=since < settings.comparable_since_ms,
        )
        return FoundReport(
            kept, compared.arms, listed, shadow, builds.signals, since, probability, is_alarming, tuple(told)
        )  # fmt: skip

    async def _gather(self, tenant: str, query: UsageQuery, builds: Builds) -> bool:
        """Take the newest builds; whether there are more."""
        taken = 0
        before: int | None = None
        slices = LoopSlices()
        while taken < MOST_BUILDS:
            page = await self._reader.usage_records(tenant, replace(query, before=before))
            parents = await self._parents(tenant, page)
            await self._count_signals(tenant, page, builds)
            for one in page:
                await slices.spend(BUILD_US)
                builds.add(one, recall_of(one, parents))
            taken += len(page)
            if len(page) < PAGE:
                return False
            before = page[-1].number
        return True

    async def _parents(
        self, tenant: str, builds: Sequence[StoredUsage]
    ) -> Mapping[tuple[str, str], int]:
        """Arrival numbers of what triggers answer, by channel and trigger: edges that came after the builds."""
        found: dict[tuple[str, str], int] = {}
        for channel, triggers in wanted_triggers(builds).items():
            key = ChannelKey(tenant, channel)
            for start in range(0, len(triggers), GOLD_PAGE):
                rows = await self._reader.get_messages(key, triggers[start : start + GOLD_PAGE])
                edges = {
                    id_: row.message.reply.message_id
                    for id_, row in rows.items()
                    if row.message.reply is not None
                }
                parents = await self._reader.get_messages(key, list(set(edges.values())))
                for id_, parent in edges.items():
                    if parent in parents:
                        found[channel, id_] = parents[parent].seq
        return found

    async def _count_signals(
        self, tenant: str, builds: Sequence[StoredUsage], into: Builds
    ) -> None:
        drawn = (one.record for one in builds if not one.record.trial.is_listed)
        arms = {one.context_id: one.trial.arm for one in drawn}
        found = await self._reader.signals(tenant, list(arms))
        for context_id, signals in found.items():
            for signal in signals:
                if signal.kind is not SignalKind.FEEDBACK:
                    name = (arms[context_id], signal.kind)
                    into.signals[name] = into.signals.get(name, 0) + 1


def _shares_in_order(settings: ExperimentSettings, id: str) -> dict[str, float]:
    """What share of the channels each arm should have: the arms in their order, then control and holdout."""
    found = shares(settings, id)
    arms = {arm.name: found.get(arm.name, 0.0) for arm in settings.arms}
    return {**arms, **found}
