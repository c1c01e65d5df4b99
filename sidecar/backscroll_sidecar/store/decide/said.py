"""What turns of StreamChat and Chat said: once each, however often it is told. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from backscroll_sidecar.domain import Message, MessageState, Role
from backscroll_sidecar.ports import AppendChange
from backscroll_sidecar.store.decide.echoes import ECHO_MS, may_be_echo, spoken
from backscroll_sidecar.store.facts import Facts, Named, Place, Record
from backscroll_sidecar.turn_ids import asked_mark, is_reply, is_said

_LIVE = MessageState.LIVE


class Said:
    """What is known of it in one run. `records` are the rows known so far."""

    def __init__(self, facts: Facts, records: Mapping[Named, Record]) -> None:
        self._records = records
        self._said = {who: list(rows) for who, rows in facts.said.items()}
        self._answers = dict(facts.answers)
        self._early = {what: list(rows) for what, rows in facts.early.items()}

    def first_answer(self, here: Place, message: Message) -> str:
        """The id of the whole reply another turn stored to the same question, if this is one; empty: there is none."""
        reply = message.reply
        if reply is None or not is_reply(message.id):
            return ""
        answered = (*here, reply.message_id, message.author.id, asked_mark(message.id))
        first = self._answers.get(answered, "")
        record = self._records.get((*here, first))
        return "" if record is not None and record.stored.state is not _LIVE else first

    def echoed_early(self, here: Place, message: Message) -> Record | None:
        """The platform's copy of this reply, where that came first: the same words to the same message."""
        reply = message.reply
        if reply is None or message.is_partial or not is_reply(message.id):
            return None
        words = spoken(message)
        for row in self._early.get((*here, reply.message_id, message.author.id), ()):
            now = self._records.get((*here, row.stored.message.id), row)
            if words and now.stored.state is _LIVE and spoken(now.stored.message) == words:
                return now
        return None

    def note_early(self, here: Place, record: Record) -> None:
        """Somebody else told what a bot said."""
        message = record.stored.message
        if message.reply is not None and message.role is Role.ASSISTANT:
            what = (*here, message.reply.message_id, message.author.id)
            self._early.setdefault(what, []).append(record)

    def note_answer(self, here: Place, message: Message, answer_id: str) -> None:
        """The whole reply of a turn is stored as this row."""
        if message.reply is not None:
            what = (*here, message.reply.message_id, message.author.id, asked_mark(message.id))
            self._answers[what] = answer_id

    def echoed(self, here: Place, change: AppendChange, message: Message) -> Record | None:
        """The row this is a copy of: the oldest with these words that no copy came of."""
        if not may_be_echo(message, change) or not (words := spoken(message)):
            return None
        for row in self._said.get((*here, message.author.id), ()):
            now = self._records.get((*here, row.stored.message.id), row)
            if (
                now.stored.state is _LIVE
                and abs(change.received_at_ms - row.received_at_ms) <= ECHO_MS
                and spoken(now.stored.message) == words
            ):
                return now
        return None

    def note_alias(self, here: Place, message_id: str) -> None:
        """A copy came, or somebody told of it."""
        for who, rows in self._said.items():
            if who[:2] == here:
                self._said[who] = [row for row in rows if row.stored.message.id != message_id]

    def note(self, here: Place, record: Record) -> None:
        """A turn stored a row."""
        message = record.stored.message
        if not is_said(message.id):
            return
        self._said.setdefault((*here, message.author.id), []).append(record)
        if is_reply(message.id):
            self.note_answer(here, message, message.id)
