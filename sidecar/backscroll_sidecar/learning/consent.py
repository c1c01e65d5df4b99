"""Who does not want to be learnt from. Kept in memory, because every recorded build asks for it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from hashlib import blake2b

import structlog

from backscroll_sidecar.concurrency.locks import Locks
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import (
    EVERYWHERE,
    Applied,
    ChangeWriter,
    Clock,
    HistoryReader,
    RecordChange,
)

log = structlog.get_logger(__name__)

KIND = "salted_usage_refusal"
SALT = "usage_refusal_salt"
"""The kind of what makes a tenant's digests its own: nobody has them ready for ids that are easily guessed."""
UNSALTED = "usage_refusal"
"""The kind of digests of older servers; they are salted once they are read."""
PAGE = 10_000
DIGEST_BYTES = SALT_BYTES = 16


class Refusals:
    """The people of one tenant who said no, by digests of their ids."""

    def __init__(self, tenant: str, salt: bytes, digests: frozenset[str]) -> None:
        self._tenant = tenant
        self._salt = salt
        self._digests = digests

    def __contains__(self, user_id: str) -> bool:
        return bool(self._digests) and _digest(self._tenant, user_id, self._salt) in self._digests

    def __bool__(self) -> bool:
        return bool(self._digests)


class UsageConsent:
    """Keeps what people said; one of the writer's publishers. Safe from any task of one event loop.

    A no is kept under a salted digest of the person's id, so that it outlasts their erasure and does not name them.
    """

    def __init__(
        self,
        reader: HistoryReader,
        writer: ChangeWriter,
        clock: Clock,
        locks: Locks | None = None,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._clock = clock
        self._known: dict[str, Refusals] = {}
        self._changes = 0
        self._locks = locks or Locks()

    async def refusals(self, tenant: str) -> Refusals:
        """Who said no. Raises `StoreUnavailable`."""
        if (known := self._known.get(tenant)) is not None:
            return known
        changes = self._changes
        salt = await self._kept_salt(tenant) or secrets.token_bytes(SALT_BYTES)
        if unsalted := await self._owners(tenant, UNSALTED):
            async with self._locks.hold(tenant, "usage consent"):
                unsalted = await self._owners(tenant, UNSALTED)
                salt = await self._with_salt(tenant, unsalted, salt)
        digests = {*await self._owners(tenant, KIND), *(_salted(one, salt) for one in unsalted)}
        found = Refusals(tenant, salt, frozenset(digests))
        if changes == self._changes:  # else what was read may be older than what was answered
            self._known[tenant] = found
        return found

    async def set(
        self, tenant: str, user_id: str, *, collects: bool, deadline_s: float | None = None
    ) -> None:
        """Say whether a person may be learnt from."""
        async with self._locks.hold(tenant, "usage consent"):
            salt = await self._salt(tenant, secrets.token_bytes(SALT_BYTES), deadline_s)
            digest = _digest(tenant, user_id, salt)
            await self._put(tenant, KIND, digest, None if collects else b"", deadline_s)
            if collects:
                await self._put(tenant, UNSALTED, _unsalted(tenant, user_id), None, deadline_s)

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Forget what changed."""
        if applied.is_erasure or any(one.kind in {KIND, SALT, UNSALTED} for one in applied.records):
            self._changes += 1
            self._known.pop(key.tenant, None)

    async def _with_salt(self, tenant: str, unsalted: Sequence[str], new: bytes) -> bytes:
        """Keep these digests with the salt; which one it is. Where that fails, it is tried again at the next start."""
        try:
            salt = await self._salt(tenant, new)
            for one in unsalted:
                await self._put(tenant, KIND, _salted(one, salt), b"")
                await self._put(tenant, UNSALTED, one, None)
        except BackscrollError as error:
            log.warning("digests of refusals are not salted yet", reason=error.reason.value)
            return await self._kept_salt(tenant) or new
        return salt

    async def _salt(self, tenant: str, new: bytes, deadline_s: float | None = None) -> bytes:
        """The tenant's salt; where it has none yet, the new one is kept."""
        if (kept := await self._kept_salt(tenant)) is None:
            await self._put(tenant, SALT, "", new, deadline_s)
            return new
        return kept

    async def _kept_salt(self, tenant: str) -> bytes | None:
        key = ChannelKey(tenant, EVERYWHERE)
        found = await self._reader.record(key, SALT, "", "", self._clock.now_ms())
        return None if found is None else found.body

    async def _owners(self, tenant: str, kind: str) -> Sequence[str]:
        found: list[str] = []
        after = None
        while page := await self._reader.record_owners(tenant, kind, after, PAGE):
            found += page
            after = page[-1]
        return found

    async def _put(
        self,
        tenant: str,
        kind: str,
        owner: str,
        body: bytes | None,
        deadline_s: float | None = None,
    ) -> None:
        key, now_ms = ChannelKey(tenant, EVERYWHERE), self._clock.now_ms()
        change = RecordChange(key, kind, "", body, at_ms=now_ms, owner=owner)
        await self._writer.submit(change, deadline_s)


def _digest(tenant: str, user_id: str, salt: bytes) -> str:
    """What stands for a person's id."""
    return _salted(_unsalted(tenant, user_id), salt)


def _unsalted(tenant: str, user_id: str) -> str:
    return blake2b(f"{tenant}\0{user_id}".encode(), digest_size=DIGEST_BYTES).hexdigest()


def _salted(digest: str, salt: bytes) -> str:
    return blake2b(digest.encode(), digest_size=DIGEST_BYTES, key=salt).hexdigest()
