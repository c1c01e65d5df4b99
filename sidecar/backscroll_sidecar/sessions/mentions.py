"""Whom a text mentions (``@name``), and the text without that. Pure.

Names are looked up as `mention_key` makes them; of several that fit, the longest is meant. A name that ends in a script
written without spaces may be followed by anything (``@小黑你好``). One that ends in another letter or digit must end
there: ``@opus-45`` is not ``@opus``. No mention goes over a line break.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec
import regex

from backscroll_sidecar.domain import Mention
from backscroll_sidecar.scripts import HAN, UNSPACED
from backscroll_sidecar.sessions.participants import Participant, mention_key

MAX_PLACES = 256
"""At-signs read in one text, which bounds the work of a flood of them. Those side by side count as one."""
GROUP_NAMES = (
    "all", "everyone", "here", "channel", "所有人", "全体成员", "全体", "全员", "大家", "みんな", "全員",
)  # fmt: skip
"""They mean everybody, where no participant is called so."""

_STICKING = f"{HAN}{UNSPACED}\uff66-\uffdc"
_LETTER = rf"[\w--[{_STICKING}]]"
_AT = re.compile("[@\uff20]+")
_CLUSTER = regex.compile(r"\X")
_PLAIN = re.compile("[ -~、。《-】ぁ-ゖァ-ヺー\u4e00-\u9fff\uff01-\uff5e]*")
"""Each of these is one cluster, and one character in a key as well."""
_ENDS_OPEN = regex.compile(_LETTER, regex.V1)
_GOES_ON = regex.compile(rf"[.\-]?{_LETTER}", regex.V1)
_TWO_WORDS = regex.compile(f"{_LETTER}{{2}}", regex.V1)
_HANDLE = regex.compile(rf"{_LETTER}[[\w.\-]--[{_STICKING}]]{{0,63}}(?<![.\-])", regex.V1)
_STRANGER = regex.compile(r"[\w\p{So}][\w\p{So}\u200d\ufe0f\U0001f3fb-\U0001f3ff]{0,31}")
_IN_MAIL = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._%+-")
_IN_URL = r"[A-Za-z0-9_.~:/?#@!$&'*+,;=%\-]*"
_URL = re.compile(
    rf"(?:(?<=[A-Za-z])://|[A-Za-z0-9-]\.[A-Za-z]{{2,}}/){_IN_URL}(?:[^\W\x00-\x7f]+/{_IN_URL})*"
)
"""Not further than ASCII, unless a slash follows: ``看https://x.com/a请@小黑来``."""
_CODE_BEGINS = re.compile(
    r"^[ \t>*+\-]*+(?P<fence>`{3,}+(?=[^`\n]*$)|~{3,}+)[^\n]*|(?<!\\)(?P<ticks>`++)", re.MULTILINE
)
_FENCE = re.compile(r"`{3,}|~{3,}")
_TICKS = re.compile(r"`+")
_EMPTY_LINE = re.compile(r"\n[^\S\n]*\n")
_LINE_BREAKS = frozenset("\n\r\v\f\x85\u2028\u2029")
_BLANKS = re.compile(r"[^\S\r\n]*")
_LINE_MARKS = "-*> \t\u00a0\u3000"
_BEHIND_A_CALL = frozenset(",，:：、")
_OPENING = frozenset("([{“‘（【《「『，。、：；！？…")
"""No blank stands behind these, nor before the next ones."""
_CLOSING = frozenset(",.;:!?)]}”’）】》」』，。、：；！？…")

Span = tuple[int, int]


class Found(msgspec.Struct, frozen=True):
    """A mention. One with neither `participant_id` nor `is_group` is of a name that nobody has.

    Attributes
    ----------
    text : the name as written, without the at-sign.
    start, end : its code points, with the at-sign; both 0: its place is not known.
    """

    text: str
    participant_id: str = ""
    is_group: bool = False
    is_code: bool = False
    start: int = 0
    end: int = 0

    @property
    def is_known(self) -> bool:
        """Whether it names a participant or everybody."""
        return self.is_group or bool(self.participant_id)


class Names:
    """All that participants are called by. Of two with one name the first has it; an id goes before a name."""

    def __init__(self, participants: Sequence[Participant]) -> None:
        self._ids = frozenset(one.id for one in participants)
        self._people: dict[str, str] = {}
        for one in participants:
            self._people.setdefault(mention_key(one.id), one.id)
        for one in participants:
            for name in one.names():
                self._people.setdefault(mention_key(name), one.id)
        self._people.pop("", None)
        self._groups = frozenset(map(mention_key, GROUP_NAMES))
        lengths: dict[str, set[int]] = {}
        for key in self._people.keys() | self._groups:
            lengths.setdefault(key[0], set()).add(len(key))
        self._lengths = {first: sorted(some, reverse=True) for first, some in lengths.items()}

    def has_id(self, participant_id: str) -> bool:
        """Whether somebody has exactly that id."""
        return participant_id in self._ids

    def find(self, name: str) -> str | None:
        """The participant that has this id, or else this name."""
        return name if name in self._ids else self._people.get(mention_key(name))

    def is_group(self, name: str) -> bool:
        """Whether that means everybody."""
        return mention_key(name) in self._groups

    def longest_at(self, text: str, start: int) -> tuple[int, str] | None:
        """Where the longest name that stands at a place ends, and whose it is (empty: everybody's)."""
        first = _CLUSTER.match(text, start)
        lengths = self._lengths.get(_folded(first.group())[:1]) if first is not None else None
        if lengths is None:
            return None
        folded, ends = _window(text, start, lengths[0])
        for length in lengths:
            if length >= len(ends) or ends[length] < 0:
                continue
            key, end = folded[:length], ends[length]
            who = self._people.get(key, "")
            if (who or key in self._groups) and not (
                _ENDS_OPEN.match(key, length - 1) and _GOES_ON.match(text, end)
            ):
                return end, who
        return None


def read_mentions(text: str, names: Names, marked: Sequence[Mention] = ()) -> list[Found]:
    """Everybody whom a text names, in order.

    What the platform `marked` holds, whatever the text says at that place. Where the place is not known, the text's
    own mention of the same one tells it; without one, it comes first.
    """
    placed: list[Found] = []
    unplaced: list[Found] = []
    for mark in marked:
        one = _from_mark(text, names, mark)
        (placed if one.end else unplaced).append(one)
    if "@" in text or "\uff20" in text:
        placed += _in_text(text, names, _joined([(one.start, one.end) for one in placed]))
    if marked:
        placed.sort(key=lambda one: one.start)
    if not unplaced:
        return placed
    shown = {_whom(one) for one in placed if not one.is_code}
    return [one for one in unplaced if _whom(one) not in shown] + placed


def begins_line(text: str, place: int) -> bool:
    """Whether nothing but blanks and the marks of lists and quotes stands before a place on its line."""
    return not text[text.rfind("\n", 0, place) + 1 : place].strip(_LINE_MARKS)


def without_spans(text: str, spans: Sequence[Span]) -> str:
    """The text without these spans, stripped. The white space around each becomes one blank, or none where none is due.

    The comma or colon directly behind a span at the beginning of a line goes too.
    """
    kept, done = "", 0
    for start, end in _joined(spans):
        before = kept + text[done:start]
        kept = _without_last_blanks(before)
        is_call = text[end : end + 1] in _BEHIND_A_CALL and begins_line(kept, len(kept))
        blanks = _BLANKS.match(text, end + is_call)
        assert blanks is not None  # it may be empty
        done = blanks.end()
        had_blank = len(kept) < len(before) or blanks.end() > blanks.start()
        kept += _seam(kept[-1:], text[done : done + 1], had_blank)
    return (kept + text[done:]).strip()


@lru_cache(maxsize=8_192)
def _folded(cluster: str) -> str:
    """What one grapheme cluster of a text is in a key."""
    plain = cluster.replace("\ufe0f", "").replace("\ufe0e", "")
    folded = unicodedata.normalize("NFKC", plain).casefold()
    return " " if folded.isspace() else folded


def _window(text: str, start: int, longest: int) -> tuple[str, Sequence[int]]:
    """The text from `start` on as in keys, `longest` or more characters of it on one line.

    For each length of a key: where it ends in the text; -1: inside a character.
    """
    part = text[start : start + longest + 1]
    if _PLAIN.fullmatch(part) and "  " not in part:
        key = part.lower() if part.isascii() else unicodedata.normalize("NFKC", part).casefold()
        return key, range(start, start + len(part) + 1)
    folded, ends = "", [start]
    for cluster in _CLUSTER.finditer(text, start):
        written = cluster.group()
        if written[0] in _LINE_BREAKS or len(folded) >= longest:
            break
        more = _folded(written)
        if more == " " and folded.endswith(" "):
            continue
        folded += more
        ends += [-1] * len(more)
        ends[-1] = cluster.end()
    return folded, ends


def _from_mark(text: str, names: Names, mark: Mention) -> Found:
    """Whom the platform means: by id, by name, or by what stands at its place."""
    start, end = mark.start, mark.end
    if not 0 <= start < end <= len(text):
        start = end = 0
    while start and text[start - 1] in "@\uff20":
        start -= 1
    written = text[start:end].strip().lstrip("@\uff20")
    who = mark.user_id if names.has_id(mark.user_id) else ""
    is_group = False
    for name in (mark.name, written):
        if not (who or is_group):
            who = names.find(name) or ""
            is_group = not who and names.is_group(name)
    return Found(
        text=written or mark.name.lstrip("@\uff20") or mark.user_id,
        participant_id=who,
        is_group=is_group or (not who and names.is_group(mark.user_id)),
        start=start,
        end=end,
    )


def _in_text(text: str, names: Names, taken: Sequence[Span]) -> Iterator[Found]:
    """What at-signs outside of `taken` name."""
    urls = [one.span() for one in _URL.finditer(text)] if "/" in text else []
    code = list(_code(text)) if "`" in text or "~~~" in text else []
    for count, at in enumerate(_AT.finditer(text)):
        start, end = at.span()
        if count == MAX_PLACES:
            return
        if _is_within(taken, start) or _is_within(urls, start) or _is_escaped(text, start):
            continue
        found = names.longest_at(text, end)
        if found is not None:
            stop = found[0]
        else:
            handle = _HANDLE.match(text, end) or _STRANGER.match(text, end)
            if handle is None:
                continue
            stop = handle.end()
        is_code = _is_within(code, start)
        is_mail = start > 0 and text[start - 1] in _IN_MAIL and not begins_line(text, start)
        if (is_mail and text[end:stop].isascii()) or (is_code and found is None):
            continue
        yield Found(
            text=text[end:stop],
            participant_id=found[1] if found is not None else "",
            is_group=found is not None and not found[1],
            is_code=is_code,
            start=start,
            end=stop,
        )


def _is_escaped(text: str, place: int) -> bool:
    before = text[:place] if text[place - 1 : place] == "\\" else ""
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def _code(text: str) -> Iterator[Span]:
    """Fenced blocks and inline code, in order.

    A fence ends at the next one of its sign that is as long, wherever that stands: in chats people write on behind it.
    """
    begin = _CODE_BEGINS.search(text)
    while begin is not None:
        fence, ticks = begin.group("fence", "ticks")
        end = begin.end()
        if fence:
            closings = (one for one in _FENCE.finditer(text, end) if one.group().startswith(fence))
            closing = next(closings, None)
            end = len(text) if closing is None else closing.end()
            yield begin.start(), end
        else:
            same = (one for one in _TICKS.finditer(text, end) if one.group() == ticks)
            closing = next(same, None)
            if closing is not None and (
                len(ticks) > 2 or not _EMPTY_LINE.search(text, end, closing.start())
            ):
                end = closing.end()
                yield begin.start(), end
        begin = _CODE_BEGINS.search(text, end)


def _is_within(spans: Sequence[Span], place: int) -> bool:
    """Whether one of these spans, which are in order and apart, holds a place."""
    if not spans:
        return False
    nearest = bisect_right(spans, place, key=lambda span: span[0]) - 1
    return nearest >= 0 and place < spans[nearest][1]


def _joined(spans: Sequence[Span]) -> list[Span]:
    """In order, those that overlap as one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined


def _whom(found: Found) -> tuple[str, str]:
    """What two mentions of the same one share."""
    if found.participant_id:
        return "id", found.participant_id
    return ("group", "") if found.is_group else ("name", mention_key(found.text))


def _without_last_blanks(text: str) -> str:
    """The text without the blanks at the end of its last line."""
    bare = text.rstrip()
    tail = text[len(bare) :]
    return bare + tail[: max(tail.rfind("\n"), tail.rfind("\r")) + 1]


def _seam(before: str, behind: str, had_blank: bool) -> str:
    """What stands between two characters (empty: there is none) that a mention parted."""
    if not before or not behind or before in "\r\n" or behind in "\r\n":
        return ""
    if before in _OPENING or behind in _CLOSING:
        return ""
    return " " if had_blank or _TWO_WORDS.match(before + behind) else ""
