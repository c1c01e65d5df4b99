"""An error as kinds and places: what is logged of it.

Its words are left out unless they are known to quote nothing: those of parsers, codecs and clients repeat the text, the
header or the body they failed on.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from backscroll_sidecar.errors import BackscrollError

MAX_ERRORS = 16
"""So many errors of one chain are told."""


def told(error: BaseException) -> str:
    """The frames and the kind of an error and of those behind it, the first one first.

    Frames name file, line, function and the line of code; never a value.
    """
    parts: list[str] = []
    for one, how in reversed(list(_chain(error))):
        frames = "".join(traceback.format_tb(one.__traceback__))
        parts.append(f"{frames}{_kind(one)}{how}")
    return "\n".join(parts)


def _chain(error: BaseException) -> Iterator[tuple[BaseException, str]]:
    """The error and what is behind it, the last one first; each with what it led to."""
    found: list[tuple[BaseException, str]] = [(error, "")]
    seen = {id(error)}
    while found and len(seen) <= MAX_ERRORS:
        one, how = found.pop()
        yield one, how
        behind: list[tuple[BaseException, str]] = []
        if one.__cause__ is not None:
            behind = [(one.__cause__, "\n… which led to:")]
        elif one.__context__ is not None and not one.__suppress_context__:
            behind = [(one.__context__, "\n… and while it was handled:")]
        if isinstance(one, BaseExceptionGroup):
            behind += [(member, "\n… a member of:") for member in one.exceptions]
        found += [pair for pair in behind if id(pair[0]) not in seen]
        seen.update(id(member) for member, _ in behind)


def _kind(error: BaseException) -> str:
    """The name of an error's class, with words that quote nothing."""
    kind = type(error)
    name = (
        kind.__qualname__
        if kind.__module__ == "builtins"
        else f"{kind.__module__}.{kind.__qualname__}"
    )
    words = ""
    if isinstance(error, BackscrollError):
        words = error.message
    elif isinstance(error, OSError) and error.strerror:
        words = f"[Errno {error.errno}] {error.strerror}"
    else:
        words = getattr(error, "sqlite_errorname", "")  # SQLite's name of what went wrong
    return f"{name}: {words}" if words else name
