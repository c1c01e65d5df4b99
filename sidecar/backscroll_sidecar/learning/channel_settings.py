"""What is set for channels while the server runs, kept in memory because every build asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.domain import ChannelKey, ChannelSettings, Readable, ScoreWeights
from backscroll_sidecar.errors import NotFound, Reason
from backscroll_sidecar.learning.sharing import SharingMap
from backscroll_sidecar.learning.tuning import Weights
from backscroll_sidecar.learning.weight_versions import STATE, state_of
from backscroll_sidecar.ports import (
    CHANNEL_SETTINGS,
    Applied,
    ChangeWriter,
    Clock,
    HistoryReader,
    RecordChange,
    StoredRecord,
)

KIND = CHANNEL_SETTINGS
PAGE = 1_000
USUAL = ChannelSettings()
_decode = msgspec.json.Decoder(ChannelSettings, strict=False).decode


@dataclass(frozen=True, slots=True)
class SetChannel:
    """What is set for a channel, and since when."""

    channel: str
    settings: ChannelSettings
    updated_at_ms: int
    number: int


class ChannelSettingsService:
    """Keeps settings of channels and remembers them; one of the writer's publishers. Safe from any task of one loop.

    `deadline_s` is as `Writer.submit` takes it.
    """

    def __init__(self, reader: HistoryReader, writer: ChangeWriter, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._known: dict[str, dict[str, ChannelSettings]] = {}
        """By tenant and channel: all that are set."""
        self._sharing: dict[str, SharingMap] = {}
        self._changes = 0

    # --- what builds ask ---------------------------------------------------------------------------

    def known(self, key: ChannelKey) -> ChannelSettings | None:
        """What is set for a channel, else the usual; None: `read` it."""
        of_tenant = self._known.get(key.tenant)
        return None if of_tenant is None else of_tenant.get(key.channel, USUAL)

    async def read(self, key: ChannelKey) -> ChannelSettings:
        """The same from the store. Raises `StoreUnavailable`."""
        return (await self._read(key.tenant)).get(key.channel, USUAL)

    async def readable(self, key: ChannelKey) -> Readable:
        """The channels whose lines this one may show; read where they must be. Raises `StoreUnavailable`."""
        known = self._known.get(key.tenant)
        if known is None:
            known = await self._read(key.tenant)
        if known is not self._known.get(key.tenant):  # it changed meanwhile
            return SharingMap(known).readable(key.channel)
        if key.tenant not in self._sharing:
            self._sharing[key.tenant] = SharingMap(known)
        return self._sharing[key.tenant].readable(key.channel)

    async def _read(self, tenant: str) -> dict[str, ChannelSettings]:
        changes = self._changes
        found: dict[str, ChannelSettings] = {}
        before: tuple[int, int] | None = None
        while page := await self._page(tenant, before):
            found |= {one.channel: _decode(one.body) for one in page}
            before = (page[-1].updated_at_ms, page[-1].number)
        before = None
        while page := await self._page(tenant, before, kind=STATE):
            for one in page:
                settings = found.get(one.channel, USUAL)
                found[one.channel] = with_tuned(settings, state_of(one.body).weights)
            before = (page[-1].updated_at_ms, page[-1].number)
        if changes == self._changes:  # else what was read may be older than what was answered
            self._known[tenant] = found
            self._sharing.pop(tenant, None)
        return found

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Forget what changed."""
        if applied.is_erasure or any(one.kind in {KIND, STATE} for one in applied.records):
            self._changes += 1
            self._known.pop(key.tenant, None)
            self._sharing.pop(key.tenant, None)

    # --- what callers ask --------------------------------------------------------------------------

    async def get(self, key: ChannelKey) -> SetChannel:
        """What is set for a channel. Raises `NotFound`, `StoreUnavailable`."""
        found = await self._reader.record(key, KIND, "", "", self._clock.now_ms())
        if found is None:
            raise NotFound(
                "nothing is set for this channel",
                field="channel",
                reason=Reason.CHANNEL_SETTINGS_NOT_FOUND,
            )
        return _set(found)

    async def by_hand(self, key: ChannelKey) -> ChannelSettings:
        """What is set for a channel, without tuned weights; else the usual. Raises `StoreUnavailable`."""
        found = await self._reader.record(key, KIND, "", "", self._clock.now_ms())
        return USUAL if found is None else _decode(found.body)

    async def set(
        self, key: ChannelKey, settings: ChannelSettings, deadline_s: float | None = None
    ) -> SetChannel:
        """Set it, in the place of what was set before."""
        body = msgspec.json.encode(settings)
        await self._writer.submit(
            RecordChange(key, KIND, "", body, at_ms=self._clock.now_ms()), deadline_s
        )
        return await self.get(key)

    async def delete(self, key: ChannelKey, deadline_s: float | None = None) -> bool:
        """Leave the channel to the server's settings; whether anything was set."""
        change = RecordChange(key, KIND, "", None, at_ms=self._clock.now_ms())
        return bool((await self._writer.submit(change, deadline_s)).deleted_records)

    async def list(
        self,
        tenant: str,
        limit: int,
        before: tuple[int, int] | None = None,
        allowed: AllowedChannels | None = None,
    ) -> Sequence[SetChannel]:
        """A page of the allowed channels, what was set last first; `before`: behind the one of this time and number."""
        found: list[StoredRecord] = []
        while len(found) < limit:
            page = await self._page(tenant, before, limit)
            found += [one for one in page if is_allowed(one.channel, allowed)]
            if len(page) < limit:
                break
            before = (page[-1].updated_at_ms, page[-1].number)
        return [_set(one) for one in found[:limit]]

    async def _page(
        self, tenant: str, before: tuple[int, int] | None, limit: int = PAGE, kind: str = KIND
    ) -> Sequence[StoredRecord]:
        now_ms = self._clock.now_ms()
        return await self._reader.updated_records(tenant, kind, now_ms, limit, before=before)


def with_tuned(settings: ChannelSettings, weights: Weights) -> ChannelSettings:
    """The settings of a channel with its tuned weights. Those set by hand come before them, all together."""
    if not weights or settings.overrides.weights != ScoreWeights():
        return settings
    overrides = replace(settings.overrides, weights=ScoreWeights(*weights))
    return replace(settings, overrides=overrides)


def _set(record: StoredRecord) -> SetChannel:
    return SetChannel(record.channel, _decode(record.body), record.updated_at_ms, record.number)
