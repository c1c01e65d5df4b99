"""What must not be stored is replaced by a word for it before a message is. Pure.

Every pattern begins where nothing like it stands before, so that it looks at a text once however hostile that is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from typing import NamedTuple

import orjson
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    MediaPart,
    Mention,
    Message,
    Part,
    RedactionKind,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from backscroll_sidecar.texts import REDACTED

_HAN = re.compile(r"[\u4e00-\u9fff]")

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", re.ASCII)
_PHONE = re.compile(
    r"(?<![\w.+-])(?:"
    r"(?:\+86[ -]?)?1[3-9]\d[ -]?\d{4}[ -]?\d{4}"  # a Chinese mobile
    r"|0\d{2,3}[ -]\d{7,8}"  # a Chinese land line
    r"|\+\d{1,3}+\)?(?:[ -]?\(?\d{1,4}+\)?){2,6}"  # each run of digits is cut in one way
    r"|(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[.-]\d{4}"  # North America
    r")(?![\w-])",
    re.ASCII,
)
_CARD = re.compile(r"(?<![\w.-])\d(?:[ -]?\d){12,18}(?![\w-])", re.ASCII)
_RESIDENT = re.compile(r"(?<!\w)\d{17}[\dXx](?!\w)", re.ASCII)
_SOCIAL = re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])", re.ASCII)
_KEY = re.compile(
    r"(?<![\w-])(?:"
    r"sk-[\w-]{16,200}"
    r"|gh[opsur]_\w{20,200}|github_pat_\w{20,200}|glpat-[\w-]{16,200}"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}"
    r"|xox[abeprs]-[\w-]{10,200}"
    r"|AIza[\w-]{35}"
    r"|eyJ[\w-]{8,2000}\.eyJ[\w-]{8,4000}\.[\w-]{8,2000}"
    r")(?![\w-])",
    re.ASCII,
)
_BLOCK_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----")
_BLOCK_ENDS = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY-----")
_MOST_IN_BLOCK = 8_000
_NAMED = re.compile(
    r"(?i:(?<!\w)(?:password|passwd|passphrase|pwd|secret|api[ _-]?key|token)\s{0,3}(?:is|[:=])"
    r"|(?:密码|口令|密钥|令牌)\s{0,3}(?:是|[:=：]))\s{0,3}(\S{4,200})"
)
_IN_URL = re.compile(r"(?<=://)[^\s/@:]{1,100}:([^\s/@]{1,200})(?=@)")
_BEARER = re.compile(r"(?i:(?<!\w)bearer )([\w.~+/-]{16,4000}=*)")

_RESIDENT_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


class _Found(NamedTuple):
    start: int
    end: int
    kind: RedactionKind


def redacted(message: Message, kinds: Iterable[RedactionKind]) -> Message:
    """The message without what is of these kinds: in texts, descriptions, arguments and results of tools.

    Positions of mentions move along; one that cannot be told any more is unknown. Equal messages stay equal.
    """
    wanted = frozenset(kinds)
    if not wanted:
        return message
    parts = tuple(_part(part, wanted) for part in message.parts)
    if parts == message.parts:
        return message
    return replace(message, parts=parts, mentions=_moved(message, wanted))


def redacted_text(text: str, kinds: frozenset[RedactionKind]) -> str:
    """The text with a word in the place of each find, in Chinese where the text has any."""
    found = _finds(text, kinds)
    if not found:
        return text
    language = _language(text)
    pieces, at = [], 0
    for one in found:
        pieces += [text[at : one.start], REDACTED[one.kind][language]]
        at = one.end
    return "".join([*pieces, text[at:]])


def _language(text: str) -> int:
    """The place of the text's language in `REDACTED`."""
    return 1 if _HAN.search(text) else 0


def _part(part: Part, kinds: frozenset[RedactionKind]) -> Part:
    match part:
        case TextPart(text):
            changed = redacted_text(text, kinds)
            return part if changed == text else TextPart(changed)
        case MediaPart():
            return replace(part, alt_text=redacted_text(part.alt_text, kinds))
        case ToolCallPart():
            return replace(part, arguments_json=_json(part.arguments_json, kinds))
        case ToolResultPart():
            return replace(part, text=redacted_text(part.text, kinds))
        case _:
            return part


def _json(text: str, kinds: frozenset[RedactionKind]) -> str:
    """JSON stays JSON: what is found in a string or a number becomes a string. What is none, or too deep, is a text."""
    if not _finds(text, kinds):
        return text
    try:
        return orjson.dumps(_value(orjson.loads(text), kinds)).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, RecursionError):
        return redacted_text(text, kinds)


def _value(value: object, kinds: frozenset[RedactionKind]) -> object:
    match value:
        case str():
            return redacted_text(value, kinds)
        case dict():
            return {redacted_text(k, kinds): _value(v, kinds) for k, v in value.items()}
        case list():
            return [_value(one, kinds) for one in value]
        case bool() | None:
            return value
        case _:
            changed = redacted_text(str(value), kinds)
            return value if changed == str(value) else changed


def _moved(message: Message, kinds: frozenset[RedactionKind]) -> tuple[Mention, ...]:
    """The mentions by their positions in the new text, which are told in the first part as long as that is a text."""
    first = message.parts[0]
    text = first.text if isinstance(first, TextPart) else ""
    found, language = _finds(text, kinds), _language(text)
    moved = []
    for one in message.mentions:
        if one.end and not _is_before(one, found):
            grown = sum(
                len(REDACTED[find.kind][language]) - (find.end - find.start)
                for find in found
                if find.end <= one.start
            )
            is_clear = one.end <= len(text) and not any(
                find.start < one.end and one.start < find.end for find in found
            )
            start, end = (one.start + grown, one.end + grown) if is_clear else (0, 0)
            moved.append(replace(one, start=start, end=end))
        else:
            moved.append(one)
    return tuple(moved)


def _is_before(mention: Mention, found: Sequence[_Found]) -> bool:
    return bool(found) and mention.end <= found[0].start


def _finds(text: str, kinds: frozenset[RedactionKind]) -> list[_Found]:
    """What is to go, in order. Of two that overlap the first; of those from one place a secret, else the longest."""
    every = [one for kind in kinds for one in _SEARCHES[kind](text)]
    found: list[_Found] = []
    for one in sorted(every, key=_rank):
        if not found or one.start >= found[-1].end:
            found.append(one)
    return found


def _rank(one: _Found) -> tuple[int, bool, int]:
    return one.start, one.kind is not RedactionKind.SECRET, -one.end


def _emails(text: str) -> Iterator[_Found]:
    if "@" in text:
        for one in _EMAIL.finditer(text):
            yield _Found(one.start(), one.end(), RedactionKind.EMAIL)


def _phones(text: str) -> Iterator[_Found]:
    for one in _PHONE.finditer(text):
        digits = sum(map(str.isdigit, one[0]))
        if 8 <= digits <= 15:
            yield _Found(one.start(), one.end(), RedactionKind.PHONE)


def _cards(text: str) -> Iterator[_Found]:
    for one in _CARD.finditer(text):
        if _is_luhn([int(digit) for digit in one[0] if digit.isdigit()]):
            yield _Found(one.start(), one.end(), RedactionKind.CARD)


def _is_luhn(digits: Sequence[int]) -> bool:
    """The check digit of payment cards (ISO/IEC 7812-1)."""
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _id_numbers(text: str) -> Iterator[_Found]:
    for one in _RESIDENT.finditer(text):
        if _is_resident(one[0].upper()):
            yield _Found(one.start(), one.end(), RedactionKind.ID_NUMBER)
    for one in _SOCIAL.finditer(text):
        yield _Found(one.start(), one.end(), RedactionKind.ID_NUMBER)


def _is_resident(number: str) -> bool:
    """A Chinese resident's number: a date of birth in it, and a check digit (GB 11643-1999)."""
    try:
        date(int(number[6:10]), int(number[10:12]), int(number[12:14]))
    except ValueError:
        return False
    rest = sum(
        weight * int(digit) for weight, digit in zip(_RESIDENT_WEIGHTS, number, strict=False)
    )
    return "10X98765432"[rest % 11] == number[17]


def _blocks(text: str) -> Iterator[_Found]:
    """Private keys in their armour. Ends are found once, not anew behind every beginning."""
    ends = list(_BLOCK_ENDS.finditer(text))
    starts = [one.start() for one in ends]
    for begin in _BLOCK_BEGINS.finditer(text) if ends else ():
        place = bisect_left(starts, begin.end())
        if place < len(ends) and starts[place] - begin.end() <= _MOST_IN_BLOCK:
            yield _Found(begin.start(), ends[place].end(), RedactionKind.SECRET)


def _secrets(text: str) -> Iterator[_Found]:
    yield from _blocks(text)
    for pattern, group in ((_KEY, 0), (_NAMED, 1), (_IN_URL, 1), (_BEARER, 1)):
        for one in pattern.finditer(text):
            yield _Found(one.start(group), one.end(group), RedactionKind.SECRET)


_SEARCHES: dict[RedactionKind, Callable[[str], Iterator[_Found]]] = {
    RedactionKind.EMAIL: _emails,
    RedactionKind.PHONE: _phones,
    RedactionKind.CARD: _cards,
    RedactionKind.ID_NUMBER: _id_numbers,
    RedactionKind.SECRET: _secrets,
}
