"""Cuts a persona's answer where it begins to write lines for somebody else. Pure.

A label stands at the beginning of a line: a name, perhaps ``<id>`` and ``[bot]``, and a colon. Blanks, the marks of
lists, quotes, headings and bold type, and the mark of a time may stand before it. One of somebody else ends the answer
before its line; one of the persona itself is taken away. Code has no labels: a fence, or lines set in by four blanks
behind an empty line.

What is shown is a matter of the text alone, however it is cut into pieces: the beginning of a line is read character by
character, until nothing that may follow makes it a label.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import regex

from backscroll_sidecar.sessions.participants import name_key
from backscroll_sidecar.texts import TIMES

MAX_HELD_BLANKS = 32
"""White space held back before the next text; it goes where the next line is somebody else's."""
MAX_EXTRA = 32
"""Marks, blanks and the time that a line's beginning may have besides the longest label."""

LABELS = 1_024
"""Personas whose labels are kept; they are the same from answer to answer."""

_BREAKS = "\n\r\v\f\x85\u2028\u2029"
_UNSEEN = "\u200b-\u200f\u2060\ufeff"
_BREAK = re.compile(f"[{_BREAKS}]")
_MARKS = re.compile(rf"(?:[^\S{_BREAKS}]|[{_UNSEEN}*_>\-#])*+")
_AROUND_NAMES = "*_>-# "
_PADDING = " \t\u00a0\u3000*_"
"""What may stand between the parts of a label."""
_TIMES = "|".join(re.escape(form).replace(r"\{n\}", r"\d{1,9}") for form in TIMES)
_TIME = regex.compile(rf"\[(?:\d{{4}}-\d\d-\d\d|{_TIMES})\]")
_COLON = re.compile("[:：]")
_BOT = re.compile(r"\[bot\]\Z", re.IGNORECASE)
_BOT_BEGUN = re.compile(r"\[(?:b(?:o(?:t\]?)?)?)?\Z", re.IGNORECASE)
_ID = re.compile(r"<([^<>]*)>\Z")
_ID_BEGUN = re.compile(r"<([^<>]*)>?\Z")
_ESCAPED = re.compile(r"\\([\\<>:\[\]])")
"""Names in a context have a backslash before these, and a model writes them down so."""
_SET_IN = re.compile(r"(?: {4}| {0,3}\t)\s*\S")
_FENCE_OPENS = re.compile(
    r"[ \t>*+\-]*(?:\d{1,9}[.)][ \t]+)?(?P<fence>`{3,}(?=[^`]*\Z)|~{3,})", re.DOTALL
)
_FENCE_CLOSES = re.compile(r"[ \t>]*(?P<fence>`{3,}|~{3,})\s*")


class SpeakerGuard:
    """Hears the answer of one persona piece by piece, and lets through what the persona says itself.

    Parameters
    ----------
    own_names : everything the persona is called, its id included. They win over the same names of others.
    others : everything everybody else is called, with the id of each.
    """

    def __init__(self, own_names: Sequence[str], others: Mapping[str, str]) -> None:
        self._labels = _labels_of(tuple(own_names), tuple(others.items()))
        self.start_anew()

    @property
    def is_cut(self) -> bool:
        """Whether the answer ends here: a line of somebody else has begun."""
        return self._is_cut

    @property
    def most_held(self) -> int:
        """Characters that are ever held back at once."""
        return self._labels.most_chars + MAX_HELD_BLANKS

    def start_anew(self) -> None:
        """All of the answer so far was none."""
        self.foreign_id = ""
        """Whose line began; empty: nobody's."""
        self._is_cut = False
        self._ready: list[str] = []
        self._blanks = ""
        self._held = ""
        self._is_at_head = True
        self._line: list[str] = []
        self._fence = ""
        self._may_be_code = True
        self._ended_in_cr = False
        self._skips_blanks = False
        self._drops_empty = False

    def take(self, text: str) -> str:
        """A piece of the answer, as much of it as may be shown now."""
        self._feed(text)
        return self._told()

    def rest(self) -> str:
        """What was held back, where the answer ends."""
        if self._is_at_head and not self._is_cut:
            self._decide()
        blanks, self._blanks = self._blanks, ""
        return self._told() + blanks

    def _told(self) -> str:
        told = "".join(self._ready)
        self._ready.clear()
        return told

    def _feed(self, text: str) -> None:
        place = 0
        while place < len(text) and not self._is_cut:
            if self._is_at_head:
                self._read_head(text[place])
                place += 1
                continue
            found = _BREAK.search(text, place)
            self._pass(text[place : len(text) if found is None else found.start()])
            if found is None:
                return
            self._end_line(found[0])
            place = found.end()

    def _read_head(self, char: str) -> None:
        """One more character of a line that may begin with a label."""
        if char in _BREAKS:
            self._decide()
            if not self._is_cut:
                self._end_line(char)
            return
        self._held += char
        if self._is_code(self._held) or not self._labels.is_open(self._held):
            self._decide()

    def _is_code(self, line: str) -> bool:
        return self._may_be_code and _SET_IN.match(line) is not None

    def _decide(self) -> None:
        """What the beginning of the line is, as far as it goes."""
        held, self._held = self._held, ""
        self._is_at_head = False
        label = None if self._is_code(held) else self._labels.read(held)
        if label is None:
            self._pass(held)
        elif label.whose:
            self._is_cut, self.foreign_id = True, label.whose
            self._blanks = ""
        else:
            kept = label.kept if label.kept.strip() else ""
            self._pass(kept)
            self._skips_blanks, self._drops_empty = True, not kept
            self._feed(held[label.end :])

    def _pass(self, text: str) -> None:
        """Text that stands on one line. Behind a label that was taken away, blanks and empty lines go with it."""
        if self._skips_blanks:
            text = text.lstrip()
        if not text or (self._drops_empty and text.isspace()):
            return
        self._skips_blanks = self._drops_empty = self._ended_in_cr = False
        self._line.append(text)
        self._show(text)

    def _end_line(self, char: str) -> None:
        self._skips_blanks = False
        if self._drops_empty:
            self._is_at_head = self._may_be_code = True
            return
        line = "".join(self._line)
        self._line.clear()
        if not (char == "\n" and self._ended_in_cr and not line):
            self._note_code(line)
        self._ended_in_cr = char == "\r"
        self._is_at_head = not self._fence
        self._show(char)

    def _note_code(self, line: str) -> None:
        """Whether the next line is in a fence, or may be set in."""
        self._may_be_code = not line or line.isspace() or self._is_code(line)
        if self._fence:
            closes = _FENCE_CLOSES.fullmatch(line)
            if closes is not None and closes["fence"].startswith(self._fence):
                self._fence = ""
        elif "`" in line or "~" in line:
            opens = None if self._is_code(line) else _FENCE_OPENS.match(line)
            self._fence = "" if opens is None else opens["fence"]

    def _show(self, text: str) -> None:
        """Show it, but for the white space at its end."""
        text = self._blanks + text
        sure = max(len(text.rstrip()), len(text) - MAX_HELD_BLANKS)
        self._ready.append(text[:sure])
        self._blanks = text[sure:]


class _Label(NamedTuple):
    """A label at the beginning of a line.

    Attributes
    ----------
    whose : the participant; empty: the persona itself.
    kept : what stands before it and is no part of it.
    end : where it ends.
    """

    whose: str
    kept: str
    end: int


class _Start(NamedTuple):
    """Where a name may begin: what stands before the label, and which marks of bold type right before the name."""

    place: int
    before: str
    opening: str


class _Labels:
    """Reads labels. `most_chars`: a beginning of a line that is longer is none."""

    def __init__(self, own_names: Sequence[str], others: Mapping[str, str]) -> None:
        self._names: dict[str, str] = dict.fromkeys(map(_key, own_names), "")
        for name, who in others.items():
            self._names.setdefault(_key(name), who)
        self._names.pop("", None)
        self._sorted = sorted(self._names)
        longest_name = max(map(len, self._names), default=0)
        longest_id = max(map(len, others.values()), default=0)
        self.most_chars = (
            longest_name + max(longest_id, longest_name) + len(" <> [bot]:") + MAX_EXTRA
        )

    def is_open(self, line: str) -> bool:
        """Whether something that may follow decides what the line begins with."""
        if not self._names or len(line) >= self.most_chars:
            return False
        return any(self._is_open_at(line[one.place :], one.opening) for one in _starts(line))

    def read(self, line: str) -> _Label | None:
        """The label a line begins with, the longest that it may be."""
        for start in _starts(line):
            said = line[start.place :]
            for colon in reversed(list(_COLON.finditer(said))):
                found = self._whose(said[: colon.start()])
                if found is not None and not _is_number_or_url(said, colon.start()):
                    whose, is_closed = found
                    kept, end = start.before, start.place + colon.end()
                    if start.opening and not is_closed:
                        if line.startswith(start.opening[::-1], end):
                            end += len(start.opening)
                        else:
                            kept += start.opening
                    return _Label(whose, kept, end)
        return None

    def _is_open_at(self, said: str, opening: str) -> bool:
        if self._begins_name(said) or _TIME.fullmatch(said, partial=True):
            return True
        colons = list(_COLON.finditer(said))
        if colons:
            behind = said[colons[-1].end() :]
            is_begun = behind in ("", "/") or (
                len(behind) < len(opening) and opening[::-1].startswith(behind)
            )
            if is_begun and self._whose(said[: colons[-1].start()]) is not None:
                return True
        name, user_id = _name_and_id(said, _BOT_BEGUN, _ID_BEGUN)
        if not name:
            return user_id is not None and self._begins_name(user_id)
        return _key(name) in self._names or _key(said) in self._names

    def _begins_name(self, text: str) -> bool:
        """Whether a name may begin so. The last letter may still get its accents."""
        folded = _folded(text.removesuffix("\\"))
        while folded and unicodedata.combining(folded[-1]):
            folded = folded[:-1]
        place = bisect_left(self._sorted, folded)
        return place < len(self._sorted) and self._sorted[place].startswith(folded)

    def _whose(self, label: str) -> tuple[str, bool] | None:
        """Whose label that is, without its colon, and whether marks of bold type end in it.

        An id goes before a name, and others before the persona itself.
        """
        whole = self._names.get(_key(label))
        if whole is not None:
            return whole, label.rstrip()[-1:] in ("*", "_")
        name, user_id = _name_and_id(label, _BOT, _ID)
        whose = self._names.get(_key(name))
        if user_id is not None and (whose is not None or not name):
            by_id = self._names.get(_key(user_id))
            whose = by_id or (by_id if whose is None else whose)
        if whose is None:
            return None
        tail = label[len(name) :].replace(f"<{user_id}>", "")
        return whose, "*" in tail or "_" in tail


@lru_cache(maxsize=LABELS)
def _labels_of(own_names: tuple[str, ...], others: tuple[tuple[str, str], ...]) -> _Labels:
    return _Labels(own_names, dict(others))


def _starts(line: str) -> Iterator[_Start]:
    """Behind the marks, and behind a time that follows them."""
    place = _end(_MARKS, line, 0)
    bare = line[:place].rstrip("*_")
    yield _Start(place, bare, line[len(bare) : place])
    time = _TIME.match(line, place)
    if time is not None:
        place = _end(_MARKS, line, time.end())
        between = line[time.end() : place]
        yield _Start(place, bare, between[len(between.rstrip("*_")) :])


def _end(pattern: re.Pattern[str], text: str, place: int) -> int:
    found = pattern.match(text, place)
    return place if found is None else found.end()


def _name_and_id(
    label: str, bot: re.Pattern[str], id_pattern: re.Pattern[str]
) -> tuple[str, str | None]:
    """The name of a label, and the id behind it."""
    bare = bot.sub("", label.rstrip(_PADDING)).rstrip(_PADDING)
    found = id_pattern.search(bare)
    if found is None:
        return bare, None
    return bare[: found.start()].rstrip(_PADDING), found[1]


def _is_number_or_url(said: str, colon: int) -> bool:
    """Whether it is the colon of ``12:30`` or ``http://``."""
    behind = said[colon + 1 : colon + 3]
    is_number = said[:colon][-1:].isdigit() and behind[:1].isdigit()
    return said[colon] == ":" and (is_number or behind == "//")


def _folded(text: str) -> str:
    """A text as names are compared, in pieces as small as there are: what it begins with, begins the same."""
    plain = _ESCAPED.sub(r"\1", text.replace("\ufe0f", "").replace("\ufe0e", ""))
    return unicodedata.normalize("NFKD", name_key(plain))


def _key(name: str) -> str:
    return _folded(name).strip(_AROUND_NAMES)
