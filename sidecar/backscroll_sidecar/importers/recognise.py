"""Which format a file is of: named by the user, or known by what it begins with."""

from __future__ import annotations

from typing import Final

from backscroll_sidecar.importers.discord import Discord
from backscroll_sidecar.importers.history_table import HistoryTable
from backscroll_sidecar.importers.irc import Irc
from backscroll_sidecar.importers.items import Format, NotUnderstood
from backscroll_sidecar.importers.lark import Lark
from backscroll_sidecar.importers.looks import look
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
    HistoryTable(), Telegram(), Discord(), Slack(), WhatsApp(), Irc(), Qq(), WeChat(), Lark(), OneBot(), OpenAiChat(),
    Native(),
)  # fmt: skip
"""In the order in which they are tried: what takes anything comes last."""
BY_NAME: Final = {one.name: one for one in FORMATS}
WANTED: Final = (
    "wanted is JSON Lines (one JSON object a line), a JSON array, or an export of Telegram Desktop (JSON), "
    "DiscordChatExporter (JSON), Slack, WhatsApp, IRC clients, QQ, WeChat, Lark/Feishu, OneBot; --format names one"
)


def format_of(source: Source, name: str = "") -> Format:
    """The format of a file.

    Raises
    ------
    NotUnderstood
        It is none that we read; the text says what it is.
    """
    if name:
        return BY_NAME[name]
    seen = look(source)
    for one in FORMATS:
        if one.fits(seen):
            return one
    raise NotUnderstood(f"{source.name} is {seen.describe()}: no chat log that we read; {WANTED}")
