"""Options that several commands share, under one name and one help text."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from backscroll_sidecar.config.types import PROFILE_NAMES

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
Server = Annotated[
    str,
    typer.Option(
        "--server",
        envvar="BACKSCROLL_SERVER",
        metavar="ADDRESS",
        help="Address of the server: host:port or unix:path. Default: where serve would listen with the settings here.",
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        "--token",
        envvar="BACKSCROLL_TOKEN",
        metavar="TOKEN",
        help="Token, where the server wants one.",
    ),
]
TlsCa = Annotated[
    Path | None,
    typer.Option(
        "--tls-ca",
        metavar="FILE",
        help="Speak TLS and trust the authorities in this PEM file.",
        dir_okay=False,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="TOML file of settings. Default: backscroll.toml here, if there is one.",
        dir_okay=False,
    ),
]
PROFILES = f"One of {', '.join(PROFILE_NAMES)}."
DEFAULT_SERVER = ""
