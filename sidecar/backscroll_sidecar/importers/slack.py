"""Slack: a whole export, as a zip or a folder, or one day of one channel; its records one a line as well."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import ClassVar

from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.importers.items import (
    Bad,
    BadRecord,
    Item,
    Options,
    Place,
    Read,
    Record,
    Skipped,
    Unreadable,
    first_text,
    inner,
    items_of,
)
from backscroll_sidecar.importers.json_records import of_document, of_lines
from backscroll_sidecar.importers.looks import Look, look
from backscroll_sidecar.importers.message_parts import (
    BOT,
    HUMAN,
    TextBuilder,
    answer,
    draft,
    kind_of,
    show,
)
from backscroll_sidecar.importers.sources import Source

SAID = {
    "",
    "bot_message",
    "me_message",
    "thread_broadcast",
    "file_share",
    "file_comment",
    "reply_broadcast",
}
ROOMS = ("channels.json", "groups.json", "dms.json", "mpims.json")
_TS = re.compile(r"\d{9,11}\.\d{3,6}")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}\.json")
_TOKEN = re.compile(r"<(@|#|!|)([^<>|]*)(?:\|([^<>]*))?>")


class Slack:
    """An export of a Slack workspace."""

    name: ClassVar[str] = "slack"
    label: ClassVar[str] = "a Slack export"

    def fits(self, look: Look) -> bool:
        if look.kind == "folder":
            names = [PurePosixPath(one.inner) for one in look.source.members]
            has_days = any(len(name.parts) > 1 and _DAY.fullmatch(name.name) for name in names)
            return has_days or any(name.name in ROOMS for name in names)
        first = look.first
        return (
            look.is_json
            and first.get("type") == "message"
            and bool(_TS.fullmatch(str(first.get("ts"))))
        )

    def read(self, source: Source, options: Options) -> Iterator[Item]:
        if source.members:
            yield from _workspace(source, options)
            return
        yield from _day(source, SlackChannel("", _names_in(source), {}))


def _workspace(source: Source, options: Options) -> Iterator[Item]:
    """All channels, each with its days in order."""
    names = _users(source)
    ids, labels = _rooms(source)
    folders: dict[str, list[Source]] = {}
    for one in source.members:
        inside = PurePosixPath(one.inner)
        if _DAY.fullmatch(inside.name) and len(inside.parts) > 1:
            folders.setdefault(inside.parts[-2], []).append(one)
    for folder, days in folders.items():
        room = SlackChannel(ids.get(folder, folder), names, labels)
        for day in sorted(days, key=lambda one: one.inner):
            yield from _day(day, room)
    if not folders:
        options.note("the export holds no day files")


def _day(source: Source, room: SlackChannel) -> Iterator[Item]:
    yield from items_of(_records(source), room.items)


def _records(source: Source) -> Iterator[tuple[Place, Record] | Bad]:
    is_lines = look(source).kind == "lines"
    return of_lines(source) if is_lines else of_document(source, ("item", "messages.item"))


def _names_in(source: Source) -> dict[str, str]:
    """Names that stand beside the messages of a single day: somebody may be mentioned before speaking."""
    names: dict[str, str] = {}
    for one in _records(source):
        record = one[1] if isinstance(one, tuple) else {}
        profile = record.get("user_profile")
        if isinstance(profile, dict) and record.get("user"):
            name = profile.get("display_name") or profile.get("real_name") or profile.get("name")
            names.setdefault(str(record["user"]), str(name or ""))
    return names


def _users(source: Source) -> dict[str, str]:
    """Names by user id."""
    names = {}
    for user in _table(source, "users.json"):
        profile = inner(user, "profile")
        name = profile.get("display_name") or profile.get("real_name") or user.get("real_name")
        names[str(user.get("id"))] = str(name or user.get("name") or "")
    return names


def _rooms(source: Source) -> tuple[dict[str, str], dict[str, str]]:
    """Channel ids by folder, and channel names by id."""
    ids, labels = {}, {}
    for file in ROOMS:
        for room in _table(source, file):
            number = first_text(room, "id")
            ids[str(room.get("name") or number)] = number
            labels[number] = first_text(room, "name")
    return ids, labels


def _table(source: Source, file: str) -> list[Record]:
    """One of the small files of an export; nothing where it is not there."""
    for one in source.members:
        if PurePosixPath(one.inner).name == file:
            with one.opened() as opened:
                try:
                    rows = json.load(opened)
                except ValueError as error:
                    raise Unreadable(f"{one.name} cannot be read to its end: {error}") from None
            return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    return []


class SlackChannel:
    """One channel. `names` of users and `labels` of channels, by id."""

    def __init__(self, channel: str, names: dict[str, str], labels: dict[str, str]) -> None:
        self._channel = channel
        self._names = dict(names)
        self._labels = labels

    def items(self, place: Place, record: Record) -> Iterator[Item]:
        subtype = first_text(record, "subtype")
        if subtype == "tombstone" or record.get("hidden"):
            yield Skipped(place, "deleted")
            return
        if record.get("type") != "message" or subtype not in SAID:
            yield Skipped(place, f"service: {subtype or record.get('type') or 'no type'}")
            return
        ts = first_text(record, "ts")
        if not _TS.fullmatch(ts):
            raise BadRecord("no ts")
        message = draft(ts, self._channel, *self._author(record))
        seconds, _, fraction = ts.partition(".")
        message.sent_at_ms = int(seconds) * 1000 + int(fraction[:3].ljust(3, "0"))
        thread = first_text(record, "thread_ts")
        if thread:
            message.thread_id = thread
            if thread != ts:
                answer(message, thread, pb.REPLY_KIND_THREAD)
        self._text(record, message)
        for file in record.get("files") or [record.get("file")]:
            if isinstance(file, dict):
                _file(file, message)
        if not message.parts:
            yield Skipped(place, "without content")
            return
        yield Read(place, message, ("reactions",) if record.get("reactions") else ())

    def _author(self, record: Record) -> tuple[str, str, pb.AuthorKind]:
        profile = inner(record, "user_profile", "bot_profile")
        user = first_text(record, "user")
        bot = first_text(record, "bot_id")
        is_bot = bool(bot) or record.get("subtype") == "bot_message"
        name = str(
            record.get("username") or self._names.get(user) or profile.get("display_name")
            or profile.get("real_name") or profile.get("name") or ""
        )  # fmt: skip
        number = user or bot or name
        if not number:
            raise BadRecord("no user")
        if name:
            self._names.setdefault(number, name)
        return number, name, BOT if is_bot else HUMAN

    def _text(self, record: Record, message: pb.Message) -> None:
        text = first_text(record, "text")
        if not text:
            hung = record.get("attachments")
            texts = [
                first_text(one, "text", "fallback")
                for one in (hung if isinstance(hung, list) else ())
                if isinstance(one, dict)
            ]
            text = "\n".join(filter(None, texts))
        builder, at = TextBuilder(), 0
        for found in _TOKEN.finditer(text):
            builder.add(html.unescape(text[at : found.start()]))
            self._token(builder, *found.groups())
            at = found.end()
        builder.add(html.unescape(text[at:]))
        builder.write(message)

    def _token(self, builder: TextBuilder, sign: str, target: str, label: str | None) -> None:
        label = html.unescape(label or "")
        if sign == "@":
            builder.mention(target, label or self._names.get(target) or target)
        elif sign == "#":
            builder.add(f"#{label or self._labels.get(target) or target}")
        elif sign == "!":
            word = target.partition("^")[0]
            builder.add(label or f"@{word}")
        else:
            url = html.unescape(target)
            is_named = label and label not in {
                url,
                url.partition("://")[2],
                url.removeprefix("mailto:"),
            }
            builder.add(f"{label} ({url})" if is_named else label or url)


def _file(file: Record, message: pb.Message) -> None:
    if file.get("mode") in {"tombstone", "hidden_by_limit"}:
        return
    name, mime = first_text(file, "name"), first_text(file, "mimetype")
    kind = kind_of(name, mime)
    alt = str(file.get("title") or name) if kind == "file" else ""
    show(message, kind, first_text(file, "url_private", "permalink"), alt, mime)
