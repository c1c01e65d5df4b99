"""The weights that channels have by tuning, kept as versions that are never changed.

What holds is a record of its own, written behind the version it names: a version that nothing names was never adopted,
and the next one takes its place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.learning.adoption import Reason
from backscroll_sidecar.learning.tuning import Evidence, Weights
from backscroll_sidecar.ports import (
    ChangeWriter,
    Clock,
    HistoryReader,
    RecordChange,
    about_user,
)

STATE = "tuning"
"""The kind of what holds in a channel; it has one such record."""
VERSION = "weight_version"
REQUEST = "weight_request"
"""Who asked for a version stands in a record of its own, which goes with that person."""
PAGE = 1_000


class WeightVersion(msgspec.Struct, frozen=True):
    """Weights that a channel got.

    Attributes
    ----------
    version, parent : from 1; the one that held before. 0: the server's weights.
    weights : empty: the server's.
    reason, detail : ADOPTED or ROLLED_BACK, and that as a sentence.
    requested_by : who asked for it; empty: nobody did, or that person was erased.
    evidence : None: it was done by hand.
    """

    version: int
    parent: int
    weights: Weights
    reason: Reason
    detail: str
    requested_by: str
    created_at_ms: int
    evidence: Evidence | None = None


class TuningState(msgspec.Struct, frozen=True):
    """What holds in a channel.

    Attributes
    ----------
    version, weights : of the version that holds; 0 and none: the server's.
    latest : the last version there is.
    tests : decisions since the last adoption that spent a part of the error.
    on_trial_since_ms : when weights were adopted that were not judged since; 0: none.
    """

    version: int = 0
    weights: Weights = ()
    latest: int = 0
    tests: int = 0
    on_trial_since_ms: int = 0


UNTUNED = TuningState()
_state = msgspec.json.Decoder(TuningState).decode
_version = msgspec.json.Decoder(WeightVersion).decode


@dataclass(frozen=True, slots=True)
class KeptState:
    """A state as it is kept. `record_version`: 0 where there is none yet."""

    state: TuningState
    record_version: int


def state_of(body: bytes) -> TuningState:
    """What a record of the kind `STATE` holds."""
    return _state(body)


class WeightVersions:
    """Reads and writes them. Safe from any task of one event loop; raises `StoreUnavailable`."""

    def __init__(self, reader: HistoryReader, writer: ChangeWriter, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock

    async def state(self, key: ChannelKey) -> KeptState:
        """What holds in a channel."""
        found = await self._reader.record(key, STATE, "", "", self._clock.now_ms())
        return (
            KeptState(UNTUNED, 0) if found is None else KeptState(_state(found.body), found.version)
        )

    async def version(self, key: ChannelKey, number: int) -> WeightVersion | None:
        """One version; None: there is no such."""
        return next(iter(await self._versions(key, [number])), None)

    async def history(
        self, key: ChannelKey, limit: int, before: int | None = None
    ) -> Sequence[WeightVersion]:
        """Versions that held, the newest first; `before`: older than this one."""
        latest = (await self.state(key)).state.latest
        last = latest if before is None else min(latest, before - 1)
        return await self._versions(key, range(last, max(0, last - limit), -1))

    async def _versions(self, key: ChannelKey, numbers: Sequence[int]) -> Sequence[WeightVersion]:
        """Those of these numbers that there are, in the order of the numbers."""
        ids, now_ms = [str(number) for number in numbers], self._clock.now_ms()
        found = await self._reader.records_of_ids(key, VERSION, "", ids, now_ms)
        requests = await self._reader.records_of_ids(key, REQUEST, "", ids, now_ms)
        bodies = {one.id: one.body for one in found}
        asked_by = {one.id: one.body.decode() for one in requests}
        return [
            msgspec.structs.replace(_version(bodies[id_]), requested_by=asked_by.get(id_, ""))
            for id_ in ids
            if id_ in bodies
        ]

    async def on_trial(self, tenant: str) -> Sequence[str]:
        """The tenant's channels whose weights were adopted and not judged since."""
        out: list[str] = []
        before: tuple[int, int] | None = None
        now_ms = self._clock.now_ms()
        while page := await self._reader.updated_records(
            tenant, STATE, now_ms, PAGE, before=before
        ):
            out += [one.channel for one in page if _state(one.body).on_trial_since_ms]
            before = (page[-1].updated_at_ms, page[-1].number)
        return out

    async def add(self, key: ChannelKey, kept: KeptState, new: WeightVersion) -> TuningState:
        """Let a version hold from now on. Raises `Conflict` where another one came in between."""
        is_adopted = new.reason is Reason.ADOPTED
        await self._put_version(key, new)
        state = TuningState(
            new.version,
            new.weights,
            new.version,
            0 if is_adopted else kept.state.tests,
            new.created_at_ms if is_adopted else 0,
        )
        return await self.put(key, kept, state)

    async def _put_version(self, key: ChannelKey, new: WeightVersion) -> None:
        id_, by = str(new.version), new.requested_by
        anonymous = msgspec.structs.replace(new, requested_by="")
        await self._put(key, VERSION, id_, msgspec.json.encode(anonymous))
        named = (about_user(by),) if by else ()
        await self._put(key, REQUEST, id_, by.encode() if by else None, named_ids=named)

    async def put(self, key: ChannelKey, kept: KeptState, state: TuningState) -> TuningState:
        """Replace what holds. Raises `Conflict` where it was replaced in between."""
        await self._put(key, STATE, "", msgspec.json.encode(state), kept.record_version)
        return state

    async def _put(
        self,
        key: ChannelKey,
        kind: str,
        id_: str,
        body: bytes | None,
        if_version: int | None = None,
        named_ids: tuple[str, ...] = (),
    ) -> None:
        at_ms = self._clock.now_ms()
        await self._writer.submit(
            RecordChange(key, kind, id_, body, named_ids, at_ms, if_version=if_version)
        )
