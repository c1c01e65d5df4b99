"""People a question names, for ranking: never an identity (law 4), so several may be meant and parts of names count."""

from __future__ import annotations

import re
from dataclasses import dataclass

from backscroll_sidecar.analyze.asking import lowered_words
from backscroll_sidecar.analyze.stopwords import STOP_WORDS, is_stop_word
from backscroll_sidecar.channels.people import NameParts
from backscroll_sidecar.scripts import HAN, UNSPACED
from backscroll_sidecar.values import quick

MAX_NAME_CHARS = 12
"""Longer names in scripts without spaces are not sought."""

_TOKEN = re.compile(
    rf"[{HAN}{UNSPACED}]+|[^\W{HAN}{UNSPACED}](?:[^\W{HAN}{UNSPACED}]|[-.|\[\]^`](?=\w))*"
)
_ASCII_TOKEN = re.compile(r"\w+(?:[-.|\[\]^`]\w+)*", re.ASCII)
"""What `_TOKEN` finds in ASCII."""
_INSIDE = re.compile(r"\w[-.|\[\]^`]\w|_", re.ASCII)
"""Where it is not found a token of ASCII is a word."""
_UNSPACED_START = re.compile(rf"[{HAN}{UNSPACED}]")
_CLOSING = " \t\n.!?~\u3002\uff01\uff1f\u2026)"
_ADDRESSED = tuple(":\uff1a,\uff0c")
_POSSESSIVE = re.compile(r"(?:^|(?<=\s))['\u2019]s(?=\s)")
_INNER = re.compile(r"[-.|\[\]^`_]+")
_NOBODY: frozenset[int] = frozenset()


@quick
@dataclass(frozen=True, slots=True)
class Named:
    """The users a text names, and the text without those names.

    `speaks_of`: a name stands inside the text, so somebody is spoken of; at either end, or after ``@``, somebody is
    called.
    """

    users: frozenset[int]
    rest: str
    speaks_of: bool = False


def named_in(text: str, by_name_part: NameParts) -> Named:
    """Find names and words of names in `text`: whole words in spaced scripts, anywhere in the others.

    A name that is a stop word ("Will") counts only with a capital letter inside the text. O(length of the text).
    """
    is_ascii = text.isascii()
    if (
        is_ascii
        and by_name_part.keys().isdisjoint(lowered_words(text))
        and _INSIDE.search(text) is None
    ):
        return Named(_NOBODY, text)  # most texts
    pattern = _ASCII_TOKEN if is_ascii else _TOKEN
    words = pattern.findall(text)
    tokens = "\n".join(words).casefold().split("\n")
    known = by_name_part.keys() & tokens
    if not "".join(tokens).isalnum():  # signs inside
        known |= {token for token in tokens if not token.isalnum() and _stem(token) in by_name_part}
    if not known.isdisjoint(STOP_WORDS):
        capital = {token for word, token in zip(words, tokens, strict=False) if word[0].isupper()}
        known = {token for token in known if token in capital or token not in STOP_WORDS}
    if not known and (is_ascii or by_name_part.lengths.keys().isdisjoint(text)):
        return Named(_NOBODY, text)  # most texts
    users: set[int] = set()
    kept: list[str] = []
    end = behind = 0
    speaks_of = False
    last = len(text.rstrip(_CLOSING))
    for word, folded in zip(words, tokens, strict=False):
        at = text.index(word, behind)
        behind = at + len(word)
        if folded not in known and folded.isascii():
            continue
        for start, stop, who in _spans(word, at > 0, by_name_part):
            users |= who
            kept.append(text[end : at + start])
            begin, end = at + start, at + stop
            called = begin == 0 or text[begin - 1] in "@\uff20" or text[end : end + 1] in _ADDRESSED
            speaks_of |= not called and end < last
    if not users:
        return Named(_NOBODY, text)
    rest = " ".join([*kept, text[end:]])
    return Named(frozenset(users), _POSSESSIVE.sub(" ", rest), speaks_of)


def _stem(token: str) -> str:
    """What stands before the first sign inside a token."""
    return _INNER.split(token, maxsplit=1)[0]


def _spans(token: str, inside: bool, by_name_part: NameParts) -> list[tuple[int, int, set[int]]]:
    """(start, end, users) of the names in one token."""
    if _UNSPACED_START.match(token):
        return _unspaced(token, by_name_part)
    if is_stop_word(token.casefold()) and not (inside and token[0].isupper()):
        return []
    who = by_name_part.get(token.casefold())
    if who is None and (stem := _stem(token)) != token:
        who = by_name_part.get(stem.casefold())
    return [(0, len(token), who)] if who else []


def _unspaced(run: str, by_name_part: NameParts) -> list[tuple[int, int, set[int]]]:
    """The longest names from left to right: only where a name's first character stands, only as long as names are."""
    out: list[tuple[int, int, set[int]]] = []
    taken = 0
    for start, first in enumerate(run):
        if start < taken or first not in by_name_part.lengths:
            continue
        for length in by_name_part.lengths[first]:
            end = start + length
            if length > MAX_NAME_CHARS or end > len(run):
                continue
            who = by_name_part.get(run[start:end])  # these scripts have no case
            if who:
                out.append((start, end, who))
                taken = end
                break
    return out
