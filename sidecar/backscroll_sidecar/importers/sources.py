"""Files as they are: plain, gzip, inside a zip, in a folder, from standard input; read as often as needed, as UTF-8."""

from __future__ import annotations

import codecs
import gzip
import io
import shutil
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import IO, Any, cast

from backscroll_sidecar.importers.encodings import GUESSES, encoding_of
from backscroll_sidecar.importers.items import Bad, NotUnderstood, Place, Unreadable

GZIP_MAGIC = b"\x1f\x8b"
ZIP_MAGIC = b"PK\x03\x04"
SQLITE_MAGIC = b"SQLite format 3\x00"
HEAD_BYTES = 256 * 1024
MAX_LINE_BYTES = 16 * 1024 * 1024
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16",
}  # fmt: skip
"""The longer before those that begin like them."""
STANDARD_INPUT = "standard input"
_BLANK_BLOCK_BYTES = 1 << 16


@dataclass(frozen=True)
class Source:
    """One file to read. `path` is where it lies; for a member of an archive or folder `name` tells both.

    Attributes
    ----------
    members : tuple of Source
        What a folder or an archive holds, in order of name; empty for a file.
    """

    name: str
    path: Path
    raw: Callable[[], IO[bytes]]
    members: tuple[Source, ...] = ()
    inner: str = ""
    """Its place inside the folder or archive, with forward slashes."""
    told_encoding: str = ""
    """Of its text, where the user said it."""

    @property
    def guessed_encoding(self) -> str:
        """What it is taken for where nothing in the file or from the user says it, in words; else empty."""
        if self.members or self.told_encoding or self.path.is_dir():
            return ""
        return GUESSES.get(self.encoding, "")

    @contextmanager
    def opened(self) -> Iterator[IO[bytes]]:
        """The bytes from the beginning, as UTF-8 without a byte order mark."""
        try:
            with self._unpacked() as file:
                yield _recoded(file, self.encoding, self._ends_lines_as_old_macs)
        except (OSError, EOFError, zlib.error, zipfile.BadZipFile) as error:
            if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
                raise
            raise Unreadable(f"{self.name} cannot be read to its end: {error}") from error

    @contextmanager
    def _unpacked(self) -> Iterator[IO[bytes]]:
        """The bytes as they were before gzip, wherever the file lies."""
        with self.raw() as file:
            if cast("io.BufferedReader", file).peek(2).startswith(GZIP_MAGIC):
                with gzip.GzipFile(fileobj=file) as unpacked:
                    yield cast("IO[bytes]", unpacked)
            else:
                yield file

    def head(self, size: int = HEAD_BYTES) -> bytes:
        """What it begins with, as UTF-8."""
        with self.opened() as file:
            return file.read(size)

    @cached_property
    def encoding(self) -> str:
        """Of its bytes: by the mark in front, else as told, else by how its bytes look."""
        head = self._packed_head
        for mark, name in _BOMS.items():
            if head.startswith(mark):
                return name
        if head.startswith(SQLITE_MAGIC):
            return "utf-8"
        if self.told_encoding:
            return self.told_encoding
        return encoding_of(head)

    @cached_property
    def _packed_head(self) -> bytes:
        """What it begins with, in its own encoding."""
        with self._unpacked() as file:
            return file.read(HEAD_BYTES)

    @property
    def _ends_lines_as_old_macs(self) -> bool:
        """Whether its lines end in CR alone."""
        head = self._packed_head
        return b"\r" in head and b"\n" not in head and not head.startswith(SQLITE_MAGIC)

    def lines(self) -> Iterator[tuple[Place, bytes] | Bad]:
        """All lines that are not blank, with their numbers and without their ends; one that has no end is bad."""
        with self.opened() as file:
            number = 0
            while raw := file.readline(MAX_LINE_BYTES):
                number += 1
                if len(raw) >= MAX_LINE_BYTES and not raw.endswith(b"\n"):
                    yield Bad(Place(number), f"longer than {MAX_LINE_BYTES >> 20} MiB")
                    while raw and not raw.endswith(b"\n"):
                        raw = file.readline(MAX_LINE_BYTES)
                elif raw.strip():
                    yield Place(number), raw.rstrip(b"\r\n")
                else:
                    number += _pass_blank(file)


def _pass_blank(file: IO[bytes]) -> int:
    """Go on to the next line that is not blank, block by block; how many lines were passed."""
    count = 0
    buffered = cast("io.BufferedReader", file)
    while ahead := buffered.peek(_BLANK_BLOCK_BYTES):
        text = ahead.lstrip()
        blank = ahead.rfind(b"\n", 0, len(ahead) - len(text)) + 1
        if not blank:
            break
        count += file.read(blank).count(b"\n")
        if text:
            break
    return count


@contextmanager
def opened(names: list[str], encoding: str = "") -> Iterator[list[Source]]:
    """A source for each name; ``-`` is standard input, kept in a temporary file meanwhile.

    `encoding` is that of all texts, a name of Python's; empty: each by its bytes.

    Raises
    ------
    FileNotFoundError, PermissionError
        One cannot be read.
    Unreadable
        An archive is broken.
    """
    with ExitStack() as stack:
        yield [_told(_source(name, stack), encoding) for name in names]


def _told(source: Source, encoding: str) -> Source:
    members = tuple(_told(one, encoding) for one in source.members)
    return replace(source, members=members, told_encoding=encoding)


def _source(name: str, stack: ExitStack) -> Source:
    path = Path(name)
    shown = name
    if name == "-":
        kept = stack.enter_context(tempfile.NamedTemporaryFile())  # noqa: SIM115 - the stack closes it
        shutil.copyfileobj(sys.stdin.buffer, kept)
        kept.flush()
        path, shown = Path(kept.name), STANDARD_INPUT
    if path.is_dir():
        return Source(shown, path, lambda: path.open("rb"), tuple(_in_folder(path)))
    with path.open("rb") as file:
        magic = file.read(4)
    if magic == ZIP_MAGIC:
        return Source(shown, path, lambda: path.open("rb"), tuple(_in_zip(path, shown, stack)))
    return Source(shown, path, lambda: path.open("rb"))


def _in_folder(path: Path) -> Iterator[Source]:
    for file in sorted(path.rglob("*")):
        if file.is_file() and not file.name.startswith("."):
            inner = file.relative_to(path).as_posix()
            yield Source(str(file), file, lambda file=file: file.open("rb"), inner=inner)  # type: ignore[misc]


def _in_zip(path: Path, shown: str, stack: ExitStack) -> Iterator[Source]:
    try:
        archive = stack.enter_context(zipfile.ZipFile(path))
    except zipfile.BadZipFile as error:
        raise Unreadable(f"{shown} cannot be read to its end: {error}") from error
    for info in sorted(archive.infolist(), key=lambda info: info.filename):
        name = info.filename
        if info.is_dir() or "__MACOSX" in name or Path(name).name.startswith("."):
            continue
        inside = f"{shown}/{name}"
        yield Source(
            inside,
            Path(name),
            partial(_member, archive, info, inside),
            inner=name,
        )


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> IO[bytes]:
    try:
        return archive.open(info)
    except NotImplementedError as error:
        raise NotUnderstood(f"{name} cannot be read: {error}; unpack the archive first") from None
    except RuntimeError:
        raise NotUnderstood(f"{name} has a password; unpack the archive first") from None


def _recoded(file: IO[bytes], encoding: str, has_old_ends: bool) -> IO[bytes]:
    if has_old_ends:
        return io.BufferedReader(_Recoded(file, encoding, mends_ends=True), 1 << 16)
    if encoding == "utf-8":
        return file
    if encoding == "utf-8-sig":
        file.read(len(codecs.BOM_UTF8))
        return file
    return io.BufferedReader(_Recoded(file, encoding), 1 << 16)


class _Recoded(io.RawIOBase):
    """A text of another encoding as UTF-8; what cannot be decoded becomes a mark. CR becomes LF where asked for."""

    def __init__(self, file: IO[bytes], encoding: str, *, mends_ends: bool = False) -> None:
        self._file = file
        decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._decoder = io.IncrementalNewlineDecoder(decoder, translate=mends_ends)
        self._rest = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401 - whatever holds bytes
        while not self._rest:
            raw = self._file.read(1 << 16)
            self._rest = self._decoder.decode(raw, final=not raw).encode("utf-8", "replace")
            if not raw:
                break
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count
