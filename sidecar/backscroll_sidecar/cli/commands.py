"""The list of commands, in the order of ``backscroll --help``."""

from __future__ import annotations

from typing import Annotated

import typer

from backscroll_sidecar.cli.bench import EPILOG as BENCH_EPILOG
from backscroll_sidecar.cli.bench import bench
from backscroll_sidecar.cli.call import EPILOG as CALL_EPILOG
from backscroll_sidecar.cli.call import call
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
from backscroll_sidecar.cli.export import EPILOG as EXPORT_EPILOG
from backscroll_sidecar.cli.export import export
from backscroll_sidecar.cli.import_ import EPILOG as IMPORT_EPILOG
from backscroll_sidecar.cli.import_ import import_
from backscroll_sidecar.cli.quality import EPILOG as QUALITY_EPILOG
from backscroll_sidecar.cli.quality import quality
from backscroll_sidecar.cli.serve import EPILOG as SERVE_EPILOG
from backscroll_sidecar.cli.serve import serve
from backscroll_sidecar.cli.version import EPILOG as VERSION_EPILOG
from backscroll_sidecar.cli.version import print_version, version

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


app.command("serve", epilog=SERVE_EPILOG)(serve)
app.command("demo", epilog=DEMO_EPILOG)(demo)
app.command("import", epilog=IMPORT_EPILOG)(import_)
app.command("export", epilog=EXPORT_EPILOG)(export)
app.command("context", epilog=CONTEXT_EPILOG)(context)
app.command("chat", epilog=CHAT_EPILOG)(chat)
app.command("call", epilog=CALL_EPILOG)(call)
app.command("quality", epilog=QUALITY_EPILOG)(quality)
app.command("bench", epilog=BENCH_EPILOG)(bench)
app.command("doctor", epilog=DOCTOR_EPILOG)(doctor)
app.command("check-config", epilog=CHECK_CONFIG_EPILOG)(check_config)
app.command("version", epilog=VERSION_EPILOG)(version)
