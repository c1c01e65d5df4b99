"""Keywords of a text, for search and for the overlap that `classic` scores.

What becomes a keyword, after NFKC normalisation and lower-casing:

- words of alphabetic scripts: possessive and plural ``s`` removed, then Snowball's English stem (ASCII only);
- Han runs: words by rjieba's search mode (a long word and the words inside it); character bigrams without rjieba;
- kana, Hangul, Thai, Lao, Khmer, Myanmar runs: character bigrams. A lone kana is a particle and is dropped;
- versions (``10.04``) whole; dotted names (``sources.list``), paths and URLs whole and in parts, so that a line with
  the file's name and a line with its path still meet.

Stop words of both languages are left out (`stopwords`). Pure: the same text gives the same tuple in every process
that has the same segmenter.
"""

from __future__ import annotations

import errno
import re
import signal
import unicodedata
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING

import Stemmer

from backscroll_sidecar.analyze.stopwords import STOP_WORDS
from backscroll_sidecar.scripts import HAN, HIRAGANA, KATAKANA, OTHER_UNSPACED, UNSPACED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

MAX_KEYWORD_CHARS = 64
"""Longer words are cut here, of longer wholes a digest stands for the rest: no pasted blob may fill an index."""
_DIGEST_BYTES = 8

_CACHED_TOKENS = 65_536
_SHORTEST_OF_TWO = 4
_CACHED_TOKEN_CHARS = 24

_MARKS = "".join(chr(c) for c in range(0x300, 0xE00) if unicodedata.category(chr(c))[0] == "M")
"""Combining marks of the spaced scripts: letters' parts that ``\\w`` leaves out (Hindi vowels, Arabic harakat)."""

_URL = r"(?:https?|ftp)://[!-~]+|www\.[!-~]+"
_PATH = r"(?<![\w/.])(?:~/[\w.+@-]+|(?:~|\.{1,2})?/[\w.+@-]+/[\w.+@-]+)(?:/[\w.+@-]+)*"
_DOTTED_TAIL = r"(?:\.[a-z0-9][a-z0-9_+\-]*)*\#?"
_LETTER = rf"[^\W_{HAN}{UNSPACED}]"

_ASCII_WORD = rf"[a-z0-9][a-z0-9_'+\-]*{_DOTTED_TAIL}"
_ASCII_WORDS = re.compile(_ASCII_WORD, re.ASCII)
_ASCII_TOKEN = re.compile(rf"{_URL}|{_PATH}|{_ASCII_WORD}", re.ASCII)
_WORD_OR_RUN = (
    rf"[{HAN}]+|{_LETTER}(?:[^\W{HAN}{UNSPACED}]+|['+\-{_MARKS}]+)*{_DOTTED_TAIL}"
    rf"|[{HIRAGANA}]+|[{KATAKANA}]+|[{OTHER_UNSPACED}]+"
)
_WORDS = re.compile(_WORD_OR_RUN)
_TOKEN = re.compile(rf"{_URL}|{_PATH}|{_WORD_OR_RUN}")
"""What the ASCII ones find, in every script: two to three times slower. Texts without a URL or path go without these,
which would be tried at each of their characters."""

_STARTS_HAN = re.compile(rf"[{HAN}]")
_STARTS_UNSPACED = re.compile(rf"[{UNSPACED}]")
_IS_KANA = re.compile(rf"[{HIRAGANA}{KATAKANA}]")
_IS_VERSION = re.compile(r"v?\d[\w+\-]*(?:\.\d[\w+\-]*)+")
_IS_IDENTIFIER = re.compile(r"(?=.*[_/]|(?:[^0-9]*[0-9]){3})(?![0-9]{1,5}$)[!-~]{4,}")
_MAY_IDENTIFY = re.compile(r"[_/0-9]|[a-z0-9][A-Z]|[A-Z]{5}")
_CAPITALS = re.compile(r"(?<![A-Za-z0-9_])[A-Z][A-Z0-9]{4,}(?![A-Za-z0-9_])")
_CODES = frozenset(errno.errorcode.values()).union(
    signal.Signals.__members__, ("NXDOMAIN", "SERVFAIL")
)
"""What systems call errors, signals and failed look-ups: by its form alone a word in capitals may be a shout."""
_TERM = re.compile(r"(?<![!-~])[A-Za-z]{4,}(?![!-~])")
_UNSPACED_RUN = re.compile(rf"[{HAN}{UNSPACED}]")
_CAMEL_CASE = re.compile(
    r"(?<![A-Za-z0-9_])(?:[a-z]+|[A-Z][a-z0-9]+)(?:[A-Z][a-z0-9]+)+(?![A-Za-z0-9_])"
)
_HOST_END = re.compile(r"[/?#:]")
_PART = re.compile(r"[^\W_](?:\w|['+\-])*")

_stem: Callable[[str], str] = Stemmer.Stemmer("english").stemWord


def keywords(text: str) -> tuple[str, ...]:
    """The distinct keywords of `text` in order of appearance. O(n); never raises for a `str`."""
    if text.isascii():
        found = map(_words_of, text.lower().split())
    else:
        text = unicodedata.normalize("NFKC", text).lower().replace("\u2019", "'")
        pattern = _TOKEN if "/" in text or "www." in text else _WORDS
        found = map(_known_or_expanded, pattern.findall(text))
    return tuple(dict.fromkeys(chain.from_iterable(found)))


def identifiers(text: str, keywords: Sequence[str]) -> frozenset[str]:
    """Which keywords of a text are addresses, paths, versions, error codes or names in programs, by their form.

    In a text without spaces between words, a term in another script, too.
    """
    is_ascii = text.isascii()
    if is_ascii and not _MAY_IDENTIFY.search(text):
        return frozenset()
    found = {word for word in keywords if _IS_IDENTIFIER.fullmatch(word)}
    if not is_ascii and _UNSPACED_RUN.search(text):
        found.update(_word(term.lower()) for term in _TERM.findall(text))
    named = _CAMEL_CASE.findall(text) + [word for word in _CAPITALS.findall(text) if word in _CODES]
    found.update(_word(name.lower()) for name in named)
    return frozenset(found.intersection(keywords))


def in_order(text: str) -> tuple[str, list[tuple[str, int, int]]]:
    """The text as phrases are compared (`as_compared`), and its words: keyword, begin, end there. No stop words.

    No two overlap: an address or a path is one word, and so is a Han word unless shorter ones make it up. O(n).
    """
    text, found = as_compared(text), list[tuple[str, int, int]]()
    for token in _TOKEN.finditer(text):
        at = token.start()
        for part in _parts(token.group()):
            if word := max(_known_or_expanded(part), key=len, default=""):
                found.append((word, at, at + len(part)))
            at += len(part)
    return text, found


def as_compared(text: str) -> str:
    """The text normalised by NFKC, in lower case, single spaces for white space."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text).replace("\u2019", "'")
    return " ".join(text.lower().split())


def _parts(token: str) -> Sequence[str]:
    """A token cut into words that follow each other: of scripts without spaces there are several."""
    if token.isascii() or not _UNSPACED_RUN.match(token):
        return (token,)
    if not _STARTS_HAN.match(token) or _segmenter() is _bigrams:
        return [token[i : i + 2] for i in range(0, len(token), 2)]
    import rjieba  # noqa: PLC0415 - the segmenter has it

    return [
        part
        for word in rjieba.cut(token)
        for part in ((word,) if len(word) < _SHORTEST_OF_TWO else _halves(word))
    ]


@lru_cache(maxsize=_CACHED_TOKENS)
def _halves(word: str) -> tuple[str, ...]:
    """The shorter words that make up a Han word, else that."""
    inside = [one for one in _segmenter()(word) if one != word]
    return tuple(inside) if "".join(inside) == word else (word,)


def segmenter_name() -> str:
    """``rjieba``, or ``bigrams`` where rjieba is not installed. Stored keywords of one do not meet the other's."""
    return "bigrams" if _segmenter() is _bigrams else "rjieba"


def _expand(token: str) -> tuple[str, ...]:
    """The keywords one token of the text stands for."""
    if not token.isascii():
        if _STARTS_HAN.match(token):
            return tuple([word for word in _segmenter()(token) if word not in STOP_WORDS])
        if _STARTS_UNSPACED.match(token):
            return () if len(token) == 1 and _IS_KANA.match(token) else tuple(_bigrams(token))
    if "://" in token or token.startswith("www."):
        return tuple(_url(token))
    if ("." in token or "/" in token) and not _IS_VERSION.fullmatch(token):
        return tuple(_whole_and_parts(token.rstrip(".")))
    word = _word(token)
    return (word,) if word else ()


_cached_expand = lru_cache(maxsize=_CACHED_TOKENS)(_expand)
"""A cache: chat repeats its words. About 10 MB when full."""


def _known_or_expanded(token: str) -> tuple[str, ...]:
    return _cached_expand(token) if len(token) <= _CACHED_TOKEN_CHARS else _expand(token)


class _Spaced(dict[str, tuple[str, ...]]):
    """Keywords by word, for words of lower-cased ASCII texts seen recently.

    One look-up a word instead of a search through every text. Emptied when full, at some 10 MB. Safe from any thread.
    """

    def __missing__(self, spaced: str) -> tuple[str, ...]:
        pattern = _ASCII_TOKEN if "/" in spaced or "www." in spaced else _ASCII_WORDS
        words = tuple(chain.from_iterable(map(_known_or_expanded, pattern.findall(spaced))))
        if len(spaced) <= _CACHED_TOKEN_CHARS:
            if len(self) >= _CACHED_TOKENS:
                self.clear()
            self[spaced] = words
        return words


_words_of = _Spaced().__getitem__


def _word(token: str) -> str:
    """The stem of a single word, at most `MAX_KEYWORD_CHARS` long; empty if it is a stop word."""
    word = token.strip("'-").removesuffix("'s").strip("'-")[:MAX_KEYWORD_CHARS]
    if not word or word in STOP_WORDS:
        return ""
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
        if word in STOP_WORDS:
            return ""
    return _stem(word) if word.isascii() else word


def _whole_and_parts(token: str) -> Iterator[str]:
    """A path or dotted name as it is, then its words without bare numbers and single letters."""
    yield _whole(token)
    for part in _PART.findall(token):
        if len(part) > 1 and not part.isdigit() and (word := _word(part)):
            yield word


def _whole(token: str) -> str:
    """The token, at most `MAX_KEYWORD_CHARS` long: two that begin alike stay two."""
    if len(token) <= MAX_KEYWORD_CHARS:
        return token
    digest = blake2b(token.encode("utf-8", "surrogatepass"), digest_size=_DIGEST_BYTES).hexdigest()
    return f"{token[: MAX_KEYWORD_CHARS - len(digest) - 1]}#{digest}"


def _url(token: str) -> Iterator[str]:
    """A URL without scheme, ``www.`` and closing punctuation; its host; then its words."""
    bare = token.rpartition("://")[2].removeprefix("www.").rstrip(".,;:!?'\")]}>/")
    host = _HOST_END.split(bare, maxsplit=1)[0]
    if host and host != bare and len(host) <= MAX_KEYWORD_CHARS:
        yield host
    if bare:
        yield from _whole_and_parts(bare)


def _bigrams(run: str) -> list[str]:
    """Pairs of neighbouring characters; a single character is itself."""
    return [run[i : i + 2] for i in range(len(run) - 1)] or [run]


@lru_cache(maxsize=1)
def _segmenter() -> Callable[[str], Iterable[str]]:
    """The search mode of rjieba, or character bigrams. The first call loads the dictionary (about 0.1 s)."""
    try:
        import rjieba  # noqa: PLC0415 - a dictionary of 0.1 s, and it may be missing
    except ImportError:
        return _bigrams
    return rjieba.cut_for_search
