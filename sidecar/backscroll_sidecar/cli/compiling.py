"""Say that kernels are compiled, which numba does when they are imported. Imports numba: after `prepare_process`."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from numba.core import event

log = logging.getLogger("backscroll.serve")


class SayOnce(event.Listener):
    """Logs the first kernel that is not in the cache: at the first start all of them, after an upgrade some."""

    def __init__(self, directory: Path) -> None:
        self._directory: Path | None = directory

    def on_start(self, event: Any) -> None:  # noqa: ANN401, ARG002 - numba's own
        """Numba begins to compile a function."""
        directory, self._directory = self._directory, None
        if directory is not None:
            log.info(
                "compiling kernels, this once: a minute or more, then it serves",
                extra={"directory": str(directory)},
            )

    def on_end(self, event: Any) -> None:  # noqa: ANN401
        """Nothing to say."""


def say_when_compiling(directory: Path) -> None:
    """Compiling takes so long that somebody would think it hangs."""
    event.register("numba:compile", SayOnce(directory))  # type: ignore[no-untyped-call]
