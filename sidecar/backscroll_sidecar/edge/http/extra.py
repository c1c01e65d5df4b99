"""Whether what serves HTTP is installed. Imports nothing of it."""

from __future__ import annotations

from importlib.util import find_spec

from backscroll_sidecar.errors import StartRefused

SETTING = "http_listen"


def check_installed() -> None:
    """Raises `StartRefused` where the extra is not there."""
    for name in ("starlette", "uvicorn", "jinja2"):
        if find_spec(name) is None:
            raise StartRefused(
                SETTING,
                f'needs {name}, which is missing: in the source tree, pip install ".[http]"; or unset it',
            )
