"""Keeps the machine's cores from going to sleep while something is measured."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Self

_SPIN = """
import os
os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
while os.getppid() == {parent}:
    for _ in range(1_000_000):
        pass
"""


class Awake:
    """One process a core, for as long as the block lasts, that runs only when nobody else wants to (SCHED_IDLE).

    A virtual core that sleeps has to be woken by its host, and the host takes its time: on the machine this was written
    on, with 1,000 streams, a minute of load lost 90 s of its two cores so (`steal` of /proc/stat), and two seconds with
    this. What is measured then is the host. Elsewhere, and where the system has no such class, it does nothing.
    """

    def __init__(self) -> None:
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Self:
        if hasattr(os, "SCHED_IDLE"):
            command = [sys.executable, "-c", _SPIN.format(parent=os.getpid())]
            self._processes = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
        return self

    def __exit__(self, *exc: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()
