"""Scripts without spaces between words, their search terms, and invisible texts. Pure.

Below the layers: analysis and channels both use it.
"""

from __future__ import annotations

import re
import unicodedata
from operator import add

HAN = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
HIRAGANA = "\u3041-\u3096\u309d\u309e"
KATAKANA = "\u30a1-\u30fa\u30fc-\u30fe\u31f0-\u31ff"
OTHER_UNSPACED = (
    "\u1100-\u11ff\u3131-\u318e\uac00-\ud7a3"  # Hangul
    "\u0e01-\u0e4e\u0e81-\u0ece\u1000-\u109f\u1780-\u17d3"  # Thai, Lao, Myanmar, Khmer
)
UNSPACED = HIRAGANA + KATAKANA + OTHER_UNSPACED

_NOTHING = re.compile(
    r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]*"
)
"""White space, Unicode's Default_Ignorable_Code_Point, and the blank pattern of braille."""
_RUN = re.compile(rf"[{HAN}{UNSPACED}]+")
_ANY_KANA = re.compile(rf"[{HIRAGANA}{KATAKANA}\uff66-\uff9d]")
_KANA = frozenset(
    chr(c) for c in range(0x3041, 0x3200) if re.fullmatch(rf"[{HIRAGANA}{KATAKANA}]", chr(c))
)


def shows_nothing(text: str) -> bool:
    """Whether a text is empty or all white space and invisible characters."""
    if not text or "!" <= text[0] <= "~":  # mostly so
        return not text
    return _NOTHING.fullmatch(text) is not None


def grams(text: str) -> tuple[str, ...]:
    """The distinct characters and character pairs of the runs written without spaces (Chinese, Japanese, Korean, Thai).

    They find words inside words: 猫 in 那只小猫, 生命 in 研究生命科学. A lone kana is left out, as in `keywords`.
    Empty for other scripts. O(n), pure.
    """
    if text.isascii():
        return ()
    found: dict[str, None] = {}
    for run in _RUN.findall(unicodedata.normalize("NFKC", text).lower()):
        found.update(dict.fromkeys(map(add, run, run[1:])))
        found.update(dict.fromkeys(run))
    if _ANY_KANA.search(text):
        return tuple(gram for gram in found if gram not in _KANA)
    return tuple(found)


def is_gram(word: str) -> bool:
    """Whether a keyword is one or two characters of a script without spaces, so that `grams` finds it everywhere."""
    return len(word) <= 2 and not word.isascii() and is_unspaced(word)


def is_unspaced(word: str) -> bool:
    """Whether a word is written in scripts without spaces throughout."""
    return _RUN.fullmatch(word) is not None
