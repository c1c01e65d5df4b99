"""A look at what a file begins with: enough to tell its format. Reads one piece of it."""

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import Any, ClassVar, Protocol

import ijson

from backscroll_sidecar.importers.encodings import is_of
from backscroll_sidecar.importers.items import BadRecord, Item, Options, Record
from backscroll_sidecar.importers.json_bytes import JSON_ERRORS, SafeBytes, TooDeep
from backscroll_sidecar.importers.json_records import header, parsed
from backscroll_sidecar.importers.sources import SQLITE_MAGIC, Source

HEAD_RECORDS = 20
HEAD_LINES = 1_000
RECORD_PLACES = (
    "item",
    "messages.item",
    "items.item",
    "data.items.item",
    "chats.list.item.messages.item",
)
"""Where documents keep their records."""
MAGICS = {
    b"%PDF": "a PDF document",
    b"\x89PNG": "a picture",
    b"\xff\xd8\xff": "a picture",
    b"GIF8": "a picture",
    b"PAR1": "a Parquet file",
    b"PK\x03\x04": "a zip archive inside another file; unpack that first",
    b"PK\x05\x06": "an empty zip archive",
    b"7z\xbc\xaf": "a 7z archive; unpack it first",
    b"Rar!": "a RAR archive; unpack it first",
    b"BZh": "a bzip2 file; unpack it first",
    b"\xfd7zXZ": "an xz file; unpack it first",
    b"\x28\xb5\x2f\xfd": "a Zstandard file; unpack it first",
}
_JSON = re.compile(rb"\{|\[\s*(?:[{\[\"\]]|$)")
"""A list of objects, not a time in brackets."""


@dataclass
class Look:
    """What is seen at first.

    Attributes
    ----------
    kind : str
        "folder", "sqlite", "binary", "empty", "lines" (JSON, one object a line), "array", "object", "text".
    keys : dict
        Of an object: what stands before its first record, by place.
    records : list of dict
        The first records of any JSON.
    lines : list of str
        The first lines of a text, none of them blank.
    """

    source: Source
    kind: str
    keys: dict[str, Any] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @cached_property
    def first(self) -> Record:
        """The first record; an empty one where there is none."""
        return self.records[0] if self.records else {}

    @property
    def is_json(self) -> bool:
        return self.kind in {"lines", "array", "object"}

    def describe(self) -> str:
        """What it is, for somebody who expected it to be read."""
        if self.is_json and not is_of(self.source.head(), "utf-8"):
            return "JSON that is not in UTF-8, as JSON is (--encoding says what it is)"
        if self.kind == "object":
            return f"a JSON document with {_listed(key for key in self.keys if '.' not in key)}"
        if self.is_json:
            return (
                f"JSON whose records have {_listed(self.first)}"
                if self.first
                else "JSON without records"
            )
        if self.kind == "text" and self.lines:
            return _text_words(self.lines[0])
        if self.kind == "folder":
            what = "a folder" if self.source.path.is_dir() else "a zip archive"
            return f"{what} that holds {_listed(one.inner for one in self.source.members)}"
        return self.keys.get("words") or "no text"


class Format(Protocol):
    """One kind of file."""

    name: ClassVar[str]
    """As ``--format`` takes it."""
    label: ClassVar[str]
    """What it is, with its article."""

    def fits(self, look: Look) -> bool:
        """Whether a file that begins so is one."""

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        """Go through the file from its beginning; the same items each time."""


def look(source: Source) -> Look:
    """Look at a file, a folder or an archive."""
    if source.members or source.path.is_dir():
        return Look(source, "folder")
    head = source.head()
    stripped = head.lstrip()
    if not stripped:
        return Look(source, "empty")
    if head.startswith(SQLITE_MAGIC):
        return Look(source, "sqlite")
    words = next((words for magic, words in MAGICS.items() if head.startswith(magic)), "")
    if words or b"\0" in head:
        return Look(source, "binary", {"words": words or "no text but bytes"})
    if _JSON.match(stripped):
        return _json_look(source, stripped)
    lines = head.decode("utf-8", "replace").splitlines()
    if len(head) > len(lines[0]) + 1 and len(lines) > 1:
        lines = lines[:-1] if len(head) >= HEAD_RECORDS * 10_000 else lines
    some = [line for line in lines if line.strip()][:HEAD_LINES]
    if 2 * sum(line.lstrip().startswith("{") for line in some) >= len(
        some
    ):  # not prose with examples
        return Look(source, "lines", records=_records_of_lines(head), lines=some)
    return Look(source, "text", lines=some)


def _json_look(source: Source, head: bytes) -> Look:
    if head.startswith(b"["):
        return _deep_look(source, head) or Look(source, "array", records=_records_at(head, "item"))
    records = _records_of_lines(head)
    several = len(records) > 1 or len([line for line in head.splitlines()[:3] if line.strip()]) == 1
    keys, has_records = header(io.BytesIO(head), RECORD_PLACES)
    if (records and not (has_records and len(records) == 1)) and several:
        return Look(source, "lines", records=records)
    if _is_lines(head):
        return Look(source, "lines", records=records)
    if deep := _deep_look(source, head):
        return deep
    found: list[Record] = []
    for place in RECORD_PLACES:
        found = found or _records_at(head, place)
    return Look(source, "object", keys, found)


def _deep_look(source: Source, head: bytes) -> Look | None:
    """What no parser should be given."""
    try:
        SafeBytes(io.BytesIO(head)).read()
    except TooDeep as error:
        return Look(source, "binary", {"words": f"JSON {error}"})
    return None


def _is_lines(head: bytes) -> bool:
    """Whether every line begins as an object of its own, or the first is one; though some are broken."""
    lines = [line for line in head.splitlines()[:HEAD_LINES] if line.strip()]
    if len(lines) < 2:
        return False
    return all(line.lstrip().startswith(b"{") for line in lines[:3]) or bool(
        _records_of_lines(lines[0])
    )


def _records_of_lines(head: bytes) -> list[Record]:
    found: list[Record] = []
    for line in head.splitlines()[:HEAD_RECORDS]:
        try:
            found.append(parsed(line))
        except BadRecord:
            continue
    return found


def _records_at(head: bytes, place: str) -> list[Record]:
    found: list[Record] = []
    try:
        for value in ijson.items(SafeBytes(io.BytesIO(head)), place, use_float=True):
            if isinstance(value, dict):
                found.append(value)
            if len(found) >= HEAD_RECORDS:
                break
    except JSON_ERRORS:  # the head ends somewhere
        pass
    return found


def _text_words(line: str) -> str:
    start = line.lstrip().lower()
    if start.startswith(("<!doctype html", "<html")):
        return "an HTML page"
    if start.startswith("<?xml"):
        return "an XML file"
    return f"a text that begins {line.strip()[:60]!r}"


def _listed(names: Any, most: int = 6) -> str:  # noqa: ANN401
    words = [PurePath(str(one)).as_posix() for one in names]
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return (", ".join(words[:most]) or "nothing") + more
