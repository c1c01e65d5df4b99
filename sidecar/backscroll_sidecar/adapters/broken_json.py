"""Reads the JSON object that a broken text was meant to be, in one pass. Pure.

Every pattern begins where the last one ended and never goes back, so the time grows with the text and no faster,
whatever it holds. What is unclear is refused, not guessed: arguments that nobody wrote are worse than none.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

MAX_DEPTH = 32
"""How deep objects and lists may stand in each other."""

_CLOSING = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’"}
_COLONS = ":："
_GAP = re.compile(r"[\s,，]*+")
_SPACE = re.compile(r"\s*+")
_KEY = re.compile(r"[\w$.-]++")
_BARE = re.compile(r"""[^\s,，:：{}\[\]"'“”](?:[^,，:：{}\[\]"\n]++|:(?!\s))*+""")
_WORDS = {"True": True, "False": False, "None": None, "undefined": None, "NaN": None}
_BEGINS_JSON = "-0123456789tfn"
_ESCAPE = re.compile(r"((?:\\u[0-9a-fA-F]{4})++)|\\(.)", re.DOTALL)
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""} | {
    c: c for c in "\"'\\/"
}
_OPENS = re.compile(r'[{\["]')


def _string(closing: str) -> re.Pattern[str]:
    """The inside of a string and its end. A quote ends it only before what may stand behind a string."""
    next_key = r"""[^\S\n]*+\n\s*+(?:"[^"\n]*+"|'[^'\n]*+'|“[^”\n]*+”)\s*+[:：]"""
    behind = rf"(?=\s*+(?:[,，:：}}\]]|\Z)|{next_key})"
    inside = rf"(?:[^\\{closing}]++|\\.|\\\Z|(?!{closing}{behind}){closing})*+"
    return re.compile(rf"({inside}){closing}?", re.DOTALL)


_STRINGS = {opening: _string(closing) for opening, closing in _CLOSING.items()}


def read_object(text: str) -> dict[str, Any] | None:
    """The object that `text` was meant to be; None where that is unclear, or nothing is in it.

    Read are: text that ends too soon, brackets too many or too few, single and typographic quotes, quotes and line
    breaks inside strings, keys and words without quotes, commas too many or forgotten between lines, Python's and
    Chinese signs, code fences and words around the object.
    """
    text = text.rstrip().removesuffix("```")
    start = text.find("{")
    if start < 0 or _OPENS.search(text, 0, start):
        return None
    reader = _Reader(text, start)
    try:
        found = reader.object(1)
    except ValueError:
        return None
    return None if _OPENS.search(text, reader.at) else found or None


class _Reader:
    """Reads from `at` on, which only grows; ValueError where it is unclear what was meant."""

    def __init__(self, text: str, at: int) -> None:
        self.text, self.at = text, at
        self._lists = 0

    def object(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        self.at += 1
        while (char := self._skip(_GAP)) not in {"", "}"}:
            if char == "]" and self._lists:
                return found  # it was not closed; a list around it is
            key = self._string(char) if char in _STRINGS else self._match(_KEY)
            colon = self._skip(_SPACE)
            if colon and colon not in _COLONS:
                raise ValueError
            self.at += 1
            if not (char := self._skip(_SPACE)):
                break  # the text ends before the value
            found[key] = self._value(char, depth)
        self.at += 1
        return found

    def _list(self, depth: int) -> list[Any]:
        found: list[Any] = []
        self.at += 1
        self._lists += 1
        while (char := self._skip(_GAP)) not in {"", "]", "}"}:
            found.append(self._value(char, depth))
        self._lists -= 1
        self.at += char == "]"  # else an object around it is closed
        return found

    def _value(self, char: str, depth: int) -> Any:  # noqa: ANN401 - whatever JSON holds
        if char in _STRINGS:
            return self._string(char)
        if char in "{[":
            if depth == MAX_DEPTH:
                raise ValueError
            return self.object(depth + 1) if char == "{" else self._list(depth + 1)
        word = self._match(_BARE).rstrip()
        if word in _WORDS:
            return _WORDS[word]
        try:
            return orjson.loads(word) if word[0] in _BEGINS_JSON else word
        except ValueError:
            return word

    def _string(self, opening: str) -> str:
        found = _STRINGS[opening].match(self.text, self.at + 1)
        assert found  # it matches the empty text
        self.at = found.end()
        return _ESCAPE.sub(_unescaped, found[1])

    def _match(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if not found:
            raise ValueError
        self.at = found.end()
        return found[0]

    def _skip(self, gap: re.Pattern[str]) -> str:
        """The next character behind a gap; empty at the end."""
        found = gap.match(self.text, self.at)
        assert found  # it matches the empty text
        self.at = found.end()
        return self.text[self.at : self.at + 1]


def _unescaped(escape: re.Match[str]) -> str:
    if escape[1]:
        return str(orjson.loads(f'"{escape[1]}"'))  # halves of a character become one
    return _ESCAPED.get(escape[2], escape[0])
