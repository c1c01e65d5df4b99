"""Messages that come within a moment and become one round."""

from __future__ import annotations

import asyncio

from backscroll_sidecar.sessions.session import Session


class Burst:
    """Messages that come within a moment, and become one round: that of the first."""

    def __init__(self, leader_id: str) -> None:
        self.leader_id = leader_id
        self.message_ids: list[str] = []
        """Of those that joined the first one."""
        self._led: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._closed = asyncio.Event()
        self._settled = asyncio.Event()
        self._joining = 0

    def close(self) -> None:
        """Nobody joins any more."""
        self._closed.set()

    def lead(self, *, is_stored: bool) -> None:
        """The first message is stored, or it never will be. Only the first word counts."""
        if not self._led.done():
            self._led.set_result(is_stored)

    async def is_led(self) -> bool:
        """Whether there is a round to join, once that is known."""
        return await asyncio.shield(self._led)

    async def gathered(self) -> None:
        """Wait until it is closed, and what has joined is stored."""
        await self._closed.wait()
        while self._joining:
            self._settled.clear()
            await self._settled.wait()

    def __enter__(self) -> Burst:
        self._joining += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._joining -= 1
        self._settled.set()


class Bursts:
    """The bursts that are open, one a session. Used on the event loop alone."""

    def __init__(self) -> None:
        self._open: dict[tuple[str, ...], Burst] = {}

    def of(self, session: Session, request_id: str, window_ms: int) -> Burst:
        """The burst of a session that is open; without one a new one, which this request leads."""
        name = (*session.key, session.space, session.id)
        burst = self._open.get(name)
        if burst is None:
            burst = self._open[name] = Burst(request_id)
            asyncio.get_running_loop().call_later(window_ms / 1_000, self._close, name, burst)
        return burst

    def _close(self, name: tuple[str, ...], burst: Burst) -> None:
        if self._open.get(name) is burst:
            del self._open[name]
        burst.close()
