"""Long work in threads beside an event loop: by itself Python lets the loop wait 5 ms for the interpreter each time."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SWITCH_S = 0.0005
"""What a callback of the loop waits at most while such work runs, but for the longest call into C."""

ROOM_BYTES = 8 << 20
"""What the load of a channel of some 10,000 messages asks for in each of its two threads, and a little more."""

_lock = threading.Lock()
_running = 0
_usual_s = sys.getswitchinterval()


def make_room() -> None:
    """Have memory ready in this thread: the first load of a channel must not wait for the kernel, page by page.

    10,000 messages are 2,700 pages, some 2 µs each. The allocator keeps what is given back for the thread that had it,
    but for a block so large as none before: hence twice.
    """
    for _ in range(2):
        _ = b"\1" * ROOM_BYTES


@contextmanager
def in_background() -> Iterator[None]:
    """Threads take turns every `SWITCH_S` while any thread is in such a block."""
    global _running, _usual_s  # noqa: PLW0603 - the interpreter has one such number, too
    with _lock:
        if _running == 0:
            _usual_s = sys.getswitchinterval()
            sys.setswitchinterval(min(_usual_s, SWITCH_S))
        _running += 1
    try:
        yield
    finally:
        with _lock:
            _running -= 1
            if _running == 0:
                sys.setswitchinterval(_usual_s)
