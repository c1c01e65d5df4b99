"""`backscroll replay`: what other profiles, weights, layouts or budgets would have made of recorded builds."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer
from google.protobuf.json_format import MessageToDict
from rich.markup import escape
from rich.table import Table

from backscroll import Overrides
from backscroll.v1 import context_pb2, learning_pb2
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import out, print_json, usage
from backscroll_sidecar.cli.context import LayoutName
from backscroll_sidecar.cli.times import milliseconds

EPILOG = "Example: backscroll replay --channel my-group --profile classic --weight time_decay=0.4"
FACTORS = tuple(one.name for one in context_pb2.ScoreWeights.DESCRIPTOR.fields)


def replay(
    channel: Annotated[str, typer.Option(metavar="NAME", help="Whose builds.")],
    context: Annotated[
        str, typer.Option("--context-id", metavar="ID", help="Only this build, line by line.")
    ] = "",
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only builds from then on: ISO 8601, or milliseconds."),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Only builds before.")] = None,
    profile: options.Profile = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACTOR=VALUE", help='Weight of a factor of "classic"; may be repeated.'
        ),
    ] = None,
    layout: Annotated[LayoutName | None, typer.Option(help="Layout of the messages.")] = None,
    budget: Annotated[
        int | None, typer.Option(help="Most tokens of the whole payload.", min=1)
    ] = None,
    max_context: Annotated[
        int | None, typer.Option(help="Most messages to take.", min=1, max=500)
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="Least score of a message.", min=0.0, max=1.0)
    ] = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Ask recorded builds again with something else, and show what came and what went, and the tokens.

    Each is asked on the messages that were there then. What is not named stays as it was asked. Nothing is recorded or
    counted. With --json one object a line, last the totals.
    """
    overrides = Overrides(
        max_context=max_context,
        relevance_threshold=threshold,
        weights=dict(map(_weight, weight)) if weight else None,
    )
    moments = {"since": milliseconds(since, "--since"), "until": milliseconds(until, "--until")}
    with connected(target) as client:
        builds = client.replay_builds(
            channel, context, profile=profile or "", overrides=overrides, layout=layout,
            token_budget=budget, timeout_s=float("inf"), **moments,
        )  # fmt: skip
        if as_json:
            for one in builds:
                print_json(MessageToDict(one, preserving_proto_field_name=True), indent=None)
            return
        found = list(builds)
    *replayed, summary = found
    assert isinstance(summary, learning_pb2.ReplaySummary)
    every = [one for one in replayed if isinstance(one, learning_pb2.ReplayedBuild)]
    console = out()
    if context:
        console.print(_lines(every[0]))
    console.print(_table(every))
    for line in _totals(summary):
        console.print(line, soft_wrap=True, markup=False)


def _weight(given: str) -> tuple[str, float]:
    name, _, value = given.partition("=")
    if name not in FACTORS:
        usage(f"--weight {given} names no factor", f"factors are: {', '.join(FACTORS)}")
    try:
        return name, float(value)
    except ValueError:
        usage(f"--weight {given} has no number", f"for example {name}=0.4")


def _table(builds: Sequence[learning_pb2.ReplayedBuild]) -> Table:
    table = Table(box=None, header_style="bold")
    for name in ("context", "trigger", "came", "went", "kept", "tokens", "note"):
        is_number = name in {"came", "went", "kept", "tokens"}
        table.add_column(name, justify="right" if is_number else "left", no_wrap=name == "context")
    for one in builds:
        tokens = f"{one.tokens_before} → {one.tokens_after}" if not one.left_out else ""
        counts = (f"+{len(one.came)}", f"-{len(one.went)}", str(one.kept_count))
        table.add_row(
            one.context_id,
            escape(one.trigger_message_id),
            *(("", "", "") if one.left_out else counts),
            tokens,
            escape(_note(one)),
        )
    return table


def _note(one: learning_pb2.ReplayedBuild) -> str:
    if one.left_out:
        return f"left out: {one.left_out.replace('_', ' ')}"
    counts = (
        (one.erased_count, "erased"), (one.recalled_count, "recalled"), (one.edited_count, "edited"),
    )  # fmt: skip
    said = [f"{count} {word}" for count, word in counts if count]
    said += [f"not kept: {', '.join(one.not_kept)}"] if one.not_kept else []
    return "; ".join(said)


def _lines(one: learning_pb2.ReplayedBuild) -> Table:
    table = Table("", "message", "score", "was", "is", box=None, header_style="bold")
    for sign, lines in (("+", one.came), ("-", one.went)):
        for line in lines:
            before = f"{line.score_before:.4f}" if line.HasField("score_before") else "–"
            after = f"{line.score_after:.4f}" if line.HasField("score_after") else "–"
            where = f" ({line.channel})" if line.channel else ""
            name = line.message_id or "(erased)"
            row = (f"{before} → {after}", _fate(line.fate_before), _fate(line.fate_after))
            table.add_row(sign, escape(name + where), *row)
    return table


def _fate(fate: int) -> str:
    """No candidate, or what became of it."""
    if fate == context_pb2.FATE_UNSPECIFIED:
        return "no candidate"
    return context_pb2.Fate.Name(fate).removeprefix("FATE_").lower()


def _totals(summary: learning_pb2.ReplaySummary) -> Iterator[str]:
    yield (
        f"{summary.replayed_count} replayed, {summary.same_count} show the same lines; "
        f"{summary.came_count} lines came, {summary.went_count} went, {summary.kept_count} stayed; "
        f"tokens {summary.tokens_before} → {summary.tokens_after}"
    )
    left_out = sorted(summary.left_out_count.items())
    if left_out:
        words = (f"{count} {reason.replace('_', ' ')}" for reason, count in left_out)
        yield f"left out: {', '.join(words)}"
