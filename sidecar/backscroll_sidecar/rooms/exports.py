"""Sessions out and in, and one session made of another.

The messages of a copy come first, then the session in one commit: what it holds of their places is known by then.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterable, AsyncIterator, Mapping

from msgspec.structs import replace

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.domain import Message, MessageState, StoredMessage
from backscroll_sidecar.errors import Conflict, NotFound, Reason
from backscroll_sidecar.history.importing import ImportBatch, ImportReport, import_batches
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.ports import HistoryReader
from backscroll_sidecar.rooms.checks import check_allowed
from backscroll_sidecar.rooms.drafts import SessionDraft, SessionRef, channel_of
from backscroll_sidecar.rooms.service import SessionService
from backscroll_sidecar.sessions.forking import Place, as_of, held_at, moved
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

    async def by_lines(self, session: Session) -> Session:
        """The session whose participants took part by the numbers of its messages among themselves, from 1."""
        if not any(one.presences for one in session.participants):
            return session
        places: list[Place] = []
        async for one in self.messages(session):
            places.append(Place(one.seq, len(places) + 1))
        people = tuple(moved(one, places) for one in session.participants)
        return replace(session, participants=people)

    async def begin(
        self,
        tenant: str,
        draft: SessionDraft,
        channel: str = "",
        allowed: AllowedChannels | None = None,
    ) -> Incoming:
        """Begin to take a session in: the one that is there, which stays as it is, else a new one.

        Parameters
        ----------
        channel : that it must be in; empty: in any.
        allowed : the channels that it may be in; None: all.

        Raises
        ------
        NotAllowed
            It would be in another channel than those.
        Conflict
            A session of this id is there, of another owner or in another channel.
        InvalidRequest
            The mode, its configuration, its state or the participants are wrong.
        """
        draft = replace(draft, id=draft.id or secrets.token_hex(16))
        known = await self._sessions.own(tenant, draft.id, draft.space)
        here = draft.channel or channel_of(draft.space, draft.id)
        check_allowed(here if known is None else known.key.channel, allowed, "session.channel")
        if known is None:
            session = await self._sessions.drafted(tenant, draft)
            await self._sessions.tell_members(session, session.participants)
            return Incoming(self, tenant, session, draft)
        if known.owner_id != draft.owner_id:
            raise Conflict("another owner has this session", field="session.owner_id")
        if channel not in ("", known.key.channel):
            raise Conflict("the session is in another channel", field="channel")
        return Incoming(self, tenant, known, None)

    async def take(self, tenant: str, batches: AsyncIterable[ImportBatch]) -> ImportReport:
        """Store the messages of a session that is taken in."""
        return await import_batches(tenant, batches, self._history)

    async def finish(
        self, tenant: str, session: Session, draft: SessionDraft, sequences: Mapping[str, int]
    ) -> Session:
        """Keep a session whose messages are there. `sequences`: by message, the numbers that they had before."""
        places = [
            Place(sequences.get(one.message.id), one.seq) async for one in self.messages(session)
        ]
        people = tuple(moved(one, places) for one in draft.participants)
        draft = replace(draft, channel=session.key.channel, participants=people)
        kept, _ = await self._sessions.create(tenant, draft)
        return kept

    async def fork(
        self, tenant: str, ref: SessionRef, message_id: str, new_id: str
    ) -> tuple[Session, int]:
        """A session with what another one held, up to one of its messages; and how many those are.

        Raises
        ------
        NotFound
            The session has no such message.
        Conflict
            Another session has the new id.
        """
        origin = await self._sessions.fresh(tenant, ref)
        copied, following = await self._up_to(origin, message_id)
        last_id = copied[-1].message.id if copied else ""
        draft = _fork_of(origin, new_id or secrets.token_hex(16), last_id)
        check_allowed(draft.channel, ref.allowed, "new_session_id")
        if message_id:
            draft = await self._as_of(origin, draft, copied[-1], following)
        incoming = await self.begin(tenant, draft, allowed=ref.allowed)
        session = incoming.session
        if session.forked_from != draft.forked_from:
            raise Conflict("another session has this id", field="new_session_id")

        async def batches() -> AsyncIterator[ImportBatch]:
            for start in range(0, len(copied), COPIED_AT_ONCE):
                rows = copied[start : start + COPIED_AT_ONCE]
                messages = [_copied(one.message, session) for one in rows]
                yield ImportBatch(messages, rank_times_ms=[one.rank_time_ms for one in rows])

        await self.take(tenant, batches())
        incoming.sequences.update((one.message.id, one.seq) for one in copied)
        return await incoming.finish(), len(copied)

    async def _as_of(
        self,
        origin: Session,
        draft: SessionDraft,
        said: StoredMessage,
        following: StoredMessage | None,
    ) -> SessionDraft:
        """The draft with who was there at a message, and the state that held then; else its mode begins anew."""
        people = tuple(as_of(one, said.seq) for one in origin.participants)
        held = held_at(origin, await self._sessions.log_of(origin), said, following)
        if held is None:
            return replace(draft, participants=people, mode_state_json="")
        return replace(draft, participants=people, **held._asdict())

    async def _up_to(
        self, session: Session, message_id: str
    ) -> tuple[list[StoredMessage], StoredMessage | None]:
        """The live messages of a session up to this one, without one all of them; and the one behind them."""
        found: list[StoredMessage] = []
        is_found = False
        async for one in self.messages(session):
            if one.state is not MessageState.LIVE:
                continue
            if is_found:
                return found, one
            found.append(one)
            is_found = one.message.id == message_id
        if message_id and not is_found:
            raise NotFound(
                "the session has no such message",
                field="message_id",
                reason=Reason.MESSAGE_NOT_FOUND,
            )
        return found, None


class Incoming:
    """A session that is being taken in.

    Attributes
    ----------
    session : the one that is there, or will be.
    sequences : by message, the numbers that they had where they come from.
    """

    def __init__(
        self, exports: SessionExports, tenant: str, session: Session, draft: SessionDraft | None
    ) -> None:
        self.session = session
        self.sequences: dict[str, int] = {}
        self._exports = exports
        self._tenant = tenant
        self._draft = draft

    async def finish(self) -> Session:
        """Keep the session, where it is not there yet."""
        if self._draft is None:
            return self.session
        return await self._exports.finish(self._tenant, self.session, self._draft, self.sequences)


def _copied(message: Message, session: Session) -> Message:
    return replace(
        message, channel=session.key.channel, session_id=session.id, dedupe_key="", embeddings=()
    )


def _fork_of(origin: Session, id_: str, last_id: str) -> SessionDraft:
    return SessionDraft(
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
        origin.participants,
        mode_state_json=origin.mode_state_json,
        forked_from=ForkOrigin(origin.id, last_id),
        is_complete=True,
    )
