"""`backscroll migrate` that is broken off: `python -m tests.kit.broken_migration SIGNAL STEP COUNT ARGUMENTS…`.

It sends itself the signal behind the COUNTth call of a STEP of either end: begin, prepare, fill, replace, finish,
between, shut, leave, open_for_servers, tidy.
"""

import functools
import os
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from backscroll_sidecar.cli import main
from backscroll_sidecar.store.postgres.moving import PostgresNewEnd, PostgresOldEnd
from backscroll_sidecar.store.sqlite.moving import SqliteNewEnd, SqliteOldEnd


def run(how: signal.Signals, step: str, count: int, *arguments: str) -> subprocess.CompletedProcess:
    """Run it in a process of its own."""
    command = [sys.executable, "-m", __name__, how.name, step, str(count), "migrate", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def _broken(
    method: Callable[..., Awaitable[Any]], how: signal.Signals, count: int
) -> Callable[..., Awaitable[Any]]:
    calls = 0

    @functools.wraps(method)
    async def called(*given: Any) -> Any:
        nonlocal calls
        answer = await method(*given)
        calls += 1
        if calls == count:
            os.kill(os.getpid(), how)
        return answer

    return called


if __name__ == "__main__":
    name, step, count, *arguments = sys.argv[1:]
    for end in (SqliteOldEnd, SqliteNewEnd, PostgresOldEnd, PostgresNewEnd):
        if hasattr(end, step):
            broken = _broken(getattr(end, step), signal.Signals[name], int(count))
            setattr(end, step, broken)
    sys.exit(main(arguments))
