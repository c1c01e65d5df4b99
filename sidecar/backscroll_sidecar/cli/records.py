"""`backscroll records`: what builds chose from, shown, handed out as data, and with whose consent."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from google.protobuf.json_format import MessageToDict
from rich.markup import escape
from rich.table import Table

from backscroll.v1 import context_pb2, learning_pb2
from backscroll.v1.admin_pb2 import UsageRecord
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import (
    err,
    json_text,
    os_words,
    out,
    print_json,
    progress,
    usage,
)
from backscroll_sidecar.cli.export import written
from backscroll_sidecar.cli.times import milliseconds
from backscroll_sidecar.cli.usage_lines import usage_line

HELP = "Recorded builds: show them, hand them out as data to learn from, and with whose consent."
PAGE = 200
TOLD_EVERY = 100


def list_(
    channel: Annotated[
        str, typer.Argument(help="Only builds of this channel; none: of all channels.")
    ] = "",
    user: Annotated[
        str, typer.Option(metavar="ID", help="Only builds that this user asked for.")
    ] = "",
    experiment: Annotated[
        str, typer.Option(metavar="ID", help="Only builds that were part of this experiment.")
    ] = "",
    arm: Annotated[
        str, typer.Option(metavar="NAME", help="With --experiment: only those of this arm.")
    ] = "",
    shadows: Annotated[
        bool, typer.Option("--shadows", help="Those that were built behind the answers, too.")
    ] = False,
    limit: Annotated[
        int, typer.Option(help="How many of the newest to show; 0: all.", min=0)
    ] = 100,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """List recorded builds, oldest first: who asked, how much was shown, what was said of it. --json: one a line."""
    with connected(target) as client:
        newest = client.list_usage_records(
            channel,
            user_id=user,
            experiment_id=experiment,
            arm=arm,
            with_shadows=shadows,
            newest_first=True,
            limit=limit or None,
            page_size=PAGE,
        )
        found = [*newest][::-1]
    if as_json:
        for one in found:
            print_json(MessageToDict(one, preserving_proto_field_name=True), indent=None)
    elif found:
        out().print(_table(found))
    else:
        err().print("no build of these is recorded", markup=False)


def show(
    context: Annotated[str, typer.Argument(metavar="CONTEXT_ID", help="The build to show.")],
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Show a recorded build: the answer, what was said of it, and everything that was scored."""
    with connected(target) as client:
        found = client.get_usage_record(context)
    if as_json:
        print_json(MessageToDict(found, preserving_proto_field_name=True), indent=None)
    else:
        _show(found)


def export(
    to: Annotated[
        Path,
        typer.Option(metavar="FILE", dir_okay=False, help="File to write; gzip if it ends in .gz."),
    ],
    channel: Annotated[str, typer.Option(metavar="NAME", help="Only builds of this channel.")] = "",
    user: Annotated[
        str, typer.Option(metavar="ID", help="Only builds that this user asked for.")
    ] = "",
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Only builds from then on: ISO 8601, or milliseconds."),
    ] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Only builds before.")] = None,
    with_texts: Annotated[
        bool,
        typer.Option("--with-texts", help="With the texts of messages, answers and feedback."),
    ] = False,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Write recorded builds as JSON Lines to learn from: one build a line, oldest first.

    Each has all that was scored with scores and fates, what came of the answer, and topic labels. Builds of channels
    and people without consent are left out, and so are messages of such people; the summary counts them. An old file
    stays until the new one is whole.
    """
    wanted = {"since": milliseconds(since, "--since"), "until": milliseconds(until, "--until")}
    summary, count = learning_pb2.ExportSummary(), 0
    with connected(target) as client, progress("exporting", None, quiet=as_json) as told:
        builds = client.export_usage_records(
            channel, user_id=user, with_texts=with_texts, timeout_s=float("inf"), **wanted
        )
        try:
            with written(to) as file:
                for one in builds:
                    if isinstance(one, learning_pb2.ExportSummary):
                        summary = one
                        continue
                    file.write(json_text(usage_line(one)).encode() + b"\n")
                    count += 1
                    if count % TOLD_EVERY == 0:
                        told(count)
        except OSError as error:
            usage(f"{to} cannot be written: {os_words(error)}")
    _tell(summary, to, as_json=as_json)


def consent(
    user: Annotated[str, typer.Argument(help="User id of the person.")],
    refuse: Annotated[
        bool | None,
        typer.Option("--refuse/--agree", help="Whether the person refuses. Neither: only tell."),
    ] = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Tell, or set, whether a person's part may be learnt from.

    Who refuses: builds they ask for are not recorded from then on, and exports have nothing of theirs.
    """
    with connected(target) as client:
        if refuse is not None:
            client.set_usage_consent(user, collect_usage=not refuse)
        collects = client.get_usage_consent(user)
    if as_json:
        print_json({"user_id": user, "collect_usage": collects})
    else:
        out().print(f"{escape(user)} {'agrees' if collects else 'refuses'}", soft_wrap=True)


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "list": (list_, "Example: backscroll records list my-group --limit 20"),
    "show": (show, "Example: backscroll records show 3f0c…"),
    "export": (
        export,
        "Example: backscroll records export --channel my-group --to my-group.usage.jsonl.gz",
    ),
    "consent": (consent, "Example: backscroll records consent ann --refuse"),
}


def _tell(summary: learning_pb2.ExportSummary, to: Path, *, as_json: bool) -> None:
    counts = {name.name: getattr(summary, name.name) for name in summary.DESCRIPTOR.fields}
    if as_json:
        print_json({"file": str(to), **counts})
        return
    words = {
        "left_out_by_channel": "builds left out by their channel",
        "left_out_by_user": "builds left out by who asked",
        "left_out_message_count": "messages left out by their author",
    }
    more = "".join(f", {counts[name]} {said}" for name, said in words.items() if counts[name])
    err().print(f"{summary.build_count} builds written{more}", markup=False)


def _table(found: list[UsageRecord]) -> Table:
    table = Table(box=None, header_style="bold")
    for name in ("when", "context", "channel", "asked by", "shown", "tokens", "said of it"):
        justify: Literal["left", "right"] = "right" if name in {"shown", "tokens"} else "left"
        table.add_column(name, justify=justify, no_wrap=name in {"when", "context"})
    for one in found:
        table.add_row(
            _when(one.created_at_ms),
            one.context_id,
            escape(one.channel),
            escape(one.user_id),
            str(len(one.context_message_ids)),
            str(one.token_count),
            escape(_said_of(one)),
        )
    return table


def _show(one: UsageRecord) -> None:
    console = out()
    facts = {
        "context": one.context_id,
        "built": f"{_when(one.created_at_ms)} in {one.build_microseconds} µs",
        "channel": one.channel,
        "asked by": one.user_id,
        "trigger": one.trigger_message_id,
        "policy": one.policy_id,
        "experiment": f"{one.experiment_id} {one.arm}".strip(),
        "shadow of": one.shadow_of,
        "tokens": f"{one.token_count} of {one.token_budget}",
        "answer": f"{one.reply_message_id} {one.llm_response}".strip(),
        "said of it": _said_of(one),
    }
    for name, fact in facts.items():
        if fact:
            console.print(f"{name:>11}  {escape(fact)}", soft_wrap=True)
    table = Table(box=None, header_style="bold")
    for name in ("score", "fate", "message"):
        table.add_column(name, justify="right" if name == "score" else "left")
    for message in sorted(one.candidates, key=lambda each: -each.score):
        fate = context_pb2.Fate.Name(message.fate).removeprefix("FATE_").lower()
        where = f" ({message.channel})" if message.channel else ""
        table.add_row(f"{message.score:.4f}", fate, escape(message.message_id + where))
    console.print(table)


def _said_of(one: UsageRecord) -> str:
    value = f"{one.success_indicator:.2f}" if one.HasField("success_indicator") else ""
    return f"{value} {one.user_feedback}".strip()


def _when(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M:%S")
