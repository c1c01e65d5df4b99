"""`backscroll settings`: what is set for single channels while a server runs."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any, Literal

import typer
from google.protobuf import json_format
from google.protobuf.json_format import MessageToDict
from rich.markup import escape
from rich.table import Table

from backscroll.errors import NotFound
from backscroll.v1 import admin_pb2, context_pb2
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import err, out, print_json, usage

HELP = "What is set for single channels while a server runs."
Extraction = Literal["off", "rules", "model"]
EXTRACTIONS: dict[Extraction, admin_pb2.PreferenceExtraction] = {
    "off": admin_pb2.PREFERENCE_EXTRACTION_OFF,
    "rules": admin_pb2.PREFERENCE_EXTRACTION_RULES,
    "model": admin_pb2.PREFERENCE_EXTRACTION_MODEL,
}
Channel = Annotated[str, typer.Argument(help="The channel.")]
Names = list[str]


def get(
    channel: Channel, target: options.Target = options.ANY_TARGET, as_json: options.Json = False
) -> None:
    """Show what is set for a channel."""
    with connected(target) as client:
        _show(client.get_channel_settings(channel), as_json=as_json)


def list_(target: options.Target = options.ANY_TARGET, as_json: options.Json = False) -> None:
    """List the channels for which something is set, what was set last first.

    With --json one object a line.
    """
    table = Table("channel", "set", "at", box=None, header_style="bold")
    with connected(target) as client:
        for one in client.list_channel_settings():
            told = _told(one)
            if as_json:
                print_json(told, indent=None)
            else:
                del told["channel"], told["updated_at_ms"]
                said = ", ".join(f"{name} {_words(value)}" for name, value in told.items())
                table.add_row(escape(one.channel), escape(said), _time(one))
    if table.row_count:
        out().print(table)
    elif not as_json:
        err().print("nothing is set for any channel", markup=False)


def set_(
    channel: Channel,
    profile: Annotated[
        str | None, typer.Option(metavar="NAME", help='The profile; "": the server\'s.')
    ] = None,
    overrides: Annotated[
        str | None,
        typer.Option(metavar="JSON", help='Overrides of the profile, all of them; "{}": none.'),
    ] = None,
    record: Annotated[
        bool | None, typer.Option("--record/--no-record", help="Whether builds are recorded.")
    ] = None,
    extraction: Annotated[
        Extraction | None,
        typer.Option(
            "--preference-extraction", help="What reads preferences: off, rules or model."
        ),
    ] = None,
    keep_days: Annotated[
        int | None, typer.Option(help="Days that messages are kept; 0: for good.", min=0)
    ] = None,
    keep_messages: Annotated[
        int | None,
        typer.Option(help="How many of the newest messages are kept; 0: any number.", min=0),
    ] = None,
    share_with: Annotated[
        Names | None,
        typer.Option(metavar="CHANNEL", help="Whose builds may show lines of this one. Repeat it."),
    ] = None,
    read_from: Annotated[
        Names | None,
        typer.Option(metavar="CHANNEL", help="Whose lines builds of this one may show. Repeat it."),
    ] = None,
    group: Annotated[
        Names | None,
        typer.Option(
            metavar="NAME", help="Join it: its channels share with each other. Repeat it."
        ),
    ] = None,
    most_shared: Annotated[
        int | None, typer.Option(help="How many lines of other channels a build shows.", min=1)
    ] = None,
    no_sharing: Annotated[
        bool, typer.Option("--no-sharing", help="Share with nobody, read from nobody.")
    ] = False,
    summary_hours: Annotated[
        int | None,
        typer.Option(help="Summarise periods of so many hours, 24 for days; 0: none.", min=0),
    ] = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Set what the options name, for one channel. The rest stays as it is; builds that begin later go by it."""
    sharing = {
        "shares_with": share_with,
        "reads_from": read_from,
        "groups": group,
        "max_messages": most_shared,
    }
    sharing = {name: value for name, value in sharing.items() if value is not None}
    if sharing and no_sharing:
        usage("--no-sharing leaves nothing to name", "Leave it out, or the channels and groups.")
    with connected(target) as client:
        try:
            settings = client.get_channel_settings(channel)
        except NotFound:
            settings = admin_pb2.ChannelSettings(channel=channel)
        if profile is not None:
            settings.profile = profile
        if overrides is not None:
            settings.overrides.CopyFrom(_overrides(overrides))
        if record is not None:
            settings.collect_usage = record
        if extraction is not None:
            settings.preference_extraction = EXTRACTIONS[extraction]
        if summary_hours is not None:
            settings.summary_hours = summary_hours
        if keep_days is not None:
            settings.retention.days = keep_days
        if keep_messages is not None:
            settings.retention.messages = keep_messages
        if no_sharing:
            settings.ClearField("sharing")
        for name, value in sharing.items():
            settings.sharing.ClearField(name)
            settings.sharing.MergeFrom(admin_pb2.Sharing(**{name: value}))  # type: ignore[arg-type]
        _show(client.set_channel_settings(settings), as_json=as_json)


def delete(
    channel: Channel, target: options.Target = options.ANY_TARGET, as_json: options.Json = False
) -> None:
    """Leave a channel to the server's settings."""
    with connected(target) as client:
        was_set = client.delete_channel_settings(channel)
    if as_json:
        print_json({"was_set": was_set})
    else:
        out().print("deleted" if was_set else "nothing was set")


def _overrides(given: str) -> context_pb2.Overrides:
    try:
        return json_format.Parse(given, context_pb2.Overrides())
    except json_format.ParseError as error:
        usage(
            f"--overrides: {error}",
            "It is a JSON object such as '{\"max_context\": 5}': docs/reference/overrides.md.",
        )


def _told(settings: admin_pb2.ChannelSettings) -> dict[str, Any]:
    return MessageToDict(settings, preserving_proto_field_name=True)


def _show(settings: admin_pb2.ChannelSettings, *, as_json: bool) -> None:
    told = _told(settings)
    if as_json:
        print_json(told)
        return
    del told["updated_at_ms"]
    for name, value in [*told.items(), ("set at", _time(settings))]:
        out().print(f"{name:>21}  {escape(_words(value))}", soft_wrap=True)


def _words(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _time(settings: admin_pb2.ChannelSettings) -> str:
    return f"{datetime.fromtimestamp(settings.updated_at_ms / 1_000, UTC):%Y-%m-%d %H:%M} UTC"


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "get": (get, "Example: backscroll settings get my-group"),
    "list": (list_, "Example: backscroll settings list --json"),
    "set": (set_, "Example: backscroll settings set my-group --group guild-42 --profile steady"),
    "delete": (delete, "Example: backscroll settings delete my-group"),
}
