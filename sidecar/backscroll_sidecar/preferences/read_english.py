"""What an English clause says of who wrote it. Pure.

Each pattern takes a whole clause: what it does not know, it leaves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from backscroll_sidecar.preferences import english_words
from backscroll_sidecar.preferences.topics import MANNERS
from backscroll_sidecar.preferences.value_types import LANGUAGES

Said = tuple[str, str]
"""A topic and a value."""

_LEAD = (
    r"(?:(?:hi|hey|hello|well|oh|ok(?:ay)?|yes|yeah|yep|no|nope|btw|by the way|actually|also|and|but|so|"
    r"honestly|frankly|fyi|"
    r"anyway|personally|um+|uh|hm+|just|to be honest|tbh|as for me|thanks|thank you|sorry|all|everyone|"
    r"everybody|guys|folks|"
    r"there|again|sure|then|now|in fact|for the record|note|please note|remember(?: that)?|one more thing|"
    r"nah)[\s,.!]+)*"
)
_TAIL = (
    r"(?:\s+(?:too|now|again|as well|a lot|very much|so much|so far|the most|the best|best|most|"
    r"these days|nowadays|by the way|"
    r"btw|please|pls|plz|thanks|thx|thank you|though|tho|myself|personally|more and more|already|ok|okay|"
    r"man|dude|guys|everyone|"
    r"from now on|in future|in the future|going forward|instead|here|at the moment|currently|anyway|"
    r"actually|in general|"
    r"for years|:\)|:-\)|:D|;\)|❤️?|xx?))*"
)
_STANDING = r"(?:from now on|in (?:the )?future|going forward|always|from here on)"
_LANGUAGE = "|".join(
    sorted({name for names in LANGUAGES.values() for name in names if name.isascii()})
)
_NAME_CHARS = re.compile(r"[^\W\d_][\w'\-]*\.?")
_VALUE = re.compile(r"[\w][\w'&+#./ \-]*")


class _Rule(NamedTuple):
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str], bool], Iterator[Said]]


def said_in(clause: str, *, is_whole: bool) -> Iterator[Said]:
    """What a clause says: pairs of a topic and a value. `is_whole`: it is all of its sentence."""
    clause = " ".join(clause.split())
    for rule in _RULES:
        match = rule.pattern.fullmatch(clause)
        if match is not None and (found := [*rule.read(match, is_whole)]):
            return iter(found)
    return iter(())


# --- values --------------------------------------------------------------------------------------


def _things(text: str) -> Iterator[str]:
    """The things that are liked: short names of things, or of doing something."""
    for part in re.split(r"\s+(?:and|or|&)\s+|\s*/\s*", text):
        words = part.lower().split()
        if (
            not 0 < len(words) <= 4
            or words[0] in english_words.NO_VALUE
            or english_words.STOPS_VALUE.intersection(words)
            or words[-1] in english_words.NO_VALUE
            or _VALUE.fullmatch(part) is None
            or not any(one.isalpha() for one in part)
            or words[0].endswith("n't")
        ):
            return
        yield part


def _name(text: str, *, is_plain: bool) -> str:
    """A name, or nothing; `is_plain`: small letters will do."""
    words = text.strip("\"'“”").split()
    if not 0 < len(words) <= 3 or any(not _NAME_CHARS.fullmatch(one) for one in words):
        return ""
    if any(one.lower() in english_words.NO_NAME for one in words):
        return ""
    has_capitals = all(one[0].isupper() for one in words)
    if has_capitals or (is_plain and len(words) == 1 and len(words[0]) > 1):
        return " ".join(words)
    return ""


def _place(text: str) -> str:
    text = re.sub(r"\s+(?:for|since|with|near|all|right|last|this)\b.*$", "", text)
    words = text.split()
    if words[:1] == ["the"] and len(words) > 1 and words[1][0].isupper():
        words = words[1:]
        text = " ".join(words)
    if not 0 < len(words) <= 4 or any(one.lower() in english_words.NO_PLACE for one in words):
        return ""
    if any(not re.fullmatch(r"[^\W\d_][\w'.\-]*", one) for one in words):
        return ""
    return text if words[0][0].isupper() or len(words) == 1 else ""


def _moved(text: str) -> str:
    return place if (place := _place(text)) and place[:1].isupper() else ""


_ADJECTIVE = "|".join(sorted(filter(str.isascii, MANNERS), key=len, reverse=True))


# --- rules ---------------------------------------------------------------------------------------


def _likes(match: re.Match[str], _: bool) -> Iterator[Said]:
    value = re.split(r"\s+(?:over|rather than|instead of|more than|better than)\s+", match["v"])[0]
    if match["verb"].lower() == "prefer":
        value = re.split(r"\s+to\s+", value)[0]
    yield from (("likes", one) for one in _things(value))


def _dislikes(match: re.Match[str], _: bool) -> Iterator[Said]:
    yield from (("dislikes", one) for one in _things(match["v"]))


def _favourite(match: re.Match[str], _: bool) -> Iterator[Said]:
    things = [*_things(match["v"])]
    if len(things) == 1:
        yield "likes", things[0]


def _called(match: re.Match[str], is_whole: bool) -> Iterator[Said]:
    is_plain = bool(match["ask"]) or is_whole
    if name := _name(match["v"], is_plain=is_plain):
        yield "name", name


def _my_name(match: re.Match[str], _: bool) -> Iterator[Said]:
    if name := _name(match["v"], is_plain=True):
        yield "name", name


def _not_called(match: re.Match[str], _: bool) -> Iterator[Said]:
    if name := _name(match["v"], is_plain=True):
        yield "not_called", name


def _language(match: re.Match[str], _: bool) -> Iterator[Said]:
    yield "language", match["v"]


def _manner(match: re.Match[str], _: bool) -> Iterator[Said]:
    yield MANNERS[match["v"].lower()]


def _lives(match: re.Match[str], _: bool) -> Iterator[Said]:
    if place := _place(match["v"]):
        yield "place", place


def _moves(match: re.Match[str], _: bool) -> Iterator[Said]:
    if place := _moved(match["v"]):
        yield "place", place


def _works_at(match: re.Match[str], _: bool) -> Iterator[Said]:
    value = match["v"]
    first = value.split()[0]
    if len(value.split()) <= 5 and (first[0].isupper() or first in ("a", "an")):
        yield "work", value


def _is_a(match: re.Match[str], _: bool) -> Iterator[Said]:
    yield "work", match["v"]


def _zone(match: re.Match[str], _: bool) -> Iterator[Said]:
    yield "time_zone", match["v"]


def _project(match: re.Match[str], _: bool) -> Iterator[Said]:
    yield "project", match["v"]


def _birthday(match: re.Match[str], _: bool) -> Iterator[Said]:
    named = (match["m"] or match["m2"]).lower()[:3]
    month = next(i for i, one in enumerate(english_words.MONTHS, 1) if one[:3] == named)
    yield "birthday", f"{month:02d}-{int(match['d'] or match['e']):02d}"


def _diet(match: re.Match[str], _: bool) -> Iterator[Said]:
    yield "diet", match["v"].lower()


def _allergic(match: re.Match[str], _: bool) -> Iterator[Said]:
    yield from (("diet", f"allergic to {one}") for one in _things(match["v"]))


def _does_not_eat(match: re.Match[str], _: bool) -> Iterator[Said]:
    yield from (("diet", f"no {one}") for one in _things(match["v"]))


_ADVERBS = (
    r"(?:(?:really|do|absolutely|just|also|still|actually|always|definitely|totally|truly|especially|"
    r"particularly|quite|simply|so|honestly|personally|only|now|currently|recently|finally)\s+)*"
)
_I_AM = r"(?:i'm|im|i am)"
_NOT = r"(?:do not|don't|dont|never)"
_THING = r"(?P<v>[^\ufffc]+?)"


def _rule(expression: str, read: Callable[[re.Match[str], bool], Iterator[Said]]) -> _Rule:
    return _Rule(re.compile(_LEAD + expression + _TAIL, re.IGNORECASE), read)


_DATE = (
    rf"(?:(?P<m>(?:{'|'.join(one[:3] for one in english_words.MONTHS)})[a-z]*)\.? (?P<d>\d{{1,2}})(?:st|nd|rd|"
    r"th)?)"
)
_RULES = (
    _rule(rf"i {_ADVERBS}(?P<verb>like|love|adore|enjoy|prefer) {_THING}", _likes),
    _rule(rf"(?P<verb>{_I_AM}) {_ADVERBS}(?:into|fond of|keen on|an? (?:big |huge )?fan of) {_THING}", _likes),
    _rule(
        rf"i {_ADVERBS}(?:hate|dislike|detest|despise|loathe|can't stand|cannot stand|cant stand|"
        rf"{_NOT} (?:really )?(?:like|enjoy)) "
        rf"{_THING}",
        _dislikes,
    ),
    _rule(rf"{_I_AM} not (?:really )?(?:into|an? (?:big )?fan of|fond of) {_THING}", _dislikes),
    _rule(r"my (?:all[- ]time )?favou?rite (?:\w+ ){1,2}(?:is|are|has always been) (?P<v>[^\ufffc]+?)", _favourite),
    _rule(
        r"(?P<ask>please |pls |just |(?:you|u|everyone|everybody|people|friends|my friends|folks)"
        r"(?: all)?(?: can| may)?(?: just)? )*"
        r"call me (?P<v>[^\ufffc]+?)",
        _called,
    ),
    _rule(
        r"(?:my name(?:'s| is)|the name's|i go by|i prefer to be called|i want to be called|"
        r"please address me as|refer to me as) (?P<v>[^\ufffc]+?)",
        _my_name,
    ),
    _rule(
        rf"(?:please |pls )*(?:{_NOT}|stop) (?:ever )?call(?:ing)? me (?P<v>[^\ufffc]+?)(?: again| anymore|"
        rf" any more)?",
        _not_called,
    ),
    _rule(
        rf"(?:please |pls |always |{_STANDING},? |you (?:can|should) |only )*(?:answer|reply|respond|write|"
        rf"speak|talk|answer me)(?: to)?"
        rf"(?: me)?(?: only| always)?(?: back)? in (?P<v>{_LANGUAGE})(?: only| always)?",
        _language,
    ),
    _rule(rf"(?:please |{_STANDING},? )+(?:use|speak)(?: only)? (?P<v>{_LANGUAGE})(?: (?:with|to) me)?", _language),
    _rule(rf"(?:use|speak)(?: only)? (?P<v>{_LANGUAGE})(?: (?:with|to) me)? {_STANDING}", _language),
    _rule(rf"(?:speak|talk)(?: to me in)? (?P<v>{_LANGUAGE}) (?:with|to) me", _language),
    _rule(
        rf"i (?:{_ADVERBS})(?:prefer|want|like) (?:your |all )?(?:answers|replies|responses|to be answered|"
        rf"to talk|talking|to chat) in (?P<v>{_LANGUAGE})",
        _language,
    ),
    _rule(
        rf"(?:please |always |{_STANDING},? )*(?:keep|make) (?:it|your (?:answers?|replies|responses|"
        rf"messages)|answers|replies|responses|things) "
        rf"(?:more |a bit |very |a little |nice and )*(?P<v>{_ADJECTIVE})",
        _manner,
    ),
    _rule(
        rf"i {_ADVERBS}(?:like|love|prefer|want|need) (?:very |more )?(?P<v>{_ADJECTIVE}) (?:answers|replies|"
        rf"responses|explanations|messages)",
        _manner,
    ),
    _rule(
        rf"(?:please |always |{_STANDING},? )+(?:be|stay|sound) (?:more |a bit more |a bit |very |as |"
        rf"a little )*(?P<v>{_ADJECTIVE})(?: as possible)?(?: with me| in your (?:answers|replies))?",
        _manner,
    ),
    _rule(rf"be (?:more |a bit more )(?P<v>{_ADJECTIVE})(?: with me| in your (?:answers|replies))", _manner),
    _rule(rf"(?:please |always |{_STANDING},? )+(?:answer|reply|respond)(?: me)? (?P<v>{_ADJECTIVE})", _manner),
    _rule(
        rf"(?:(?:i|we) {_ADVERBS}(?:live|reside|am living|am based)|{_I_AM} {_ADVERBS}(?:living|based))"
        rf" in (?P<v>[^\ufffc]+?)",
        _lives,
    ),
    _rule(
        rf"(?:i|i've|ive|i have|we|we've|we have) {_ADVERBS}(?:moved|relocated) (?:(?:from \w+|back|over|here)"
        rf" )?to (?P<v>[^\ufffc]+?)",
        _moves,
    ),
    _rule(rf"(?:i {_ADVERBS}work|{_I_AM} {_ADVERBS}working) (?:at|for) (?P<v>[^\ufffc]+?)", _works_at),
    _rule(
        rf"(?:i {_ADVERBS}work|{_I_AM} {_ADVERBS}working) as an? (?P<v>(?:[\w\-]+ ){{0,3}}[\w\-]+?)(?: (?:at|"
        rf"for|in) .+)?",
        _is_a,
    ),
    _rule(
        rf"{_I_AM} {_ADVERBS}an? (?P<v>(?:(?!not\b)[\w\-]+ ){{0,2}}(?:{'|'.join(english_words.JOBS)}))"
        rf"(?: by (?:trade|profession))?(?: (?:at|for|in) .+)?",
        _is_a,
    ),
    _rule(r"(?:my|our) (?:time ?zone|tz)(?:'s| is)? (?P<v>[\w/+\-: ]+?)", _zone),
    _rule(rf"{_I_AM} (?:in|on) (?:the )?(?P<v>(?:utc|gmt) ?[+\-]\d{{1,2}}(?::\d\d)?)(?: time ?zone)?", _zone),
    _rule(r"my (?:(?:side|pet|current) )?project(?:'s| is) (?:called|named) (?P<v>[\w.\-]+(?: [\w.\-]+)?)", _project),
    _rule(
        rf"(?:{_I_AM}) {_ADVERBS}(?:building|working on|developing|writing) (?:an? |my )"
        rf"(?:[\w\-]+ ){{0,2}}(?:project|app|game|bot|library|site|tool) (?:called|named)"
        rf" (?P<v>[\w.\-]+(?: [A-Z][\w.\-]+)?)",
        _project,
    ),
    _rule(
        rf"(?:my birthday(?:'s| is)|i was born) (?:on )?(?:the )?(?:{_DATE}|(?P<e>\d{{1,2}})(?:st|nd|rd|"
        rf"th)? (?:of )?(?P<m2>(?:{'|'.join(one[:3] for one in english_words.MONTHS)})[a-z]*))(?:,? \d{{4}})?",
        _birthday,
    ),
    _rule(
        rf"{_I_AM} {_ADVERBS}(?:a )?(?:strict )?(?P<v>vegetarian|vegan|pescatarian|lactose[- ]intolerant|"
        rf"gluten[- ]free|celiac)",
        _diet,
    ),
    _rule(rf"{_I_AM} {_ADVERBS}allergic to (?P<v>[^\ufffc]+?)", _allergic),
    _rule(r"i (?:don't|do not|dont|can't|cannot|never) eat (?:any )?(?P<v>[^\ufffc]+?)", _does_not_eat),
)  # fmt: skip
