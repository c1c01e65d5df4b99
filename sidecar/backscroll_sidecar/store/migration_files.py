"""The numbered SQL files of a kind of database."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib.resources.abc import Traversable

_FILE = re.compile(r"(\d{4})_([a-z0-9_]+)\.sql")


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered file. Once released, neither its number nor its text changes."""

    number: int
    name: str
    sql: str


def migrations_in(folder: Traversable) -> tuple[Migration, ...]:
    """Those of a folder by number: 1, 2, … without a gap."""
    found = [
        Migration(int(match[1]), match[2], file.read_text("utf-8"))
        for file in folder.iterdir()
        if (match := _FILE.fullmatch(file.name))
    ]
    found.sort(key=lambda migration: migration.number)
    assert [migration.number for migration in found] == list(range(1, len(found) + 1)), found
    return tuple(found)
