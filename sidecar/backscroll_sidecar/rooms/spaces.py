"""Keeps spaces: what the sessions of one kind begin with."""

from __future__ import annotations

from collections.abc import Sequence

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import InvalidRequest, NotFound, Reason
from backscroll_sidecar.history.writer import Writer
from backscroll_sidecar.ports import EVERYWHERE, SPACE, Clock, HistoryReader, RecordChange
from backscroll_sidecar.rooms.checks import check_names
from backscroll_sidecar.sessions import records
from backscroll_sidecar.sessions.directory import SessionDirectory
from backscroll_sidecar.sessions.modes.registry import Modes, config_of
from backscroll_sidecar.sessions.participants import ParticipantKind
from backscroll_sidecar.sessions.session import Space


class SpaceService:
    """Keeps spaces. Safe from any task of one event loop; raises typed errors only."""

    def __init__(
        self,
        reader: HistoryReader,
        writer: Writer,
        directory: SessionDirectory,
        modes: Modes,
        clock: Clock,
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._directory = directory
        self._modes = modes
        self._clock = clock

    async def put(self, tenant: str, space: Space, deadline_s: float | None = None) -> Space:
        """Keep a space."""
        if any(one.kind is ParticipantKind.HUMAN for one in space.participants):
            raise InvalidRequest(
                "a space has personas and bots: people take part in its sessions",
                field="space.participants",
            )
        check_names(space.participants)
        mode = self._modes.find(space.mode, "space.mode")
        if space.role_config_json:
            config_of(mode, space.role_config_json)
        change = records.space_change(tenant, space, self._clock.now_ms())
        await self._writer.submit(change, deadline_s)
        return space

    async def get(self, tenant: str, slug: str) -> Space:
        """The space of this slug. Raises `NotFound`."""
        found = await self._directory.space(tenant, slug)
        if found is None:
            raise NotFound("no space has this slug", field="slug", reason=Reason.SPACE_NOT_FOUND)
        return found

    async def list(self, tenant: str, after: str, limit: int) -> tuple[Sequence[Space], bool]:
        """The first spaces behind `after`, by slug, and whether there are more."""
        slugs = await self._reader.record_owners(tenant, SPACE, after or None, limit + 1)
        found = [await self._directory.space(tenant, slug) for slug in slugs[:limit]]
        return [one for one in found if one is not None], len(slugs) > limit

    async def delete(self, tenant: str, slug: str) -> None:
        """Delete a space."""
        key = ChannelKey(tenant, EVERYWHERE)
        at_ms = self._clock.now_ms()
        await self._writer.submit(RecordChange(key, SPACE, "", None, at_ms=at_ms, owner=slug))
