"""Names and ids as they may stand before a line, and in it where somebody is mentioned. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

import regex

from backscroll_sidecar.analyze import repeated_tokens
from backscroll_sidecar.channels.people import People
from backscroll_sidecar.domain import Mention, TokenizerName
from backscroll_sidecar.known_names import looked_up_by
from backscroll_sidecar.lines.line_safety import escape_name

MAX_SHOWN_NAME_TOKENS = 16
"""Of a name before a line, o200k_base: an ornamental one of 64 characters would take 200 with every line."""
CUT_MARK = "…"
_GRAPHEME = regex.compile(r"\X")
_TOKEN = re.compile(
    r"<@!?(?P<id>[^<>@|\s]{1,512})(?:\|[^<>\n]{0,512})?>"
    r"|\[CQ:at,(?:[^\[\]]{0,64},)?qq=(?P<qq>[^\[\],\s]{1,512})(?:,[^\[\]]{0,512})?\]"
)
"""How Discord, Slack and OneBot write a mention into a text."""


@lru_cache(maxsize=4_096)
def shown_name(name: str) -> str:
    """A name before a line: escaped, and cut to `MAX_SHOWN_NAME_TOKENS`; the id tells who it is."""
    escaped = escape_name(name)
    if _is_cheap(escaped):
        return escaped
    kept = ""
    for match in _GRAPHEME.finditer(name.strip()):
        longer = escape_name(name.strip()[: match.end()].rstrip()) + CUT_MARK
        if not _is_cheap(longer):
            break
        kept = longer
    return kept or CUT_MARK


def _is_cheap(escaped: str) -> bool:
    if len(escaped) <= MAX_SHOWN_NAME_TOKENS and escaped.isascii():
        return True
    return repeated_tokens(escaped, TokenizerName.O200K) <= MAX_SHOWN_NAME_TOKENS


def has_mention_token(text: str) -> bool:
    """Whether the text may hold a token of a mention."""
    return "<@" in text or "[CQ:at," in text


def with_mentions(text: str, mentions: Iterable[Mention], people: People) -> str:
    """The text with a name for each token of a marked mention: today's name, else the one the mention brought.

    An id stands behind the name where the name alone does not tell who is meant: it is cut, or somebody else's, too.
    """
    if not has_mention_token(text):
        return text
    names: dict[str, str] = {}
    for one in mentions:
        index = people.index.get(one.user_id)
        names[one.user_id] = (people.names[index] if index is not None else "") or one.name
    owners = Counter(looked_up_by(name) for name in names.values())

    def named(match: re.Match[str]) -> str:
        user_id = match["id"] or match["qq"]
        name = names.get(user_id)
        if not name:
            return match[0]
        shown = shown_name(name)
        is_plain = (
            owners[looked_up_by(name)] == 1
            and people.is_known_as(name, user_id)
            and shown == escape_name(name)
        )
        return f"@{shown}" if is_plain else f"@{shown} <{escape_name(user_id)}>"

    return _TOKEN.sub(named, text) if any(names.values()) else text
