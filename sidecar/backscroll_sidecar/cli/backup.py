"""`backscroll backup`: one state of the database as a file, while a server runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.check_config import loaded_or_refuse
from backscroll_sidecar.cli.console import (
    CommandError,
    err,
    os_words,
    print_json,
    progress_of_bytes,
)
from backscroll_sidecar.errors import BackscrollError

EPILOG = "Example: backscroll backup --to /var/backups/backscroll/"


def backup(
    to: Annotated[
        Path,
        typer.Option(
            "--to",
            metavar="FILE",
            help="File to write, or a folder that is there: then its name tells the time.",
        ),
    ],
    database: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Database to back up. Default: that of the settings here.",
            callback=options.no_url,
        ),
    ] = None,
    config: options.Config = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file that is there already.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Write the whole database as it stands at one moment into one file, whether a server runs or not.

    Writers go on meanwhile. The file comes into place whole or not at all. Nothing of what was erased or recalled
    before is in it. The files of vector indexes are taken along. `backscroll restore` puts it back.
    """
    from backscroll_sidecar.store.backups.backup import back_up

    source = database or _configured(config)
    destination = _named(to)
    try:
        with progress_of_bytes("backing up", quiet=as_json) as told:
            made = back_up(source, destination, told, replaces=force)
    except BackscrollError as error:
        raise CommandError(error.message) from None
    except OSError as error:
        raise CommandError(os_words(error), "name another place with --to, or make room") from None
    size_bytes = destination.stat().st_size
    if as_json:
        print_json(
            {
                "file": str(destination),
                "bytes": size_bytes,
                "database": str(source),
                "taken_at_ms": made.taken_at_ms,
                "schema_version": made.schema_version,
                "rows": made.row_counts,
                "indexes": len(made.indexes),
            }
        )
        return
    held = f"{made.row_counts.get('messages', 0):,} messages"
    err().print(f"{destination}: {held}, {size_bytes / 2**20:.1f} MiB", markup=False)


def _configured(config: Path | None) -> Path:
    settings = loaded_or_refuse(config=config).settings
    if settings.in_memory:
        raise CommandError(
            "the history is kept in memory only: there is nothing to back up",
            "name a database with --database",
        )
    if settings.in_postgres:
        raise CommandError(
            "the history is in PostgreSQL, which has tools of its own for backups",
            "use pg_dump or pgBackRest",
        )
    return settings.database_path


def _named(to: Path) -> Path:
    if not to.is_dir():
        return to
    return to / f"backscroll-{datetime.now(UTC):%Y%m%dT%H%M%SZ}.backup"
