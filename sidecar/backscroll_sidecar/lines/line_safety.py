"""What lets no name, id or text pass for another line. Pure, and light: a client of the server renders by it, too."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

import regex

from backscroll_sidecar.lines.escaping import BREAKS
from backscroll_sidecar.lines.joiners import joining_places

_BREAK = re.compile(f"(\r\n|[{BREAKS}])")
_SPECIAL = re.compile(r"[\\<>:\[\]]")
_FILLER = regex.compile(r"[[\p{DI}--\p{M}]\u034f]", regex.VERSION1)
"""What is no control or format character and cannot be seen either."""


@lru_cache(maxsize=4_096)
def escape_name(name: str) -> str:
    r"""A name or id as it may stand in a line: marks escaped, what cannot be seen written as ``\u{…}``.

    That is control, format and break characters, fillers, and space at either end: a name that began with two spaces
    would pass for the continuation of the line before. Joiners stay where they do something.
    """
    inner = name.strip()
    start = name.find(inner)
    end = start + len(inner)
    joiners = joining_places(name)
    return "".join(
        c
        if place in joiners
        else f"\\u{{{ord(c):x}}}"
        if not start <= place < end
        or unicodedata.category(c)[0] == "C"
        or _FILLER.match(c)
        or _BREAK.match(c)
        else _SPECIAL.sub(r"\\\g<0>", c)
        for place, c in enumerate(name)
    )


def indent(text: str) -> str:
    """Line breaks followed by two spaces: a continuation can never pass for a line."""
    # Line breaks are not printable.
    return text if text.isprintable() else _BREAK.sub(r"\1  ", text)
