"""Keeps the machine's cores from going to sleep while something is measured."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Self

DEVICE = Path("/dev/cpu_dma_latency")
"""Linux's PM QoS: while a number of microseconds stands in it, idle cores enter no sleep that takes longer to leave."""
NO_SLEEP = (0).to_bytes(4, "little")


def stay_awake() -> bool:
    """Whether cores can be kept awake here: it needs Linux, and mostly root."""
    request = _open()
    if request is None:
        return False
    os.close(request)
    return True


def _open() -> int | None:
    """The device, which asks for nothing yet; None where there is none, or none for us."""
    try:
        return os.open(DEVICE, os.O_WRONLY | os.O_CLOEXEC)
    except OSError:
        return None


class Awake:
    """No core sleeps for as long as the block lasts, or the process: the request ends with the open file.

    A virtual core that sleeps has to be woken by its host, and what is measured then is the host.
    """

    def __init__(self) -> None:
        self._request: int | None = None

    def __enter__(self) -> Self:
        self._request = _open()
        if self._request is not None:
            os.write(self._request, NO_SLEEP)
        return self

    def __exit__(self, *exc: object) -> None:
        if self._request is not None:
            os.close(self._request)
            self._request = None
