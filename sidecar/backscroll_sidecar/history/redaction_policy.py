"""Which messages are redacted, and where that is done: a long text leaves the event loop."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor

from backscroll_sidecar.concurrency import offload
from backscroll_sidecar.concurrency.time_slicing import LoopSlices
from backscroll_sidecar.domain import ChannelKey, Message, RedactionKind
from backscroll_sidecar.history.redaction import redacted, redacted_text
from backscroll_sidecar.ports import StoredChannelSettings

MESSAGE_US = 10
US_PER_CHAR = 0.2


class Redaction:
    """Redacts messages as their channel or the server wants it. Safe from any task of one event loop."""

    def __init__(
        self,
        usual: Sequence[RedactionKind],
        channel_settings: StoredChannelSettings | None,
        executor: Executor | None = None,
    ) -> None:
        self._usual = tuple(usual)
        self._channel_settings = channel_settings
        self._executor = executor

    async def of(self, key: ChannelKey, messages: Sequence[Message]) -> Sequence[Message]:
        """The messages as they may be stored. Raises `StoreUnavailable`: what may be stored is not known."""
        kinds = await self._kinds(key)
        if not kinds:
            return messages
        slices = LoopSlices()
        changed: list[Message] = []
        for message in messages:
            cost_us = MESSAGE_US + US_PER_CHAR * len(message.text)
            await slices.spend(min(cost_us, offload.INLINE_US))
            changed.append(await self._redacted(message, kinds, cost_us))
        return changed

    async def of_text(self, key: ChannelKey, text: str) -> str:
        """The same of a text that is kept beside a channel's messages."""
        kinds = frozenset(await self._kinds(key)) if text else frozenset()
        if not kinds:
            return text
        cost_us = MESSAGE_US + US_PER_CHAR * len(text)
        return await offload.run(cost_us, lambda: redacted_text(text, kinds), self._executor)

    async def _redacted(
        self, message: Message, kinds: Sequence[RedactionKind], cost_us: float
    ) -> Message:
        return await offload.run(cost_us, lambda: redacted(message, kinds), self._executor)

    async def _kinds(self, key: ChannelKey) -> Sequence[RedactionKind]:
        stored = self._channel_settings
        if stored is None:
            return self._usual
        settings = stored.known(key)
        if settings is None:
            settings = await stored.read(key)
        return self._usual if settings.redaction is None else settings.redaction


NO_REDACTION = Redaction((), None)
