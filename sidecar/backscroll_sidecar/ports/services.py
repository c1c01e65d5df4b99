"""Small services the core is handed: the time, the wire form of a message, a place for events."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from backscroll_sidecar.domain import (
    ChannelKey,
    ChannelSettings,
    Event,
    Mention,
    Part,
    Readable,
    StoredMessage,
)
from backscroll_sidecar.ports.changes import Applied, Change, TurnMark
from backscroll_sidecar.ports.usage import UsageRecord


class Clock(Protocol):
    """Tells the time. Injected wherever a time is needed."""

    def now_ms(self) -> int:
        """Wall clock, milliseconds since the epoch."""

    def monotonic_s(self) -> float:
        """Seconds of a clock that never goes back."""


class FragmentCodec(Protocol):
    """Encodes at append what a reply will carry, so that a request only joins bytes.

    Attributes
    ----------
    version : str
        Names the encoding. What was encoded under another name is encoded again.
    """

    version: str

    def encode(self, stored: StoredMessage) -> bytes:
        """The wire form of one message: the serialised `backscroll.v1.Message`."""

    def parts(self, fragment: bytes) -> Sequence[Part]:
        """The parts of the message whose wire form this is."""

    def mentions(self, fragment: bytes) -> Sequence[Mention]:
        """The people that message marks as mentioned."""

    def sent_at_ms(self, fragment: bytes) -> int:
        """When that message was sent, as its sender says."""

    def answering(self, fragment: bytes, user_id: str) -> bytes:
        """The same, saying who wrote the stored message that its sender's edge leads to; without one as it is."""


class EventSink(Protocol):
    """Takes events and counts what it must drop; never blocks, never raises."""

    def emit(
        self,
        key: ChannelKey,
        context_id: str,
        events: Sequence[Event],
        turn: TurnMark | None = None,
    ) -> None:
        """Queue events to be recorded; of a turn that lost what it read (`TurnMark`) none are."""


class ChangeWriter(Protocol):
    """Makes changes durable, one after the other (`history.writer`)."""

    @property
    def erasures_seen(self) -> int:
        """See `TurnMark`."""

    def submit(self, change: Change, deadline_s: float | None = None) -> Awaitable[Applied]:
        """Make one change durable and return what it did."""

    def offer(self, change: Change) -> bool:
        """Queue a change that nobody waits for; False: there is no room."""

    async def settled(self) -> None:
        """Return once everything that is queued by now is committed, or has failed."""


class StoredChannelSettings(Protocol):
    """Where it is known what is set for a channel."""

    def known(self, key: ChannelKey) -> ChannelSettings | None:
        """What is set, else the usual; None: it must be read."""

    async def read(self, key: ChannelKey) -> ChannelSettings:
        """The same, read. Raises `StoreUnavailable`."""

    async def readable(self, key: ChannelKey) -> Readable:
        """The channels whose lines this one may show beside its own. Raises `StoreUnavailable`."""


class UsageSink(Protocol):
    """Takes builds to be recorded and counts what it must drop; never blocks, never raises."""

    @property
    def erasures_seen(self) -> int:
        """As the writer counts them, for `TurnMark`: to be asked before a build reads its channel."""

    def note(
        self, key: ChannelKey, context_id: str, make: Callable[[], UsageRecord], since: int
    ) -> None:
        """Queue a build. `make` is called later, in another thread; `since`: `erasures_seen` as the build began."""

    async def push(self, context_id: str) -> None:
        """Have the writer take this build before whatever comes next, if it is still queued."""
