"""`backscroll labels`: what messages are about, as people say it."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from google.protobuf.json_format import MessageToDict
from rich.markup import escape
from rich.table import Table

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import err, out, print_json

HELP = "Topic labels of messages: set, list and delete them."
PAGE = 1_000
Channel = Annotated[str, typer.Argument(help="Channel of the messages.")]
Label = Annotated[str, typer.Argument(help="The label.")]


def set_(
    channel: Channel,
    label: Label,
    messages: Annotated[list[str], typer.Argument(metavar="ID", help="Ids of the messages.")],
    by: Annotated[str, typer.Option(metavar="ID", help="The user who says so.")] = "",
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Say of messages that they are about a topic. All of them are labelled, or none."""
    with connected(target) as client:
        labelled = 0
        for start in range(0, len(messages), PAGE):
            some = messages[start : start + PAGE]
            labelled += len(client.set_topic_labels(channel, label, some, set_by=by))
    if as_json:
        print_json({"channel": channel, "label": label, "labelled": labelled})
    else:
        out().print(f"{_messages(labelled)} labelled {escape(label)}", soft_wrap=True)


def list_(
    channel: Channel,
    label: Annotated[str, typer.Option(metavar="LABEL", help="Only this label.")] = "",
    limit: Annotated[int, typer.Option(help="How many to show; 0: all.", min=0)] = 100,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """List the labels of a channel in the order in which they were set. With --json one object a line."""
    with connected(target) as client:
        found = list(client.list_topic_labels(channel, label, limit=limit or None, page_size=PAGE))
    if as_json:
        for one in found:
            print_json(MessageToDict(one, preserving_proto_field_name=True), indent=None)
        return
    if not found:
        err().print("there are no labels", markup=False)
        return
    table = Table("message", "label", "set by", "set", box=None, header_style="bold")
    for one in found:
        at = datetime.fromtimestamp(one.set_at_ms / 1_000, UTC)
        row = (one.message_id, one.label, one.set_by, f"{at:%Y-%m-%d %H:%M} UTC")
        table.add_row(*map(escape, row))
    out().print(table)


def delete(
    channel: Channel,
    label: Label,
    messages: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Ids of the messages; none: all of the channel."),
    ] = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Take a label from messages, or from all of a channel."""
    with connected(target) as client:
        count = client.delete_topic_labels(channel, label, messages or ())
    if as_json:
        print_json({"channel": channel, "label": label, "deleted": count})
    else:
        out().print(f"taken from {_messages(count)}", soft_wrap=True)


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "set": (set_, "Example: backscroll labels set my-group travel m17 m18 --by ann"),
    "list": (list_, "Example: backscroll labels list my-group --label travel --json"),
    "delete": (delete, "Example: backscroll labels delete my-group travel m18"),
}
