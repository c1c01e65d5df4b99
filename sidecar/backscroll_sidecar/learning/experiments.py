"""Experiments and rollouts of tenants, kept in memory because every build asks in which arm its channel is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
import structlog

from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import FailedPrecondition, InvalidRequest, NotFound, Reason
from backscroll_sidecar.learning.experiment_numbers import ExperimentNumbers
from backscroll_sidecar.learning.experiment_settings import (
    AssignedBy,
    ExperimentSettings,
    moved_share,
    with_times,
)
from backscroll_sidecar.learning.placing import Placing, unplaced
from backscroll_sidecar.learning.resolver import Resolving
from backscroll_sidecar.ports import (
    EVERYWHERE,
    EXPERIMENT,
    NOWHERE,
    Applied,
    ChangeWriter,
    Clock,
    HistoryReader,
    Placement,
    RecordChange,
    StoredRecord,
)

log = structlog.get_logger(__name__)

KIND = EXPERIMENT
PAGE = 1_000
MOST_EXPERIMENTS = 1_000
"""Of a tenant, those that are over included."""
_decode = msgspec.json.Decoder(ExperimentSettings).decode


@dataclass(frozen=True, slots=True)
class KeptExperiment:
    """An experiment and when it was put."""

    id: str
    settings: ExperimentSettings
    updated_at_ms: int
    number: int


class _Tenant:
    """What is not over of a tenant's experiments.

    Attributes
    ----------
    placings : those that run, and those that begin later.
    running : those that run from `since_ms` until `until_ms`.
    otherwise : where a channel is that is in none, or may be in one that nobody can read.
    """

    def __init__(self, placings: Sequence[Placing], now_ms: int, *, has_damage: bool) -> None:
        self.otherwise = unplaced("DAMAGED_EXPERIMENT") if has_damage else NOWHERE
        self.move(placings, now_ms)

    def move(self, placings: Sequence[Placing], now_ms: int) -> None:
        """Keep of them what is not over."""
        self.placings = [one for one in placings if one.settings.end_ms > now_ms]
        self.running = [one for one in self.placings if one.runs_at(now_ms)]
        times = [at for one in self.placings for at in one.times if at > now_ms]
        self.since_ms, self.until_ms = now_ms, min(times, default=now_ms)


class ExperimentService:
    """Keeps experiments and says where channels are; one of the writer's publishers. Safe from any task of one loop.

    `deadline_s` is as `Writer.submit` takes it. `resolving`: asks the team's own assignment; None: there is none.
    """

    def __init__(
        self,
        reader: HistoryReader,
        writer: ChangeWriter,
        clock: Clock,
        resolving: Resolving | None = None,
        locks: Locks | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self.clock = clock
        self._resolving = resolving
        self._known: dict[str, _Tenant] = {}
        self._changes = 0
        self._locks = locks or Locks()
        self.numbers = ExperimentNumbers(clock.now_ms)

    # --- what builds ask ---------------------------------------------------------------------------

    def known(self, key: ChannelKey) -> Placement | None:
        """Where the channel is; None: `read` it."""
        tenant = self._known.get(key.tenant)
        if tenant is None:
            return None
        if not tenant.placings:
            return tenant.otherwise
        for placing in self._running(key.tenant, tenant):
            found = self._placed(placing, key)
            if found is not NOWHERE:
                return found
        return tenant.otherwise

    def _running(self, name: str, tenant: _Tenant) -> Sequence[Placing]:
        """Those that run now: looked up anew only when one begins or ends, or the clock is set back."""
        now_ms = self.clock.now_ms()
        if not tenant.since_ms <= now_ms < tenant.until_ms:
            tenant.move(tenant.placings, now_ms)
            self.numbers.forget(name, frozenset(one.id for one in tenant.placings))
        return tenant.running

    def _placed(self, placing: Placing, key: ChannelKey) -> Placement | None:
        if not placing.asks_resolver:
            return placing.of(key.channel)
        if placing.is_denied(key.channel):
            return NOWHERE
        if self._resolving is None:
            return unplaced("NO_RESOLVER")
        return self._resolving.known(placing, key)

    async def read(self, key: ChannelKey) -> Placement:
        """The same, with what must be read or asked for. Raises `StoreUnavailable`."""
        tenant = self._known.get(key.tenant) or await self._load(key.tenant)
        for placing in self._running(key.tenant, tenant):
            found = self._placed(placing, key)
            if found is None and self._resolving is not None:
                found = await self._resolving.ask(placing, key)
            if found is not None and found is not NOWHERE:
                return found
        return tenant.otherwise

    def count(self, key: ChannelKey, placement: Placement, *, takes_part: bool) -> None:
        """A build was made there."""
        tenant = self._known.get(key.tenant)
        for placing in () if tenant is None else tenant.running:
            if placing.id == placement.experiment_id:
                self.numbers.count(key, placement, placing, takes_part=takes_part)

    async def _load(self, name: str) -> _Tenant:
        changes, now_ms = self._changes, self.clock.now_ms()
        placings, has_damage = [], False
        for record in sorted(await self._all(name), key=lambda one: one.number):
            settings = _readable(record)
            if settings is None:
                log.error("an experiment cannot be read", experiment=record.id)
                has_damage = True
            elif settings.end_ms > now_ms:
                placings.append(Placing(record.id, settings))
        tenant = _Tenant(placings, now_ms, has_damage=has_damage)
        if changes == self._changes:  # else what was read may be older than what was answered
            self._known[name] = tenant
            self.numbers.forget(name, frozenset(one.id for one in placings))
        return tenant

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Forget what changed."""
        if applied.is_erasure or any(one.kind == KIND for one in applied.records):
            self._changes += 1
            self._known.pop(key.tenant, None)
            self.numbers.begin_anew(key.tenant)
            if self._resolving is not None:
                self._resolving.forget()

    # --- what callers ask --------------------------------------------------------------------------

    async def get(self, tenant: str, id: str) -> KeptExperiment:
        """One of them. Raises `NotFound`, `StoreUnavailable`, and `InvalidRequest` where nobody can read it."""
        found = await self._record(tenant, id)
        if found is None:
            raise NotFound(
                "there is no experiment of this id",
                field="experiment_id",
                reason=Reason.EXPERIMENT_NOT_FOUND,
            )
        return _kept(found)

    async def put(
        self,
        tenant: str,
        id: str,
        settings: ExperimentSettings,
        *,
        starts_at_ms: int | None = None,
        allow_moves: bool = False,
        validate_only: bool = False,
        deadline_s: float | None = None,
    ) -> tuple[KeptExperiment, float]:
        """Keep it in the place of the one of this id; it, and the share of channels that moved.

        Raises
        ------
        InvalidRequest
            It stops before it starts, or asks a resolver that there is not.
        FailedPrecondition
            Channels would move without `allow_moves`, or another one runs at the same time.
        """
        if settings.assigned_by is AssignedBy.RESOLVER and self._resolving is None:
            raise InvalidRequest(
                "there is no resolver: the setting experiment_resolver names none",
                field="experiment.assigned_by",
            )
        async with self._locks.hold(
            tenant, "experiments"
        ):  # one after the other: no two may run at the same time
            now_ms = self.clock.now_ms()
            found = await self._record(tenant, id)
            before = None if found is None else _readable(found)
            after = with_times(settings, before, now_ms, starts_at_ms)
            await self._refuse_overlap(tenant, id, after, now_ms)
            moved = moved_share(id, before, after, now_ms)
            if moved and not allow_moves:
                raise FailedPrecondition(
                    f"{moved:.1%} of the channels would move to another arm or out of theirs",
                    field="allow_moves",
                    reason=Reason.CHANNELS_WOULD_MOVE,
                    metadata={"moved_share": f"{moved:g}"},
                )
            if validate_only:
                return KeptExperiment(id, after, now_ms, 0), moved
            await self._keep(tenant, id, msgspec.json.encode(after), deadline_s)
        return await self.get(tenant, id), moved

    async def stop(self, tenant: str, id: str, deadline_s: float | None = None) -> KeptExperiment:
        """End it now. Raises `NotFound`."""
        async with self._locks.hold(tenant, "experiments"):
            kept, now_ms = await self.get(tenant, id), self.clock.now_ms()
            if kept.settings.end_ms > now_ms:
                body = msgspec.json.encode(kept.settings.stopped_at(now_ms))
                await self._keep(tenant, id, body, deadline_s)
        return await self.get(tenant, id)

    async def delete(self, tenant: str, id: str, deadline_s: float | None = None) -> bool:
        """Forget it; whether there was one."""
        async with self._locks.hold(
            tenant, "experiments"
        ):  # else a stop that has read it would keep it again
            change = _change(tenant, id, None, self.clock.now_ms())
            return bool((await self._writer.submit(change, deadline_s)).deleted_records)

    async def list(
        self, tenant: str, limit: int, before: tuple[int, int] | None = None
    ) -> tuple[Sequence[KeptExperiment], tuple[int, int] | None]:
        """A page, what was put last first, and where the next one begins; damaged ones are left out.

        `before`: behind the one of this time and number.
        """
        found = await self._page(tenant, before, limit + 1)
        kept = [
            KeptExperiment(one.id, settings, one.updated_at_ms, one.number)
            for one in found[:limit]
            if (settings := _readable(one)) is not None
        ]
        last = found[limit - 1] if len(found) > limit else None
        return kept, None if last is None else (last.updated_at_ms, last.number)

    async def _refuse_overlap(
        self, tenant: str, id: str, settings: ExperimentSettings, now_ms: int
    ) -> None:
        for record in await self._all(tenant):
            other = None if record.id == id else _readable(record)
            if other is not None and other.end_ms > now_ms and settings.overlaps(other):
                raise FailedPrecondition(
                    f"{record.id} runs at the same time, and a channel is in one experiment at a time",
                    field="experiment",
                    reason=Reason.EXPERIMENTS_OVERLAP,
                    metadata={"experiment_id": record.id},
                )

    async def _keep(self, tenant: str, id: str, body: bytes, deadline_s: float | None) -> None:
        change = _change(tenant, id, body, self.clock.now_ms())
        await self._writer.submit(change, deadline_s)

    async def _record(self, tenant: str, id: str) -> StoredRecord | None:
        key = ChannelKey(tenant, EVERYWHERE)
        return await self._reader.record(key, KIND, "", id, self.clock.now_ms())

    async def _all(self, tenant: str) -> Sequence[StoredRecord]:
        found: list[StoredRecord] = []
        before: tuple[int, int] | None = None
        while page := await self._page(tenant, before):
            found += page
            before = (page[-1].updated_at_ms, page[-1].number)
        return found

    async def _page(
        self, tenant: str, before: tuple[int, int] | None, limit: int = PAGE
    ) -> Sequence[StoredRecord]:
        now_ms = self.clock.now_ms()
        return await self._reader.updated_records(tenant, KIND, now_ms, limit, before=before)


def _change(tenant: str, id: str, body: bytes | None, now_ms: int) -> RecordChange:
    key = ChannelKey(tenant, EVERYWHERE)
    return RecordChange(key, KIND, id, body, at_ms=now_ms, limit=MOST_EXPERIMENTS)


def _readable(record: StoredRecord) -> ExperimentSettings | None:
    """What is kept; None: it is damaged."""
    try:
        settings = _decode(record.body)
        settings.drawer(record.id)
    except (msgspec.MsgspecError, ValueError):
        return None
    return settings


def _kept(record: StoredRecord) -> KeptExperiment:
    settings = _readable(record)
    if settings is None:
        raise InvalidRequest(
            "what is kept of this experiment is damaged; put it anew or delete it",
            field="experiment_id",
        )
    return KeptExperiment(record.id, settings, record.updated_at_ms, record.number)
