"""`backscroll channels`: which channels there are, and which of them somebody may have meant."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from backscroll import Client
from backscroll.errors import BackscrollError
from backscroll.v1.history_pb2 import ChannelSummary
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import ADVICE, connected
from backscroll_sidecar.cli.console import CommandError, err, out, print_json

EPILOG = "Example: backscroll channels --contains support"
PAGE = 1_000


def channels(
    contains: Annotated[
        str, typer.Option(metavar="TEXT", help="Only names that have this in them.")
    ] = "",
    limit: Annotated[
        int,
        typer.Option(help="How many to show, those with the newest message first; 0: all.", min=0),
    ] = 50,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """List the channels that hold messages, by the time of their newest one. With --json one object a line."""
    with connected(target) as client:
        found = list(client.list_channels(name_contains=contains, page_size=PAGE))
    found.sort(key=lambda one: one.newest_sent_at_ms, reverse=True)
    shown = found[: limit or None]
    if as_json:
        for one in shown:
            print_json(_as_json(one), indent=None)
        return
    if not found:
        err().print("there are no channels" + (" with that in their name" if contains else ""))
        return
    table = Table("channel", "messages", "newest", box=None, header_style="bold")
    for one in shown:
        table.add_row(escape(one.channel), f"{one.message_count:,}", _time(one))
    out().print(table)
    if len(shown) < len(found):
        err().print(f"[dim]{len(shown):,} of {len(found):,}; --limit shows more[/]")


@contextmanager
def naming_near_channels(client: Client, channel: str) -> Iterator[None]:
    """Let the error of an unknown channel name those that may have been meant."""
    try:
        yield
    except BackscrollError as error:
        if error.reason != "CHANNEL_NOT_FOUND":
            raise
        raise CommandError(str(error), near_words(client.near_channels(channel))) from None


def near_words(near: list[str]) -> str:
    """What to do about an unknown channel."""
    if near:
        return f"did you mean {' or '.join(near)}? All of them: backscroll channels"
    return ADVICE["CHANNEL_NOT_FOUND"]


def _as_json(one: ChannelSummary) -> dict[str, object]:
    return {
        "channel": one.channel,
        "message_count": one.message_count,
        "newest_sent_at_ms": one.newest_sent_at_ms,
    }


def _time(one: ChannelSummary) -> str:
    if not one.newest_sent_at_ms:
        return ""
    moment = datetime.fromtimestamp(one.newest_sent_at_ms / 1_000, UTC)
    return f"{moment:%Y-%m-%d %H:%M} UTC"
