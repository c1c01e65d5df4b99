"""What every command shares: where it writes, how it fails, how it prints JSON.

Standard output carries the answer alone, so that it can be piped. All else goes to
standard error. Exit codes: 0 done, 1 failed, 2 called wrongly, 130 ended by Ctrl-C.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NoReturn

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.segment import Segment

STARTED_S: Final = time.monotonic()
"""When the process began to be ours: every command imports this first."""
FAILURE: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
"""The exit code of a program that Ctrl-C ended."""
MIN_COLUMNS, MAX_COLUMNS = 20, 10_000
NARROW: Final = 120
"""Columns where the output is no terminal and COLUMNS says nothing."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]")


class CommandError(Exception):
    """A command cannot go on. `advice` says what to do about it; `exit_code` is 1, or 2 for a wrong call."""

    def __init__(self, message: str, advice: str = "", *, exit_code: int = FAILURE) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.exit_code = exit_code


def usage(message: str, advice: str = "") -> NoReturn:
    """Refuse a wrong call."""
    raise CommandError(message, advice, exit_code=USAGE)


class SafeConsole(Console):
    """A console that replaces control characters, so that no text can move the cursor."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """The segments of anything that can be printed."""
        for segment in super().render(renderable, options):
            if segment.control is None and _CONTROL.search(segment.text):
                yield segment._replace(text=shown(segment.text))
            else:
                yield segment


def shown(text: str) -> str:
    """A text without controls and marks of direction: these become U+FFFD."""
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text)


def json_text(value: object, *, indent: int | None = None) -> str:
    """JSON fit for a terminal: controls and marks of direction are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def out() -> Console:
    """The console of the answer."""
    width = None if sys.stdout.isatty() else _told_columns() or NARROW
    return SafeConsole(width=width, highlight=False, soft_wrap=False)


def _told_columns() -> int:
    """What COLUMNS says; 0 where that is no width."""
    told = os.environ.get("COLUMNS", "")
    return int(told) if told.isdecimal() and MIN_COLUMNS <= int(told) <= MAX_COLUMNS else 0


def err() -> Console:
    """The console of everything else."""
    return SafeConsole(stderr=True, highlight=False, soft_wrap=True)


@contextmanager
def progress(
    word: str, total: int | None, *, quiet: bool = False
) -> Iterator[Callable[[int], object]]:
    """A bar on standard error while the block runs, if that is a terminal; yields what tells it how far it is.

    `total` None: it is not known.
    """
    with progress_bars(quiet=quiet) as bars:
        task = bars.add_task(word, total=total)
        yield lambda count: bars.update(task, completed=count)


@contextmanager
def progress_of_bytes(word: str, *, quiet: bool = False) -> Iterator[Callable[[int, int], object]]:
    """The same in MiB; what it yields is told how many bytes of how many are done."""
    with progress_bars(quiet=quiet) as bars:
        task = bars.add_task(f"{word}, MiB", total=None)
        yield lambda done, total: bars.update(
            task, completed=done // 2**20, total=-(-total // 2**20)
        )


def progress_bars(*, quiet: bool = False) -> Progress:
    """Bars on standard error, if that is a terminal, gone when they are done: a task each."""
    console = err()
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    )


def typed_lines(greeting: str = "", *, is_typed: bool, keeps_blank: bool = False) -> Iterator[str]:
    """The lines typed or piped in, until there are no more. `greeting`, with markup, is shown to who types."""
    if is_typed:
        with suppress(ImportError):
            import readline  # noqa: F401 - input() edits lines with it
        if greeting:
            err().print(f"[dim]{greeting}[/]")
    while True:
        try:
            line = input("> " if is_typed else "")
        except KeyboardInterrupt:
            if not is_typed:
                raise
            err().print("\n[dim]Ctrl-D ends the chat[/]")
            continue
        except EOFError:
            if is_typed:
                print()
            return
        if keeps_blank or line.strip():
            yield line


def os_words(error: OSError) -> str:
    """What the system said, the file first and without its number."""
    if not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename else error.strerror


def print_json(value: object, *, indent: int | None = 2) -> None:
    """Print one JSON document. Without an indent: one line, for programs that read lines."""
    print(json_text(value, indent=indent), flush=True)


def print_error(error: CommandError, *, as_json: bool) -> None:
    """Say what went wrong and what to do."""
    if as_json:
        body: dict[str, Any] = {"error": error.message, "advice": error.advice}
        print(json_text(body), file=sys.stderr, flush=True)
        return
    console = err()
    console.print(f"[red bold]error:[/] {escape(error.message)}")
    if error.advice:
        console.print(escape(error.advice))
