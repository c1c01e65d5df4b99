"""Names and ids as they may stand before a line, and in it where somebody is mentioned. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

import regex

from backscroll_sidecar.analyze import repeated_tokens
from backscroll_sidecar.channels.people import People
from backscroll_sidecar.context.marks import BREAKS
from backscroll_sidecar.domain import Mention, TokenizerName

MAX_SHOWN_NAME_TOKENS = 16
"""Of a name before a line, o200k_base: an ornamental one of 64 characters would take 200 with every line."""
CUT_MARK = "…"
_BREAK = re.compile(f"[{BREAKS}]")
_SPECIAL = re.compile(r"[\\<>:\[\]]")
_GRAPHEME = regex.compile(r"\X")
_JOINED = regex.compile(
    r"(?<=[\p{Arabic}\p{Syriac}\p{Mongolian}\u0900-\u0dff])[\u200c\u200d](?=[\p{Arabic}\p{Syriac}\p{Mongolian}\u0900-\u0dff])"
    r"|(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic})"
)
"""A joiner that belongs to its writing: inside Persian and Indic words, and in emoji of several parts."""
_TOKEN = re.compile(
    r"<@!?(?P<id>[^<>@|\s]{1,512})(?:\|[^<>\n]{0,512})?>"
    r"|\[CQ:at,(?:[^\[\]]{0,64},)?qq=(?P<qq>[^\[\],\s]{1,512})(?:,[^\[\]]{0,512})?\]"
)
"""How Discord, Slack and OneBot write a mention into a text."""


@lru_cache(maxsize=4_096)
def escape_name(name: str) -> str:
    r"""A name or id as it may stand in a line: marks escaped, what cannot be seen written as ``\u{…}``.

    That is control, format and break characters, and space at either end: a name that began with two spaces would
    pass for the continuation of the line before. Joiners stay where they belong to the writing.
    """
    inner = name.strip()
    start = name.find(inner)
    end = start + len(inner)
    joiners = {one.start() for one in _JOINED.finditer(name)}
    return "".join(
        c
        if place in joiners
        else f"\\u{{{ord(c):x}}}"
        if not start <= place < end or unicodedata.category(c)[0] == "C" or _BREAK.match(c)
        else _SPECIAL.sub(r"\\\g<0>", c)
        for place, c in enumerate(name)
    )


def unescape_name(name: str) -> str:
    """The name `escape_name` was given."""
    return re.sub(
        r"\\(?:u\{([0-9a-f]+)\}|(.))", lambda m: chr(int(m[1], 16)) if m[1] else m[2], name
    )


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
    """The text with a name for each token of a marked mention: today's name, else the one the mention brought."""
    names: dict[str, str] = {}
    for one in mentions:
        index = people.index.get(one.user_id)
        names[one.user_id] = (people.names[index] if index is not None else "") or one.name

    def named(match: re.Match[str]) -> str:
        name = names.get(match["id"] or match["qq"])
        return f"@{shown_name(name)}" if name else match[0]

    return _TOKEN.sub(named, text) if any(names.values()) else text
