"""Who does not want to be learnt from. Kept in memory, because every recorded build asks for it."""

from __future__ import annotations

from hashlib import blake2b

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import (
    EVERYWHERE,
    Applied,
    ChangeWriter,
    Clock,
    HistoryReader,
    RecordChange,
)

KIND = "usage_refusal"
PAGE = 10_000
DIGEST_BYTES = 16


class Refusals:
    """The people of one tenant who said no, by digests of their ids."""

    def __init__(self, tenant: str, digests: frozenset[str]) -> None:
        self._tenant = tenant
        self._digests = digests

    def __contains__(self, user_id: str) -> bool:
        return bool(self._digests) and digest(self._tenant, user_id) in self._digests

    def __bool__(self) -> bool:
        return bool(self._digests)


class UsageConsent:
    """Keeps what people said; one of the writer's publishers. Safe from any task of one event loop.

    A no is kept under a digest of the person's id, so that it outlasts their erasure and does not name them.
    """

    def __init__(self, reader: HistoryReader, writer: ChangeWriter, clock: Clock) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._known: dict[str, Refusals] = {}
        self._changes = 0

    async def refusals(self, tenant: str) -> Refusals:
        """Who said no. Raises `StoreUnavailable`."""
        if (known := self._known.get(tenant)) is not None:
            return known
        changes = self._changes
        digests: set[str] = set()
        after = None
        while page := await self._reader.record_owners(tenant, KIND, after, PAGE):
            digests.update(page)
            after = page[-1]
        found = Refusals(tenant, frozenset(digests))
        if changes == self._changes:  # else what was read may be older than what was answered
            self._known[tenant] = found
        return found

    async def set(
        self, tenant: str, user_id: str, *, collects: bool, deadline_s: float | None = None
    ) -> None:
        """Say whether a person may be learnt from."""
        body = None if collects else b""
        key, owner = ChannelKey(tenant, EVERYWHERE), digest(tenant, user_id)
        change = RecordChange(key, KIND, "", body, at_ms=self._clock.now_ms(), owner=owner)
        await self._writer.submit(change, deadline_s)

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Forget what changed."""
        if any(one.kind == KIND for one in applied.records):
            self._changes += 1
            self._known.pop(key.tenant, None)


def digest(tenant: str, user_id: str) -> str:
    """What stands for a person's id."""
    return blake2b(f"{tenant}\0{user_id}".encode(), digest_size=DIGEST_BYTES).hexdigest()
