"""The `backscroll` command: hands over to the server package, or says how to install it."""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

_OURS = ("backscroll", "backscroll_scoring", "backscroll_sidecar", "backscroll_bench")


def main() -> NoReturn:
    """Run the command line, or print the line that installs what it needs and exit with 1."""
    try:
        cli = importlib.import_module("backscroll_sidecar.cli")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in _OURS and error.name != "backscroll_sidecar":
            raise  # a module of ours that should have been there: a bug, not a missing extra
        print(
            f"The backscroll command needs the server's packages ({missing} is missing):\n"
            '  pip install ".[server]"\n'
            "in Backscroll's source tree; without a C++ compiler:\n"
            '  pip install ".[slim]"\n'
            'Backscroll is not published yet. Once it is: pip install "backscroll[server]"',
            file=sys.stderr,
        )
        sys.exit(1)
    sys.exit(cli.main())


if __name__ == "__main__":
    main()
