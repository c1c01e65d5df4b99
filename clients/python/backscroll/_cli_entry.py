"""The `backscroll` command: hands over to the server package, or says how to install it."""

from __future__ import annotations

import importlib
import sys
from typing import NoReturn

from backscroll import __version__

_HELP = f"""Backscroll {__version__}, the Python client alone: from backscroll import Client

The commands (serve, demo, import, context, chat and others) come with the server's packages:"""
_INSTALL = """  pip install ".[server]"
in Backscroll's source tree. Backscroll is not published yet. Once it is: pip install "backscroll[server]\""""
_OURS = ("backscroll", "backscroll_scoring", "backscroll_sidecar", "backscroll_bench")


def main() -> NoReturn:
    """Run the command line, or print the line that installs what it needs and exit with 1."""
    try:
        cli = importlib.import_module("backscroll_sidecar.cli")
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in _OURS and error.name != "backscroll_sidecar":
            raise  # a module of ours that should have been there: a bug, not a missing extra
        asked = sys.argv[1:2]
        if asked == ["--version"]:
            print("backscroll", __version__)
            sys.exit(0)
        if not asked or asked[0] in ("--help", "-h"):
            print(f"{_HELP}\n{_INSTALL}")
            sys.exit(0)
        needs = f"The backscroll command needs the server's packages ({missing} is missing)"
        print(f"{needs}:\n{_INSTALL}", file=sys.stderr)
        sys.exit(1)
    sys.exit(cli.main())


if __name__ == "__main__":
    main()
