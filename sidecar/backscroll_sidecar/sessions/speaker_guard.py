"""Cuts a persona's answer where it begins to write lines for somebody else. Pure.

A label stands at the beginning of a line: a name, perhaps ``<id>`` and what kind of participant it is (``[bot]``,
``(person)``), and a colon. The name may stand in brackets or quotes. Blanks, the marks of lists, quotes, headings and
bold type, numbers, an at-sign and the mark of a time may stand before it. One of somebody else ends the answer before
its line; one of the persona itself is taken away. Code has no labels: a fence, lines set in by four blanks behind an
empty line, or ``"name": "value"``.

What is shown is a matter of the text alone, however it is cut into pieces: the beginning of a line decides, up to its
break or to the length of the longest label, and it is shown sooner where nothing that may follow makes it one.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import NamedTuple

import regex

from backscroll_sidecar.sessions.participants import name_key
from backscroll_sidecar.texts import TIMES

MAX_HELD_BLANKS = 32
"""White space held back before the next text; it goes where the next line is somebody else's."""
MAX_EXTRA = 48
"""Marks, blanks and the time that a line's beginning may have besides the longest label."""

MAX_WRAPS = 2
"""Pairs of brackets and quotes around one name."""
MAX_LEADS = 4
"""Numbers, bullets, boxes, at-signs and times before one name."""
NOBODY = "user"
"""Whose a line is that begins with a label of nobody in particular."""

LABELS = 16
"""Personas whose labels are kept; they are the same from answer to answer. Some 1 MB each, where 100 take part who have
50 names each."""

_BREAKS = "\n\r\v\f\x85\u2028\u2029"
_UNSEEN = "\u00ad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
_HIDDEN = re.compile(f"[{_UNSEEN}]")
_BREAK = re.compile(f"[{_BREAKS}]")
_MARKS = re.compile(rf"(?:[^\S{_BREAKS}]|[{_UNSEEN}*_>\-#])*+")
_AROUND_NAMES = "*_>-#@ "
_PADDING = " \t\u00a0\u3000*_"
"""What may stand between the parts of a label."""
_TIMES = "|".join(re.escape(form).replace(r"\{n\}", r"\d{1,9}") for form in TIMES)
_LEAD = regex.compile(
    rf"\[(?:\d{{4}}-\d\d-\d\d|{_TIMES})\]|\[[ xX✓]?\]|\d{{1,3}}[.)、．）]|[(（]\d{{1,3}}[)）]|[@＠+•·◦▪‣●–—]"
)
"""A time, a box, a number, an at-sign or a bullet."""
_PAIRS = {
    "[": "]", "(": ")", "（": "）", "【": "】", "「": "」", "『": "』", "《": "》", "〈": "〉", "{": "}",
    "“": "”", "‘": "’", '"': '"', "'": "'", "`": "`", "［": "］", "〔": "〕", "«": "»",
}  # fmt: skip
_VALUE_BEGINS = frozenset('"{[-0123456789')
_COLON = re.compile("[:：﹕︓∶꞉]")
_KINDS = (
    "[bot]", "(bot)", "（bot）", "(person)", "（person）", "(机器人)", "（机器人）", "(人类)", "（人类）",
)  # fmt: skip
"""What a prompt says of a participant behind its name."""
_KIND = "|".join(map(re.escape, _KINDS))
_KIND_BEGUN = "|".join(re.escape(one[:n]) for one in _KINDS for n in range(len(one), 0, -1))
_BOT = re.compile(rf"(?:{_KIND})\Z", re.IGNORECASE)
_BOT_BEGUN = re.compile(rf"(?:{_KIND_BEGUN})\Z", re.IGNORECASE)
_ID = re.compile(r"<([^<>]*)>\Z")
_ID_BEGUN = re.compile(r"<([^<>]*)>?\Z")
_ESCAPED = re.compile(r"\\([\\<>:：\[\](（])")
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
    others : everything everybody else is called, with the id of each: participants, and whoever else wrote what the
        persona was shown.
    labels : beginnings of lines that are nobody's in particular, such as ``User says:``. Their lines are of `NOBODY`.
        One that does not end in a colon is none.
    """

    def __init__(
        self, own_names: Sequence[str], others: Mapping[str, str], labels: Sequence[str] = ()
    ) -> None:
        self._labels = _labels_of(tuple(own_names), tuple(others.items()), tuple(labels))
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
            found = _BREAK.search(text, place)
            end = len(text) if found is None else found.start()
            if self._is_at_head:
                read_to = min(end, place + self._labels.most_chars - len(self._held))
                self._read_head(text[place:read_to], is_whole=found is not None and read_to == end)
                place = read_to
            if self._is_at_head or self._is_cut:
                return
            self._pass(text[place:end])
            if found is None:
                return
            self._end_line(found[0])
            place = found.end()

    def _read_head(self, text: str, *, is_whole: bool) -> None:
        """More of a line that may begin with a label; whether its line break follows."""
        self._held += text
        if is_whole or self._is_code(self._held) or not self._labels.is_open(self._held):
            self._decide()

    def _is_code(self, line: str) -> bool:
        return self._may_be_code and _SET_IN.match(line) is not None

    def _decide(self) -> None:
        """What the beginning of the line is, as far as it goes."""
        held, self._held = self._held, ""
        self._is_at_head = False
        if not held:
            return
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
    """Reads labels. `most_chars`: what is behind that in a line makes none."""

    def __init__(
        self, own_names: Sequence[str], others: Mapping[str, str], labels: Sequence[str]
    ) -> None:
        self._names: dict[str, str] = dict.fromkeys(map(_key, own_names), "")
        for name, who in others.items():
            self._names.setdefault(_key(name), who)
        for label in labels:
            bare = label.rstrip()
            if _COLON.fullmatch(bare[-1:]):
                self._names.setdefault(_key(bare[:-1]), NOBODY)
        self._names.pop("", None)
        self._sorted = sorted(self._names)
        longest_name = max(map(len, self._names), default=0)
        longest_id = max(map(len, others.values()), default=0)
        self.most_chars = (
            longest_name + max(longest_id, longest_name) + len(" <> （person）:") + MAX_EXTRA
        )
        self._most_colons = 2 + max((one.count(":") for one in self._names), default=0)

    def is_open(self, line: str) -> bool:
        """Whether something that may follow decides what the line begins with."""
        if not self._names or len(line) >= self.most_chars:
            return False
        starts = list(_starts(line))
        if len(starts) <= MAX_LEADS and _LEAD.fullmatch(line, starts[-1].place, partial=True):
            return True
        return any(self._is_open_at(line[one.place :], one.opening) for one in starts)

    def read(self, line: str) -> _Label | None:
        """The label a line begins with, the longest that it may be."""
        if not self._names or _COLON.search(line) is None:
            return None
        for start in _starts(line):
            said = line[start.place :]
            for colon in reversed(self._colons(said)):
                found = self._whose(said[: colon.start()])
                if found is not None and not _is_no_label(said, colon.start()):
                    whose, is_closed = found
                    kept, end = start.before, start.place + colon.end()
                    if start.opening and not is_closed:
                        if line.startswith(start.opening[::-1], end):
                            end += len(start.opening)
                        else:
                            kept += start.opening
                    return _Label(whose, kept, end)
        return None

    def _colons(self, said: str) -> list[re.Match[str]]:
        """Those at which a label may end: there are not more in any."""
        return list(islice(_COLON.finditer(said), self._most_colons))

    def _is_open_at(self, said: str, opening: str, wraps: int = MAX_WRAPS) -> bool:
        if self._begins_name(said):
            return True
        colons = self._colons(said)
        if colons and self._is_open_behind(said, colons[-1], opening):
            return True
        if said[:1] in _PAIRS and wraps and self._is_open_at(said[1:], "", wraps - 1):
            return True
        name, user_id = _name_and_id(said, _BOT_BEGUN, _ID_BEGUN)
        if not name and user_id is not None:
            return self._begins_name(user_id)
        return self._find(name) is not None or self._find(said) is not None

    def _is_open_behind(self, said: str, colon: re.Match[str], opening: str) -> bool:
        """Whether what follows a label tells that it is none, or belongs to it."""
        behind = said[colon.end() :]
        is_begun = (
            behind in ("", "/")
            or (len(behind) < len(opening) and opening[::-1].startswith(behind))
            or (said[0] == '"' and behind.isspace())
        )
        return is_begun and self._whose(said[: colon.start()]) is not None

    def _begins_name(self, text: str) -> bool:
        """Whether a name may begin so. The last letter may still get its accents."""
        folded = _folded(text.removesuffix("\\"))
        while folded and unicodedata.combining(folded[-1]):
            folded = folded[:-1]
        place = bisect_left(self._sorted, folded)
        return place < len(self._sorted) and self._sorted[place].startswith(folded)

    def _find(self, name: str, wraps: int = MAX_WRAPS) -> str | None:
        """Whose name it is, in brackets or quotes or without them; empty: the persona's own."""
        found = self._whose(name, wraps)
        return None if found is None else found[0]

    def _whose(self, label: str, wraps: int = MAX_WRAPS) -> tuple[str, bool] | None:
        """Whose label that is, without its colon, and whether marks of bold type end in it.

        An id goes before a name, and others before the persona itself.
        """
        whole = self._names.get(_key(label))
        if whole is not None:
            return whole, label.rstrip()[-1:] in ("*", "_")
        name, user_id = _name_and_id(label, _BOT, _ID)
        whose = self._names.get(_key(name))
        if whose is None and wraps:
            inner = _unwrapped(name) or _unwrapped(label.strip(_PADDING))
            whose = self._find(inner, wraps - 1) if inner else None
        if user_id is not None and (whose is not None or not name):
            by_id = self._names.get(_key(user_id))
            whose = by_id or (by_id if whose is None else whose)
        if whose is None:
            return None
        tail = label[len(name) :].replace(f"<{user_id}>", "")
        return whose, "*" in tail or "_" in tail


@lru_cache(maxsize=LABELS)
def _labels_of(
    own_names: tuple[str, ...], others: tuple[tuple[str, str], ...], labels: tuple[str, ...]
) -> _Labels:
    return _Labels(own_names, dict(others), labels)


def _starts(line: str) -> Iterator[_Start]:
    """Behind the marks, and behind each number, bullet, box, at-sign and time that follows them."""
    place = _end(_MARKS, line, 0)
    before = line[:place].rstrip("*_")
    yield _Start(place, before, line[len(before) : place])
    for _ in range(MAX_LEADS):
        lead = _LEAD.match(line, place)
        if lead is None:
            return
        behind = _end(_MARKS, line, lead.end())
        between = line[lead.end() : behind]
        bare = between.rstrip("*_")
        if lead[0][0] not in "@＠" and not (lead[0][0] == "[" and len(lead[0]) > len("[x]")):
            before += line[place : lead.end()] + bare
        place = behind
        yield _Start(place, before, between[len(bare) :])


def _unwrapped(text: str) -> str:
    """What stands in a pair of brackets or quotes; empty: there is none around all of the text."""
    is_wrapped = len(text) > 2 and text[-1] == _PAIRS.get(text[0])
    return text[1:-1] if is_wrapped else ""


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


def _is_no_label(said: str, colon: int) -> bool:
    """Whether it is the colon of ``12:30``, of ``http://`` or of ``"name": "value"``."""
    behind = said[colon + 1 : colon + 3]
    is_number = said[:colon][-1:].isdigit() and behind[:1].isdigit()
    is_pair = said[0] == '"' and said[colon + 1 :].lstrip()[:1] in _VALUE_BEGINS
    return said[colon] == ":" and (is_number or is_pair or behind == "//")


def _folded(text: str) -> str:
    """A text as names are compared, in pieces as small as there are: what it begins with, begins the same."""
    if text.isascii():
        plain = _ESCAPED.sub(r"\1", text) if "\\" in text else text
        return " ".join(plain.lower().split())
    plain = _ESCAPED.sub(r"\1", _HIDDEN.sub("", text))
    return unicodedata.normalize("NFKD", name_key(plain))


def _key(name: str) -> str:
    return _folded(name).strip(_AROUND_NAMES)
