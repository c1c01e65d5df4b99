"""Which cores threads run on: the event loop's may be kept on one, all others run on any of the process.

By default the system moves the loop's thread whenever one of gRPC's stands where it was, and a build that begins with
the caches of another core takes longer. A thread begins where the one that starts it is kept, hence `pool`, or
`run_anywhere`, for all that the loop starts.
"""

from __future__ import annotations

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

CORES: frozenset[int] = (
    frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else frozenset()
)
"""What this process may use; empty where the system does not let threads choose."""

PATIENT, LEAST_PRIORITY = 10, 19
"""How much nicer such a thread is than its process, and the nicest: beside a busy one it gets a tenth of a core."""


def keep_on_core(core: int) -> None:
    """Keep the calling thread on one of `CORES`, and what it starts from now on, unless that may `run_anywhere`."""
    os.sched_setaffinity(0, {core})


def pool(name: str, count: int | None = None) -> ThreadPoolExecutor:
    """Threads for work beside the loop, on any core: `count` at most, or as many as Python thinks right."""
    return ThreadPoolExecutor(count, thread_name_prefix=name, initializer=run_anywhere)


def patient_pool(name: str) -> ThreadPoolExecutor:
    """A thread for long work that nobody waits for: who answers a question comes first."""
    return ThreadPoolExecutor(1, thread_name_prefix=name, initializer=_run_patiently)


def _run_patiently() -> None:
    run_anywhere()
    if sys.platform == "linux":  # elsewhere a priority is of the whole process
        thread = threading.get_native_id()
        niceness = os.getpriority(os.PRIO_PROCESS, thread) + PATIENT
        os.setpriority(os.PRIO_PROCESS, thread, min(LEAST_PRIORITY, niceness))


def run_anywhere() -> None:
    """Let the calling thread run on any core, wherever the one that started it is kept."""
    if CORES:
        os.sched_setaffinity(0, CORES)
