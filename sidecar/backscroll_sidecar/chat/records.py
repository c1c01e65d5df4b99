"""What a turn leaves in the history: question, tool rounds, reply, and the turn itself while it lasts."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Protocol

from backscroll_sidecar.chat.turns import Turn, decode_turn, encode_turn
from backscroll_sidecar.domain import (
    MAX_TEXT_BYTES,
    AppendOutcome,
    AppendResult,
    Author,
    AuthorKind,
    ChannelKey,
    Message,
    Part,
    RefusalCode,
    Reply,
    Role,
    TextPart,
    ToolResultPart,
)
from backscroll_sidecar.errors import BackscrollError, Conflict, InvalidRequest, Reason
from backscroll_sidecar.ports import Applied, Change, Clock, HistoryReader, TurnChange

KEPT = {AppendOutcome.STORED, AppendOutcome.DUPLICATE}


class Appender(Protocol):
    """The part of the history service a turn writes through."""

    async def append(self, key: ChannelKey, messages: Sequence[Message]) -> Sequence[AppendResult]:
        """Store a batch of one channel; durable when it returns."""


class Changes(Protocol):
    """The part of the writer a turn is kept through."""

    async def submit(self, change: Change, deadline_s: float | None = None) -> Applied:
        """Make one change durable."""


class ChatHistory:
    """Writes what turns leave behind. Ids are made from the turn's, so a retry stores nothing twice (law 1)."""

    def __init__(
        self, history: Appender, writer: Changes, reader: HistoryReader, clock: Clock
    ) -> None:
        self._history = history
        self._writer = writer
        self._reader = reader
        self._clock = clock

    async def save_question(
        self, key: ChannelKey, message_id: str, asker: Author, text: str, asked_at_ms: int
    ) -> None:
        """Store a question that came without a trigger; a retry under the same id is a duplicate, at any time."""
        question = Message(message_id, key.channel, asker, (TextPart(text),), asked_at_ms)
        (result,) = await self._history.append(key, [question])
        if result.outcome is AppendOutcome.CONFLICT and not await self._is_stored(key, question):
            raise Conflict(
                "question_message_id is taken by another message", field="question_message_id"
            )
        if result.outcome is AppendOutcome.REFUSED:
            raise InvalidRequest(
                f"the question cannot be stored: {result.refusal}", field=f"context.{result.field}"
            )

    async def _is_stored(self, key: ChannelKey, question: Message) -> bool:
        """Whether the id holds the same words of the same person, said earlier."""
        found = (await self._reader.get_messages(key, [question.id])).get(question.id)
        return found is not None and (
            found.message.author.id == question.author.id and found.message.text == question.text
        )

    async def save_reply(self, turn: Turn, text: str, *, is_partial: bool) -> str:
        """Store the reply once and return its id.

        Raises
        ------
        BackscrollError
            The store did not take it.
        """
        # The round may be tried again after a partial one: each has an id of its own, the whole reply has the turn's.
        name = f"partial:{uuid.uuid4().hex[:12]}" if is_partial else "reply"
        message_id = f"{turn.id}:{name}"
        reply = self._line(turn, message_id, (TextPart(text),), is_partial=is_partial)
        (result,) = await self._history.append(turn.key, [reply])
        if result.outcome not in KEPT:
            raise _not_kept(result)
        return message_id

    async def save_round(self, turn: Turn, results: Sequence[ToolResultPart]) -> None:
        """Store the calls of a round and their results in one batch: never one without the other."""
        call_id = f"{turn.id}:calls:{turn.iteration}"
        now_ms = self._clock.now_ms()
        names = {call.id: call.name for call in turn.calls}
        said = (TextPart(turn.reply_text),) if turn.reply_text else ()
        rows = [self._line(turn, call_id, (*said, *turn.calls))]
        rows += [
            Message(
                f"{turn.id}:result:{turn.iteration}:{place}",
                turn.key.channel,
                Author(turn.self_id, kind=AuthorKind.BOT),
                (ToolResultPart(one.call_id, names[one.call_id], one.text, one.is_error),),
                now_ms,
                Role.TOOL,
                reply=Reply(call_id),
            )
            for place, one in enumerate(results)
        ]
        if any(len(row.text.encode()) > MAX_TEXT_BYTES for row in rows):
            raise InvalidRequest("a round is too large to be stored", reason=Reason.TOO_LARGE)
        await self._history.append(turn.key, rows)

    async def keep(self, turn: Turn) -> None:
        """Keep the turn for its lifetime."""
        await self._writer.submit(
            TurnChange(
                turn.key, turn.id, encode_turn(turn), turn.expires_at_ms, self._clock.now_ms()
            )
        )

    async def find(self, tenant: str, turn_id: str) -> Turn | None:
        """The turn, if it is kept and has not expired."""
        found = await self._reader.turn(tenant, turn_id, self._clock.now_ms())
        return decode_turn(found[1]) if found else None

    def _line(
        self, turn: Turn, message_id: str, parts: Sequence[Part], *, is_partial: bool = False
    ) -> Message:
        return Message(
            message_id,
            turn.key.channel,
            Author(turn.self_id, kind=AuthorKind.BOT),
            tuple(parts),
            self._clock.now_ms(),
            Role.ASSISTANT,
            reply=Reply(turn.question_message_id) if turn.question_message_id else None,
            is_partial=is_partial,
        )


def _not_kept(result: AppendResult) -> BackscrollError:
    if result.outcome is AppendOutcome.REFUSED:
        too_large = result.refusal is RefusalCode.TEXT_TOO_LARGE
        return InvalidRequest(
            f"the reply cannot be stored: {result.refusal}",
            reason=Reason.TOO_LARGE if too_large else None,
        )
    return Conflict("the reply's id is taken or gone")
