"""Whether what somebody says answers a question. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from backscroll_sidecar.scripts import HAN, UNSPACED

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


def is_answer(said: Plain, answers: Iterable[str]) -> bool:
    """Whether a text is one of the answers, or says it as words of their own.

    An answer of one character, or a number, must stand between blanks or punctuation.
    """
    return any(_says(said, plain(one).text) for one in answers)


def _says(said: Plain, answer: str) -> bool:
    is_short = len(answer) == 1 or _NUMBER.fullmatch(answer) is not None
    return any(
        {start, start + len(answer)} <= said.gaps
        or (not is_short and _is_edge(said, start) and _is_edge(said, start + len(answer)))
        for start in _places(said.text, answer)
    )


def _places(text: str, part: str) -> Iterator[int]:
    start = text.find(part) if part else -1
    while start >= 0:
        yield start
        start = text.find(part, start + 1)


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
