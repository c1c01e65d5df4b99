"""Files of JSON Lines, and how they are refused: by file, line and field."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GZIP_MAGIC = b"\x1f\x8b"


class DataError(ValueError):
    """A file cannot be used: which, in which line (0: the whole file), which field (may be empty), and why."""

    def __init__(self, file: Path | str, line: int, field_name: str, problem: str) -> None:
        where = f"{file}:{line}" if line else str(file)
        super().__init__(": ".join(filter(None, (where, field_name, problem))))
        self.file, self.line, self.field, self.problem = str(file), line, field_name, problem


@dataclass(frozen=True, slots=True)
class Row:
    """One JSON object of a file, and how its fields may be read."""

    file: Path
    number: int
    values: Mapping[str, Any]

    def error(self, field_name: str, problem: str) -> DataError:
        return DataError(self.file, self.number, field_name, problem)

    def get(self, name: str) -> Any:  # noqa: ANN401
        return self.values.get(name)

    def text(self, name: str, default: str | None = None) -> str:
        value = self.values.get(name)
        value = default if value is None else value
        if value is None:
            raise self.error(name, "is missing")
        if not isinstance(value, str):
            raise self.error(name, "is no text")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.values.get(name) or []
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.error(name, "is no list of texts")
        return value

    def known(self, name: str, message_id: str, position: Mapping[str, int]) -> int:
        if message_id not in position:
            raise self.error(name, f"the group has no message {message_id}")
        return position[message_id]

    def ids(self, name: str, position: Mapping[str, int], cut: int) -> frozenset[str]:
        """Message ids of the history before `cut`."""
        ids = self.texts(name)
        for one in ids:
            if self.known(name, one, position) >= cut:
                raise self.error(name, f"{one} does not stand before the question")
        return frozenset(ids)


def read_rows(path: Path) -> Iterator[Row]:
    """The objects of a file of JSON Lines, plain or gzip; blank lines are passed over."""
    try:
        with path.open("rb") as file:
            packed = file.read(2) == GZIP_MAGIC
        with gzip.open(path, "rb") if packed else path.open("rb") as lines:
            for number, raw in enumerate(lines, start=1):
                if raw.strip():
                    yield Row(path, number, _object(path, number, raw))
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(path, 0, "", f"cannot be read: {error}") from None


def _object(path: Path, number: int, raw: bytes) -> Mapping[str, Any]:
    try:
        value = json.loads(raw.decode("utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise DataError(path, number, "", f"not JSON in UTF-8: {error}") from None
    if not isinstance(value, dict):
        raise DataError(path, number, "", "not a JSON object")
    return value
