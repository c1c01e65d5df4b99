"""Options that several commands share, under one name and one help text."""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from backscroll_sidecar.cli.console import usage
from backscroll_sidecar.cli.metavars import with_metavar
from backscroll_sidecar.config.types import PROFILE_NAMES

Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


def no_url(path: Path | None) -> Path | None:
    """Refuse PostgreSQL's address where a file is wanted, without saying any of it."""
    if path is not None and str(path).startswith(("postgresql:", "postgres:")):
        usage("this is for files of SQLite", "PostgreSQL has tools of its own: pg_dump, pgBackRest")
    return path


@dataclass(frozen=True, slots=True)
class Target:
    """Which server, and how it is called."""

    server: Annotated[
        str,
        typer.Option(
            envvar="BACKSCROLL_SERVER",
            metavar="ADDRESS",
            help="Address of the server: host:port or unix:path. "
            "Default: where serve would listen with the settings here.",
        ),
    ] = ""
    token: Annotated[
        str | None,
        typer.Option(
            envvar="BACKSCROLL_TOKEN",
            metavar="TOKEN",
            help="Token, where the server wants one.",
        ),
    ] = None
    tls_ca: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Speak TLS and trust the authorities in this PEM file.",
            dir_okay=False,
        ),
    ] = None


ANY_TARGET = Target()
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
Profile = Annotated[
    str | None, typer.Option(metavar="NAME", help=f"Profile to pick with. {PROFILES}")
]
Markdown = Annotated[bool, typer.Option("--markdown", help="Print Markdown.")]


def known_profile(name: str) -> None:
    """Refuse a profile that there is not."""
    if name not in PROFILE_NAMES:
        usage(f"there is no profile {name}", f"profiles are: {', '.join(PROFILE_NAMES)}")


def spread(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer takes it: an option for each field of a dataclass, and a word for each value."""
    signature = inspect.signature(command, eval_str=True)
    groups: dict[str, Any] = {
        one.name: one.annotation
        for one in signature.parameters.values()
        if is_dataclass(one.annotation)
    }
    parameters = [
        with_metavar(option)
        for one in signature.parameters.values()
        for option in (
            inspect.signature(groups[one.name], eval_str=True).parameters.values()
            if one.name in groups
            else (one,)
        )
    ]

    @functools.wraps(command)
    def called(**given: Any) -> None:  # noqa: ANN401
        for name, kind in groups.items():
            given[name] = kind(**{one.name: given.pop(one.name) for one in fields(kind)})
        command(**given)

    called.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {one.name: one.annotation for one in parameters}
    return called
