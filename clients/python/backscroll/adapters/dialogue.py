"""The messages of one person and one bot, for frameworks that know of nobody else."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from backscroll._encode import enum_name
from backscroll.v1 import message_pb2
from backscroll.values import Author, Message, Part, RoleName

_SYSTEM = Author("system", kind="system")


@dataclass(slots=True)
class Dialogue:
    """Makes messages, each of a later millisecond than the one before."""

    asker: Author
    bot: Author
    _newest_ms: int = 0

    def message(self, role: RoleName, parts: Sequence[Part], id: str | None = None) -> Message:
        """Make a message of whoever has that role; what a tool says is the bot's."""
        author = {"user": self.asker, "system": _SYSTEM}.get(role, self.bot)
        self._newest_ms = max(self._newest_ms + 1, time.time_ns() // 1_000_000)
        id = id or str(uuid.uuid4())
        return Message(id, author, None, self._newest_ms, parts=parts, role=role)


def role_of(message: message_pb2.Message) -> str:
    """Name the role of a stored message."""
    return enum_name(message_pb2.Role.DESCRIPTOR, message.role)
