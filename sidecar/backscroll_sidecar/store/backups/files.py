"""Files that come into place whole or not at all, and bytes that are hashed on their way."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from backscroll_sidecar.errors import FailedPrecondition

CHUNK_BYTES = 1024 * 1024
Told = Callable[[int, int], object]
"""Told how many bytes of how many are done."""


@contextlib.contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """An empty file for its owner alone, in the place of a left-over; it goes with the block unless it was moved away.

    Raises
    ------
    FailedPrecondition
        Another program is writing it.
    OSError
        It cannot be made.
    """
    with _taken(path) as file:
        os.fchmod(file.fileno(), 0o600)
        file.truncate(0)
        try:
            yield file
        finally:
            if _is_at(file, path):
                path.unlink()


def remove_left_overs(folder: Path, pattern: str) -> None:
    """Delete files of these names that nobody is writing: whoever wrote them was killed."""
    for path in sorted(folder.glob(pattern)):
        with contextlib.suppress(FailedPrecondition), _taken(path):
            path.unlink(missing_ok=True)


def _taken(path: Path) -> BinaryIO:
    """The file, made if need be, which nobody else takes until it is closed."""
    while True:
        # In a folder of many a link may lie here, to a file that is not to be emptied.
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        file = os.fdopen(os.open(path, flags, 0o600), "r+b")
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            file.close()
            raise FailedPrecondition(
                f"{path} is being written by another program: wait until that is done"
            ) from error
        if _is_at(file, path):
            return file
        file.close()  # whoever had it has moved it into its place meanwhile


def _is_at(file: BinaryIO, path: Path) -> bool:
    with contextlib.suppress(OSError):
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    return False


def put_in_place(file: BinaryIO, path: Path, destination: Path, mode: int) -> None:
    """Make it durable, give it this mode, and let it take its place in one step."""
    file.flush()
    os.fchmod(file.fileno(), mode)
    os.fsync(file.fileno())
    path.replace(destination)
    sync_folder(destination.parent)


def sync_folder(folder: Path) -> None:
    """Make durable which files a folder has."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def hashed(source: BinaryIO, size_bytes: int, told: Told | None = None) -> str:
    """The SHA-256 of the next bytes of a file."""
    return copied(source, None, size_bytes, told)


def copied(
    source: BinaryIO, target: BinaryIO | None, size_bytes: int, told: Told | None = None
) -> str:
    """Copy the next bytes of a file, of which there may be fewer; their SHA-256."""
    digest, done = hashlib.sha256(), 0
    while done < size_bytes and (chunk := source.read(min(CHUNK_BYTES, size_bytes - done))):
        digest.update(chunk)
        if target is not None:
            target.write(chunk)
        done += len(chunk)
        if told is not None:
            told(done, size_bytes)
    return digest.hexdigest()
