"""What a store with files needs done beside answering."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Status = Literal["ok", "warn", "fail"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of what `doctor` says. `advice` says what to do unless it is ok."""

    name: str
    status: Status
    detail: str
    advice: str = ""


class Maintenance(Protocol):
    """The files of a store. Both works raise `BackscrollError` where they cannot be done now."""

    async def empty_log(self) -> None:
        """Write the log into the database and empty it."""

    async def wipe(self) -> None:
        """Leave no byte of what was deleted since the last time, before a crash included; cheap where nothing was."""

    def interrupt(self) -> None:
        """Break off `wipe`, which fails; it is begun again the next time."""
