"""`backscroll memory`: what is known of a person, for them to see, correct, take out and delete."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message as ProtoMessage
from rich.markup import escape
from rich.table import Table

from backscroll import Client
from backscroll.v1 import preference_pb2 as pb
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import CommandError, err, out, print_json, usage

HELP = "What is known of a person: list, set, edit, delete, export."
ORIGIN = "PREFERENCE_ORIGIN_"
STATUS = "PREFERENCE_STATUS_"
User = Annotated[str, typer.Option("--user", metavar="ID", help="Whose memory.")]
Where = Annotated[
    str, typer.Option("--channel", metavar="NAME", help="Where it holds. Default: everywhere.")
]
Text = Annotated[str, typer.Option("--text", metavar="TEXT", help="As a model reads it.")]
Topic = Annotated[
    str, typer.Option("--topic", metavar="NAME", help="What it is about; `memory topics` lists.")
]
Value = Annotated[str, typer.Option("--value", metavar="TEXT", help="Its value in the topic.")]
From = Annotated[
    datetime | None, typer.Option("--from", help="From when it holds, UTC without an offset.")
]
Until = Annotated[
    datetime | None, typer.Option("--until", help="Until when it holds, UTC without an offset.")
]


def list_(
    user: User,
    channel: Annotated[
        str, typer.Option(metavar="NAME", help="Only what holds in this channel.")
    ] = "",
    topic: Annotated[str, typer.Option(metavar="NAME", help="Only of this topic.")] = "",
    past: Annotated[
        bool, typer.Option("--past", help="Also what is over, or was replaced.")
    ] = False,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """List what is known of a person, with where each line comes from. With --json one object a line."""
    with connected(target) as client:
        found = client.list_preferences(user, channel=channel, topic=topic, include_past=past)
    if as_json:
        _print_lines(found)
    elif not found:
        err().print("nothing is known of this person", markup=False)
    else:
        out().print(_table(found))


def set_(
    user: User,
    text: Text = "",
    topic: Topic = "",
    value: Value = "",
    channel: Where = "",
    from_: From = None,
    until: Until = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Set something about a person. Of a topic with one value it takes the place of another one from now on."""
    if not text and not value:
        usage("nothing to set", "Give --text, or --topic and --value.")
    with connected(target) as client:
        made = client.set_preference(
            user,
            text,
            channel=channel,
            topic=topic,
            value=value,
            valid_from=_utc(from_),
            valid_until=_utc(until),
        )
    _show(made, as_json=as_json)


def edit(
    id_: Annotated[str, typer.Argument(metavar="ID", help="What to correct, as listed.")],
    user: User,
    text: Text = "",
    topic: Topic = "",
    value: Value = "",
    channel: Where = "",
    from_: From = None,
    until: Until = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Correct something about a person; what is not given stays. What was read from a message counts as set then."""
    with connected(target) as client:
        old = _find(client, user, channel, id_)
        if topic and not value:
            usage("a topic without a value", "Give --value, too.")
        made = client.set_preference(
            user,
            text or ("" if value else old.text),
            channel=channel,
            preference_id=id_,
            topic=topic or old.topic,
            value=value or old.value,
            valid_from=_utc(from_) or _given(old, "valid_from_ms"),
            valid_until=_utc(until)
            or (None if old.superseded_by else _given(old, "valid_until_ms")),
        )
    _show(made, as_json=as_json)


def delete(
    user: User,
    id_: Annotated[str, typer.Argument(metavar="ID", help="What to delete, as listed.")] = "",
    channel: Where = "",
    everything: Annotated[
        bool, typer.Option("--all", help="All of the person, in every channel.")
    ] = False,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Delete something about a person, or all. What was read from a message is not read from it again."""
    if everything == bool(id_) or (everything and channel):
        usage("name one thing, or all", "Give an ID, with --channel where it is of one, or --all.")
    with connected(target) as client:
        count = client.delete_preference(user, id_, channel=channel, all_channels=everything)
    if as_json:
        print_json({"deleted": count})
    else:
        out().print(f"deleted: {count}")
    if id_ and not count:
        raise typer.Exit(1)


def export(
    user: User,
    target: options.Target = options.ANY_TARGET,
) -> None:
    """Print all that is known of a person, what is past too, as JSON Lines."""
    with connected(target) as client:
        found = client.list_preferences(user, include_past=True)
    _print_lines(found)


def topics(target: options.Target = options.ANY_TARGET, as_json: options.Json = False) -> None:
    """List the topics that the server knows. With --json one object a line."""
    with connected(target) as client:
        found = client.list_preference_topics()
    if as_json:
        _print_lines(found)
        return
    table = Table("topic", "values", "choices", "words", box=None, header_style="bold")
    for one in found:
        values = "many" if one.has_many else "one"
        table.add_row(*map(escape, (one.name, values, " ".join(one.choices), " ".join(one.words))))
    out().print(table)


def _find(client: Client, user: str, channel: str, id_: str) -> pb.Preference:
    for one in client.list_preferences(user, include_past=True):
        if one.id == id_ and one.channel == channel:
            return one
    raise CommandError(
        "no such line is stored there", "`backscroll memory list --past` shows ids and channels"
    )


def _given(one: pb.Preference, field: str) -> int | None:
    return getattr(one, field) if one.HasField(field) else None


def _utc(at: datetime | None) -> datetime | None:
    return at.replace(tzinfo=UTC) if at is not None and at.tzinfo is None else at


def _print_lines(found: Sequence[ProtoMessage]) -> None:
    for one in found:
        print_json(MessageToDict(one, preserving_proto_field_name=True), indent=None)


def _show(one: pb.Preference, *, as_json: bool) -> None:
    if as_json:
        print_json(MessageToDict(one, preserving_proto_field_name=True))
    else:
        out().print(f"{one.id}: {one.text}", markup=False, soft_wrap=True)


def _table(found: Sequence[pb.Preference]) -> Table:
    table = Table(box=None, header_style="bold")
    for name in ("id", "channel", "topic", "text", "holds", "from"):
        table.add_column(name, no_wrap=name == "id")
    for one in found:
        origin = pb.PreferenceOrigin.Name(one.origin).removeprefix(ORIGIN).lower()
        came = " ".join((origin, *one.source_message_ids))
        row = (one.id, one.channel, one.topic, one.text, _holds(one), came)
        table.add_row(*map(escape, row))
    return table


def _holds(one: pb.Preference) -> str:
    status = pb.PreferenceStatus.Name(one.status).removeprefix(STATUS).lower()
    since = _day(one.valid_from_ms) if one.HasField("valid_from_ms") else ""
    until = _day(one.valid_until_ms) if one.HasField("valid_until_ms") else ""
    return f"{status} {since} – {until}" if since or until else status


def _day(at_ms: int) -> str:
    return datetime.fromtimestamp(at_ms / 1_000, UTC).strftime("%Y-%m-%d %H:%M")


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "list": (list_, "Example: backscroll memory list --user ann --past"),
    "set": (set_, "Example: backscroll memory set --user ann --topic language --value English"),
    "edit": (edit, "Example: backscroll memory edit 3f0c… --user ann --value coffee"),
    "delete": (delete, "Example: backscroll memory delete --user ann --all"),
    "export": (export, "Example: backscroll memory export --user ann > ann.jsonl"),
    "topics": (topics, "Example: backscroll memory topics --json"),
}
