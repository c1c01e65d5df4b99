"""`backscroll events`: what the server has recorded of its turns."""

import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Annotated

import typer
from google.protobuf.json_format import MessageToDict
from rich.markup import escape

from backscroll.v1.admin_pb2 import RecordedEvent
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.channels import naming_near_channels
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import out, print_json

EPILOG = "Example: backscroll events my-group --follow"
LOOK_S = 1.0
PAGE = 1_000


def events(
    channel: Annotated[str, typer.Argument(help="Channel to read.")],
    context: Annotated[
        str, typer.Option(metavar="ID", help="Only what belongs to this build and its turn.")
    ] = "",
    types: Annotated[
        list[str] | None,
        typer.Option("--type", metavar="NAME", help="Only events of this type; may be repeated."),
    ] = None,
    limit: Annotated[
        int, typer.Option(help="How many of the newest to show; 0: all.", min=0)
    ] = 100,
    follow: Annotated[
        bool,
        typer.Option("--follow", help="Go on with what is recorded from now on, until Ctrl-C."),
    ] = False,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Show what happened in a channel's turns: begun, cut, model called, ended. With --json one object a line.

    Events hold ids, counts and times, no texts. They are recorded a moment after the answer they belong to.
    """
    with connected(target) as client:

        def newest() -> Iterator[RecordedEvent]:
            return client.list_events(
                channel, context_id=context, types=types or [], newest_first=True, page_size=PAGE
            )

        with naming_near_channels(client, channel):
            shown = list(_until(newest(), None, limit))
        _show(reversed(shown), as_json=as_json)
        last = shown[0] if shown else None
        while follow:
            time.sleep(LOOK_S)
            shown = list(_until(newest(), last, 0))
            _show(reversed(shown), as_json=as_json)
            last = shown[0] if shown else last


def _until(
    newest: Iterable[RecordedEvent], last: RecordedEvent | None, limit: int
) -> Iterator[RecordedEvent]:
    """The newest events up to one that was shown, at most `limit` of them, 0: all."""
    for count, one in enumerate(newest, 1):
        if one == last:
            return
        yield one
        if count == limit:
            return


def _show(recorded: Iterable[RecordedEvent], *, as_json: bool) -> None:
    console = out()
    for one in recorded:
        if as_json:
            told = MessageToDict(one, preserving_proto_field_name=True)
            print_json({**told, "event": {**told["event"], "at_ms": one.event.at_ms}}, indent=None)
        else:
            console.print(_line(one), soft_wrap=True)


def _line(one: RecordedEvent) -> str:
    event = one.event
    when = datetime.fromtimestamp(event.at_ms / 1_000, UTC)
    depth = 0 if not event.parent_id else 1 if event.parent_id.endswith(":agent") else 2
    payload = "  ".join(f"{name}={value}" for name, value in sorted(event.payload.items()))
    about = one.context_id or one.message_id
    name = f"{'  ' * depth}{event.type}"
    return escape(
        f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1_000:03}  {about:<32}  {name:<22}  {payload}"
    ).rstrip()
