"""The list of commands, in the order of ``backscroll --help``."""

from __future__ import annotations

import typer

from backscroll_sidecar.cli import (
    call,
    check_config,
    context,
    demo,
    doctor,
    import_,
    serve,
    version,
)

app = typer.Typer(
    name="backscroll",
    help="Backscroll: the few messages of a group chat that matter for the next reply, over gRPC.",
    epilog="Start with: backscroll demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

app.command("serve", epilog=serve.EPILOG)(serve.serve)
app.command("demo", epilog=demo.EPILOG)(demo.demo)
app.command("import", epilog=import_.EPILOG)(import_.import_)
app.command("context", epilog=context.EPILOG)(context.context)
app.command("call", epilog=call.EPILOG)(call.call)
app.command("doctor", epilog=doctor.EPILOG)(doctor.doctor)
app.command("check-config", epilog=check_config.EPILOG)(check_config.check_config)
app.command("version", epilog=version.EPILOG)(version.version)
