"""`backscroll experiments`: other settings for a share of the channels, and what came of it."""

import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from google.protobuf.json_format import MessageToDict, ParseDict, ParseError
from rich.markup import escape
from rich.table import Table

from backscroll.v1 import experiment_pb2
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.arm_words import arm_of, words_of
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import err, out, print_json, usage
from backscroll_sidecar.cli.experiment_report import show_report

HELP = "Rollouts and experiments: other settings for a share of the channels, and what came of it."
Experiment = Annotated[str, typer.Argument(metavar="ID", help="The experiment.")]


def put(
    experiment: Experiment,
    arm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME:SETTINGS",
            help="An arm and what it sets: short:profile=balanced,max_context=10. With weight=2 it gets twice the "
            "channels. With one arm the other channels are its control.",
        ),
    ] = None,
    percentage: Annotated[
        float,
        typer.Option(metavar="N", help="Of the channels, how many are in an arm.", min=0, max=100),
    ] = 100.0,
    holdout: Annotated[
        float,
        typer.Option(
            metavar="N", help="Percent of all channels that never get an arm.", min=0, max=99.99
        ),
    ] = 0.0,
    allow: Annotated[
        list[str] | None,
        typer.Option(metavar="CHANNEL", help="In an arm, whatever the percentage."),
    ] = None,
    deny: Annotated[
        list[str] | None, typer.Option(metavar="CHANNEL", help="In no arm, whatever else.")
    ] = None,
    shadow: Annotated[
        str,
        typer.Option(
            metavar="NAME:SETTINGS",
            help="An arm that is built behind the answers, and only recorded.",
        ),
    ] = "",
    resolver: Annotated[
        bool, typer.Option("--resolver", help="The server's own resolver says who is in which arm.")
    ] = False,
    starts: Annotated[
        datetime | None, typer.Option(help="When it starts, UTC. Unset: now, or as before.")
    ] = None,
    stops: Annotated[
        datetime | None, typer.Option(help="When it stops, UTC. Unset: when it is stopped.")
    ] = None,
    description: Annotated[str, typer.Option(metavar="TEXT", help="What it is for.")] = "",
    shuffle: Annotated[
        int, typer.Option(metavar="N", help="Another number shuffles all channels anew.", min=0)
    ] = 1,
    file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Instead of these options: JSON as "show --json" prints it; "-": standard input.',
        ),
    ] = None,
    move: Annotated[
        bool, typer.Option("--move", help="Channels may come to be in another arm.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would be, and change nothing.")
    ] = False,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Begin a rollout or an experiment, or change one. More percent move nobody; what moves channels needs --move."""
    if bool(arm) == bool(file):
        usage("give --arm, once for each arm, or --file")
    if file is not None:
        kept = _read(file)
    else:
        kept = experiment_pb2.Experiment(
            arms=[arm_of(word).to_proto() for word in arm or ()],
            coverage=percentage / 100,
            holdout=holdout / 100,
            allowed_channels=allow,
            denied_channels=deny,
            shadow=arm_of(shadow).to_proto() if shadow else None,
            assigned_by=experiment_pb2.ASSIGNED_BY_RESOLVER if resolver else None,
            starts_at_ms=_ms(starts),
            stops_at_ms=_ms(stops),
            description=description,
            bucket_version=shuffle,
        )
    with connected(target) as client:
        answer = client.put_experiment(
            experiment, kept.arms, **_options(kept), allow_moves=move, validate_only=dry_run
        )
    if as_json:
        print_json(MessageToDict(answer, preserving_proto_field_name=True))
        return
    out().print(escape(_summary(answer.experiment)), soft_wrap=True)
    if answer.moved_share:
        would = "would move" if dry_run else "moved"
        out().print(f"{answer.moved_share:.1%} of the channels {would}")


def list_(
    limit: Annotated[
        int, typer.Option(help="How many to show, the newest first; 0: all.", min=0)
    ] = 50,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """List the experiments, what was put last first. With --json one object a line."""
    with connected(target) as client:
        found = list(islice(client.list_experiments(page_size=1_000), limit or None))
    if as_json:
        for one in found:
            print_json(MessageToDict(one, preserving_proto_field_name=True), indent=None)
        return
    if not found:
        err().print("there are no experiments", markup=False)
        return
    table = Table("experiment", "state", "channels", "arms", "since", box=None, header_style="bold")
    for one in found:
        arms = ", ".join(arm.name for arm in one.arms)
        row = (one.experiment_id, _state(one), _channels(one), arms, _time(one.starts_at_ms))
        table.add_row(*map(escape, row))
    out().print(table)


def show(
    experiment: Experiment,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Show an experiment: its arms, who is in it, from when to when."""
    with connected(target) as client:
        found = client.get_experiment(experiment)
    if as_json:
        print_json(MessageToDict(found, preserving_proto_field_name=True))
        return
    facts = {
        "experiment": found.experiment_id,
        "for": found.description,
        "state": _state(found),
        "channels": _channels(found),
        "allowed": ", ".join(found.allowed_channels),
        "denied": ", ".join(found.denied_channels),
        "starts": _time(found.starts_at_ms),
        "stops": _time(found.stops_at_ms),
        "arms alike since": _time(found.comparable_since_ms),
    }
    for name, fact in facts.items():
        if fact:
            out().print(f"{name:>16}  {escape(fact)}", soft_wrap=True)
    table = Table("arm", "weight", "settings", box=None, header_style="bold")
    for arm in found.arms:
        table.add_row(escape(arm.name), f"{arm.weight:g}", escape(words_of(arm) or "as without it"))
    if found.HasField("shadow"):
        table.add_row(escape(found.shadow.name), "shadow", escape(words_of(found.shadow)))
    out().print(table)


def stop(
    experiment: Experiment,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Stop an experiment now: builds that begin later are as without it."""
    with connected(target) as client:
        found = client.stop_experiment(experiment)
    if as_json:
        print_json(MessageToDict(found, preserving_proto_field_name=True))
        return
    out().print(escape(_summary(found)), soft_wrap=True)


def delete(
    experiment: Experiment,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Stop an experiment and forget it. The records of its builds stay."""
    with connected(target) as client:
        existed = client.delete_experiment(experiment)
    if as_json:
        print_json({"existed": existed})
        return
    out().print("deleted" if existed else "there was none")


def report(
    experiment: Experiment,
    since: Annotated[
        datetime | None,
        typer.Option(help="Builds from then on, UTC. Unset: since its arms are what they are."),
    ] = None,
    until: Annotated[datetime | None, typer.Option(help="Builds before, UTC.")] = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Compare what the arms came to: builds, time, tokens, explicit feedback, fallbacks, recall."""
    with connected(target, timeout_s=300.0) as client:
        found = client.get_experiment_report(experiment, since=_ms(since), until=_ms(until))
    if as_json:
        print_json(MessageToDict(found, preserving_proto_field_name=True))
        return
    show_report(found)


def _options(kept: experiment_pb2.Experiment) -> dict[str, Any]:
    """All but the id and the arms, as the client takes it."""
    given: dict[str, Any] = {
        "holdout": kept.holdout,
        "allowed_channels": kept.allowed_channels,
        "denied_channels": kept.denied_channels,
        "assigned_by": kept.assigned_by,
        "description": kept.description,
    }
    for name in ("coverage", "shadow", "bucket_version"):
        given[name] = getattr(kept, name) if kept.HasField(name) else None
    for name in ("starts_at", "stops_at"):
        has_time = kept.HasField(f"{name}_ms")
        given[name] = getattr(kept, f"{name}_ms") if has_time else None
    return given


def _read(file: Path) -> experiment_pb2.Experiment:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        usage(f"{file} cannot be read: {error}")
    try:
        return ParseDict(json.loads(text), experiment_pb2.Experiment())
    except (ParseError, ValueError) as error:
        usage(f"{file} holds no experiment: {error}")


def _ms(moment: datetime | None) -> int | None:
    return None if moment is None else int(moment.replace(tzinfo=UTC).timestamp() * 1_000)


def _summary(one: experiment_pb2.Experiment) -> str:
    return f"{one.experiment_id} is {_state(one)}: {_channels(one)}"


def _state(one: experiment_pb2.Experiment) -> str:
    name = experiment_pb2.ExperimentState.Name(one.state)
    return name.removeprefix("EXPERIMENT_STATE_").lower()


def _channels(one: experiment_pb2.Experiment) -> str:
    if one.assigned_by == experiment_pb2.ASSIGNED_BY_RESOLVER:
        return "by the resolver"
    held = f", {100 * one.holdout:g} % held out" if one.holdout else ""
    return f"{100 * one.coverage:g} % of the channels{held}"


def _time(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1_000, UTC):%Y-%m-%d %H:%M} UTC" if at_ms else ""


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "put": (
        put,
        "Example: backscroll experiments put shorter --arm ten:max_context=10 --percentage 5",
    ),
    "list": (list_, "Example: backscroll experiments list"),
    "show": (show, "Example: backscroll experiments show shorter"),
    "report": (report, "Example: backscroll experiments report shorter"),
    "stop": (stop, "Example: backscroll experiments stop shorter"),
    "delete": (delete, "Example: backscroll experiments delete shorter"),
}
