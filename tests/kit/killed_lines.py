"""Work that is killed, as -9 does, when it comes to its n-th line in some modules."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any


def killed_at(number: int, modules: Sequence[ModuleType], work: Callable[[], object]) -> bool:
    """Do the work in a process of its own, killed before its n-th line, from 1; False: it ended before."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            _trace(number, modules)
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - nothing of the test's runner may go on in this process
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.waitstatus_to_exitcode(status) == 0
    return False


def _trace(number: int, modules: Sequence[ModuleType]) -> None:
    ours = {str(Path(str(module.__file__))) for module in modules}
    known: dict[CodeType, bool] = {}
    seen = 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == number:
                os.kill(os.getpid(), signal.SIGKILL)
        return line

    def call(frame: FrameType, event: str, _: Any) -> Any:
        code = frame.f_code
        if code not in known:
            known[code] = code.co_filename in ours
        return line if known[code] else None

    sys.settrace(call)
