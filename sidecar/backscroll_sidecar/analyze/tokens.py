"""How many tokens a text costs: exactly, or by one of two estimates.

Exact counts are o200k_base by quicktok, whose tables come with its wheel (no network). A special token's name, such
as ``<|endoftext|>``, is plain text here: what people write is never a control token. Measured on this project's
corpora: characters / 4 counts English 1.4 times too high and Chinese 3 times too low; UTF-8 bytes / 4 is the better
plain estimate.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Protocol

import quicktok

from backscroll_sidecar.analyze.memo import remembered
from backscroll_sidecar.analyze.sanitise import clean_text
from backscroll_sidecar.domain import TokenizerName

if TYPE_CHECKING:
    from collections.abc import Callable

_SEAM = re.compile(r"\n(?=[^\s/])")
"""A line break with no white space and no slash behind it.

o200k_base splits a text into words before anything else. Only two of its rules take a line break, ``\\s*[\\r\\n]+`` and
``[^\\s\\p{L}\\p{N}]+[\\r\\n/]*``; neither goes on behind such a place, and no rule looks back: the counts of the
pieces add up to that of the whole.
"""
_ENDS_IN_A_WORD = re.compile(r"[A-Za-z0-9\u4e00-\u9fff]\Z").match
SHORT_CHARS = 1_024
"""Longer texts have a small cache of their own: a system text or tools may take 256 KiB."""


class TokenCounter(Protocol):
    """Counts the tokens of a text. Pure; safe to call from any thread."""

    @property
    def name(self) -> TokenizerName:
        """The tokenizer or estimate behind the numbers."""
        ...

    def count(self, text: str) -> int:
        """Tokens of `text`; 0 for the empty text. Never raises for a `str`."""
        ...


class _ExactCounter:
    """o200k_base by quicktok. Holds the native tokenizer, which is immutable after loading."""

    name = TokenizerName.O200K

    def __init__(self) -> None:
        # Reads 4 MB of tables, about half a second: only who counts exactly pays for it.
        self._count: Callable[[str], int] = quicktok.get_encoding("o200k_base").count

    def count(self, text: str) -> int:
        try:
            return self._count(text)
        except TypeError:  # quicktok's answer to lone surrogates
            return self._count(clean_text(text)[0])


class _CharsCounter:
    """A quarter of the characters (Unicode code points), rounded up: the estimate pi-mono uses."""

    name = TokenizerName.CHARS_4

    def count(self, text: str) -> int:
        return -(-len(text) // 4)


class _BytesCounter:
    """A quarter of the UTF-8 bytes, rounded up."""

    name = TokenizerName.BYTES_4

    def count(self, text: str) -> int:
        size = len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))
        return -(-size // 4)


_COUNTERS: dict[TokenizerName, Callable[[], TokenCounter]] = {
    TokenizerName.O200K: _ExactCounter,
    TokenizerName.CHARS_4: _CharsCounter,
    TokenizerName.BYTES_4: _BytesCounter,
}


@cache
def _instance(name: TokenizerName) -> TokenCounter:
    return _COUNTERS[name]()


def token_counter(name: TokenizerName = TokenizerName.O200K) -> TokenCounter:
    """The counter of that name: one instance a process, without state, safe from any thread."""
    return _instance(name)


def begins_anew(text: str) -> bool:
    """Whether a text, behind a line break, counts as many tokens as it does alone: see `_SEAM`."""
    return _SEAM.match("\n" + text[:1]) is not None


def count_with_breaks(counter: TokenCounter, text: str) -> tuple[int, int, int]:
    r"""Tokens of a text, of the text with a line break behind it, and with two.

    Behind an ASCII letter or digit, or a Chinese character, one count tells all: the rules that take a line break
    (`_SEAM`) go on from none of these, so that the breaks are a word, and a token, of their own.
    """
    count = counter.count(text)
    if counter.name is TokenizerName.O200K and _ENDS_IN_A_WORD(text, max(0, len(text) - 1)):
        return count, count + 1, count + 1
    return count, counter.count(text + "\n"), counter.count(text + "\n\n")


@remembered
def exact_tokens(text: str) -> int:
    """Tokens of a text by o200k_base. Cached: a question is asked again when its answer is lost."""
    return token_counter().count(text)


def repeated_tokens(text: str, name: TokenizerName) -> int:
    """Tokens of a text that recurs: system texts, tools, speakers. Cached."""
    return _short_tokens(text, name) if len(text) <= SHORT_CHARS else _long_tokens(text, name)


@lru_cache(maxsize=4_096)
def _short_tokens(text: str, name: TokenizerName) -> int:
    return token_counter(name).count(text)


@lru_cache(maxsize=64)
def _long_tokens(text: str, name: TokenizerName) -> int:
    return token_counter(name).count(text)
