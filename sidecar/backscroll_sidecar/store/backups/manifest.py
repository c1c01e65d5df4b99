"""What a backup says of itself: the end of its file. Pure.

    database | index files | manifest as JSON | sha256 of the manifest, its size, the mark

All of a file is vouched for: the parts by the manifest, the manifest by the last 48 bytes.
"""

from __future__ import annotations

import hashlib
import struct

import msgspec

from backscroll_sidecar.errors import FailedPrecondition

FORMAT = 1
_MARK = b"BkScBak"
_END = struct.Struct(f"<32sQ{len(_MARK)}sB")
END_BYTES = _END.size
MOST_MANIFEST_BYTES = 256 * 1024 * 1024
"""A channel has one index file at most; more than this is no manifest."""

MAKE_ANOTHER = "take another backup"


class BackupFault(FailedPrecondition):
    """A file is no backup, or not the whole of one, or this program cannot read it."""


class Part(msgspec.Struct, frozen=True):
    """One file within a backup. The parts follow each other without a gap."""

    name: str
    size_bytes: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a backup holds. `taken_at_ms` is when its snapshot began; `row_counts` are those of every table."""

    taken_at_ms: int
    made_by: str
    schema_version: int
    database: Part
    indexes: tuple[Part, ...]
    row_counts: dict[str, int]

    @property
    def parts_bytes(self) -> int:
        """Where the manifest itself begins."""
        return self.database.size_bytes + sum(one.size_bytes for one in self.indexes)


def written(manifest: Manifest) -> bytes:
    """What stands behind the parts."""
    body = msgspec.json.encode(manifest)
    return body + _END.pack(hashlib.sha256(body).digest(), len(body), _MARK, FORMAT)


def manifest_bytes(end: bytes, file_bytes: int) -> int:
    """How large the manifest is, told by the last `END_BYTES` of a file.

    Raises
    ------
    BackupFault
        The file does not end as a backup does.
    """
    if len(end) < END_BYTES:
        raise BackupFault(f"the file is no backup, or was cut: {MAKE_ANOTHER}")
    _, size_bytes, mark, number = _END.unpack(end)
    if mark != _MARK:
        raise BackupFault(
            "the file does not end as a backup does: it was cut, or is none. "
            f"Copy it again or {MAKE_ANOTHER}; a database itself is copied into place while no server runs"
        )
    if number != FORMAT:
        raise BackupFault(
            f"the backup has format {number}, this program reads {FORMAT}: use a newer version of Backscroll"
        )
    if not 0 < size_bytes <= min(file_bytes - END_BYTES, MOST_MANIFEST_BYTES):
        raise BackupFault(f"the backup is damaged at its end: {MAKE_ANOTHER}")
    return int(size_bytes)


def read(body: bytes, end: bytes, file_bytes: int) -> Manifest:
    """The manifest, once it is what its maker wrote and tells of a file of this size.

    Raises
    ------
    BackupFault
        It is not.
    """
    digest, *_ = _END.unpack(end)
    if hashlib.sha256(body).digest() != digest:
        raise BackupFault(f"the backup's manifest is damaged: {MAKE_ANOTHER}")
    try:
        manifest = msgspec.json.decode(body, type=Manifest)
    except msgspec.DecodeError as error:
        raise BackupFault(f"the backup's manifest cannot be read: {MAKE_ANOTHER}") from error
    expected = manifest.parts_bytes + len(body) + END_BYTES
    if file_bytes != expected:
        raise BackupFault(
            f"the backup has {file_bytes} bytes where {expected} were written: copy it again or {MAKE_ANOTHER}"
        )
    return manifest
