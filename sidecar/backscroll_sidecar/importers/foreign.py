"""Chat logs that are not read, known by their beginning: what they are, what to export instead. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from backscroll_sidecar.importers.looks import Look

_BY_US = "put its messages into JSON Lines (id, user_id, name, text, timestamp)"
_TELEGRAM_PAGES = "a Telegram Desktop export in HTML: export again as machine-readable JSON"
TEXTS = (
    (r"\A\s*<!doctype html.*?(?:chatlog__|DiscordChatExporter)",
     "a DiscordChatExporter export in HTML: export as JSON (--format Json)"),
    (r"\AAuthorID,Author,Date,Content",
     "a DiscordChatExporter export in CSV, which has no ids: export as JSON (--format Json)"),
    (r"\A={10,}\s+Guild:",
     "a DiscordChatExporter export in plain text, which has no ids: export as JSON (--format Json)"),
    (r"\AID,Timestamp,Contents,Attachments",
     "a part of Discord's data package, which has one person's lines: export as JSON with DiscordChatExporter"),
    (r"\A\s*<!doctype html.*?class=\"page_wrap\"", _TELEGRAM_PAGES),
    (r"\A.{0,400}Tencent (?:MsgMgr|IM Message)", "a QQ export in MHT: export as text"),
    (r"\A\s*<!doctype html.*?(?:wxid_|@chatroom)", "a WeChat export in HTML: export as CSV or JSON"),
    (r"\A\[LINE\] ", f"a chat history of LINE, which is not read: {_BY_US}"),
)  # fmt: skip
"""What begins so, and its words."""
RECORDS = (
    ({"mapping", "current_node"}, f"a ChatGPT export, which is not read: {_BY_US}"),
    ({"sender_name", "timestamp_ms"}, f"a Facebook or Instagram export, which is not read: {_BY_US}"),
    ({"event_id", "origin_server_ts"}, f"a list of Matrix events, which is not read: {_BY_US}"),
    ({"is_user", "mes"}, f"a SillyTavern chat, which is not read: {_BY_US}"),
)  # fmt: skip
"""What has these fields, and its words."""
_TEXTS = tuple((re.compile(begins, re.IGNORECASE | re.DOTALL), words) for begins, words in TEXTS)


def foreign_words(look: Look) -> str:
    """What a file is, and what to do; empty where it may be readable."""
    if look.kind == "folder":
        pages = any(one.inner.endswith("messages.html") for one in look.source.members)
        has_json = any(one.inner.endswith("result.json") for one in look.source.members)
        return _TELEGRAM_PAGES if pages and not has_json else ""
    if look.is_json:
        found = (
            words for fields, words in RECORDS if any(fields <= one.keys() for one in look.records)
        )
    else:
        text = "\n".join(look.lines)
        found = (words for begins, words in _TEXTS if begins.search(text))
    return next(found, "")
