"""One form for everything that is logged, ours and the libraries': lines for people or JSON, to standard error.

A log names channels, counts, times and reasons. It never holds a token, a key or the text of a message (S5-52), whoever
writes the line: a library is heard from WARNING on, without the values it puts into its words, and an error is shown by
its kinds and places (`tracebacks`), because its words may quote anything.
"""

from __future__ import annotations

import logging
import re
import sys
from typing import Any, Literal, TextIO

import structlog
from structlog.typing import EventDict, Processor

from backscroll_sidecar.telemetry.tracebacks import told

Level = Literal["debug", "info", "warning", "error"]
Format = Literal["console", "json"]

_OURS = ("backscroll", "backscroll_sidecar", "backscroll_scoring", "backscroll_bench")
"""What these and the loggers below them say is written in this project, and held to the rule above."""
_FIRST_WORDS = re.compile(r"[^\n'\"(<\[{:]*")
"""Of a sentence of asyncio's, what stands before the first value in it."""
_add_extra = structlog.stdlib.ExtraAdder()


def configure(
    level: Level = "info", format: Format = "console", stream: TextIO | None = None
) -> None:
    """Set up logging of the whole process. Later calls replace earlier ones."""
    stream = stream or sys.stderr
    own_level = getattr(logging, level.upper())
    shared: list[Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_log_level,
        structlog.stdlib.add_logger_name,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: Processor
    if format == "json":
        renderer = structlog.processors.JSONRenderer(ensure_ascii=False)
    else:
        renderer = structlog.dev.ConsoleRenderer(
            colors=stream.isatty(), exception_formatter=structlog.dev.plain_traceback
        )
    formatter = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[*shared, _without_values],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            _with_kinds_and_places,
            renderer,
        ],
    )
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    # Levels keep libraries from making lines that nobody sees; the filter holds for those that set their own.
    handler.addFilter(lambda record: _is_ours(record) or record.levelno >= logging.WARNING)
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(max(logging.WARNING, own_level))
    for name in _OURS:
        logging.getLogger(name).setLevel(own_level)
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        # Below the level a call costs nothing: builds are logged on the hot path.
        wrapper_class=structlog.make_filtering_bound_logger(own_level),
        cache_logger_on_first_use=True,
    )


def _is_ours(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] in _OURS


def _without_values(logger: Any, name: str, event: EventDict) -> EventDict:  # noqa: ANN401
    """Let our own lines of the standard library's loggers through; of a library's, what holds no value."""
    record: logging.LogRecord = event["_record"]
    if _is_ours(record):
        return _add_extra(logger, name, event)
    words = ""
    if record.args:
        words = str(record.msg)  # %s stays where a value would be
    elif record.name == "asyncio":
        found = _FIRST_WORDS.match(str(record.msg))
        words = found[0].strip() if found else ""
    event["event"] = words or "a library's line, its words are left out"
    event["place"] = f"{record.filename}:{record.lineno}"
    event.pop("stack_info", None)
    return event


def _with_kinds_and_places(_logger: Any, _name: str, event: EventDict) -> EventDict:  # noqa: ANN401
    """Put an error as its kinds and places."""
    error = event.pop("exc_info", None)
    if error is True:
        error = sys.exc_info()
    if isinstance(error, tuple):
        error = error[1]
    if isinstance(error, BaseException):
        event["exception"] = told(error)
    return event
