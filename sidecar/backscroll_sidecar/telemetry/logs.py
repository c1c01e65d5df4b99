"""One form for everything that is logged, ours and the libraries': lines for people or JSON, to standard error.

A log names channels, counts, times and reasons. It never holds the text of a message, a token or a key (S5-52).
Libraries' debug lines do, headers and bodies among them: those are never written, whatever the level.
"""

from __future__ import annotations

import logging
import sys
from typing import Literal, TextIO

import structlog
from structlog.typing import Processor

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["console", "json"]

_OURS = ("backscroll", "backscroll_bench", "backscroll_scoring", "backscroll_sidecar")
"""Loggers whose debug lines are written: those of our packages, and the one of calls."""
_NOISY = (
    "numba",
    "asyncio",
    "grpc",
    "openai",
    "httpx",
    "httpcore",
    "httpx2",
    "httpcore2",
    "hpack",
    "aiosqlite",
)
"""Libraries whose info lines say nothing about us, or too much."""


def configure(
    level: Level = "info", format: Format = "console", stream: TextIO | None = None
) -> None:
    """Set up logging of the whole process. Later calls replace earlier ones."""
    stream = stream or sys.stderr
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: Processor
    if format == "json":
        # Without the locals of each frame: they hold texts of messages.
        frames = structlog.tracebacks.ExceptionDictTransformer(show_locals=False)
        shared.append(structlog.processors.ExceptionRenderer(frames))
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        renderer = structlog.dev.ConsoleRenderer(
            colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=shared,
        processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, renderer],
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    least = logging.getLevelNamesMapping()[level.upper()]
    root.setLevel(max(logging.INFO, least))
    for name in _OURS:
        logging.getLogger(name).setLevel(least)
    for name in _NOISY:
        logging.getLogger(name).setLevel(max(logging.WARNING, least))
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        # Below the level a call costs nothing: builds are logged on the hot path.
        wrapper_class=structlog.make_filtering_bound_logger(least),
        cache_logger_on_first_use=True,
    )
