"""Sessions out and in, and one session made of another."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

from msgspec.structs import replace

from backscroll_sidecar.domain import Message, MessageState, StoredMessage
from backscroll_sidecar.errors import NotFound, Reason
from backscroll_sidecar.history.importing import ImportBatch, import_batches
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.ports import HistoryReader
from backscroll_sidecar.rooms.service import (
    SessionDraft,
    SessionEdit,
    SessionRef,
    SessionService,
    channel_of,
)
from backscroll_sidecar.sessions.session import ForkOrigin, Session

COPIED_AT_ONCE = 250


class SessionExports:
    """Reads whole sessions, and begins sessions from others. Safe from any task of one event loop."""

    def __init__(
        self, sessions: SessionService, reader: HistoryReader, history: HistoryService
    ) -> None:
        self._sessions = sessions
        self._reader = reader
        self._history = history

    async def messages(self, session: Session) -> AsyncIterator[StoredMessage]:
        """The messages of a session in order of arrival, recalled ones included without content."""
        async for one in self._reader.export(session.key):
            if one.message.session_id == session.id:
                yield one

    async def begin(self, tenant: str, draft: SessionDraft, mode_state_json: str) -> Session:
        """A session as somebody else kept it: the one that is there where it was imported before."""
        session, is_new = await self._sessions.create(tenant, draft)
        if is_new and mode_state_json and mode_state_json != session.mode_state_json:
            edit = SessionEdit(mode_state_json=mode_state_json)
            ref = SessionRef(session.id, session.space)
            session = await self._sessions.update(tenant, ref, edit)
        return session

    async def fork(
        self, tenant: str, ref: SessionRef, message_id: str, new_id: str
    ) -> tuple[Session, int]:
        """A session with what another one held, up to one of its messages; and how many those are.

        Raises
        ------
        NotFound
            The session has no such message.
        """
        origin = await self._sessions.fresh(tenant, ref)
        copied = await self._up_to(origin, message_id)
        last_id = copied[-1].message.id if copied else ""
        id_ = new_id or secrets.token_hex(16)
        draft = SessionDraft(
            id_,
            origin.space,
            origin.project_id,
            origin.owner_id,
            channel_of(origin.space, id_),
            (),
            origin.title,
            origin.parent_id,
            origin.mode,
            origin.role_config_json,
            origin.policy,
            tuple(replace(one, presences=()) for one in origin.participants if one.is_present),
        )
        session = await self.begin(tenant, draft, origin.mode_state_json)
        session = await self._sessions.note_origin(session, ForkOrigin(origin.id, last_id))

        async def batches() -> AsyncIterator[ImportBatch]:
            for start in range(0, len(copied), COPIED_AT_ONCE):
                rows = copied[start : start + COPIED_AT_ONCE]
                messages = [_moved(one.message, session) for one in rows]
                yield ImportBatch(messages, rank_times_ms=[one.rank_time_ms for one in rows])

        await import_batches(tenant, batches(), self._history)
        return session, len(copied)

    async def _up_to(self, session: Session, message_id: str) -> list[StoredMessage]:
        """The live messages of a session, up to this one; without one all of them."""
        found: list[StoredMessage] = []
        async for one in self.messages(session):
            if one.state is MessageState.LIVE:
                found.append(one)
            if message_id and one.message.id == message_id:
                return found
        if message_id:
            raise NotFound(
                "the session has no such message",
                field="message_id",
                reason=Reason.MESSAGE_NOT_FOUND,
            )
        return found


def _moved(message: Message, session: Session) -> Message:
    return replace(
        message, channel=session.key.channel, session_id=session.id, dedupe_key="", embeddings=()
    )
