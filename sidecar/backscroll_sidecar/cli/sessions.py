"""`backscroll sessions`: what sessions there are, and how they get out and in."""

import gzip
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer
from google.protobuf.json_format import MessageToDict
from rich.markup import escape
from rich.table import Table

from backscroll import text_of
from backscroll.v1 import session_pb2
from backscroll_sidecar.cli import options, session_exchange
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import (
    CommandError,
    err,
    json_text,
    os_words,
    out,
    print_json,
    usage,
)
from backscroll_sidecar.cli.export import written

HELP = "Sessions of people and personas: list and show them, take them out and in."
SHOWN_MESSAGES = 10
Space = Annotated[str, typer.Option(metavar="SLUG", help="Space that it is in.")]


def list_(
    space: Annotated[
        str | None, typer.Option(metavar="SLUG", help='Only sessions in it; "": those in none.')
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Archived ones, too.")] = False,
    limit: Annotated[
        int, typer.Option(help="How many to show, the newest first; 0: all.", min=0)
    ] = 50,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """List the sessions, the one that changed or got a message last first. With --json one object a line."""
    with connected(target) as client:
        every = client.list_sessions(space=space, include_archived=everything, page_size=1_000)
        found = list(islice(every, limit or None))
    if as_json:
        for one in found:
            print_json(MessageToDict(one, preserving_proto_field_name=True), indent=None)
        return
    if not found:
        err().print("there are no sessions; begin one with: backscroll chat --room", markup=False)
        return
    table = Table(
        "session", "space", "mode", "status", "changed", "title", box=None, header_style="bold"
    )
    for one in found:
        row = (
            one.session_id,
            one.space,
            one.mode,
            _status(one),
            _time(one.updated_at_ms),
            one.title,
        )
        table.add_row(*map(escape, row))
    out().print(table)


def show(
    session: Annotated[str, typer.Argument(help="Session to show: its id, or an alias.")],
    space: Space = "",
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Show a session: who takes part, where its mode stands, and the newest of its messages."""
    with connected(target) as client:
        found = session_exchange.room_of(client, session, space).session()
        newest = client.list_messages(found.channel, newest_first=True, page_size=100)
        own = (one for one in newest if one.message.session_id == found.session_id)
        shown = list(islice(own, SHOWN_MESSAGES))
    shown.reverse()
    if as_json:
        messages = [MessageToDict(one.message, preserving_proto_field_name=True) for one in shown]
        record = MessageToDict(found, preserving_proto_field_name=True)
        print_json({"session": record, "newest_messages": messages})
        return
    told = out()
    for name, value in _facts(found):
        if value:
            told.print(f"[bold]{name}[/]  {escape(value)}", soft_wrap=True)
    table = Table("id", "name", "kind", "here", "summary", box=None, header_style="bold")
    for one in found.participants:
        kind = session_pb2.ParticipantKind.Name(one.kind).rpartition("_")[2].lower()
        here = "yes" if session_exchange.is_here(one) else "no"
        table.add_row(*map(escape, (one.id, one.name, kind, here, one.summary)))
    told.print(table)
    names = {one.id: one.name for one in found.participants}
    for row in shown:
        message = row.message
        name = message.author.name or names.get(message.author.id) or message.author.id
        only = ", ".join(message.audience)
        whom = f" [dim](only {escape(only)})[/]" if only else ""
        told.print(f"[bold]{escape(name)}[/]{whom}: {escape(text_of(message))}", soft_wrap=True)


def export(
    session: Annotated[str, typer.Argument(help="Session to export: its id, or an alias.")],
    output: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            dir_okay=False,
            help="File to write; gzip if it ends in .gz. Unset: standard output.",
        ),
    ] = None,
    space: Space = "",
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Write a session as JSON Lines: the session with its state, then its messages in order of arrival.

    With --json a summary follows: on standard output, or on standard error where the lines are there.
    """
    count = 0
    with connected(target) as client:
        room = session_exchange.room_of(client, session, space)
        found = room.session()
        try:
            with written(output) as file:
                for line in room.export():
                    file.write(line.encode() + b"\n")
                    count += 1
        except OSError as error:
            if output is None:
                raise
            usage(f"{output} cannot be written: {error.strerror}")
    summary = {"session": found.session_id, "file": str(output or "-"), "messages": count - 1}
    if as_json and output is not None:
        print_json(summary)
    elif as_json:
        print(json_text(summary), file=sys.stderr, flush=True)
    else:
        err().print(f"{count - 1} messages written", markup=False)


def import_(
    file: Annotated[
        str, typer.Argument(help="What `sessions export` wrote, maybe .gz; -: read it.")
    ],
    session: Annotated[
        str, typer.Option("--id", metavar="ID", help="Id that it gets. Unset: the one it had.")
    ] = "",
    channel: Annotated[
        str, typer.Option(metavar="NAME", help="Channel that it gets. Unset: the one it had.")
    ] = "",
    space: Annotated[
        str | None, typer.Option(metavar="SLUG", help="Space that it gets. Unset: the one it had.")
    ] = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Take a session from JSON Lines. Safe to run twice: messages that are there stay."""
    try:
        lines = list(_lines(file))
    except (OSError, EOFError) as error:
        words = os_words(error) if isinstance(error, OSError) else f"{file}: it breaks off"
        usage(words, "give what `backscroll sessions export` wrote")
    except UnicodeDecodeError:
        usage(f"{file} is no text in UTF-8", "give what `backscroll sessions export` wrote")
    if not lines:
        usage(f"{file} is empty", "give what `backscroll sessions export` wrote")
    with connected(target) as client:
        taken = client.import_session(lines, session_id=session, channel=channel, space=space)
    done = taken.messages
    if as_json:
        print_json(MessageToDict(taken, preserving_proto_field_name=True))
    else:
        more = f", {done.refused_count} refused" if done.refused_count else ""
        err().print(
            f"{taken.session.session_id}: {done.stored_count} messages stored, "
            f"{done.duplicate_count} there already{more}",
            markup=False,
        )


def import_folders(
    directory: Annotated[
        Path, typer.Argument(help="Directory that holds logs/threads.", file_okay=False)
    ],
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Take the sessions of an older system, which keeps each in a folder. Safe to run twice.

    Read are logs/threads/{slug}/sessions/{id}, which become sessions in a space of that slug, and logs/threads/{id},
    which become sessions in none. The state of a mode that the server knows is kept; what cannot be taken is told.
    A session that is there already keeps its state. With --json one object a session.
    """
    with connected(target) as client:
        reports = session_exchange.take_folders(client, directory)
        _tell(reports, "taken", as_json=as_json)


def export_folders(
    directory: Annotated[Path, typer.Argument(help="Directory to write into.", file_okay=False)],
    space: Annotated[
        str | None, typer.Option(metavar="SLUG", help='Only sessions in it; "": those in none.')
    ] = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Write sessions as the folders of an older system, below logs/threads. With --json one object a session.

    A folder that is there is replaced file by file. What it cannot hold, such as policies, is left out.
    """
    with connected(target) as client:
        reports = session_exchange.give_folders(client, directory, space)
        _tell(reports, "written", as_json=as_json)


COMMANDS: dict[str, tuple[Callable[..., Any], str]] = {
    "list": (list_, "Example: backscroll sessions list --space cafe"),
    "show": (show, "Example: backscroll sessions show morning"),
    "export": (export, "Example: backscroll sessions export morning --out morning.jsonl.gz"),
    "import": (import_, "Example: backscroll sessions import morning.jsonl.gz --id evening"),
    "import-folders": (import_folders, "Example: backscroll sessions import-folders ./old-system"),
    "export-folders": (export_folders, "Example: backscroll sessions export-folders ./backup"),
}


def _tell(reports: Iterator[session_exchange.Report], word: str, *, as_json: bool) -> None:
    sessions = messages = failed = 0
    for one in reports:
        sessions += not one.failed
        failed += one.failed
        messages += one.messages
        if as_json:
            print_json(one.record(), indent=None)
            continue
        where = f"{one.space}/{one.session_id}" if one.space else one.session_id
        out().print(f"{escape(where)}  {one.messages} messages  {escape(one.mode)}", soft_wrap=True)
        for note in one.notes:
            err().print(f"[yellow]{escape(where)}: {escape(note)}[/]")
    if not as_json:
        err().print(f"{sessions} sessions {word}, {messages} messages", markup=False)
    if failed:
        raise CommandError(f"{failed} sessions could not be {word}", "the notes say why")


def _lines(file: str) -> Iterator[str]:
    if file == "-":
        yield from (line for line in sys.stdin.read().splitlines() if line.strip())
        return
    path = Path(file)
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8") as text:
        yield from (line for line in text.read().split("\n") if line.strip())


def _facts(one: session_pb2.Session) -> Iterator[tuple[str, str]]:
    yield "session", one.session_id
    yield "title", one.title
    yield "aliases", ", ".join(one.aliases)
    yield "space", one.space
    yield "project", one.project_id
    yield "owner", one.owner_id
    yield "channel", one.channel
    yield "mode", f"{one.mode}, state {one.state_version}"
    yield "state", one.mode_state_json
    yield "status", _status(one)
    yield "begun", _time(one.created_at_ms)
    yield "changed", _time(one.updated_at_ms)
    if one.HasField("forked_from"):
        yield "forked from", one.forked_from.session_id


def _status(one: session_pb2.Session) -> str:
    return session_pb2.SessionStatus.Name(one.status).rpartition("_")[2].lower()


def _time(at_ms: int) -> str:
    return f"{datetime.fromtimestamp(at_ms / 1_000, UTC):%Y-%m-%d %H:%M} UTC" if at_ms else ""
