"""`backscroll summaries`: what channels held in past days or weeks."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from google.protobuf.json_format import MessageToDict

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import err, out, print_json

HELP = "What channels held in past days or weeks (summary_hours)."
Channel = Annotated[str, typer.Argument(help="The channel.")]


def list_(
    channel: Channel,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Show the summaries of a channel's past periods, the oldest first.

    With --json one object a line, with the ids of the messages that it stands for.
    """
    with connected(target) as client:
        found = sorted(client.list_period_summaries(channel), key=lambda one: one.start_ms)
    if not found and not as_json:
        err().print("there are no summaries of past periods: docs/guide/summaries.md", markup=False)
    for one in found:
        if as_json:
            print_json(MessageToDict(one, preserving_proto_field_name=True), indent=None)
            continue
        days = f"{_time(one.start_ms)} to {_time(one.end_ms)}"
        count = len(one.message_ids)
        err().print(f"{one.id}  {days}  {count} messages", markup=False, soft_wrap=True)
        if one.model_failure:
            err().print(f"the model's summary was not taken: {one.model_failure}")
        out().print(one.text, markup=False, soft_wrap=True)


def delete(
    channel: Channel,
    summary_id: Annotated[str, typer.Argument(metavar="ID", help="As list shows it.")],
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Empty the summary of a period. It is not made again unless a message of its period changes or comes late."""
    with connected(target) as client:
        was_there = client.delete_period_summary(channel, summary_id)
    if as_json:
        print_json({"was_there": was_there})
    else:
        out().print("deleted" if was_there else "there was none")


def _time(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M")


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "list": (list_, "Example: backscroll summaries list my-group"),
    "delete": (delete, "Example: backscroll summaries delete my-group 24:1795132800000"),
}
