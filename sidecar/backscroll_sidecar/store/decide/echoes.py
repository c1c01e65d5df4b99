"""What turns of StreamChat and Chat said, once each, however often it is told. Pure.

An echo is the platform's copy: the bot posted what a turn said and gets it back under an id of the platform's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from backscroll_sidecar.domain import MediaPart, Message, MessageState, Role, TextPart
from backscroll_sidecar.ports import AppendChange
from backscroll_sidecar.store.facts import Facts, MessageRow, Named, Place
from backscroll_sidecar.turn_ids import asked_mark, is_reply, is_said

_LIVE = MessageState.LIVE
ECHO_MS = 600_000
"""So long after it was stored a reply's copy is known as one, by the server's clock."""
_LINK = re.compile(r"!?\[([^\]\n]*)\]\([^()\s]*\)")
_FENCE = re.compile(r"^\s*(```|~~~)[^\n`]*$", re.MULTILINE)
_LINE_MARK = re.compile(r"^\s*(?:#{1,6}\s+|>\s?|[-*+•]\s+)", re.MULTILINE)
_MARKS = re.compile(r"[*_~`\\|]+")


def may_be_echo(message: Message, change: AppendChange) -> bool:
    """Whether a message that is appended may be one: the bot's words, told by somebody other than the turn itself."""
    return message.role is Role.ASSISTANT and change.turn is None and not message.is_partial


def spoken(message: Message) -> str:
    """What people read of a message wherever it is shown: its words, without marks of Markdown and blank space.

    Empty where there is nothing to compare, or a picture or a file is part of it.
    """
    if any(isinstance(part, MediaPart) for part in message.parts):
        return ""
    text = "\n".join(part.text for part in message.parts if isinstance(part, TextPart))
    plain = _LINE_MARK.sub("", _FENCE.sub("", _LINK.sub(r"\1", text)))
    return "".join(_MARKS.sub("", plain).split())


class EchoWatch:
    """What turns said, as far as one run knows of it. `rows` are the rows known so far."""

    def __init__(self, facts: Facts, rows: Mapping[Named, MessageRow]) -> None:
        self._rows = rows
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
        record = self._rows.get((*here, first))
        return "" if record is not None and record.stored.state is not _LIVE else first

    def echoed_early(self, here: Place, message: Message) -> MessageRow | None:
        """The platform's copy of this reply, where that came first: the same words to the same message."""
        reply = message.reply
        if reply is None or message.is_partial or not is_reply(message.id):
            return None
        words = spoken(message)
        for row in self._early.get((*here, reply.message_id, message.author.id), ()):
            now = self._rows.get((*here, row.stored.message.id), row)
            if words and now.stored.state is _LIVE and spoken(now.stored.message) == words:
                return now
        return None

    def note_early(self, here: Place, record: MessageRow) -> None:
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

    def echoed(self, here: Place, change: AppendChange, message: Message) -> MessageRow | None:
        """The row this is a copy of: the oldest with these words that no copy came of."""
        if not may_be_echo(message, change) or not (words := spoken(message)):
            return None
        for row in self._said.get((*here, message.author.id), ()):
            now = self._rows.get((*here, row.stored.message.id), row)
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

    def note(self, here: Place, record: MessageRow) -> None:
        """A turn stored a row."""
        message = record.stored.message
        if not is_said(message.id):
            return
        self._said.setdefault((*here, message.author.id), []).append(record)
        if is_reply(message.id):
            self.note_answer(here, message, message.id)
