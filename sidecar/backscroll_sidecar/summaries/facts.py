"""The facts of a chat line by their form, in Chinese and English: names, ids, numbers, dates, decisions. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from backscroll_sidecar.analyze.date_words import MONTH, MONTHS, WEEKDAY, WEEKDAYS
from backscroll_sidecar.analyze.keywords import identifiers, keywords
from backscroll_sidecar.analyze.stopwords import STOP_WORDS
from backscroll_sidecar.scripts import HAN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

MAX_CHARS = 8_000
"""Characters of a text that are read."""
MAX_FACTS = 64
"""Facts of a text that are looked at, the heaviest."""
_CUE_CHARS = 16
"""What follows a word of decision, by which two decisions are told apart."""


class Fact(NamedTuple):
    """A fact at ``text[start:end]``. Equal keys are the same fact, in whatever line."""

    key: str
    start: int
    end: int
    weight: float
    """From 0 to 3, before its rarity."""
    term: str = ""
    """What is counted for the rarity, where that is not the key."""
    is_exact: bool = False
    """An address, an id, a number or a date: it counts in small talk, too."""
    is_name: bool = False
    """By its capital only: a word that others write in lower case is none."""

    @property
    def counted(self) -> str:
        """The word whose rarity in the stretch tells what the fact is worth."""
        return self.term or self.key


_ADDRESS = re.compile(
    r"(?:https?|ftp)://[!-~]+|www\.[!-~]+|[A-Za-z0-9][\w.+-]{0,63}@[\w-]+(?:\.[\w-]+)+", re.ASCII
)
_CLOSING = ".,;:!?'\")]}>"
_QUOTED = re.compile(r"《[^《》]{1,60}》|「[^「」]{1,60}」|“[^“”]{2,60}”|\"[^\"]{3,60}\"")

_UNIT = (
    r"[ ]?(?:%|％|(?:[kmgt]i?b|k[gmw]|km/h|mph|m?hz|[cm]m|ml|lbs?|people|seats"
    r"|nights|days?|weeks?|months?|years?|hours?|hrs?|min(?:utes?|s)?|miles?|floors?|degrees)\b"
    r"|[万亿千]?(?:[岁斤度年天周晚楼层号页章班路栋座届期米人位份件张台瓶]"
    r"|公斤|公里|千米|平米|小时|分钟|个月|年级|星期))"
)
_CURRENCY = (
    r"[ ]?(?:(?:usd|eur|gbp|rmb|cny|dollars?|euros?|pounds?|bucks|yuan)\b"
    r"|[万亿千]?(?:美元|欧元|人民币|日元|港币|[元块刀])|万)"
)
_CLOCK = (
    r"\d{1,2}[:：]\d{2}(?!\d)(?:[ ]?[ap]m\b)?|\d{1,2}[ ]?[ap]\.?m\b|\d{1,2}点(?:半|\d{1,2}分?)?"
)
_DAY = (
    r"\d{4}[-/.年]\d{1,2}(?:[-/.月]\d{1,2}[日号]?|月)?|\d{1,2}月(?:\d{1,2}[日号]?|[初中底])"
    r"|\d{1,2}[日号]|\d{1,2}/\d{1,2}(?:/\d{2,4})?(?![\d/])|\d{1,2}(?:st|nd|rd|th)\b"
)
_NUMERIC = re.compile(
    rf"(?=[\d$€£¥￥])(?:(?<![\w.,])(?P<date>{_DAY}|{_CLOCK})"
    rf"|(?P<money>[$€£¥￥][ ]?\d[\d,.]*[km万]?|(?<![\d.])\d+(?:[.,]\d+)*{_CURRENCY})"
    rf"|(?<![\d.])(?P<measure>\d+(?:[.,]\d+)*{_UNIT})"
    r"|(?P<code>\d[\d-]{5,}\d)"
    r"|(?<![\d.])(?P<number>\d+(?:[.,]\d+)+|\d{2,}))",
    re.IGNORECASE | re.ASCII,
)
_NUMERIC_WEIGHTS = {"date": 2.0, "money": 2.5, "measure": 1.5, "code": 3.0, "number": 1.0}
_LONG_NUMBER = 4
"""Digits of a number that is worth half as much again: a code, a room, a year."""
_DIGIT = re.compile(r"\d")
_DATE_EN = re.compile(
    rf"\b(?:\d{{1,2}}(?:st|nd|rd|th)? (?:of )?)?{MONTH}(?:\.? \d{{1,2}}\b(?:st|nd|rd|th)?)?(?:,? \d{{4}}\b)?"
    rf"|\b{WEEKDAY.replace('|weekend', '')}\b(?: (?:morning|afternoon|evening|night)\b)?",
    re.IGNORECASE | re.ASCII,
)
_DATE_HEADS = re.compile(
    r"\d (?:of )?(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"|\b(?:Jan|Feb|Mar(?:ch)?\b|Apr|May\b|June?\b|July?\b|Aug|Sep|Oct|Nov|Dec"
    r"|Mon|Tue|Wed|Thu|Fri|Sat(?:ur|\b)|Sun(?:day|\b))"
    r"|\b(?:january|february|april|june|july|august|september|october|november|december)\b"
    r"|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day",
    re.ASCII,
)
"""Where a date may begin, with the letters as people write them: "may" and "sun" are mostly no dates."""
_DATE_ZH = re.compile(
    r"(?=[下上这本周星礼大明后国元春中端圣一二两三四五六七八九十])"
    r"(?:[下上这本]?(?:周|星期|礼拜)[一二三四五六日天末](?:早上|上午|中午|下午|晚上)?"
    r"|大?[明后]天(?:早上|上午|中午|下午|晚上)?"
    r"|[一二三四五六七八九十]{1,2}月(?:[一二三四五六七八九十]{1,3}[日号]|[初中底])?|[明后]年|国庆|元旦|春节|中秋|端午|圣诞"
    r"|[一二两三四五六七八九十]{1,3}(?:点半?|个月|岁|楼|年级|块|万|斤|号))"
)
_DATE_WORDS = frozenset((
    *MONTHS, *WEEKDAYS, *(day[:3] for day in WEEKDAYS), "january", "february", "march", "april", "june", "july",
    "august", "sept", "september", "october", "november", "december", "tues", "thur", "thurs",
))  # fmt: skip

_STRONG_EN = """
decided|decides|decision|agreed|settled|prefer|prefers|allergic|allergy|deadline|promised|must not|never again|favorite
|favourite|vegetarian|vegan|birthday|anniversary|password|passwd|passcode|booked|reserved|reservation|cancelled|canceled
|postponed|rescheduled|moving to|moved to|married|engaged|pregnant|hired|resigned|promoted|graduated|graduates
|my name is|call me|named|i live|lives in|live in|works at|works for|i work|in charge|responsible|appointment
|can't eat|cannot eat|don't eat|doesn't eat|can't drink|don't drink|can't stand|takes over|go with|instead of
"""
_WEAK_EN = """
let's|lets|due|promise|i love|i hate|i like|i really like|meeting|owe|owes|paid|cost|costs|address is|plan to
|planning to|going to|number is|code is|born|bought|sold|starts|ends
"""
_STRONG_ZH = (
    "我叫|名叫|我姓|决定|约好|说好|商量好|定下来|定在|定了|喜欢|最爱|讨厌|过敏|截止|必须|务必|生日|密码|口令|负责|答应|不[吃喝]"
    "|決定|約好|說好|喜歡|討厭|過敏|負責|答應|推遲|預約|預訂|結婚|離職|畢業|忌口|住在|搬[到去]|改[到成为]|取消|推迟|延期|提前|订[了好]|预订|预约|怀孕|结婚|离职|入职|辞职|毕业|考上"
)
_WEAK_ZH = (
    "不要|不能|打算|计划|养了|地址|我[家妈爸]|我女儿|我儿子|我老[婆公]|推荐|出差|号码|编号"
    "|号[是为：:]|名额|报名|欠|归还"
)


def _any_of(phrases: str) -> tuple[re.Pattern[str], frozenset[str]]:
    """What finds one of the phrases, and their first words."""
    every = "".join(phrases.splitlines()).split("|")
    pattern = re.compile(rf"\b(?:{'|'.join(every)})\b", re.ASCII)
    return pattern, frozenset(one.split()[0] for one in every)


_CUES_EN = (*_any_of(_STRONG_EN), 2.5), (*_any_of(_WEAK_EN), 1.0)
_CUES_ZH = (re.compile(_STRONG_ZH), 2.5), (re.compile(_WEAK_ZH), 1.0)
_WORDS = re.compile(r"[a-z]+(?:'[a-z]+)?")
_MIN_WORD = 5
_MAX_WORDS = 8
_WORD_WEIGHT = 0.15
_MAY_IDENTIFY = re.compile(r"[_/]|\d\D*\d\D*\d|[a-z0-9][A-Z]|[A-Z]{5}", re.ASCII)
_LATIN_TERM = re.compile(r"[A-Za-z]{4}")

_UPPER, _LOWER = "A-ZÀ-ÖØ-ÞА-Я", "a-zß-öø-ÿа-я"
_LETTER = rf"[{_UPPER}{_LOWER}]"
_NAME = re.compile(
    rf"(?<![{_UPPER}{_LOWER}0-9_@#/.])[{_UPPER}]{_LETTER}*[{_LOWER}]{_LETTER}*"
    rf"(?:[ -][{_UPPER}]{_LETTER}+)*(?![{_UPPER}{_LOWER}0-9_])"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？…\"“(]|(?<![\w ])-)\s*$")
_TITLED = re.compile(r"\b(?:Mr|Mrs|Ms|Dr|Prof)\. ?$")
_HAS_HAN = re.compile(rf"[{HAN}]")
_NAME_TAGS = {"nr": 2.0, "nrt": 1.5, "nrfg": 2.0, "ns": 1.8, "nt": 1.5, "nz": 1.2}
_NO_DATES = frozenset(("May", "March"))
_LONG_DATE = 3
_CODE_DIGITS = 3
_TITLE_CHARS = 6
_DIGITS_ONLY = re.compile(r"[\d.,:/-]+")
_SMALL_WORD = re.compile(rf"[{_LOWER}]{{4,}}")
_LEADS = frozenset(("叫", "名叫", "叫做", "姓", "我是", "是", "在", "去", "到", "找"))
_NAMING = frozenset(("叫", "名叫", "叫做", "姓"))
_TITLES = frozenset(("先生", "老师", "女士", "医生", "经理", "师傅", "阿姨", "教授"))


def facts_of(text: str, words: Sequence[str] = ()) -> list[Fact]:
    """The facts of a text in order, at most `MAX_FACTS`; `words` are its keywords, where known.

    Only words of decision overlap other facts. O(n); at most `MAX_CHARS` are read.
    """
    text = text[:MAX_CHARS]
    lowered = text.lower().replace("\u2019", "'")
    if len(lowered) != len(text):
        lowered = text  # a letter of two in lower case: places would not be the same
    is_ascii = text.isascii()
    has_han = not is_ascii and _HAS_HAN.search(text) is not None
    spelled = _WORDS.findall(lowered)
    found = [*_addresses(text), *_dates(text, spelled, has_han)]
    if _MAY_IDENTIFY.search(text) or (has_han and _LATIN_TERM.search(text)):
        found += _identifiers(text, lowered, words or keywords(text))
    if _DIGIT.search(text):
        found += _numbers(text)
    if '"' in text or not is_ascii:
        found += _matches(_QUOTED, text, 2.0)
    if not text.islower():
        found += _capitalised(text)
    if has_han:
        found += _han_names(text)
    found = _apart(found, len(text))
    found += _cues(lowered, spelled, has_han)
    if found:
        found += _plain(lowered, spelled, found)
    if len(found) > MAX_FACTS:
        found = _heaviest(found)
    found.sort(key=lambda fact: fact.start)
    return found


def plain_words(text: str) -> set[str]:
    """The longer words in small letters; a capital of one of these makes no name."""
    return set(_SMALL_WORD.findall(text[:MAX_CHARS]))


def _heaviest(found: Iterable[Fact]) -> list[Fact]:
    once: dict[str, Fact] = {}
    for fact in found:
        once.setdefault(fact.key, fact)
    return sorted(once.values(), key=lambda fact: (-fact.weight, fact.start))[:MAX_FACTS]


def _apart(found: list[Fact], length: int) -> list[Fact]:
    """The facts without those that touch one found before them."""
    taken, kept = bytearray(length), list[Fact]()
    for fact in found:
        if taken.find(1, fact.start, fact.end) < 0:
            taken[fact.start : fact.end] = b"\1" * (fact.end - fact.start)
            kept.append(fact)
    return kept


def _fact(text: str, start: int, end: int, weight: float, *, is_exact: bool = False) -> Fact:
    return Fact(text[start:end].lower(), start, end, weight, is_exact=is_exact)


def _matches(pattern: re.Pattern[str], text: str, weight: float) -> Iterator[Fact]:
    for match in pattern.finditer(text):
        yield _fact(text, match.start(), match.end(), weight)


def _addresses(text: str) -> Iterator[Fact]:
    if "://" in text or "www." in text or "@" in text:
        for match in _ADDRESS.finditer(text):
            address = match.group().rstrip(_CLOSING)
            yield _fact(text, match.start(), match.start() + len(address), 3.0, is_exact=True)


def _dates(text: str, words: Iterable[str], has_han: bool) -> Iterator[Fact]:
    is_likely = not _DATE_WORDS.isdisjoint(words) and _DATE_HEADS.search(text)
    patterns = [_DATE_EN] if is_likely else []
    if has_han:
        patterns.append(_DATE_ZH)
    for pattern in patterns:
        for match in pattern.finditer(text):
            if match.group() not in _NO_DATES:
                has_day = match.end() - match.start() > _LONG_DATE or _DIGIT.search(match.group())
                weight = 2.0 if has_day else 1.0
                yield _fact(text, match.start(), match.end(), weight, is_exact=True)


def _identifiers(text: str, lowered: str, words: Sequence[str]) -> Iterator[Fact]:
    """What `identifiers` finds, the longest first, but for numbers alone."""
    for word in sorted(identifiers(text, words), key=lambda one: (-len(one), one)):
        start = lowered.find(word)
        if start < 0 or _DIGITS_ONLY.fullmatch(word):
            continue
        end = start + len(word)
        while end < len(text) and text[end].isascii() and text[end].isalnum():
            end += 1  # the keyword is a stem
        is_code = sum(map(str.isdigit, word)) >= _CODE_DIGITS
        weight = 3.0 if is_code else 1.2
        if word.isalpha():  # a term in a Chinese text, or a name
            weight = 1.5 if text[start].isupper() else 0.6
        yield _fact(text, start, end, weight, is_exact=is_code)


def _numbers(text: str) -> Iterator[Fact]:
    for match in _NUMERIC.finditer(text):
        kind = str(match.lastgroup)
        weight = _NUMERIC_WEIGHTS[kind]
        if kind == "number" and sum(map(str.isdigit, match.group())) >= _LONG_NUMBER:
            weight *= 1.5
        yield _fact(text, match.start(), match.end(), weight, is_exact=True)


def _capitalised(text: str) -> Iterator[Fact]:
    for match in _NAME.finditer(text):
        name, start = match.group().lower(), match.start()
        if name in STOP_WORDS:
            continue
        before = text[max(0, start - _TITLE_CHARS) : start]
        begins = not _TITLED.search(before) and (not start or _SENTENCE_START.search(before))
        is_several = " " in name
        weight = 1.5 if is_several or not begins else 0.4
        yield Fact(name, start, match.end(), weight, is_name=not is_several)


def _han_names(text: str) -> Iterator[Fact]:
    """Names, places and other nouns, by the segmenter's tags and by the words around them."""
    at, before = 0, ""
    tagged = _tagger()(text)
    for i, (word, tag) in enumerate(tagged):
        start, at = at, at + len(word)
        if _HAS_HAN.match(word) and word not in STOP_WORDS:
            after = tagged[i + 1][0] if i + 1 < len(tagged) else ""
            weight = _han_weight(word, tag, before, after)
            if weight:
                yield _fact(text, start, at, weight)
        before = word


def _han_weight(word: str, tag: str, before: str, after: str) -> float:
    if before in _NAMING or after in _TITLES:
        return 1.8
    if len(word) == 1:
        return 0.0
    if tag in _NAME_TAGS:
        return _NAME_TAGS[tag]
    if tag[:1] != "n":
        return 0.0
    return 0.8 if before in _LEADS else 0.4


def _cues(text: str, words: Sequence[str], has_han: bool) -> Iterator[Fact]:
    """Words of a decision, a wish or a duty: with what stands around them one fact, by themselves its rarity."""
    patterns = [(cue, weight) for cue, heads, weight in _CUES_EN if not heads.isdisjoint(words)]
    for pattern, weight in (*patterns, *(_CUES_ZH if has_han else ())):
        for match in pattern.finditer(text):
            start, end = match.span()
            around = text[max(0, start - _CUE_CHARS // 2) : end + _CUE_CHARS]
            yield Fact(around, start, end, weight, term=match.group())


def _plain(text: str, words: Iterable[str], found: Iterable[Fact]) -> Iterator[Fact]:
    """The first longer words beside the facts: they say what those are about."""
    known = {fact.key for fact in found}
    long = (word for word in words if len(word) >= _MIN_WORD and word.isascii())
    for word in islice(dict.fromkeys(long), _MAX_WORDS):
        if word not in STOP_WORDS and word not in known:
            start = text.find(word)
            yield Fact(word, start, start + len(word), _WORD_WEIGHT)


@lru_cache(maxsize=1)
def _tagger() -> Callable[[str], Sequence[tuple[str, str]]]:
    """Words with their tags by rjieba; none without it. The first call loads the dictionary (about 0.1 s)."""
    try:
        import rjieba  # noqa: PLC0415 - a dictionary of 0.1 s, and it may be missing
    except ImportError:
        return lambda _: ()
    tag: Callable[[str], Sequence[tuple[str, str]]] = rjieba.tag
    return tag
