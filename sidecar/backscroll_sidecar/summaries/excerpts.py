"""A long text cut to the windows around its facts, never inside a grapheme. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import regex

from backscroll_sidecar.domain import CUT_MARK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Span = tuple[int, int]

_GRAPHEME = regex.compile(r"\X")
_PLAIN = re.compile(r"[ -~\u00c0-\u024f\u0400-\u0481\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3]{2}")
"""Two characters of which each is a grapheme of its own: the usual text."""
_GAP = re.compile(r"[ ，。！？；：、]+|(?<=[^\x00-\x7f])(?=[A-Za-z])|(?<=[A-Za-z])(?=[^\x00-\x7f])")
"""Where a text may be cut: between words, clauses, or two scripts."""
WIDE = 3
"""A character outside ASCII takes as much room as so many of ASCII."""


def excerpt(text: str, spans: Sequence[Span], room: int) -> tuple[str, list[Span]]:
    """The text, or what is around the first of `spans` that fit `room`; and the windows it was cut to.

    `spans` come best first. `room` is in ASCII characters, and the first window may exceed it. ``…`` stands for what
    is left out.
    """
    width = _width(text)
    if width <= room:
        return text, [(0, len(text))]
    around = room * len(text) // width // 6
    windows, left = list[Span](), room
    for start, end in spans:
        if any(begin <= start and end <= until for begin, until in windows):
            continue
        window = _window(text, start, end, around)
        left -= _width(text[slice(*window)])
        if windows and left < 0:
            break
        windows.append(window)
    windows = _merged(windows)
    return _joined(text, windows), windows


def _width(text: str) -> int:
    """In ASCII characters."""
    return WIDE * len(text) - (WIDE - 1) * len(text.encode("ascii", "ignore"))


def _window(text: str, start: int, end: int, around: int) -> Span:
    """The span and so many characters on each side, or less to where a word or a clause begins or ends."""
    first, last = max(0, start - around), min(len(text), end + around)
    if first and (gap := _GAP.search(text, first, start - around // 2)):
        first = gap.end()
    if last < len(text) and (gaps := [*_GAP.finditer(text, end + around // 2, last)]):
        last = gaps[-1].start()
    return _boundary(text, first, is_start=True), _boundary(text, last, is_start=False)


def _boundary(text: str, at: int, *, is_start: bool) -> int:
    """`at`, or the begin or the end of the grapheme it is inside."""
    safe = at
    while safe > 0 and not _PLAIN.match(text, safe - 1):
        safe -= 1
    for match in _GRAPHEME.finditer(text, safe):
        if match.end() > at:
            return at if match.start() >= at else match.start() if is_start else match.end()
    return at


def _merged(windows: Iterable[Span]) -> list[Span]:
    merged = list[Span]()
    for start, end in sorted(windows):
        if merged and start <= merged[-1][1] + 1:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def _joined(text: str, windows: Iterable[Span]) -> str:
    shown, at = list[str](), 0
    for start, end in windows:
        if start > at:
            shown.append(CUT_MARK)
        shown.append(text[start:end].strip(" " + CUT_MARK))
        at = end
    if at < len(text):
        shown.append(CUT_MARK)
    return " ".join(shown)
