"""A SQLite file with a table ``history`` (chat_id, role, text), as bots of one person keep it. Opened to read only."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import ClassVar

from backscroll._encode import clean
from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.importers.items import (
    BadRecord,
    Item,
    NotUnderstood,
    Options,
    Place,
    Read,
    Unreadable,
    guarded,
)
from backscroll_sidecar.importers.looks import Look
from backscroll_sidecar.importers.message_parts import BOT, HUMAN, SYSTEM, draft
from backscroll_sidecar.importers.sources import Source

ROLES = {
    "user": (pb.ROLE_USER, HUMAN), "assistant": (pb.ROLE_ASSISTANT, BOT), "model": (pb.ROLE_ASSISTANT, BOT),
    "bot": (pb.ROLE_ASSISTANT, BOT), "system": (pb.ROLE_SYSTEM, SYSTEM),
}  # fmt: skip
TIMES = ("created_at", "timestamp", "time", "date", "ts", "sent_at")
WANTED = "a table history with the columns chat_id, role and text is wanted"


class HistoryTable:
    """The table of a bot's history."""

    name: ClassVar[str] = "history-table"
    label: ClassVar[str] = "a SQLite file with a history table"

    def fits(self, look: Look) -> bool:
        return look.kind == "sqlite"

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        try:
            with closing(
                sqlite3.connect(f"{source.path.resolve().as_uri()}?mode=ro", uri=True)
            ) as opened:
                yield from _rows(opened, source, options)
        except sqlite3.Error as error:
            raise Unreadable(f"{source.name} cannot be read to its end: {error}") from None


def _rows(opened: sqlite3.Connection, source: Source, options: Options) -> Iterator[Item]:
    columns = [row[1] for row in opened.execute("PRAGMA table_info(history)")]
    if not {"chat_id", "role"} <= set(columns) or not {"text", "content"} & set(columns):
        tables = [
            row[0] for row in opened.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
        ]
        found = f"the tables {', '.join(tables)}" if tables else "no table"
        raise NotUnderstood(f"{source.name} is a SQLite file with {found}; {WANTED}")
    text = "text" if "text" in columns else "content"
    number = "id" if "id" in columns else "rowid"
    time = next((name for name in TIMES if name in columns), "NULL")
    if time == "NULL":
        options.note("the table tells no times: its order is kept, and all counts as sent now")
    statement = f"SELECT {number}, chat_id, role, {text}, {time} FROM history ORDER BY {number}"  # noqa: S608 - names of our own lists
    for count, row in enumerate(opened.execute(statement), start=1):
        place = Place(count, "row")
        yield from guarded(_items(place, row, time, options), place)


def _items(place: Place, row: tuple[object, ...], column: str, options: Options) -> Iterator[Item]:
    number, chat, role, text, at = row
    known = ROLES.get(str(role).lower())
    if known is None:
        raise BadRecord(f"role is none of: {', '.join(ROLES)}")
    if not isinstance(text, str) or number is None or chat is None:
        raise BadRecord("id, chat_id or text is empty")
    contract_role, kind = known
    author = str(chat) if kind == HUMAN else {BOT: "assistant", SYSTEM: "system"}[kind]
    message = draft(str(number), str(chat), author, "", kind)
    message.role = contract_role
    if at is not None:
        message.sent_at_ms = options.times.milliseconds(_utc(at, options), column)
    message.parts.add().text.text = clean(text)
    yield Read(place, message)


def _utc(at: object, options: Options) -> object:
    """SQLite's own times say no zone and are those of UTC."""
    if isinstance(at, str) and options.times.zone is None and "T" not in at and ":" in at:
        return at if "+" in at or at.endswith("Z") else f"{at}+00:00"
    return at
