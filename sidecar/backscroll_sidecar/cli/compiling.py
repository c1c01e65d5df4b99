"""Progress of the kernels that numba compiles on import. Import it after `prepare_process`."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from numba.core import config, event
from numba.core.dispatcher import Dispatcher

from backscroll_sidecar.cli import service_manager
from backscroll_sidecar.kernel_cache import kernel_count

log = logging.getLogger("backscroll.serve")

SAID_EVERY = 10
"""Kernels between two lines of a log; a terminal is told of each."""
BAR_COLUMNS = 30
_SCORING = "backscroll_scoring."


class Compiling(event.Listener):
    """Tells of kernels that are not in the cache.

    Parameters
    ----------
    directory : where compiled ones are kept.
    terminal : a line there counts every kernel; None: lines of the log count some.
    """

    def __init__(self, directory: Path, terminal: TextIO | None) -> None:
        self._directory = directory
        self._terminal = terminal
        self._total = 0
        self._first_s = 0.0

    def on_start(self, event: Any) -> None:  # noqa: ANN401 - numba's own
        """Numba begins to compile a function: a kernel, or a part of one."""
        if not _is_kernel(event.data.get("dispatcher")):
            return
        number = _defined() + 1
        service_manager.starting(f"compiles kernel {number}, this once")
        if not self._total:
            self._total = kernel_count()
            self._first_s = time.monotonic()
            log.info(
                "compiling kernels, this once: a minute or more, then it serves",
                extra={"directory": str(self._directory), "kernels": self._total},
            )
        if self._terminal is not None:
            self._show(number)
        elif number % SAID_EVERY == 0:
            log.info("compiling kernel %d of %d", number, self._total)

    def on_end(self, event: Any) -> None:  # noqa: ANN401
        """Nothing to say: the next one begins, or `close` is called."""

    def close(self) -> None:
        """All are there."""
        if not self._total:
            return
        count = _defined()
        if self._terminal is not None:
            self._show(count)
            self._terminal.write("\n")
        seconds = round(time.monotonic() - self._first_s, 1)
        log.info("kernels are compiled", extra={"kernels": count, "seconds": seconds})

    def _show(self, number: int) -> None:
        """Not a library's bar: it would hide the cursor, and an interrupt ends the process at once."""
        assert self._terminal is not None
        done = BAR_COLUMNS * number // self._total
        bar = "#" * done + "." * (BAR_COLUMNS - done)
        self._terminal.write(f"\rcompiling kernels [{bar}] {number:3} of {self._total}")
        self._terminal.flush()


@contextmanager
def into(directory: Path) -> Iterator[None]:
    """Keep what the block compiles in this directory, even if numba was imported before with another one."""
    settings = vars(config)  # numba makes them as it is imported: mypy knows none
    before, settings["CACHE_DIR"] = settings["CACHE_DIR"], str(directory)
    try:
        yield
    finally:
        settings["CACHE_DIR"] = before


@contextmanager
def said(directory: Path) -> Iterator[None]:
    """Tell within the block what is compiled, which may take a minute."""
    listener = Compiling(directory, sys.stderr if sys.stderr.isatty() else None)
    event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        event.unregister("numba:compile", listener)  # type: ignore[no-untyped-call]
        listener.close()


def _defined() -> int:
    """How many kernels are imported by now, compiled just now or before."""
    modules = [one for name, one in list(sys.modules.items()) if name.startswith(_SCORING)]
    return len({id(one) for module in modules for one in vars(module).values() if _is_kernel(one)})


def _is_kernel(one: object) -> bool:
    """A part of kernels has no wrapper for Python."""
    return isinstance(one, Dispatcher) and "no_cpython_wrapper" not in one.targetoptions
