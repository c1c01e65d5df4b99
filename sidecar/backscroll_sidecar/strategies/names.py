"""People named in a question, for ranking only: several may be meant, and parts of names count."""

from __future__ import annotations

import re
from typing import NamedTuple

import msgspec

from backscroll_sidecar.analyze.memo import remembered
from backscroll_sidecar.analyze.stopwords import STOP_WORDS, is_stop_word
from backscroll_sidecar.channels.people import NameParts
from backscroll_sidecar.scripts import HAN, UNSPACED

MAX_NAME_CHARS = 12
"""Longer names in scripts without spaces are not found."""

_TOKEN = re.compile(
    rf"[{HAN}{UNSPACED}]+|[^\W{HAN}{UNSPACED}](?:[^\W{HAN}{UNSPACED}]|[-.|\[\]^`](?=\w))*"
)
_ASCII_TOKEN = re.compile(r"\w+(?:[-.|\[\]^`]\w+)*", re.ASCII)
"""What `_TOKEN` finds in ASCII."""
_UNSPACED_START = re.compile(rf"[{HAN}{UNSPACED}]")
_CLOSING = " \t\n.!?~\u3002\uff01\uff1f\u2026)"
_ADDRESSED = tuple(":\uff1a,\uff0c")
_YOU = tuple("你您妳")
_POSSESSIVE = re.compile(r"(?:^|(?<=\s))['\u2019]s(?=\s)")
_INNER = re.compile(r"[-.|\[\]^`_]+")
_NOBODY: frozenset[int] = frozenset()


class Named(msgspec.Struct, frozen=True):
    """The users a text names, and the text without those names.

    `speaks_of`: a name stands inside the text, or begins one without spaces that goes on: 老王生日是哪天. At either
    end, or after ``@``, somebody is called instead, and so is who is told "you": 老王你几点来.
    """

    users: frozenset[int]
    rest: str
    speaks_of: bool = False


def named_in(text: str, by_name_part: NameParts) -> Named:
    """Find names and words of names in `text`: whole words in spaced scripts, anywhere in the others.

    A name that is a stop word ("Will") counts only with a capital letter inside the text. O(length of the text).
    """
    read = _read(text)
    known = by_name_part.keys() & read.tokens
    for token, stem in read.stems:
        if stem in by_name_part:
            known.add(token)
    if not known.isdisjoint(STOP_WORDS):
        known = {token for token in known if token in read.capital or token not in STOP_WORDS}
    if not known and (text.isascii() or by_name_part.lengths.keys().isdisjoint(text)):
        return Named(_NOBODY, text)  # most texts
    users: set[int] = set()
    kept: list[str] = []
    end = 0
    speaks_of = False
    last = len(text.rstrip(_CLOSING))
    for at, word, folded in zip(_starts(text), read.words, read.folded, strict=True):
        if folded not in known and folded.isascii():
            continue
        for start, stop, who in _spans(word, at > 0, by_name_part):
            users |= who
            kept.append(text[end : at + start])
            begin, end = at + start, at + stop
            following = text[end : end + 1]
            called = following in _ADDRESSED or (
                not _is_subject(following) if begin == 0 else text[begin - 1] in "@\uff20"
            )
            speaks_of |= not called and end < last
    if not users:
        return Named(_NOBODY, text)
    rest = " ".join([*kept, text[end:]])
    return Named(frozenset(users), _POSSESSIVE.sub(" ", rest), speaks_of)


def _is_subject(following: str) -> bool:
    """Whether a name at the beginning is what a text speaks of, by the character behind it."""
    return following not in _YOU and _UNSPACED_START.match(following) is not None


class _Read(NamedTuple):
    """A text prepared for finding names.

    Attributes
    ----------
    words, folded : its tokens in their order, and these case-folded
    tokens : these, each once
    stems : those with a sign inside, and what stands before it
    capital : those that begin with a capital letter somewhere
    """

    words: tuple[str, ...]
    folded: tuple[str, ...]
    tokens: frozenset[str]
    stems: tuple[tuple[str, str], ...]
    capital: frozenset[str]


@remembered
def _read(text: str) -> _Read:
    words = (_ASCII_TOKEN if text.isascii() else _TOKEN).findall(text)
    folded = "\n".join(words).casefold().split("\n") if words else []
    stems: tuple[tuple[str, str], ...] = ()
    if not "".join(folded).isalnum():  # signs inside
        stems = tuple((token, _stem(token)) for token in folded if not token.isalnum())
    both = zip(words, folded, strict=True)
    capital = frozenset(token for word, token in both if word[0].isupper())
    return _Read(tuple(words), tuple(folded), frozenset(folded), stems, capital)


@remembered
def _starts(text: str) -> tuple[int, ...]:
    """Where each of its tokens begins."""
    pattern = _ASCII_TOKEN if text.isascii() else _TOKEN
    return tuple(match.start() for match in pattern.finditer(text))


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
