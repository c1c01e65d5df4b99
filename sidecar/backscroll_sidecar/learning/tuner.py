"""Tunes channels: reads their records, has them judged, and lets other weights hold or come back."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from functools import partial

import msgspec

from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import ChannelKey, Rung, ScoreWeights
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.learning.adoption import AdoptionDecision, Reason
from backscroll_sidecar.learning.channel_settings import ChannelSettingsService
from backscroll_sidecar.learning.consent import UsageConsent
from backscroll_sidecar.learning.missed_replies import Answering
from backscroll_sidecar.learning.rated_builds import (
    WEIGHTED_PROFILE,
    RatedBuild,
    draw_of,
    rated,
)
from backscroll_sidecar.learning.rewards import reward_of
from backscroll_sidecar.learning.tuning import (
    Evidence,
    Outcome,
    TuningReport,
    Weights,
    fold_seed,
    judged,
    tuned,
    tuned_beside,
)
from backscroll_sidecar.learning.weight_versions import (
    KeptState,
    TuningState,
    WeightVersion,
    WeightVersions,
)
from backscroll_sidecar.ports import (
    HistoryReader,
    PackedCandidate,
    Signal,
    SignalKind,
    StoredUsage,
    UsageQuery,
    unpack_candidates,
)
from backscroll_sidecar.telemetry.tuning_numbers import TuningNumbers

PAGE = 500
MOST_BUILDS = 50_000
"""The newest so many builds of a channel are looked at."""
DRAW_US = 150


class Tuner:
    """Tunes channels, one at a time each. Safe from any task of one event loop.

    Parameters
    ----------
    flush : hands over builds that wait to be recorded.
    factors, shared : of the weighted profile, and the server's weights of them.
    """

    def __init__(
        self,
        reader: HistoryReader,
        flush: Callable[[], Awaitable[None]],
        versions: WeightVersions,
        settings: ChannelSettingsService,
        consent: UsageConsent,
        clock_ms: Callable[[], int],
        numbers: TuningNumbers,
        *,
        factors: tuple[str, ...],
        shared: Weights,
        locks: Locks | None = None,
    ) -> None:
        self._reader = reader
        self._flush = flush
        self.versions = versions
        self._settings = settings
        self._consent = consent
        self._clock_ms = clock_ms
        self._numbers = numbers
        self.factors = factors
        self._shared = shared
        self._answering: Callable[[ChannelKey], Awaitable[Answering | None]] | None = None
        self._locks = locks or Locks()

    def look_by(self, answering: Callable[[ChannelKey], Awaitable[Answering | None]]) -> None:
        """Have what lines of a channel answer found by this, once a proposal would be adopted."""
        self._answering = answering

    async def tune(
        self,
        key: ChannelKey,
        *,
        dry_run: bool = False,
        requested_by: str = "",
        proposes: bool = True,
    ) -> TuningReport:
        """Tune one channel. Raises `StoreUnavailable`, `Conflict`.

        Without `proposes` weights on trial are judged, and no new ones looked for.
        """
        async with self._locks.hold(key.tenant, "tuning", key.channel):
            kept = await self.versions.state(key)
            current = kept.state.weights or self._shared
            profiles: Counter[str] = Counter()
            builds = [one async for one in self._builds(key, profiles)]
            outcome = await self._refusal(key, profiles)
            if outcome is None and kept.state.on_trial_since_ms:
                outcome = await self._judged(key, kept.state, builds)
                if outcome.decision.reason is Reason.KEPT:
                    kept = await self._confirmed(key, kept, dry_run=dry_run)
                    outcome = None if proposes else outcome
            if outcome is None:
                outcome = await self._tuned(key, kept.state, builds)
            version = kept.state.version
            if not dry_run:
                if outcome.decision.reason is not Reason.KEPT:  # that is counted already
                    self._numbers.add(outcome.decision.reason)
                version = await self._carried_out(key, kept, outcome, requested_by)
            return TuningReport(
                key.channel, outcome, version, self.factors, current, len(builds), len(rated(builds))
            )  # fmt: skip

    async def roll_back(
        self, key: ChannelKey, version: int | None = None, requested_by: str = ""
    ) -> WeightVersion:
        """Let an earlier version's weights hold again; None: those before the ones that hold.

        Raises
        ------
        InvalidRequest
            There is no such version, or nothing to take back.
        """
        async with self._locks.hold(key.tenant, "tuning", key.channel):
            kept = await self.versions.state(key)
            if not kept.state.version:
                raise InvalidRequest("the channel has no tuned weights", field="channel")
            if version is None:
                version = await self._parent(key, kept.state)
            weights = await self._weights_of(key, version, kept.state.latest)
            words = f"those of version {version}, by hand"
            new = self._next(kept.state, weights, Reason.ROLLED_BACK, words, requested_by)  # fmt: skip
            await self.versions.add(key, kept, new)
            self._numbers.add(Reason.ROLLED_BACK)
            return new

    async def _weights_of(self, key: ChannelKey, version: int, latest: int) -> Weights:
        if not version:
            return ()
        found = await self.versions.version(key, version) if version <= latest else None
        if found is None:
            raise InvalidRequest("the channel has no such version of weights", field="version")
        return found.weights

    async def _refusal(self, key: ChannelKey, profiles: Counter[str]) -> Outcome | None:
        """Why nothing is tuned here at all; None: it is."""
        settings = await self._settings.by_hand(key)
        if not settings.collects_usage:
            return _refused(
                Reason.NOT_COLLECTED, "the channel's settings say that its builds are not recorded"
            )
        if settings.overrides.weights != ScoreWeights():
            return _refused(
                Reason.SET_BY_HAND,
                "weights are set by hand for this channel, and come before tuned ones",
            )
        if profiles and WEIGHTED_PROFILE not in profiles:
            names = ", ".join(sorted(profiles))
            return _refused(
                Reason.NOT_WEIGHTED,
                f"all recorded builds are of {names}: only {WEIGHTED_PROFILE} has weights to tune",
            )
        return None

    async def _judged(
        self, key: ChannelKey, state: TuningState, builds: Sequence[RatedBuild]
    ) -> Outcome:
        """Whether the weights that were adopted last stay."""
        former = await self._weights_of(key, await self._parent(key, state), state.latest)
        since_ms = state.on_trial_since_ms
        before = [one for one in builds if one.created_at_ms < since_ms]
        since = [one for one in builds if one.created_at_ms >= since_ms]
        shared = self._shared
        return await asyncio.to_thread(
            judged, before, since, shared, state.weights or shared, former or shared
        )

    async def _tuned(
        self, key: ChannelKey, state: TuningState, builds: Sequence[RatedBuild]
    ) -> Outcome:
        shared, current = self._shared, state.weights or self._shared
        seed, tests = fold_seed(key.channel), state.tests
        work = partial(tuned, builds, shared, current, seed=seed, tests_before=tests)
        outcome = await asyncio.to_thread(work)
        if outcome.decision.reason is not Reason.ADOPTED or self._answering is None:
            return outcome
        answering = await self._answering(key)
        beside = partial(tuned_beside, outcome, answering, builds, shared, current)
        return await asyncio.to_thread(beside, seed=seed, tests_before=tests)

    async def _confirmed(self, key: ChannelKey, kept: KeptState, *, dry_run: bool) -> KeptState:
        """The weights on trial stay."""
        state = msgspec.structs.replace(kept.state, on_trial_since_ms=0)
        if dry_run:
            return KeptState(state, kept.record_version)
        self._numbers.add(Reason.KEPT)
        await self.versions.put(key, kept, state)
        return await self.versions.state(key)

    async def _parent(self, key: ChannelKey, state: TuningState) -> int:
        holding = await self.versions.version(key, state.version)
        return 0 if holding is None else holding.parent

    async def _carried_out(
        self, key: ChannelKey, kept: KeptState, outcome: Outcome, requested_by: str
    ) -> int:
        """Do what was decided; the version that holds then."""
        decision, state = outcome.decision, kept.state
        if decision.changes:
            weights: Weights = outcome.proposed or ()
            if decision.reason is Reason.ROLLED_BACK:
                weights = await self._weights_of(key, await self._parent(key, state), state.latest)
            new = self._next(
                kept.state, weights, decision.reason, decision.detail, requested_by, outcome.evidence
            )  # fmt: skip
            return (await self.versions.add(key, kept, new)).version
        if outcome.tests:
            state = msgspec.structs.replace(state, tests=state.tests + outcome.tests)
            await self.versions.put(key, kept, state)
        return state.version

    def _next(
        self,
        state: TuningState,
        weights: Weights,
        reason: Reason,
        detail: str,
        requested_by: str,
        evidence: Evidence | None = None,
    ) -> WeightVersion:
        return WeightVersion(
            state.latest + 1, state.version, weights, reason, detail, requested_by, self._clock_ms(), evidence
        )  # fmt: skip

    async def _builds(self, key: ChannelKey, profiles: Counter[str]) -> AsyncIterator[RatedBuild]:
        """The newest builds of the weighted profile by people who may be learnt from. `profiles` counts all."""
        await self._flush()
        refusals = await self._consent.refusals(key.tenant)
        before: int | None = None
        for _ in range(0, MOST_BUILDS, PAGE):
            page = await self._reader.usage_records(
                key.tenant, UsageQuery(key.channel, limit=PAGE, newest_first=True, before=before)
            )
            if not page:
                return
            before = page[-1].number
            profiles.update(one.record.profile for one in page)
            ours = [
                one
                for one in page
                if one.record.profile == WEIGHTED_PROFILE and one.record.user_id not in refusals
            ]
            said = [one.record.context_id for one in ours if one.success_indicator is not None]
            signals = await self._reader.signals(key.tenant, said) if said else {}
            pools = await self._pools(key, ours)
            for one in ours:
                context_id = one.record.context_id
                said_of = [
                    each for each in signals.get(context_id, ()) if each.user_id not in refusals
                ]
                yield _rated_build(one, said_of, pools.get(context_id, ()))

    async def _pools(
        self, key: ChannelKey, builds: Sequence[StoredUsage]
    ) -> Mapping[str, Sequence[PackedCandidate]]:
        """By build the candidates that were left to chance and are still there."""
        slices = LoopSlices()
        pools: dict[str, list[PackedCandidate]] = {}
        for one in builds:
            if one.record.exploration is not None:
                await slices.spend(DRAW_US)
                packed = unpack_candidates(one.record.candidates)
                pools[one.record.context_id] = [
                    each for each in packed if 0.0 < (each.inclusion or 0.0) < 1.0
                ]
        seqs = sorted({each.seq for pool in pools.values() for each in pool})
        there = await self._reader.ids_by_seq(key, seqs) if seqs else {}
        return {
            context_id: [each for each in pool if each.seq in there]
            for context_id, pool in pools.items()
        }


def _refused(reason: Reason, detail: str) -> Outcome:
    return Outcome(AdoptionDecision(False, reason, detail), None, None)


def _rated_build(
    one: StoredUsage, signals: Sequence[Signal], pool: Sequence[PackedCandidate]
) -> RatedBuild:
    record = one.record
    reward = reward_of(signals)
    explicit = [each for each in signals if each.kind is SignalKind.FEEDBACK]
    drawn = record.exploration
    return RatedBuild(
        record.created_at_ms,
        reward.value if reward is not None and reward.is_explicit else None,
        explicit[-1].user_id if explicit else "",
        record.tokens,
        record.build_us,
        record.rung is Rung.RANKED,
        None
        if drawn is None or drawn.seed_given
        else draw_of(drawn.probability, drawn.temperature, pool),
    )
