"""What was erased after a backup was made goes from what is restored of it, too. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import EraseChange


class Erasure(Protocol):
    """One erasure: messages, a user of a channel or of all channels, a channel, a tenant."""

    @property
    def tenant(self) -> str: ...
    @property
    def channel(self) -> str: ...
    @property
    def user_id(self) -> str: ...
    @property
    def message_ids(self) -> Sequence[str]: ...
    @property
    def all_channels(self) -> bool: ...
    @property
    def whole_tenant(self) -> bool: ...
    @property
    def erased_at_ms(self) -> int: ...


class Erased(NamedTuple):
    """What an erasure took out of a restored database: rows by part, as in the receipt of an erasure."""

    erasure: Erasure
    counts: Mapping[str, int]


class Received(NamedTuple):
    """A message, and when it came."""

    message_id: str
    at_ms: int


def change_of(erasure: Erasure, channel: str, received: Iterable[Received]) -> EraseChange | None:
    """What an erasure takes from one channel as it stands in a backup; None: nothing.

    `received` are the messages it may reach. Whoever or whatever has come back since stays: then what came until the
    erasure goes, message by message.
    """
    key = ChannelKey(erasure.tenant, channel)
    if erasure.message_ids:
        return EraseChange(key, tuple(erasure.message_ids), "", erasure.erased_at_ms)
    received = list(received)
    before = tuple(one.message_id for one in received if one.at_ms <= erasure.erased_at_ms)
    if len(before) == len(received):
        return EraseChange(key, (), erasure.user_id, erasure.erased_at_ms)
    return EraseChange(key, before, "", erasure.erased_at_ms) if before else None


def summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Rows by part, of several channels; parts of which nothing went are left out."""
    total: dict[str, int] = {}
    for one in counts:
        for part, count in one.items():
            if count:
                total[part] = total.get(part, 0) + count
    return total
