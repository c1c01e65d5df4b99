"""The messages of rounds: what a request says, as it is stored or will be."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from backscroll_sidecar.domain import AppendOutcome, AppendResult, Message, StoredMessage
from backscroll_sidecar.errors import (
    BackscrollError,
    Conflict,
    Gone,
    InvalidRequest,
    NotFound,
    Reason,
)
from backscroll_sidecar.history.service import HistoryService
from backscroll_sidecar.ports import Clock, HistoryReader, RecordChange
from backscroll_sidecar.rooms.preparing import Preparing
from backscroll_sidecar.rooms.round_events import RoundRequest
from backscroll_sidecar.rooms.round_record import round_id
from backscroll_sidecar.rooms.tables import play_of
from backscroll_sidecar.sessions.modes.registry import Modes
from backscroll_sidecar.sessions.session import Session

KEPT = (AppendOutcome.STORED, AppendOutcome.DUPLICATE)


class SaidMessages:
    """Finds and stores what is said in rounds. Safe from any task of one event loop."""

    def __init__(
        self,
        preparing: Preparing,
        reader: HistoryReader,
        history: HistoryService,
        modes: Modes,
        clock: Clock,
    ) -> None:
        self._preparing = preparing
        self._reader = reader
        self._history = history
        self._modes = modes
        self._clock = clock

    async def message_of(
        self, session: Session, request: RoundRequest, request_id: str
    ) -> tuple[Message | None, bool]:
        """The message in its channel, and whether it is stored already: then the request names it alone."""
        given = request.message
        if given is None:
            play = play_of(session, self._modes)
            if play.waiting() is None:
                raise InvalidRequest(
                    "message is unset, and the mode waits for nobody",
                    field="message",
                    reason=Reason.QUESTION_MISSING,
                )
            return None, True
        if given.id and not given.parts:
            stored = await self.stored(session, given.id)
            if stored is None or stored.message.session_id not in ("", session.id):
                raise NotFound(
                    "message.id names no message of the session",
                    field="message.id",
                    reason=Reason.MESSAGE_NOT_FOUND,
                )
            return stored.message, True
        if given.id and (stored := await self.stored(session, given.id)) is not None:
            known = stored.message
            if (known.author.id, known.text) == (given.author.id, given.text):
                return known, True
        made_id = f"{round_id(session, request_id)}:message"
        message = replace(
            given,
            id=given.id or made_id,
            channel=session.key.channel,
            session_id=session.id,
            sent_at_ms=given.sent_at_ms or self._clock.now_ms(),
        )
        return await self._preparing.answered_author(session, message), False

    async def stored(self, session: Session, message_id: str) -> StoredMessage | None:
        """A message of the session's channel that is there with its content."""
        found = (await self._reader.get_messages(session.key, [message_id])).get(message_id)
        return None if found is None or not found.message.parts else found

    async def append(
        self, session: Session, messages: Sequence[Message], *, records: Sequence[RecordChange]
    ) -> Sequence[AppendResult]:
        """Store messages with what goes along, all or nothing of it. Raises where a message is not taken."""
        results = await self._history.append(session.key, messages, records=records)
        for result in results:
            if result.outcome not in KEPT:
                raise _not_stored(result.outcome, result.field)
        return results


def _not_stored(outcome: AppendOutcome, field: str) -> BackscrollError:
    if outcome is AppendOutcome.GONE:
        return Gone("the message was recalled or erased", field="message.id")
    if outcome is AppendOutcome.CONFLICT:
        return Conflict("message.id is taken by another message", field="message.id")
    return InvalidRequest("the message cannot be stored", field=f"message.{field}")
