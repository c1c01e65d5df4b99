r"""Zero-width joiners that do something where they stand, by Unicode's rules for names (UAX #31, RFC 5892). Pure.

A non-joiner (U+200C) stays where it keeps two letters of a cursive script apart that would join, and between a virama
and a letter. A joiner (U+200D) stays behind a virama, and inside an emoji that Unicode recommends. Both sides are of
one script. Some writings that the Unicode Standard describes beside these rules stay, too: reph and ya in Bengali and
Kannada, touching letters of Sinhala, register shifters of Khmer. Anywhere else a joiner changes nothing that can be
seen.
"""

from __future__ import annotations

import unicodedata

import regex

NON_JOINER, JOINER = "\u200c", "\u200d"
_VERSION1 = regex.VERSION1
_MARK = r"[\p{M}--\p{DI}]"
_PASSED = r"[[\p{M}&&\p{Joining_Type=T}]--\p{DI}]"
"""Marks on a letter: letters join across them."""
_JOINS_NEXT = regex.compile(rf"([\p{{jt=L}}\p{{jt=D}}]){_PASSED}*\Z", _VERSION1)
_JOINS_BEFORE = regex.compile(rf"{_PASSED}*([\p{{jt=R}}\p{{jt=D}}])", _VERSION1)
_VIRAMA = regex.compile(
    rf"\p{{L}}{_MARK}*(\p{{ccc=9}})[[\p{{Mn}}--\p{{ccc=0}}]--\p{{DI}}]*\Z", _VERSION1
)
_LETTER = regex.compile(rf"{_MARK}*(\p{{L}})", _VERSION1)
_VOWEL = regex.compile(r"\p{InSC=Vowel_Dependent}")
_BESIDE = (
    (regex.compile(r"[\u09b0\u0cb0]\Z"), regex.compile(r"[\u09cd\u0ccd][\u09af\u0caf]")),
    (regex.compile(r"[\u0d9a-\u0dc6]\Z"), regex.compile(r"\u0dca[\u0d9a-\u0dc6]")),
    (regex.compile(r"[\u17c9\u17ca]\Z"), regex.compile(r"[\u17b7-\u17ba\u17be]")),
)
"""What stands before and behind a joiner: ra, virama and ya; letters that touch; a shifter and a vowel above."""

_SKIN = r"[\U0001f3fb-\U0001f3ff]?"
_PERSON = rf"[\U0001f468\U0001f469\U0001f9d1]{_SKIN}"
_ROLES = (
    r"(?:[\u2695\u2696\u2708]\ufe0f?|[\U0001f33e\U0001f373\U0001f37c\U0001f393\U0001f3a4\U0001f3a8"
    r"\U0001f3eb\U0001f3ed\U0001f4bb\U0001f4bc\U0001f527\U0001f52c\U0001f680\U0001f692\U0001f9b0-\U0001f9b3]"
    r"|[\U0001f9af\U0001f9bc\U0001f9bd](?:\u200d\u27a1\ufe0f?)?)"
)
_MOVING = r"[\U0001f3c3\U0001f6b6\U0001f9ce]"
_GENDERED = (
    r"(?:[\U0001f3c3\U0001f3c4\U0001f3ca\U0001f46e\U0001f46f\U0001f470\U0001f471\U0001f473\U0001f477\U0001f481"
    r"\U0001f482\U0001f486\U0001f487\U0001f645-\U0001f647\U0001f64b\U0001f64d\U0001f64e\U0001f6a3"
    r"\U0001f6b4-\U0001f6b6\U0001f926\U0001f935\U0001f937-\U0001f939\U0001f93c-\U0001f93e\U0001f9b8\U0001f9b9"
    rf"\U0001f9cd-\U0001f9cf\U0001f9d4\U0001f9d6-\U0001f9df]{_SKIN}"
    r"|[\u26f9\U0001f3cb\U0001f3cc\U0001f575](?:\ufe0f|[\U0001f3fb-\U0001f3ff])?)\u200d[\u2640\u2642]\ufe0f?"
)
_EMOJI = regex.compile(
    rf"{_PERSON}\u200d{_ROLES}|\U0001f9d1{_SKIN}\u200d[\U0001f384\U0001fa70]"
    rf"|{_MOVING}{_SKIN}(?:\u200d[\u2640\u2642]\ufe0f?)?\u200d\u27a1\ufe0f?|{_GENDERED}"
    rf"|{_PERSON}\u200d\u2764\ufe0f?\u200d(?:\U0001f48b\u200d)?{_PERSON}"
    rf"|{_PERSON}\u200d[\U0001f91d\U0001f430\U0001faef]\u200d{_PERSON}"
    rf"|\U0001faf1{_SKIN}\u200d\U0001faf2{_SKIN}"
    r"|[\U0001f468\U0001f469](?:\u200d[\U0001f468\U0001f469])?\u200d[\U0001f466\U0001f467](?:\u200d[\U0001f466\U0001f467])?"
    r"|\U0001f9d1(?:\u200d\U0001f9d1)?\u200d\U0001f9d2(?:\u200d\U0001f9d2)?"
    r"|\U0001f3f3\ufe0f?\u200d(?:\U0001f308|\u26a7\ufe0f?)|\U0001f3f4\u200d\u2620\ufe0f?|\U0001f415\u200d\U0001f9ba"
    r"|[\U0001f408\U0001f426]\u200d\u2b1b|\U0001f426\u200d\U0001f525|\U0001f43b\u200d\u2744\ufe0f?"
    r"|\u2764\ufe0f?\u200d[\U0001f525\U0001fa79]|\U0001f62e\u200d\U0001f4a8|\U0001f635\u200d\U0001f4ab"
    r"|\U0001f636\u200d\U0001f32b\ufe0f?|\U0001f642\u200d[\u2194\u2195]\ufe0f?|\u26d3\ufe0f?\u200d\U0001f4a5"
    r"|\U0001f441\ufe0f?\u200d\U0001f5e8\ufe0f?|\U0001f34b\u200d\U0001f7e9|\U0001f344\u200d\U0001f7eb"
)
"""The sequences with joiners that Unicode recommends (UTS #51, Emoji 17)."""


def joining_places(text: str) -> set[int]:
    """Where in a text a joiner or non-joiner changes what is seen."""
    if NON_JOINER not in text and JOINER not in text:
        return set()
    inside = {
        place
        for match in _EMOJI.finditer(text)
        for place in range(match.start(), match.end())
        if text[place] == JOINER
    }
    return inside | {
        place
        for place, char in enumerate(text)
        if (char == NON_JOINER and _keeps_apart(text[:place], text[place + 1 :]))
        or (char == JOINER and _joins(text[:place], text[place + 1 :]))
    }


def _keeps_apart(before: str, after: str) -> bool:
    return (
        _are_one_script(_JOINS_NEXT.search(before), _JOINS_BEFORE.match(after))
        or _are_one_script(_VIRAMA.search(before), _LETTER.match(after))
        or _stand_beside(before, after, _BESIDE[2:])
    )


def _joins(before: str, after: str) -> bool:
    virama = _VIRAMA.search(before)
    if virama and not _VOWEL.match(after):
        return _are_one_script(virama, virama)
    return _stand_beside(before, after, _BESIDE)


def _stand_beside(
    before: str, after: str, pairs: tuple[tuple[regex.Pattern[str], regex.Pattern[str]], ...]
) -> bool:
    return any(left.search(before) and right.match(after) for left, right in pairs)


def _are_one_script(left: regex.Match[str] | None, right: regex.Match[str] | None) -> bool:
    """Whether the first character of what is before, and the letters that meet, are of one script."""
    if left is None or right is None:
        return False
    return len({_script(one) for one in (left[0][0], left[1], right[1])}) == 1


def _script(char: str) -> str:
    """The script of a letter or sign, as its name begins."""
    return unicodedata.name(char, "").split(" ", 1)[0]
