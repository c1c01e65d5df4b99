"""What systemd is told of a start, a stop and a life in between, where it asks: a unit with ``Type=notify``.

It asks by a datagram socket that `NOTIFY_SOCKET` names (sd_notify(3)). Without that variable nothing is said. A manager
that has gone away is no reason to stop: what cannot be said is dropped.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

EXTENDED_S = 60
"""A start that compiles asks for so much more time with each kernel: less than that a single one takes."""


def is_there() -> bool:
    """Whether a manager asks to be told."""
    return os.environ.get("NOTIFY_SOCKET", "").startswith(("/", "@"))


def notify(**states: str | int) -> None:
    """Tell the manager: ``notify(READY=1, STATUS="serves")``. A line each, so texts must have none of their own."""
    if not is_there():
        return
    path = os.environ["NOTIFY_SOCKET"]
    address = "\0" + path[1:] if path.startswith("@") else path  # @: an abstract name
    told = "\n".join(f"{name}={value}" for name, value in states.items())
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as to:
        to.connect(address)
        to.sendall(told.encode())


def starting(status: str) -> None:
    """A long start goes on: say with what, and that it is not stuck."""
    notify(STATUS=status, EXTEND_TIMEOUT_USEC=EXTENDED_S * 1_000_000)


@asynccontextmanager
async def served(status: str) -> AsyncIterator[None]:
    """Ready within the block, and alive: the loop says so twice in each `WatchdogSec`. Then stopping."""
    notify(READY=1, STATUS=status)
    watched_s = _watchdog_s()
    living = asyncio.create_task(_live(watched_s / 2)) if watched_s else None
    try:
        yield
    finally:
        notify(STOPPING=1, STATUS="lets running calls end")
        if living is not None:
            living.cancel()
            await asyncio.wait((living,))


async def _live(every_s: float) -> None:
    while True:
        notify(WATCHDOG=1)
        await asyncio.sleep(every_s)


def _watchdog_s() -> float:
    """In what time the manager wants a sign of life; 0: it wants none, or not from this process."""
    is_ours = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
    try:
        return int(os.environ.get("WATCHDOG_USEC", "0")) / 1e6 if is_ours else 0.0
    except ValueError:
        return 0.0
