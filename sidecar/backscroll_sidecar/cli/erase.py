"""`backscroll erase`: delete messages, a person, a channel or the whole tenant for good."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from backscroll import Client, EraseReceipt
from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.connect import connected
from backscroll_sidecar.cli.console import CommandError, err, out, print_json, usage
from backscroll_sidecar.history import tombstones

EPILOG = "Example: backscroll erase --user u1 --all-channels --receipt erasures.jsonl"


@dataclass(frozen=True, slots=True)
class What:
    """What is to be erased."""

    channel: Annotated[
        str, typer.Option(metavar="NAME", help="Erase in this channel; alone: all of it.")
    ] = ""
    user: Annotated[str, typer.Option(metavar="ID", help="Erase this person.")] = ""
    message: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Erase this message. Can be given several times."),
    ] = None
    all_channels: Annotated[
        bool, typer.Option("--all-channels", help="Erase the person wherever something is known.")
    ] = False
    whole_tenant: Annotated[
        bool, typer.Option("--whole-tenant", help="Erase everything of the tenant.")
    ] = False


def erase(
    what: What,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count what would go, and change nothing.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    receipt: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Append a line of JSON that tells what was erased, for backups from before.",
            dir_okay=False,
        ),
    ] = None,
    target: options.Target = options.ANY_TARGET,
    as_json: options.Json = False,
) -> None:
    """Delete for good, and say how many went from each store. To repeat it is safe."""
    fields = _fields(what)
    with connected(target) as client, _lines(None if dry_run else receipt) as append:
        if not (dry_run or yes):
            _ask(client, fields)
        erased = client.erase(**fields, dry_run=dry_run)
        append(_line(what, erased))
    if as_json:
        print_json(_as_json(erased), indent=None)
    else:
        _show(erased)


def _fields(what: What) -> dict[str, Any]:
    """The arguments of the call, where they name one thing."""
    if what.whole_tenant and (what.channel or what.user or what.message or what.all_channels):
        usage("--whole-tenant names everything", "Leave out all other names.")
    if what.all_channels and (what.channel or what.message or not what.user):
        usage("--all-channels goes with --user alone", "Leave out --channel and --message.")
    if not (what.whole_tenant or what.all_channels or what.channel):
        usage(
            "nothing says where to erase",
            "Name --channel, or say --all-channels or --whole-tenant.",
        )
    if what.user and what.message:
        usage("--user and --message are two erasures", "Name one of them.")
    return {
        "channel": what.channel,
        "message_ids": what.message or (),
        "user_id": what.user,
        "whole_channel": bool(what.channel) and not what.user and not what.message,
        "all_channels": what.all_channels,
        "whole_tenant": what.whole_tenant,
    }


def _ask(client: Client, fields: dict[str, Any]) -> None:
    """Show what would go, and go on with a yes only."""
    if not sys.stdin.isatty():
        usage("nobody can be asked here", "Say --yes, or look first with --dry-run.")
    _show(client.erase(**fields, dry_run=True), console=err())
    if not typer.confirm("Delete this for good?", err=True):
        raise CommandError("nothing was erased")


@contextmanager
def _lines(path: Path | None) -> Iterator[Any]:
    """What appends a line to the file and has it on the disk; opened before anything is erased."""
    if path is None:
        yield lambda _: None
        return
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise CommandError(f"{path} cannot be written ({error.strerror})") from error

    def append(line: bytes) -> None:
        try:
            os.write(descriptor, line)
            os.fsync(descriptor)
        except OSError as error:
            raise CommandError(
                f"erased, but {path} could not be written ({error.strerror})",
                f"append this line yourself: {line.decode().strip()}",
            ) from error

    try:
        yield append
    finally:
        os.close(descriptor)


def _line(what: What, erased: EraseReceipt) -> bytes:
    return tombstones.encode(
        tombstones.Erasure(
            tenant=erased.tenant,
            channel=what.channel,
            user_id=what.user,
            message_ids=tuple(what.message or ()),
            all_channels=what.all_channels,
            whole_tenant=what.whole_tenant,
            erased_at_ms=erased.erased_at_ms,
        )
    )


def _as_json(erased: EraseReceipt) -> dict[str, object]:
    return {
        "tenant": erased.tenant,
        "erased_at_ms": erased.erased_at_ms,
        "dry_run": erased.is_dry_run,
        "erased_count_by_store": dict(erased),
        "files_clean": erased.are_files_clean,
        "files_clean_by_ms": erased.files_clean_by_ms,
    }


def _show(erased: EraseReceipt, console: Any = None) -> None:  # noqa: ANN401 - rich's
    console = console or out()
    if not any(erased.values()):
        console.print("nothing of it is there")
    else:
        went = "would go" if erased.is_dry_run else "went"
        table = Table("store", went, box=None, header_style="bold")
        for store, count in erased.items():
            if count:
                table.add_row(store.replace("_", " "), f"{count:,}")
        console.print(table)
    if not erased.is_dry_run:
        by = datetime.fromtimestamp(erased.files_clean_by_ms / 1_000, UTC)
        if erased.are_files_clean:
            console.print("the files are clean")
        elif erased.files_clean_by_ms:
            console.print(f"gone from the files by {by:%H:%M:%S} UTC")
        else:
            console.print("gone from the files when PostgreSQL vacuums them")
