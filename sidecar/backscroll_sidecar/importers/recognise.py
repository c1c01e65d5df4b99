"""Which format a file is of: named by the user, or known by what it begins with."""

import re
from collections.abc import Iterator
from typing import Final

from backscroll_sidecar.importers.discord import Discord
from backscroll_sidecar.importers.foreign import foreign_words
from backscroll_sidecar.importers.history_table import HistoryTable
from backscroll_sidecar.importers.irc import Irc
from backscroll_sidecar.importers.items import NotUnderstood, Options
from backscroll_sidecar.importers.lark import Lark
from backscroll_sidecar.importers.looks import Format, Look, look
from backscroll_sidecar.importers.native import Native
from backscroll_sidecar.importers.onebot import OneBot
from backscroll_sidecar.importers.openai_chat import OpenAiChat
from backscroll_sidecar.importers.qq import Qq
from backscroll_sidecar.importers.slack import Slack
from backscroll_sidecar.importers.sources import Source
from backscroll_sidecar.importers.telegram import Telegram
from backscroll_sidecar.importers.wechat import WeChat
from backscroll_sidecar.importers.whatsapp import WhatsApp

FORMATS: Final[tuple[Format, ...]] = (
    HistoryTable(), Telegram(), Discord(), Slack(), Irc(), WhatsApp(), Qq(), WeChat(), Lark(), OneBot(), OpenAiChat(),
    Native(),
)  # fmt: skip
"""In the order in which they are tried: what takes anything comes last."""
_BESIDE = re.compile(
    r"(?!result\.json|_chat\.txt|WhatsApp )[^/]*\.(?:jsonl?|txt|log|csv|db|zip)(?:\.gz)?",
    re.IGNORECASE,
)
"""What may be a log of its own beside that of an export."""
BY_NAME: Final = {one.name: one for one in FORMATS}
WANTED: Final = (
    "wanted is JSON Lines (one JSON object a line), a JSON array, or an export of Telegram Desktop (JSON), "
    "DiscordChatExporter (JSON), Slack, WhatsApp, IRC clients, QQ, WeChat, Lark/Feishu, OneBot; --format names one"
)


def files_of(source: Source, name: str, options: Options) -> Iterator[tuple[Source, Format]]:
    """The files to read and their formats: the source itself, or what a folder or an archive holds.

    `name` is the format that the user named, or empty.

    Raises
    ------
    NotUnderstood
        There is none that we read; the text says what it is.
    """
    seen = look(source)
    found = _format_of(seen, name)
    if found is not None:
        _note_beside(source, found, options)
        yield source, found
        return
    if words := foreign_words(seen):
        raise NotUnderstood(f"{source.name} is {words}")
    others: list[Look] = []
    for one in map(look, source.members):
        if (found := _format_of(one, name)) is not None:
            yield one.source, found
        else:
            others.append(one)
    if len(others) == len(source.members):
        raise NotUnderstood(
            f"{source.name} is {seen.describe()}: no chat log that we read; {WANTED}"
        )
    if others:
        first = others[0]
        options.note(
            f"no chat log, passed over: {len(others)} of {len(source.members)} files of {source.name}, such as "
            f"{first.source.inner}, {foreign_words(first) or first.describe()}"
        )


def _format_of(seen: Look, name: str) -> Format | None:
    """The format of one file; of a folder or an archive only one that reads it as a whole. None: none that we read.

    A folder that several formats would read has several exports in it: it is read file by file.
    """
    fitting = [] if foreign_words(seen) else [one for one in FORMATS if one.fits(seen)]
    if not name:
        is_mixed = seen.kind == "folder" and len(fitting) > 1
        return fitting[0] if fitting and not is_mixed else None
    named = BY_NAME[name]
    if seen.kind == "folder":
        return named if named in fitting else None
    if named not in fitting and fitting and fitting != [BY_NAME[Native.name]]:
        if seen.source.inner:
            return None
        raise NotUnderstood(
            f"{seen.source.name} is {fitting[0].label}: leave --format out, or give --format {fitting[0].name}"
        )
    is_beside_the_log = bool(seen.source.inner) and seen.kind == "binary"
    return None if is_beside_the_log else named


def _note_beside(source: Source, form: Format, options: Options) -> None:
    """Tell of what may be a chat log and is not read: an export of one file has pictures beside it, and no logs."""
    if source.members and form.name != Slack.name:
        others = [one.inner for one in source.members if _BESIDE.fullmatch(one.inner)]
        if others:
            some = f"{', '.join(others[:3])}{', …' if len(others) > 3 else ''}"
            options.note(
                f"not read, beside {form.label}: {some}; import by itself what is a chat log"
            )
