"""What was erased after a backup was made goes from what is restored of it, too. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from backscroll_sidecar.ports import EraseChange


class Erasure(Protocol):
    """One erasure, as `history.tombstones` has it: what it does is worked out there, for a server and for a backup."""

    @property
    def tenant(self) -> str: ...
    @property
    def user_id(self) -> str: ...
    @property
    def is_of_tenant(self) -> bool: ...
    @property
    def erased_at_ms(self) -> int: ...
    def changes(self, channels: Sequence[str] = ()) -> Sequence[EraseChange]: ...


class Received(NamedTuple):
    """A message, and when it came."""

    message_id: str
    at_ms: int


def of_then(change: EraseChange, received: Iterable[Received]) -> EraseChange | None:
    """What a change takes from a channel as it stands in a backup; None: nothing.

    `received` are the messages it may reach. Whoever or whatever has come back since stays: then what came until the
    erasure goes, message by message.
    """
    received = list(received)
    before = tuple(one.message_id for one in received if one.at_ms <= change.at_ms)
    if change.message_ids or len(before) == len(received):
        return change
    return replace(change, message_ids=before, user_id="") if before else None
