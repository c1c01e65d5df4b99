"""The list of commands, in the order of ``backscroll --help``."""

import inspect
import re
from collections.abc import Callable
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from backscroll_sidecar.cli import (
    backup,
    bench,
    call,
    channels,
    chat,
    check_config,
    compact,
    context,
    demo,
    doctor,
    erase,
    events,
    experiments,
    export,
    feedback,
    health,
    import_,
    keys,
    labels,
    memory,
    metavars,
    metrics,
    migrate,
    plot,
    quality,
    records,
    replay,
    restore,
    serve,
    sessions,
    settings,
    summaries,
    tune,
    version,
)
from backscroll_sidecar.cli.mcp import command as mcp
from backscroll_sidecar.cli.options import spread

_NEGATIVE = re.compile(r"-\d+")


class Command(TyperCommand):
    """A command that takes ids such as -1001234567890, as some platforms give to groups, for what they are."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - of the click within typer
        """Take what looks like an option for a word where a number is among the words. --help is never a value."""
        if "--help" in args[: args.index("--") if "--" in args else None]:
            args = ["--help"]
        ctx.ignore_unknown_options = any(map(_NEGATIVE.fullmatch, args))
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401, ARG002 - as above
        """Spell arguments as the reference does."""
        return [
            self.options_metavar or "",
            *(_in_usage(one) for one in self.params if _is_argument(one)),
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as above
        """Write a word for each value, where typer puts a type of Python's behind an argument's name."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for one in self.get_params(ctx):
            name, told = one.get_help_record(ctx) or ("", "")
            if _is_argument(one):
                rows["Arguments"].append((_in_usage(one), told))
            elif name:
                rows["Options"].append((name, told))
        for title, lines in rows.items():
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002 - as above
        """Write each example on one line, so that it can be copied."""
        formatter.write_paragraph()
        for line in (self.epilog or "").split("\n"):
            formatter.write(f"  {line}\n")


def _is_argument(parameter: Any) -> bool:  # noqa: ANN401 - as above
    return bool(parameter.param_type_name == "argument")


def _in_usage(argument: Any) -> str:  # noqa: ANN401 - as above
    return metavars.in_usage(
        argument.metavar, is_required=argument.required, takes_several=argument.nargs != 1
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


@app.callback()
def _first(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=version.print_version, is_eager=True, help="Print the version."
        ),
    ] = False,
) -> None:
    """Options of the program itself."""


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "serve": (serve.serve, serve.EPILOG),
    "demo": (demo.demo, demo.EPILOG),
    "import": (import_.import_, import_.EPILOG),
    "export": (export.export, export.EPILOG),
    "channels": (channels.channels, channels.EPILOG),
    "context": (context.context, context.EPILOG),
    "chat": (chat.chat, chat.EPILOG),
    "mcp": (mcp.mcp, mcp.EPILOG),
    "compact": (compact.compact, compact.EPILOG),
    "events": (events.events, events.EPILOG),
    "feedback": (feedback.feedback, feedback.EPILOG),
    "tune": (tune.tune, tune.EPILOG),
    "replay": (replay.replay, replay.EPILOG),
    "erase": (erase.erase, erase.EPILOG),
    "metrics": (metrics.metrics, metrics.EPILOG),
    "plot": (plot.plot, plot.EPILOG),
    "backup": (backup.backup, backup.EPILOG),
    "restore": (restore.restore, restore.EPILOG),
    "migrate": (migrate.migrate, migrate.EPILOG),
    "call": (call.call, call.EPILOG),
    "quality": (quality.quality, quality.EPILOG),
    "bench": (bench.bench, bench.EPILOG),
    "health": (health.health, health.EPILOG),
    "doctor": (doctor.doctor, doctor.EPILOG),
    "check-config": (check_config.check_config, check_config.EPILOG),
    "version": (version.version, version.EPILOG),
}


def _add(to: typer.Typer, commands: dict[str, tuple[Callable[..., Any], str]]) -> None:
    """Give it these commands; its list shows the first sentence of each, however long."""
    for name, (command, epilog) in commands.items():
        first = (inspect.getdoc(command) or "").partition("\n")[0].partition(". ")[0]
        add = to.command(name, cls=Command, epilog=epilog, short_help=f"{first.removesuffix('.')}.")
        add(spread(command))


_add(app, COMMANDS)

GROUPS: dict[str, tuple[str, dict[str, tuple[Callable[..., Any], str]]]] = {
    "records": (records.HELP, records.COMMANDS),
    "labels": (labels.HELP, labels.COMMANDS),
    "experiments": (experiments.HELP, experiments.COMMANDS),
    "memory": (memory.HELP, memory.COMMANDS),
    "sessions": (sessions.HELP, sessions.COMMANDS),
    "keys": (keys.HELP, keys.COMMANDS),
    "settings": (settings.HELP, settings.COMMANDS),
    "summaries": (summaries.HELP, summaries.COMMANDS),
}
for _group, (_help, _commands) in GROUPS.items():
    _app = typer.Typer(
        help=_help,
        epilog=f"Start with: backscroll {_group} list --help",
        no_args_is_help=True,
        rich_markup_mode=None,
    )
    _add(_app, _commands)
    app.add_typer(_app, name=_group, short_help=_help)
