"""Rows as arrays of columns, and how many rows a statement changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from backscroll_sidecar.store.facts import Named

Rows = Iterable[Sequence[Any]]


def columns(rows: Rows) -> list[list[Any]]:
    """The columns of at least one row: what a statement with ``unnest`` takes."""
    return [list(column) for column in zip(*rows, strict=True)]


def wanted(named: Iterable[Named]) -> tuple[list[str], list[str]]:
    """Channels and names, all of one tenant: what a statement that begins with `WANTED` takes."""
    named = list(named)
    return [channel for _, channel, _ in named], [name for *_, name in named]


def changed(status: str) -> int:
    """How many rows a statement changed, from its status: ``DELETE 3``."""
    return int(status.rpartition(" ")[2])


_ESCAPE = "\x1a"


def spelled(name: str) -> str:
    """A name that may hold U+0000, spelled without it, since no text of PostgreSQL can hold it. Most stay the same."""
    if "\0" not in name and _ESCAPE not in name:
        return name
    return name.replace(_ESCAPE, f"{_ESCAPE}1").replace("\0", f"{_ESCAPE}0")


def unspelled(name: str) -> str:
    """The inverse of `spelled`."""
    if _ESCAPE not in name:
        return name
    return name.replace(f"{_ESCAPE}0", "\0").replace(f"{_ESCAPE}1", _ESCAPE)
