"""Bots that go on talking whatever happens to their server, and remember what was acknowledged."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import Self

from backscroll import Client, Message
from backscroll.errors import Unavailable

AGAIN_S = 0.02
AT_ONCE = 5
NOON_MS = 1_700_000_000_000


class Talkers:
    """So many bots, each with a room of its own, all together at so many messages a second, `AT_ONCE` in a call.

    Attributes
    ----------
    said
        Of each room how many messages were acknowledged: m0, m1, …
    longest_s
        The longest time that one waited for an acknowledgement.
    """

    def __init__(self, address: str, rooms: Sequence[str], rate: float) -> None:
        self._address = address
        self._every_s = AT_ONCE * len(rooms) / rate
        self._is_over = threading.Event()
        self.said = dict.fromkeys(rooms, 0)
        self.longest_s = 0.0
        self.failures: list[Exception] = []
        self._threads = [threading.Thread(target=self._talk, args=(room,)) for room in rooms]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Let each one end its message. Idempotent."""
        self._is_over.set()
        for thread in self._threads:
            thread.join()

    @property
    def total(self) -> int:
        """Messages that were acknowledged."""
        return sum(self.said.values())

    def wait_for(self, more: int, timeout_s: float = 60.0) -> None:
        """Return once so many more are acknowledged."""
        wanted, ends_s = self.total + more, time.monotonic() + timeout_s
        while self.total < wanted:
            assert time.monotonic() < ends_s, f"only {self.total} of {wanted} were acknowledged"
            assert not self.failures, self.failures
            time.sleep(0.01)

    def _talk(self, room: str) -> None:
        try:
            with Client(self._address) as client:
                next_s = time.monotonic()
                while not self._is_over.is_set():
                    if self._say(client, room, self.said[room]):
                        self.said[room] += AT_ONCE
                    next_s = max(next_s + self._every_s, time.monotonic() - 1.0)
                    time.sleep(max(next_s - time.monotonic(), 0.0))
        except Exception as error:  # noqa: BLE001 - told to whoever waits
            self.failures.append(error)

    def _say(self, client: Client, room: str, number: int) -> bool:
        """Whether it was acknowledged, sooner or later; False: nobody waits any more."""
        began_s = time.monotonic()
        said = [
            Message(
                f"{room} m{n}",
                f"u{n % 7}",
                f"message {n} of {room}, which the cat 猫 read",
                NOON_MS + n,
            )
            for n in range(number, number + AT_ONCE)
        ]
        while True:
            try:
                client.append(room, said)
            except Unavailable:
                if self._is_over.wait(AGAIN_S):
                    return False
            else:
                self.longest_s = max(self.longest_s, time.monotonic() - began_s)
                return True
