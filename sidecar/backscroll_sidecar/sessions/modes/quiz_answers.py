"""Whether what somebody says answers a question. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import NamedTuple

from backscroll_sidecar.scripts import HAN, UNSPACED

READ = 500
"""Characters at the beginning and at the end of a long text that are read, besides twice the longest answer."""
QUESTIONS = 32
"""Whose answers are kept ready."""

_NUMBER = re.compile(r"-?\d+(\.\d+)?")
_WITHOUT_BLANKS = re.compile(f"[{HAN}{UNSPACED}]")
_DROPPED = frozenset(["Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Zs", "Zl", "Zp", "Cc", "Cf"])
"""The categories of punctuation, blanks and signs that nobody sees."""


class Plain(NamedTuple):
    """A text without its punctuation and blanks; `gaps`: the places in it where some stood, and its two ends."""

    text: str
    gaps: frozenset[int]


def plain(text: str) -> Plain:
    """What two answers are compared by: NFKC, case-folded, without punctuation and white space.

    The point inside a number and the minus before it stay, for 1.5 is neither 15 nor -1.5.
    """
    whole = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    whole = whole.replace("\u2212", "-")
    kept: list[str] = []
    gaps = {0}
    for index, sign in enumerate(whole):
        if _is_kept(whole, index):
            kept.append(sign)
        else:
            gaps.add(len(kept))
    return Plain("".join(kept), frozenset((*gaps, len(kept))))


def says_answer(text: str, answers: tuple[str, ...]) -> bool:
    """Whether somebody says one of the answers. Of a long text only the beginning and the end are read."""
    most = READ + 2 * max(map(len, answers), default=0)
    if len(text) <= 2 * most:
        return is_answer(plain(text), answers)
    head, tail = plain(text[:most]), plain(text[-most:])
    parts = (
        head._replace(gaps=head.gaps - {len(head.text)}),
        tail._replace(gaps=tail.gaps - {0}),
    )
    return any(is_answer(part, answers) for part in parts)


def is_answer(said: Plain, answers: Iterable[str]) -> bool:
    """Whether a text is one of the answers, or says it as words of their own.

    An answer of one character, or a number, must stand between blanks or punctuation.
    """
    accepted = _accepted(tuple(answers))
    edges = {place for place in range(len(said.text) + 1) if _is_edge(said, place)}
    for start in edges:
        for length in accepted.lengths.get(said.text[start : start + 1], ()):
            end = start + length
            if end not in edges:
                continue
            is_short = accepted.is_short.get(said.text[start:end])
            if is_short is False or (is_short and {start, end} <= said.gaps):
                return True
    return False


class _Accepted(NamedTuple):
    """Answers to look for: how long those are that begin with a character, and which must stand by themselves."""

    lengths: Mapping[str, tuple[int, ...]]
    is_short: Mapping[str, bool]


@lru_cache(maxsize=QUESTIONS)
def _accepted(answers: tuple[str, ...]) -> _Accepted:
    texts = {plain(one).text for one in answers} - {""}
    lengths: dict[str, set[int]] = {}
    for one in texts:
        lengths.setdefault(one[0], set()).add(len(one))
    return _Accepted(
        {first: tuple(sorted(some)) for first, some in lengths.items()},
        {one: len(one) == 1 or _NUMBER.fullmatch(one) is not None for one in texts},
    )


def _is_edge(said: Plain, place: int) -> bool:
    """Whether a word may begin or end at a place: beside a blank, a sign, a letter of a script without blanks."""
    return place in said.gaps or any(
        _WITHOUT_BLANKS.match(one) or unicodedata.category(one)[0] == "S"
        for one in said.text[place - 1 : place + 1]
    )


def _is_kept(text: str, index: int) -> bool:
    sign = text[index]
    before, after = text[index - 1 : index] if index else "", text[index + 1 : index + 2]
    if sign == ".":
        return before.isdecimal() and after.isdecimal()
    if sign == "-":
        return after.isdecimal() and not before.isalnum()
    return not sign.isspace() and unicodedata.category(sign) not in _DROPPED
