"""`backscroll bench`: how fast everything is on this machine, against an empty call and against objectives."""

from __future__ import annotations

import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.console import CommandError, err, json_text, out, print_json, usage
from backscroll_sidecar.cli.process import server
from backscroll_sidecar.config.settings import prepare_process
from backscroll_sidecar.config.sources import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from backscroll_bench.speed import Breach, Objective, Result, Row, Sizes

EPILOG = "Example: backscroll bench balanced-10k append-50 --slo"
INSTALL = 'in the source tree: pip install ".[bench]"'
ROUNDS, LEAST_ROUNDS, QUICK_ROUNDS = 9, 7, 3
PEERS = Path(".venv-peers")
QUICK_BEGINS = "All rows take five minutes or so; a row named on the command line takes seconds."
QUICK_NOTE = "A quick run: it shows that everything works; its figures mean nothing."


def bench(
    row: Annotated[
        list[str] | None,
        typer.Argument(metavar="ROW", help="Rows to measure; --list names them. Default: all."),
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(help="Rounds of both sides of each ratio.", min=LEAST_ROUNDS, max=99),
    ] = ROUNDS,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Few calls and 3 rounds: only shows that it works. Warns, and never refuses.",
        ),
    ] = False,
    slo: Annotated[
        bool,
        typer.Option("--slo", help="Hold the rows against objectives; exit with 1 on a breach."),
    ] = False,
    slo_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="TOML file of objectives, with --slo implied. Default: the one that comes with the bench.",
            dir_okay=False,
        ),
    ] = None,
    allow_noise: Annotated[
        bool,
        typer.Option(
            "--allow-noise", help="Print rows measured on a busy machine, too, marked with ~."
        ),
    ] = False,
    peers: Annotated[
        Path,
        typer.Option(
            metavar="DIR",
            help="venv with what a user would pick instead (make peers). Without it those rows are not measured.",
        ),
    ] = PEERS,
    plots: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Measure no rows but how latency grows (history, channels, callers, cold loads): drawn there as SVG, "
            "and told in latency.md and points.json.",
            file_okay=False,
        ),
    ] = None,
    list_rows: Annotated[
        bool, typer.Option("--list", help="Name the rows and measure nothing.")
    ] = False,
    markdown: options.Markdown = False,
    as_json: options.Json = False,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="With --json: also units, milliseconds, both sides of every round, machine and versions.",
        ),
    ] = False,
) -> None:
    """Measure how fast Backscroll is on this machine, with servers of its own over real chats.

    R0 is a bare gRPC echo in a process of its own, with answers of the same size. The same client asks it, with the
    same requests, in turns with what is measured. A ratio is the median of the rounds' ratios. A run in which R0
    differs by more than 2x between rounds is refused: something else was running. Everything stays on this machine.
    """
    try:
        from backscroll_bench import speed
    except ModuleNotFoundError as error:
        raise CommandError(f"this command needs {error.name}, which is missing", INSTALL) from None
    rows, objectives = _wanted(tuple(row or ()), slo_file, hold=slo or slo_file is not None)
    if list_rows:
        _list(rows, as_json)
        return
    sizes = speed.sizes(QUICK_ROUNDS if quick else rounds, quick=quick)
    if plots is not None:
        if row:
            usage("--plots measures no rows", "call it without them")
        _plot(plots, sizes, objectives, quiet=as_json)
        return
    if quick and not as_json:
        err().print(QUICK_BEGINS)
    results = _measured(rows, sizes, peers, allow_noise=allow_noise or quick, quiet=as_json)
    if as_json:
        print_json(_full(results, sizes) if full else _bare(results))
    else:
        _show(results, sizes, markdown=markdown)
    broken = speed.breaches(objectives, results)
    if quick:
        _warn(results, as_json=as_json)
        results = [one for one in results if not one.is_missing]
    _judge(results, broken, named=bool(row))


def _judge(results: Sequence[Result], broken: Sequence[Breach], *, named: bool) -> None:
    """End with an error where a row could not be measured or an objective is not held.

    A row whose other side is not installed is an error only where it was asked for by name.
    """
    missing = [f"{one.row.name}: {why}" for one, why in _missing(results, absent=named)]
    if missing:
        raise CommandError("\n".join(missing), "these rows could not be measured")
    if broken:
        raise CommandError("\n".join(map(str, broken)), "these objectives are not held")


def _missing(results: Sequence[Result], *, absent: bool) -> Iterator[tuple[Result, str]]:
    """The rows without a figure, and why; `absent`: those whose other side is not installed as well."""
    for one in results:
        if one.is_missing and (absent or not one.reading.absent):
            yield one, one.reading.fails or one.reading.absent


def _warn(results: Sequence[Result], *, as_json: bool) -> None:
    """Say what a quick run lacks: its figures mean nothing, so nothing is refused for them."""
    said = [f"{one.row.name}: {why}" for one, why in _missing(results, absent=True)]
    noisy = dict.fromkeys(one.noise for one in results if one.noise)
    for warning in (*said, *noisy):
        if as_json:
            print(json_text({"warning": warning}), file=sys.stderr, flush=True)
        else:
            err().print(f"[yellow]warning:[/] {escape(warning)}")


def _wanted(
    names: tuple[str, ...], slo_file: Path | None, *, hold: bool
) -> tuple[Sequence[Row], Sequence[Objective]]:
    """The rows that were named and the objectives to hold, checked before anything is measured."""
    from backscroll_bench import speed

    try:
        return speed.find_rows(names), speed.read_slo(slo_file) if hold else ()
    except KeyError as error:
        usage(f"there is no row {error.args[0]}", "backscroll bench --list names them")
    except speed.SloError as error:
        usage(str(error))


@contextmanager
def _place() -> Iterator[tuple[Path, Path]]:
    """A directory for databases that goes with the run, and where the user's compiled kernels are."""
    with tempfile.TemporaryDirectory(prefix="backscroll-bench-") as name:
        settings = load(directory=Path(name)).settings
        prepare_process(settings)
        yield Path(name), settings.state_dir


def _measured(
    rows: Sequence[Row], sizes: Sizes, peers: Path, *, allow_noise: bool, quiet: bool
) -> list[Result]:
    from backscroll_bench import speed

    parts = list(dict.fromkeys(row.part for row in rows))
    with _place() as (directory, state_dir), _progress(parts, quiet) as progress:
        from backscroll_bench.speed.run import measure  # imports numpy and the kernels

        try:
            return measure(
                rows, server, directory, state_dir, sizes,
                peers=peers.absolute(), allow_noise=allow_noise, progress=progress,
            )  # fmt: skip
        except speed.Noise as error:
            advice = "end what else is running, or take the figures as they are with --allow-noise"
            raise CommandError(str(error), advice) from None


def _plot(plots: Path, sizes: Sizes, objectives: Sequence[Objective], *, quiet: bool) -> None:
    """Measure the sweeps, draw them and tell them; end with an error where an objective is not held."""
    from backscroll_bench.speed import Wrong, drawing, latency, machine, read_slo, report

    if not drawing.can_draw():
        raise CommandError("plots need matplotlib, which is missing", INSTALL)
    with _place() as (directory, state_dir), _progress(list(drawing.DRAWN), quiet) as progress:
        from backscroll_bench.speed.sweeps import measure_points

        try:
            points = measure_points(server, directory, state_dir, sizes, progress=progress)
        except Wrong as error:
            raise CommandError(str(error), "this could not be measured") from None
    where = machine.describe()
    note = QUICK_NOTE if sizes.quick else report.described(where)
    told = objectives or read_slo(None)
    written = [str(path) for path in drawing.write(points, where, note, plots, told)]
    if quiet:
        print_json({"files": written})
    else:
        for path in written:
            out().print(escape(path))
    if not sizes.quick:
        _judge((), latency.late(objectives, points), named=False)


@contextmanager
def _progress(parts: Sequence[str], quiet: bool) -> Iterator[Callable[[str], None]]:
    """A bar that moves between parts only: nothing may draw while something is measured. No terminal: a line a part."""
    console = err()
    bar = Progress(
        TextColumn("{task.description:<22}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        auto_refresh=False,
        disable=quiet or not console.is_terminal,
    )
    with bar:
        task = bar.add_task("", total=len(parts))
        begun = 0

        def tell(part: str) -> None:
            nonlocal begun
            if part and not quiet and not console.is_terminal:
                console.print(f"measuring {begun + 1} of {len(parts)}: {part}")
            bar.update(task, description=part, completed=begun, refresh=True)
            begun += 1

        yield tell


def _list(rows: Sequence[Row], as_json: bool) -> None:
    if as_json:
        print_json(
            {"rows": [{"name": one.name, "what": one.what, "unit": one.unit} for one in rows]}
        )
        return
    for one in rows:
        out().print(f"[bold]{one.name}[/] ({escape(one.unit)}): {escape(one.what)}")


def _bare(results: Sequence[Result]) -> dict[str, Any]:
    """What `--json` promises, and nothing else."""
    return {"rows": [one.as_json() for one in results]}


def _full(results: Sequence[Result], sizes: Sizes) -> dict[str, Any]:
    from backscroll_bench.speed import machine

    rows = [one.as_full_json() for one in results]
    command = shlex.join(["backscroll", *sys.argv[1:]])
    run = {"command": command, "rounds": sizes.rounds, "quick": sizes.quick}
    return {"rows": rows, **run, **machine.describe()}


def _show(results: Sequence[Result], sizes: Sizes, *, markdown: bool) -> None:
    from backscroll_bench.speed import machine, report

    where = machine.describe()
    note = QUICK_NOTE if sizes.quick else ""
    if markdown:
        print(report.markdown(results, where, note), flush=True)
        return
    console = out()
    console.print(report.terminal(results, judged=not sizes.quick))
    for line in (*report.remarks_of(results), note, report.described(where)):
        if line:
            console.print(escape(line))
