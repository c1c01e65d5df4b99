"""The two ends of a move, whatever kinds of database they are."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Protocol

import msgspec

from backscroll_sidecar.errors import StoreMoved, StoreUnavailable
from backscroll_sidecar.ports import Finding
from backscroll_sidecar.store.moving.tables import Key, Row, Table

Phase = Literal["leaving", "closed", "left", "arriving", "arrived"]
"""The old database: rows are copied; it takes no writes; the history left. The new one: it is filled; it is open."""


class Progress(msgspec.Struct):
    """How far the new database is."""

    behind: dict[str, list[Any]] = {}
    """The key of the last row copied, by table."""
    copied: list[str] = []
    """Tables that are copied."""
    later: list[str] = []
    """Statements that make what would slow copying down: indexes, references."""
    is_whole: bool = False
    """Changes made during the copy are there, too, and `later` is done."""

    def encoded(self) -> str:
        """As a database keeps it."""
        return msgspec.json.encode(self).decode()


class Move(msgspec.Struct, frozen=True):
    """What a database says about a move. `other` is the address of the other end, without its password."""

    id: str
    phase: Phase
    other: str
    began_at_ms: int
    progress: Progress = msgspec.field(default_factory=Progress)

    def row(self) -> Row:
        """As a database keeps it."""
        return (self.id, self.phase, self.other, self.began_at_ms, self.progress.encoded())

    @classmethod
    def of_row(cls, row: Iterable[Any] | None) -> Move | None:
        """The inverse of `row`; None: there is none."""
        if row is None:
            return None
        id_, phase, other, began_at_ms, progress = row
        return cls(id_, phase, other, began_at_ms, msgspec.json.decode(progress, type=Progress))


def check_here(move: Move | None) -> None:
    """Refuse a database that no server may open now. Raises `StoreUnavailable`."""
    if move is None:
        return
    match move.phase:
        case "left":
            raise StoreMoved(f"this history moved to {move.other}: set database to that")
        case "closed":
            raise StoreUnavailable(
                f"this history is about to be at {move.other}: let `backscroll migrate` end, or end it with --abandon"
            )
        case "arriving":
            raise StoreUnavailable(
                f"a migration fills this database from {move.other}: let it end, or end it with --abandon"
            )


def findings(move: Move | None) -> Iterator[Finding]:
    """What `doctor` says about it."""
    if move is None:
        return
    began = f"{datetime.fromtimestamp(move.began_at_ms / 1_000, UTC):%Y-%m-%d %H:%M} UTC"
    again = "let backscroll migrate end, or run it again; --abandon takes it back"
    match move.phase:
        case "leaving":
            yield Finding("migration", "warn", f"to {move.other}, begun {began}", again)
        case "closed":
            said = f"broken off at the switch to {move.other}: nothing can be written"
            yield Finding("migration", "fail", said, again)
        case "left":
            said = f"this history moved to {move.other}"
            yield Finding("migration", "fail", said, "set database to that")
        case "arriving":
            said = f"from {move.other}, begun {began}: no server can have it yet"
            yield Finding("migration", "warn", said, again)
        case "arrived":
            yield Finding("migration", "ok", f"came from {move.other}, {began}")


class Changed(NamedTuple):
    """Keys of rows that changed and these rows, read as of one moment. `marks`: the notes that `forget` drops."""

    keys: Mapping[str, set[Key]]
    rows: Mapping[str, Sequence[Row]]
    marks: Sequence[int]

    @property
    def key_count(self) -> int:
        """How many keys."""
        return sum(map(len, self.keys.values()))


async def whole_keys(
    table: Table, limit: int, read: Callable[[int], Awaitable[list[Row]]]
) -> list[Row]:
    """About `limit` of the first rows that `read` gives: all rows of a key, or none."""
    width = len(table.key)
    while True:
        rows = await read(limit)
        if len(rows) < limit:
            return rows
        last = rows[-1][:width]  # it may have more rows
        if whole := [row for row in rows if row[:width] != last]:
            return whole
        limit *= 2


class End(Protocol):
    """A database that a history leaves or comes to. Call one method at a time. All raise `StoreUnavailable`."""

    address: str
    """Without a password."""

    async def close(self) -> None:
        """Disconnect. Idempotent."""

    async def move(self) -> Move | None:
        """What it says about a move."""

    async def count(self) -> int:
        """About how many rows there are."""

    async def page(self, table: Table, after: Key | None, limit: int) -> list[Row]:
        """The next rows after a key: all rows of a key, or none."""

    async def between(self, table: Table, after: Key | None, upto: Key | None) -> list[Row]:
        """Rows after one key, up to another; None: from the first, to the last."""

    async def rows(self, table: Table, keys: set[Key]) -> list[Row]:
        """The rows of these keys."""


class OldEnd(End, Protocol):
    """The database that the history leaves."""

    async def begin(self, move: Move) -> None:
        """Note every change from this commit on."""

    async def changed(self, limit: int | None = None) -> Changed:
        """What changed and is not forgotten yet, as it stands now; with a limit, by the first so many notes."""

    async def forget(self, changed: Changed) -> None:
        """Drop these notes: the new end has the changes."""

    async def shut(self) -> None:
        """Refuse writes: those under way end first, later ones fail. Notes stay."""

    async def reopen(self) -> None:
        """Take writes again."""

    async def leave(self) -> None:
        """Say for good that the history left; return once no server answers from it any more."""

    async def tidy(self) -> None:
        """Drop what only the move needed, once the history left."""

    async def abandon(self) -> None:
        """Be as before the move."""

    async def numbers(self) -> dict[str, int]:
        """The last number given, by numbered table."""


class NewEnd(End, Protocol):
    """The database that the history comes to. Nobody else writes it until it is open."""

    async def is_empty(self) -> bool:
        """Whether it holds nothing that moves. Raises `FailedPrecondition` if a server has it."""

    async def prepare(self, move: Move) -> None:
        """Become an end of this move, and put off what would slow copying down."""

    async def fill(self, table: Table, rows: Sequence[Row], progress: Progress) -> None:
        """Add rows, together with the progress."""

    async def replace(self, changed: Changed) -> None:
        """Replace all rows of these keys by these rows, at once."""

    async def finish(self, progress: Progress) -> None:
        """Do what was put off."""

    async def open_for_servers(self, numbers: Mapping[str, int]) -> None:
        """Let servers open it, and disconnect. The next numbers follow these."""

    async def clear(self) -> None:
        """Be as before the move: empty."""
