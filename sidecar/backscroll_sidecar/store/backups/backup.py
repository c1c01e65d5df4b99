"""A backup is made: snapshot, index files and manifest, written beside the destination and moved there when whole."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import BinaryIO

from backscroll_sidecar.errors import FailedPrecondition, StoreUnavailable
from backscroll_sidecar.store.backups import files
from backscroll_sidecar.store.backups.files import Told
from backscroll_sidecar.store.backups.manifest import Manifest, Part, written
from backscroll_sidecar.store.sqlite import snapshot
from backscroll_sidecar.store.sqlite.files import companions

DATABASE = "backscroll.db"
INDEX_SUFFIX = ".hnsw"
PART_SUFFIX = ".backscroll-part"
"""Of a file that is being written. A left-over is known by it."""


def back_up(database: Path, destination: Path, told: Told, *, replaces: bool = False) -> Manifest:
    """Write a backup of a database, whether a server has it or not. Blocks; what is there stays until it is whole.

    Parameters
    ----------
    told : told how many bytes of about how many are written.
    replaces : take the place of a file that is there.

    Raises
    ------
    FailedPrecondition
        The destination is taken, or belongs to the database.
    StoreUnavailable, StoreReadOnly
        The database cannot be read, or the disk is full.
    OSError
        The destination cannot be written.
    """
    database, destination = database.resolve(), destination.resolve()
    if not database.is_file():
        raise StoreUnavailable(f"there is no database at {database}: name one with --database")
    _check_destination(database, destination, replaces=replaces)
    mode = stat.S_IMODE(database.stat().st_mode) & 0o666
    files.remove_left_overs(destination.parent, f".*{PART_SUFFIX}")
    part = destination.with_name(f".{destination.name}{PART_SUFFIX}")
    with files.new_file(part) as file:
        manifest = _write(database, part, file, told)
        files.put_in_place(file, part, destination, mode)
    return manifest


def index_folder(database: Path) -> Path:
    """Where the index files of a database lie."""
    return database.with_name(database.name + "-indexes")


def _check_destination(database: Path, destination: Path, *, replaces: bool) -> None:
    lock = database.with_name(database.name + ".lock")
    if destination in {database, lock, *companions(database)}:
        raise FailedPrecondition(f"{destination} belongs to the database itself: name another file")
    if destination.exists() and not replaces:
        raise FailedPrecondition(
            f"{destination} is there already: name another file, or give --force"
        )


def _write(database: Path, part: Path, file: BinaryIO, told: Told) -> Manifest:
    taken_at_ms = snapshot.take(database, part, told)
    held = snapshot.facts(part)
    size_bytes = file.seek(0, os.SEEK_END)
    file.seek(0)
    digest = files.hashed(file, size_bytes)
    file.seek(size_bytes)
    manifest = Manifest(
        taken_at_ms=taken_at_ms,
        made_by=version("backscroll"),
        schema_version=held.schema_version,
        database=Part(DATABASE, size_bytes, digest),
        indexes=tuple(_copy_indexes(index_folder(database), held.index_hashes, file)),
        row_counts=held.row_counts,
    )
    file.write(written(manifest))
    return manifest


def _copy_indexes(folder: Path, wanted: Collection[str], target: BinaryIO) -> Iterator[Part]:
    """Those that the snapshot vouches for. One that a server replaced meanwhile is another file: it is left out."""
    for path in sorted(folder.glob(f"*{INDEX_SUFFIX}")) if wanted else ():
        with _opened_if_there(path) as source:
            if source is None:
                continue
            size_bytes = os.fstat(source.fileno()).st_size
            digest = files.hashed(source, size_bytes)
            if digest in wanted:
                source.seek(0)
                yield Part(path.name, size_bytes, files.copied(source, target, size_bytes))


@contextmanager
def _opened_if_there(path: Path) -> Iterator[BinaryIO | None]:
    try:
        file = path.open("rb")
    except FileNotFoundError:
        yield None
        return
    with file:
        yield file
