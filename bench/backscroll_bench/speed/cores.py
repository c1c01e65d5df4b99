"""The event loops of both sides keep to one core: Backscroll's by its setting, the bench's own servers' from here.

Otherwise a round tells, too, where the system happened to put them. The load generator goes where the system likes.
"""

from __future__ import annotations

from backscroll_sidecar.threads import CORES, keep_on_core

LOOP_CORE: int | None = min(CORES) if len(CORES) > 1 else None
"""None: there is no choice here."""


def keep_loop() -> None:
    """Keep the calling thread, an event loop's, where Backscroll's is kept."""
    if LOOP_CORE is not None:
        keep_on_core(LOOP_CORE)


def setting() -> str:
    """The line of settings that keeps Backscroll's there."""
    return "" if LOOP_CORE is None else f"event_loop_core = {LOOP_CORE}\n"
