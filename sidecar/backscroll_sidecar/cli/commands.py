"""The list of commands, in the order of ``backscroll --help``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from backscroll_sidecar.cli.bench import EPILOG as BENCH_EPILOG
from backscroll_sidecar.cli.bench import bench
from backscroll_sidecar.cli.call import EPILOG as CALL_EPILOG
from backscroll_sidecar.cli.call import call
from backscroll_sidecar.cli.channels import EPILOG as CHANNELS_EPILOG
from backscroll_sidecar.cli.channels import channels
from backscroll_sidecar.cli.chat import EPILOG as CHAT_EPILOG
from backscroll_sidecar.cli.chat import chat
from backscroll_sidecar.cli.check_config import EPILOG as CHECK_CONFIG_EPILOG
from backscroll_sidecar.cli.check_config import check_config
from backscroll_sidecar.cli.context import EPILOG as CONTEXT_EPILOG
from backscroll_sidecar.cli.context import context
from backscroll_sidecar.cli.demo import EPILOG as DEMO_EPILOG
from backscroll_sidecar.cli.demo import demo
from backscroll_sidecar.cli.doctor import EPILOG as DOCTOR_EPILOG
from backscroll_sidecar.cli.doctor import doctor
from backscroll_sidecar.cli.events import EPILOG as EVENTS_EPILOG
from backscroll_sidecar.cli.events import events
from backscroll_sidecar.cli.export import EPILOG as EXPORT_EPILOG
from backscroll_sidecar.cli.export import export
from backscroll_sidecar.cli.import_ import EPILOG as IMPORT_EPILOG
from backscroll_sidecar.cli.import_ import import_
from backscroll_sidecar.cli.options import spread
from backscroll_sidecar.cli.quality import EPILOG as QUALITY_EPILOG
from backscroll_sidecar.cli.quality import quality
from backscroll_sidecar.cli.serve import EPILOG as SERVE_EPILOG
from backscroll_sidecar.cli.serve import serve
from backscroll_sidecar.cli.version import EPILOG as VERSION_EPILOG
from backscroll_sidecar.cli.version import print_version, version

_NEGATIVE = re.compile(r"-\d+")


class Command(TyperCommand):
    """A command that takes ids such as -1001234567890, as some platforms give to groups, for what they are."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - of the click within typer
        """Take what looks like an option for a word where a number is among the words."""
        ctx.ignore_unknown_options = any(map(_NEGATIVE.fullmatch, args))
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="backscroll",
    help="Backscroll: the few messages of a group chat that matter for the next reply, over gRPC.",
    epilog="Start with: backscroll demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback()
def _first(
    version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version."),
    ] = False,
) -> None:
    """Options of the program itself."""


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "serve": (serve, SERVE_EPILOG),
    "demo": (demo, DEMO_EPILOG),
    "import": (import_, IMPORT_EPILOG),
    "export": (export, EXPORT_EPILOG),
    "channels": (channels, CHANNELS_EPILOG),
    "context": (context, CONTEXT_EPILOG),
    "chat": (chat, CHAT_EPILOG),
    "events": (events, EVENTS_EPILOG),
    "call": (call, CALL_EPILOG),
    "quality": (quality, QUALITY_EPILOG),
    "bench": (bench, BENCH_EPILOG),
    "doctor": (doctor, DOCTOR_EPILOG),
    "check-config": (check_config, CHECK_CONFIG_EPILOG),
    "version": (version, VERSION_EPILOG),
}
for _name, (_command, _epilog) in COMMANDS.items():
    app.command(_name, cls=Command, epilog=_epilog)(spread(_command))
