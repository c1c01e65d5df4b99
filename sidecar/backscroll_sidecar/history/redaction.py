"""What must not be stored is replaced by a word for it before a message is. Pure.

Every pattern begins where nothing like it stands before, so that it looks at a text once however hostile that is.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from typing import NamedTuple

import orjson
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    MediaPart,
    Mention,
    Message,
    Part,
    ProviderStatePart,
    RedactionKind,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from backscroll_sidecar.texts import REDACTED

_HAN = re.compile(r"[\u4e00-\u9fff]")

_HALF_WIDTH: Mapping[int, int | str] = {
    **{0xFEE0 + code: code for code in range(0x21, 0x7F)},
    **dict.fromkeys((0x00A0, 0x2007, 0x202F, 0x3000), " "),
    **dict.fromkeys((0x2010, 0x2011, 0x2012, 0x2013, 0x2212), "-"),
}
"""Full-width characters, wide spaces and dashes, each to one character: places in the text stay."""

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]++@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}", re.ASCII)
_PHONE = re.compile(
    r"(?<!\d)(?<!\d\.)(?:"
    r"(?:(?:\+|00)?86[ -]?)?1[3-9]\d[ .-]?\d{4}[ .-]?\d{4}"  # a Chinese mobile
    r"|(?:\(0\d{2,3}\) ?|0\d{2,3}[ -])\d{3,4}[ -]?\d{4}"  # a Chinese land line
    r"|0(?:10|2\d)\d{8}|0[3-9]\d{9,10}"
    r"|(?<!\w)\+\d{1,3}+\)?(?:[ -]?\(?\d{1,4}+\)?){2,6}"  # each run of digits is cut in one way
    r"|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[.-]\d{4}"  # North America
    r"|(?:1 )?[2-9]\d{2} [2-9]\d{2} \d{4}"
    r")(?![0-9a-fA-F])",
    re.ASCII,
)
_CARD = re.compile(  # as it is printed, also where other digits stand beside it
    r"(?<!\d)(?<!\d\.)(?="
    r"([2-69]\d{12,18}|[2-69]\d{3}(?:[ -]\d{4}){3}|3\d{3}[ -]\d{6}[ -]\d{4,5})(?!\d))",
    re.ASCII,
)
_SPACED_CARD = re.compile(r"(?<!\d)(?<!\d\.)[2-69](?:[ -]?\d){12,18}(?!\d)", re.ASCII)
_RESIDENT = re.compile(r"(?<!\d)\d{6}[ -]?\d{8}[ -]?\d{3}[\dXx](?!\d)", re.ASCII)
_SEPARATOR = re.compile("[ -]")
_SOCIAL = re.compile(r"(?<![\w-])\d{3}-\d{2}-\d{4}(?![\w-])", re.ASCII)
_KEY = re.compile(
    r"(?<![A-Za-z0-9-])(?:"
    r"sk-[\w-]{16,400}|[sr]k_(?:live|test)_\w{16,400}|hf_[A-Za-z0-9]{30,60}"
    r"|gh[opsur]_\w{20,400}|github_pat_\w{20,400}|glpat-[\w-]{16,400}"
    r"|A(?:KIA|SIA)[A-Z0-9]{16}(?!\w)|LTAI[A-Za-z0-9]{12,30}|AKID[A-Za-z0-9]{13,40}"
    r"|xox[abeprs]-[\w-]{10,400}"
    r"|AIza[\w-]{35}"
    r"|eyJ[\w-]{8,2000}\.eyJ[\w-]{8,4000}\.[\w-]{8,2000}"
    r")",
    re.ASCII,
)
_BLOCK_BEGINS = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_BLOCK_ENDS = re.compile(r"-----END [A-Z ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_MOST_IN_BLOCK = 8_000
PASSES = 4
"""What goes may have hidden what overlaps it: a text is looked at again until nothing is found, mostly twice."""
SECRET_CHARS = 4
"""What is shorter is hardly a password."""
_NAMED_IN_ENGLISH = (
    r"(?i:password|passwd|passphrase|pwd|secret|(?:api|access|private|secret)[ _-]?key|token)"
)
_NAMED_IN_CHINESE = r"(?:密码|口令|密钥|令牌)"
_QUOTE = r"""(?:\\?["'])?\s{0,3}"""
_NAMED = re.compile(
    rf"(?:{_NAMED_IN_ENGLISH}{_QUOTE}(?:(?i:is\b)\s{{0,3}}:?|:=|[:=])|{_NAMED_IN_CHINESE}{_QUOTE}是?[:=])\s{{0,3}}"
    r"""(?:"([^"\n]{4,400})"|'([^'\n]{4,400})'|(\S{4,400}))"""
    rf"|{_NAMED_IN_CHINESE}\s{{0,3}}[是为]\s{{0,3}}(?=\S{{0,399}}[A-Za-z0-9])(\S{{4,400}})"
    rf"|{_NAMED_IN_CHINESE}\s{{0,3}}(?=[!-~]{{0,399}}\d)([!-~]{{4,400}})"
)
_SECRET_NAME = re.compile(rf"(?:{_NAMED_IN_ENGLISH}|{_NAMED_IN_CHINESE})\Z")
_IN_URL = re.compile(r"(?<=://)[^\s/@:]{0,100}:([^\s/]{1,200})(?=@)")
_BEARER = re.compile(
    r"(?i:(?<![a-z])bearer |authorization[\"']?\s{0,3}[:=]\s{0,3}[\"']?basic )([\w.~+/-]{16,4000}=*)"
)

_RESIDENT_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


class _Found(NamedTuple):
    start: int
    end: int
    kind: RedactionKind


def redacted(message: Message, kinds: Iterable[RedactionKind]) -> Message:
    """The message without what is of these kinds: in texts, descriptions, arguments and results of tools.

    What an API gave for itself alone is signed as it is: where it tells any of this, it is left out.
    Positions of mentions move along; one that cannot be told any more is unknown. Equal messages stay equal.
    """
    wanted = frozenset(kinds)
    if not wanted:
        return message
    for _ in range(PASSES):
        parts = tuple(
            _part(part, wanted) for part in message.parts if not _is_told_in(part, wanted)
        )
        if parts == message.parts:
            break
        message = replace(message, parts=parts, mentions=_moved(message, wanted))
    return message


def redacted_text(text: str, kinds: frozenset[RedactionKind]) -> str:
    """The same of a text."""
    for _ in range(PASSES):
        before, text = text, _passed(text, kinds)
        if text == before:
            break
    return text


def _passed(text: str, kinds: frozenset[RedactionKind]) -> str:
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
            changed = _passed(text, kinds)
            return part if changed == text else TextPart(changed)
        case MediaPart():
            return replace(part, alt_text=_passed(part.alt_text, kinds))
        case ToolCallPart():
            return replace(part, arguments_json=_json(part.arguments_json, kinds))
        case ToolResultPart(text=text):
            is_json = text.lstrip()[:1] in ("{", "[")
            return replace(part, text=(_json if is_json else _passed)(text, kinds))
        case _:
            return part


def _is_told_in(part: Part, kinds: frozenset[RedactionKind]) -> bool:
    if not isinstance(part, ProviderStatePart):
        return False
    text = part.data.decode(errors="replace")
    return _json(text, kinds) != text


def _json(text: str, kinds: frozenset[RedactionKind]) -> str:
    """JSON stays JSON: what is found in a string or a number becomes a string. What is none, or too deep, is a text.

    It is looked at as what it says: escapes hide what is in it, and a password stands apart from its name.
    """
    try:
        value = orjson.loads(text)
        changed = _value(value, kinds)
        if changed == value and not _finds(text, kinds):
            return text
        return orjson.dumps(changed).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError, RecursionError):
        return _passed(text, kinds)


def _value(value: object, kinds: frozenset[RedactionKind]) -> object:
    match value:
        case str():
            return _passed(value, kinds)
        case dict():
            return {_passed(k, kinds): _named_value(k, v, kinds) for k, v in value.items()}
        case list():
            return [_value(one, kinds) for one in value]
        case bool() | None:
            return value
        case _:
            changed = _passed(str(value), kinds)
            return value if changed == str(value) else changed


def _named_value(name: str, value: object, kinds: frozenset[RedactionKind]) -> object:
    """What stands under a name, which may say that it is a secret."""
    is_secret = (
        RedactionKind.SECRET in kinds
        and isinstance(value, str | int)
        and not isinstance(value, bool)
        and len(str(value)) >= SECRET_CHARS
        and _SECRET_NAME.search(name)
    )
    if is_secret:
        return REDACTED[RedactionKind.SECRET][_language(f"{name}{value}")]
    return _value(value, kinds)


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
    plain = text if text.isascii() else text.translate(_HALF_WIDTH)
    every = [one for kind in kinds for one in _SEARCHES[kind](plain)]
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
    for one in (*_CARD.finditer(text), *_SPACED_CARD.finditer(text)):
        group = one.lastindex or 0
        if _is_luhn([int(digit) for digit in one[group] if digit.isdigit()]):
            yield _Found(one.start(group), one.end(group), RedactionKind.CARD)


def _is_luhn(digits: Sequence[int]) -> bool:
    """The check digit of payment cards (ISO/IEC 7812-1)."""
    doubled = [sum(divmod(2 * digit, 10)) for digit in digits[-2::-2]]
    return len(set(digits)) > 1 and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _id_numbers(text: str) -> Iterator[_Found]:
    for one in _RESIDENT.finditer(text):
        if _is_resident(_SEPARATOR.sub("", one[0]).upper()):
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
    for pattern in (_KEY, _NAMED, _IN_URL, _BEARER):
        for one in pattern.finditer(text):
            group = one.lastindex or 0
            yield _Found(one.start(group), one.end(group), RedactionKind.SECRET)


_SEARCHES: dict[RedactionKind, Callable[[str], Iterator[_Found]]] = {
    RedactionKind.EMAIL: _emails,
    RedactionKind.PHONE: _phones,
    RedactionKind.CARD: _cards,
    RedactionKind.ID_NUMBER: _id_numbers,
    RedactionKind.SECRET: _secrets,
}
