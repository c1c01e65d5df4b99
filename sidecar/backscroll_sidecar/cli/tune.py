"""`backscroll tune`: weights of channels, learnt from what people said of answers."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from google.protobuf.json_format import MessageToDict
from rich.markup import escape
from rich.table import Table

from backscroll import Client
from backscroll.v1.admin_pb2 import (
    GainEstimate,
    TuneChannelResponse,
    TuningEvidence,
    TuningReason,
    WeightVersion,
)
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import CommandError, out, print_json, usage

if TYPE_CHECKING:
    from backscroll_sidecar.learning.rated_builds import RatedBuild

EPILOG = "Example: backscroll tune --channel my-group --dry-run"
PAGE = 1_000


def tune(
    channel: Annotated[str, typer.Option(metavar="NAME", help="Tune this channel.")] = "",
    every: Annotated[bool, typer.Option("--all", help="Tune all channels.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")
    ] = False,
    history: Annotated[
        bool, typer.Option("--history", help="Show the weights the channel had, the newest first.")
    ] = False,
    roll_back: Annotated[
        bool, typer.Option("--roll-back", help="Take the channel's weights back.")
    ] = False,
    version: Annotated[
        int | None,
        typer.Option(
            help="With --roll-back: to this version; 0: the server's weights. "
            "Default: the one before.",
            min=0,
        ),
    ] = None,
    records: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Say what would be done by an export of usage records, without a server.",
            dir_okay=False,
        ),
    ] = None,
    by: Annotated[
        str, typer.Option("--by", metavar="NAME", help="Who asks; kept with the version.")
    ] = "",
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Have better weights of `classic` proposed from feedback, and adopted where every rule permits it.

    Needs builds whose last places were drawn (exploration_slots) and that people gave feedback on.
    """
    if records is not None:
        if every or history or roll_back:
            usage("--records only says what would be done", "Give it alone, or with --channel.")
        for told in _by_records(records, channel):
            _tell(told, dry_run=True, as_json=as_json)
        return
    if bool(channel) == every:
        usage("name one channel, or all", "Give --channel NAME or --all.")
    if every and (history or roll_back):
        usage("--history and --roll-back are about one channel", "Give --channel NAME.")
    if version is not None and not roll_back:
        usage("--version belongs to --roll-back", "Add --roll-back, or leave it out.")
    if history + roll_back + dry_run > 1:
        usage("--history, --roll-back and --dry-run exclude each other", "Choose one.")
    with connected(target) as client:
        if history:
            _tell_versions(list(client.list_weight_versions(channel)), as_json=as_json)
        elif roll_back:
            new = client.roll_back_weights(channel, version, requested_by=by)
            _tell_versions([new], as_json=as_json)
        else:
            names = _channels(client) if every else [channel]
            for name in names:
                told = client.tune_channel(name, dry_run=dry_run, requested_by=by)
                _tell(told, dry_run=dry_run, as_json=as_json)


def _by_records(path: Path, channel: str) -> Iterator[TuneChannelResponse]:
    """What tuning by the records of a file alone comes to, channel by channel."""
    from backscroll_sidecar.cli.check_config import prepared_with_kernels

    weights = prepared_with_kernels().memory.weights
    from backscroll_scoring import CLASSIC_FACTORS
    from backscroll_sidecar.cli.exported_records import exported_records, rated_build
    from backscroll_sidecar.edge.convert.tuning import report_to_proto
    from backscroll_sidecar.learning.rated_builds import WEIGHTED_PROFILE
    from backscroll_sidecar.learning.tuning import report_of

    builds: dict[str, list[RatedBuild]] = {}
    for record in exported_records(path):
        if record.profile == WEIGHTED_PROFILE and channel in {"", record.channel}:
            builds.setdefault(record.channel, []).append(rated_build(record))
    for name, found in sorted(builds.items()):
        yield report_to_proto(report_of(name, found, CLASSIC_FACTORS, weights))
    if not builds:
        words = f"{path} holds no build of {WEIGHTED_PROFILE}"
        raise CommandError(
            words + (f" in {channel}" if channel else ""),
            f"only builds of the profile {WEIGHTED_PROFILE} have weights to tune: docs/guide/tuning.md",
        )


def _channels(client: Client) -> Iterator[str]:
    return (one.channel for one in client.list_channels(page_size=PAGE))


def _tell(told: TuneChannelResponse, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        print_json(MessageToDict(told, preserving_proto_field_name=True), indent=None)
        return
    console = out()
    would = " (dry run: nothing was done)" if dry_run else ""
    console.print(
        f"{escape(told.channel)}: {escape(_why(told))}{would}",
        soft_wrap=True,
    )
    console.print(
        f"  builds of {told.profile}: {told.recorded_builds:,}, "
        f"drawn and with explicit feedback: {told.rated_builds:,}; version {told.version}",
        soft_wrap=True,
    )
    if told.proposed_weights:
        table = Table(box=None, header_style="bold")
        for name in ("  factor", "now", "proposed"):
            table.add_column(name, justify="left" if name == "  factor" else "right")
        rows = zip(told.factors, told.current_weights, told.proposed_weights, strict=True)
        for factor, now, proposed in rows:
            table.add_row(f"  {factor}", f"{now:.4f}", f"{proposed:.4f}")
        console.print(table)
    if told.HasField("evidence"):
        for line in _evidence(told.evidence):
            console.print(f"  {line}", soft_wrap=True)


def _evidence(one: TuningEvidence) -> Iterator[str]:
    yield (
        f"gain DM {_gain(one.direct)}, SNIPS {_gain(one.snips)}, DR {_gain(one.doubly_robust)}; "
        f"{one.decisions:,} builds are worth {one.effective_decisions:,.0f}"
    )
    for guard in one.guards:
        if guard.HasField("incumbent") and guard.HasField("candidate"):
            most = f", at most {guard.most:.4g}" if guard.HasField("most") else ""
            yield f"{guard.name} {guard.incumbent:.4g} becomes {guard.candidate:.4g}{most}"
        else:
            yield f"{guard.name} was not measured"


def _gain(one: GainEstimate) -> str:
    if not (one.HasField("lower") and one.HasField("upper")):
        return f"{one.value:+.4f}"
    return f"{one.value:+.4f} [{one.lower:+.4f}, {one.upper:+.4f}]"


def _tell_versions(versions: list[WeightVersion], *, as_json: bool) -> None:
    if as_json:
        for one in versions:
            print_json(MessageToDict(one, preserving_proto_field_name=True), indent=None)
        return
    if not versions:
        out().print("the server's weights hold: nothing was tuned")
        return
    table = Table(box=None, header_style="bold")
    for name in ("version", "parent", "when", "why", "by", "weights", "gain (DR)"):
        table.add_column(name, justify="right" if name in {"version", "parent"} else "left")
    for one in versions:
        at = datetime.fromtimestamp(one.created_at_ms / 1_000, UTC)
        weights = " ".join(f"{weight:.4f}" for weight in one.weights) or "the server's"
        gain = _gain(one.evidence.doubly_robust) if one.HasField("evidence") else ""
        table.add_row(
            str(one.version), str(one.parent), at.strftime("%Y-%m-%d %H:%M:%S"), _word(one.reason),
            escape(one.requested_by), weights, gain,
        )  # fmt: skip
    out().print(table)


def _why(told: TuneChannelResponse) -> str:
    """The rule that decided, and what it says; not twice where its words are in that."""
    word = _word(told.reason)
    return told.detail if word in told.detail else f"{word}: {told.detail}"


def _word(reason: TuningReason) -> str:
    """The rule that decided, in small letters."""
    name = TuningReason.Name(reason).removeprefix("TUNING_REASON_")
    return name.lower().replace("_", " ")
