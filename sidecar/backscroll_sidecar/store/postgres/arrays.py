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
    """Channels and names: what a statement takes that begins with `WANTED`. All of one tenant."""
    named = list(named)
    return [channel for _, channel, _ in named], [name for *_, name in named]


def changed(status: str) -> int:
    """How many rows a statement changed, of what the server says: ``DELETE 3``."""
    return int(status.rpartition(" ")[2])
