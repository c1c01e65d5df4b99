"""`backscroll restore`: a backup in the place of a database."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from backscroll_sidecar.cli import options
from backscroll_sidecar.cli.console import (
    CommandError,
    err,
    os_words,
    print_json,
    progress_of_bytes,
    shown,
)
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.history import tombstones as lines

if TYPE_CHECKING:
    from backscroll_sidecar.store.backups.restore import Restored

EPILOG = "Example: backscroll restore backscroll.backup --to chat.db --verify"


def restore(
    source: Annotated[
        Path, typer.Argument(metavar="FROM", help="File that `backscroll backup` wrote.")
    ],
    to: Annotated[
        Path,
        typer.Option(
            "--to", metavar="DB", help="Database's file to write.", callback=options.no_url
        ),
    ],
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Read all of it through before it takes its place, and say what was checked.",
        ),
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a database that is there.")
    ] = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Do everything but put it in place; it needs the room."),
    ] = False,
    tombstones: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="JSON lines of erasures, which are done again in what is restored."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Put a backup in the place of a database that no server has.

    It is copied beside the database, checked and brought to the schema of this program. Then it takes the place of the
    old one in one step. Whatever ends it before leaves the old database as it was.
    """
    from backscroll_sidecar.store.backups.restore import Wanted
    from backscroll_sidecar.store.backups.restore import restore as put_in_place

    try:
        erasures = _erasures(tombstones)
        wanted = Wanted(source, to, verify, dry_run, force, erasures)
        with progress_of_bytes("restoring", quiet=as_json) as told:
            done = put_in_place(wanted, told)
    except BackscrollError as error:
        raise CommandError(error.message) from None
    except OSError as error:
        raise CommandError(
            os_words(error), "nothing was changed; make room or name another place"
        ) from None
    if as_json:
        print_json(_as_dict(done, to, erasures, is_dry=dry_run))
        return
    for said in _said(done, to, erasures, is_dry=dry_run):
        err().print(shown(said), markup=False)


def _erasures(path: Path | None) -> Sequence[lines.Erasure]:
    if path is None:
        return ()
    try:
        with path.open("rb") as file:
            return lines.decode(file)
    except BackscrollError as error:
        raise CommandError(f"{path}: {error.message}") from None


def _as_dict(
    done: "Restored", to: Path, erasures: Sequence[lines.Erasure], *, is_dry: bool
) -> dict[str, Any]:
    told_of = done.manifest
    return {
        "database": str(to),
        "restored": not is_dry,
        "replaced": done.had_database and not is_dry,
        "taken_at_ms": told_of.taken_at_ms,
        "made_by": told_of.made_by,
        "schema_version_before": told_of.schema_version,
        "schema_version": done.schema_version,
        "rows": done.row_counts,
        "checks": done.checks,
        "erasures": [
            {"tombstone": json.loads(lines.encode(erasure)), "counts": counts}
            for erasure, counts in zip(erasures, done.erased, strict=True)
        ],
        "indexes_taken_along": len(done.index_names),
        "indexes_made_again": _made_again(done),
    }


def _said(
    done: "Restored", to: Path, erasures: Sequence[lines.Erasure], *, is_dry: bool
) -> list[str]:
    told_of = done.manifest
    taken_at = datetime.fromtimestamp(told_of.taken_at_ms / 1_000, UTC)
    said = [f"taken {taken_at:%Y-%m-%d %H:%M:%S} UTC by Backscroll {told_of.made_by}"]
    said += [f"checked {one}" for one in done.checks]
    if done.is_migrated:
        said.append(f"migrated from schema {told_of.schema_version} to {done.schema_version}")
    for number, (erasure, counts) in enumerate(zip(erasures, done.erased, strict=True), 1):
        went = ", ".join(
            f"{count} {part.replace('_', ' ')}" for part, count in sorted(counts.items())
        )
        said.append(f"tombstone {number} ({_words(erasure)}): {went or 'nothing of it was there'}")
    again = _made_again(done)
    more = f", {again} are made again by the next serve" if again else ""
    said.append(f"index files: {len(done.index_names)} taken along{more}")
    held = f"{done.row_counts.get('messages', 0):,} messages"
    return [*said, f"{to}: {'would hold' if is_dry else 'restored,'} {held}"]


def _made_again(done: "Restored") -> int:
    """Index files whose channel lost something since; the server makes them of the vectors."""
    return len(done.manifest.indexes) - len(done.index_names)


def _words(erasure: lines.Erasure) -> str:
    if erasure.whole_tenant:
        return f"tenant {erasure.tenant}"
    if erasure.message_ids:
        return f"{len(erasure.message_ids)} messages of channel {erasure.channel}"
    if erasure.user_id:
        where = "all channels" if erasure.all_channels else f"channel {erasure.channel}"
        return f"user {erasure.user_id} of {where}"
    return f"channel {erasure.channel}"
