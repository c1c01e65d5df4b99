"""The command line as a child that never outlives its parent: ``python -m backscroll_sidecar.cli.tied serve …``.

Standard input is a pipe that nobody writes to. It ends with the parent, also where that is killed. Then this process
ends as by SIGTERM.
"""

import os
import signal
import sys
import threading
import time

from backscroll_sidecar.cli import main

PATIENCE_S = 20.0
"""Seconds to end by itself; a server drains for less."""


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_S)
    os._exit(1)


if __name__ == "__main__":
    threading.Thread(target=_end_with_parent, daemon=True).start()
    raise SystemExit(main())
