"""A backup is put in the place of a database: checked and brought up to date beside it, then moved there in one step.

    read the manifest → take the database's lock → copy, hashing → check → migrate → erase → close the old one → move

Until the move the old database is as it was. Index files come behind: one that lacks is made again by the server.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from backscroll_sidecar.errors import FailedPrecondition, StoreUnavailable
from backscroll_sidecar.store.backups import files, manifest
from backscroll_sidecar.store.backups.backup import INDEX_SUFFIX, index_folder
from backscroll_sidecar.store.backups.erasures import Erasure
from backscroll_sidecar.store.backups.files import Told
from backscroll_sidecar.store.backups.manifest import BackupFault, Manifest
from backscroll_sidecar.store.sqlite import files as sqlite_files
from backscroll_sidecar.store.sqlite import renewal, snapshot
from backscroll_sidecar.store.sqlite.files import FileLock


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be restored where.

    Attributes
    ----------
    is_verified
        The copy is read through before it takes its place: pages, indexes, references, rows.
    is_dry
        Everything but the last step; what was made goes.
    replaces
        A database that is there goes.
    erasures
        What was erased since the backup was made, or before.
    """

    backup: Path
    database: Path
    is_verified: bool = False
    is_dry: bool = False
    replaces: bool = False
    erasures: Sequence[Erasure] = ()


@dataclass(slots=True)
class Restored:
    """What was done: checks in the order they were made, what went by each erasure, row counts."""

    manifest: Manifest
    schema_version: int
    had_database: bool
    checks: list[str] = field(default_factory=list)
    erased: list[dict[str, int]] = field(default_factory=list)
    row_counts: dict[str, int] = field(default_factory=dict)
    index_names: list[str] = field(default_factory=list)

    @property
    def is_migrated(self) -> bool:
        """Whether the backup is of an older schema."""
        return self.manifest.schema_version < self.schema_version


def restore(wanted: Wanted, told: Told) -> Restored:
    """Put a backup in place. Blocks. Whoever kills it at any point leaves the old database or the new one.

    Raises
    ------
    BackupFault
        The file is no backup, was cut or changed, or is of a newer version.
    FailedPrecondition
        There is a database, and it is not to be replaced.
    StoreUnavailable, StoreReadOnly
        A server has the database, another program has it open, or the disk is full.
    OSError
        A file cannot be read or written.
    """
    database = wanted.database.resolve()
    with wanted.backup.open("rb") as backup:
        told_of = read_manifest(backup)
        _check_schema(told_of)
        if not database.parent.is_dir():
            raise StoreUnavailable(f"there is no folder {database.parent}: make it first")
        if database.exists() and os.path.samestat(database.stat(), os.fstat(backup.fileno())):
            raise FailedPrecondition(
                "the backup is the database itself: name another file with --to"
            )
        with _locked(database):
            sqlite_files.remove_unfinished(database)
            had_database = database.exists() and database.stat().st_size > 0
            if had_database and not wanted.replaces:
                raise FailedPrecondition(
                    f"there is a database at {database}: give --force to replace it, or name another file with --to"
                )
            done = Restored(told_of, renewal.newest_schema(), had_database)
            with _made(wanted, backup, database, done, told) as (file, path):
                _look_at(path, done)
                if not wanted.is_dry:
                    _settle(database)
                    files.put_in_place(file, path, database, _mode_and_owner(file, database))
                    _place_indexes(backup, done, index_folder(database))
            return done


def read_manifest(backup: BinaryIO) -> Manifest:
    """What a file says of itself. Raises `BackupFault` where it is no backup as it was written."""
    size_bytes = backup.seek(0, os.SEEK_END)
    backup.seek(max(0, size_bytes - manifest.END_BYTES))
    end = backup.read()
    body_bytes = manifest.manifest_bytes(end, size_bytes)
    backup.seek(size_bytes - manifest.END_BYTES - body_bytes)
    return manifest.read(backup.read(body_bytes), end, size_bytes)


def _check_schema(told_of: Manifest) -> None:
    newest = renewal.newest_schema()
    if told_of.schema_version > newest:
        raise BackupFault(
            f"the backup has schema {told_of.schema_version}, this program knows schemas up to {newest}: "
            "restore it with a newer version of Backscroll"
        )


@contextlib.contextmanager
def _locked(database: Path) -> Iterator[None]:
    lock = FileLock(database)
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def _made(
    wanted: Wanted, backup: BinaryIO, database: Path, done: Restored, told: Told
) -> Iterator[tuple[BinaryIO, Path]]:
    """The new database beside the old one, checked, of the newest schema, without what was erased."""
    path, clean = sqlite_files.restoring(database)
    with _without_companions(path), files.new_file(path) as file:
        _copy(backup, done, file, told)
        if wanted.is_verified:
            _verify(path, done)
        renewal.bring_up_to_date(path)
        if wanted.erasures:
            done.erased = renewal.erase(path, wanted.erasures)
        if any(done.erased):
            with _without_companions(clean), files.new_file(clean) as rewritten:
                snapshot.take(path, clean, lambda *_: None)
                if wanted.is_verified:
                    _verify_again(clean, done)
                yield rewritten, clean
            return
        if wanted.is_verified and done.is_migrated:
            _verify_again(path, done)
        yield file, path


@contextlib.contextmanager
def _without_companions(path: Path) -> Iterator[None]:
    """No log is left beside the file."""
    try:
        yield
    finally:
        for one in sqlite_files.companions(path):
            one.unlink(missing_ok=True)


def _copy(backup: BinaryIO, done: Restored, target: BinaryIO, told: Told) -> None:
    part = done.manifest.database
    backup.seek(0)
    if files.copied(backup, target, part.size_bytes, told) != part.sha256:
        raise BackupFault(
            f"the backup is damaged: its database is not what was written. Copy it again or {manifest.MAKE_ANOTHER}"
        )
    target.flush()
    for one in done.manifest.indexes:
        if files.hashed(backup, one.size_bytes) != one.sha256:
            raise BackupFault(
                f"the backup is damaged: its index file {one.name} is not what was written. "
                f"Copy it again or {manifest.MAKE_ANOTHER}"
            )
    done.checks.append(f"checksums: manifest, database, {len(done.manifest.indexes)} index files")


def _verify(path: Path, done: Restored) -> None:
    _verify_whole(path)
    held, told_of = snapshot.facts(path), done.manifest
    done.checks.append("integrity: every page, index, value and reference")
    if held.schema_version != told_of.schema_version:
        raise BackupFault(
            f"the backup's database has schema {held.schema_version}, its manifest says {told_of.schema_version}"
        )
    done.checks.append(f"schema: {held.schema_version}, this program has {done.schema_version}")
    if held.row_counts != told_of.row_counts:
        raise BackupFault("the backup's tables have other numbers of rows than its manifest says")
    rows = sum(held.row_counts.values())
    done.checks.append(f"rows: {rows} in {len(held.row_counts)} tables")


def _verify_again(path: Path, done: Restored) -> None:
    _verify_whole(path)
    done.checks.append("integrity once more, after what was changed")


def _verify_whole(path: Path) -> None:
    if found := snapshot.damage(path):
        raise BackupFault(
            f"the backup's database is damaged ({'; '.join(found)}): take another one"
        )


def _look_at(path: Path, done: Restored) -> None:
    """What the new database holds, and which index files it vouches for."""
    held = snapshot.facts(path)
    done.row_counts = held.row_counts
    done.index_names = [
        one.name for one in done.manifest.indexes if one.sha256 in held.index_hashes
    ]


def _settle(database: Path) -> None:
    """Leave nothing beside the old database that would be taken for the new one's.

    A damaged one cannot take its log in any more: that goes, since with the new database it would do harm.
    """
    if database.exists() and not snapshot.settle(database):
        for one in sqlite_files.companions(database):
            one.unlink(missing_ok=True)


def _mode_and_owner(file: BinaryIO, database: Path) -> int:
    """The rights of the old database, and its owner as far as we may; a new one is for its owner alone."""
    if not database.exists():
        return 0o600
    old = database.stat()
    with contextlib.suppress(OSError):
        os.fchown(file.fileno(), old.st_uid, old.st_gid)
    return stat.S_IMODE(old.st_mode)


def _place_indexes(backup: BinaryIO, done: Restored, folder: Path) -> None:
    """Those of the new database take the places of all others."""
    if not done.index_names and not folder.exists():
        return
    folder.mkdir(mode=0o700, exist_ok=True)
    for path in folder.iterdir():
        if path.suffix in (INDEX_SUFFIX, ".part") and path.name not in done.index_names:
            path.unlink()
    offset = done.manifest.database.size_bytes
    for one in done.manifest.indexes:
        if one.name in done.index_names:
            path = folder / Path(one.name).name
            part = path.with_suffix(".part")
            backup.seek(offset)
            with files.new_file(part) as file:
                files.copied(backup, file, one.size_bytes)
                files.put_in_place(file, part, path, 0o600)
        offset += one.size_bytes
