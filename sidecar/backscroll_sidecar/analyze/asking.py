"""What kind of answer a question wants, by its closed-class words, English and Chinese. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from backscroll_sidecar.analyze import cues
from backscroll_sidecar.analyze.keywords import keywords
from backscroll_sidecar.analyze.memo import remembered


class _Either:
    """English and Chinese that say the same. The English alone is found in ASCII seven times as fast."""

    def __init__(self, english: str, chinese: str) -> None:
        self._ascii = re.compile(english, re.ASCII)
        self._any = re.compile(f"{english}|{chinese}")

    def is_in(self, text: str) -> bool:
        """Whether a text in lower case says it in either."""
        return (self._ascii if text.isascii() else self._any).search(text) is not None


_WHEN = _Either(
    r"\bwhen\b|\b(?:what|which) (?:day|date|month|year|time|week)\b|\bhow long ago\b",
    "什么时候|什麼時候|啥时候|何时|几号|几月|几点|哪[一]?[天年月周]|多久(?:之|以)?前",
)
_HOW_MANY = _Either(
    r"\bhow (?:many|much|often|long|old|far|big|tall)\b",
    "多少|几[个個次岁歲天年本只条张位人名号月周点]|多[久长大远高重]",
)
_FIRST_PERSON = _Either(r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves)\b", "[我咱俺]")
_SOMEBODY_ELSE = _Either(
    r"\b(?:you|your|yours|yourself|ya|u|he|him|his|himself|she|her|hers|herself|they|them|their|theirs|themselves|"
    r"who|whom|whose|who's|(?:some|any|every|no)(?:body|one)|people|others|guys)\b",
    "[你您他她谁誰]|大家|人家|别人|別人|有人|各位|某人",
)
_REMEMBER_PHRASE = re.compile(
    r"\b(?:do|did|can|could|would|will) you (?:still |also |please |perhaps )?"
    r"(?:remember|recall|know|remind|tell|say|find|look up)\b|\byou (?:remember|recall|know)\b"
    "|[你您](?:还|還|也|是否|可|可以|能|能不能|可不可以)?(?:记得|記得|记不记得|记着|知道|知不知道|说说|查|提醒|告诉|告訴|帮忙|帮)"
)
"""How a bot is asked to remember: not the "you" whom a question is about."""
_WORD = re.compile(r"\w+")
_ASKING_OR_PAST_TEXT = """
what which who whom whose where when why how
did was were had said told mentioned talked discussed decided agreed remember recall ago yesterday earlier
previously ever
"""
_ASKING_OR_PAST = frozenset(_ASKING_OR_PAST_TEXT.split())
_PAST_PHRASE = re.compile(
    r"\b(?:last (?:week|month|year|time|night|summer|spring|fall|winter)|back then|used to)\b"
)
_DEICTIC_TEXT = "you your ya u it its this that these those here now yes yeah yep no nope ok okay thanks thank thx"
_DEICTIC_WORDS = frozenset(_DEICTIC_TEXT.split())
_CHINESE_ASKING = re.compile("什么|什麼|哪|谁|誰|为啥|怎么|怎麼|几|多少|何时|多久")
_CHINESE_PAST = re.compile(
    "之前|以前|上次|那次|那天|那时|当时|昨|前天|上周|上个|去年|曾|过[吗么没]?[？?]|说过|提过|提到过|聊过|讲过|讨论过|记得|来着"
)
_CHINESE_DEICTIC = re.compile("[你您它这這那]|谢谢|謝謝|好的|是的|嗯|现在|刚才")
_OPENING = re.compile(
    r"(?:so|and|but|hey|ok|btw|also)?[,\s]*(?:what|which|who|whom|whose|where|when|why|how|did|was|were|has|have|had|does|is)\b"
)
_CHINESE_ENDING = re.compile(r"(?:吗|嗎|呢|么|来着|[去在到住]了?哪了?)[啊呀]?[^\w]*$")
_CHINESE_OPENING = re.compile(".{0,6}?(?:什么|什麼|谁|誰|哪|怎么|怎麼|几|多少|为啥|何时)")

_TIME_TEXT = """
yesterday today tomorrow tonight ago last next recently soon week weekend month year day morning afternoon evening
night monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
september october november december
昨天 今天 明天 前天 后天 昨晚 今晚 上周 下周 本周 这周 上个月 下个月 周末 星期 去年 今年 明年 早上 晚上 下午 上午
"""
_NUMBER_TEXT = "two three four five six seven eight nine ten eleven twelve twenty hundred thousand couple several dozen"

TIME_WORDS: tuple[str, ...] = keywords(_TIME_TEXT)
NUMBER_WORDS: tuple[str, ...] = keywords(_NUMBER_TEXT)
"""Keywords that tell a time, and a number: what a "when" and a "how many" ask for."""


@lru_cache(maxsize=64)
def lowered_words(text: str) -> tuple[str, ...]:
    """The runs of letters, digits and ``_`` in `text`, in lower case. Cached: one question needs them several times."""
    return tuple(_WORD.findall(text.lower()))


def asks_when(text: str) -> bool:
    """Whether a point in time is asked for. `text` in lower case."""
    return _WHEN.is_in(text)


def asks_how_many(text: str) -> bool:
    """Whether a number is asked for. `text` in lower case."""
    return _HOW_MANY.is_in(text)


def speaks_of_self(text: str) -> bool:
    """Whether the asker speaks of themselves, alone or among others. `text` in lower case."""
    return _FIRST_PERSON.is_in(text)


def speaks_of_nobody_else(text: str) -> bool:
    """Whether no word for another person stands in `text`, in lower case: "when was the exam?", 生日是哪天来着.

    Names are not looked for, and "do you remember" is asked of a bot.
    """
    return not (
        _SOMEBODY_ELSE.is_in(text) and _SOMEBODY_ELSE.is_in(_REMEMBER_PHRASE.sub(" ", text))
    )


@remembered
def recall_signs(text: str) -> float:
    """How much the words of `text` point to a question about long ago, -.3 to .8. O(n).

    .3 for a question mark, or for asking plainly without one, .2 if it opens with a question word or a verb that asks,
    .3 for two question words or words of the past; less .3 for words that refer to the talk at hand: "you", "it",
    "thanks", 你, 这. "Do you remember" and 你还记得 do not.
    """
    words, text = lowered_words(text), text.lower()
    asking = sum(map(_ASKING_OR_PAST.__contains__, words))
    if "last " in text or "back then" in text or "used to" in text:
        asking += len(_PAST_PHRASE.findall(text))
    has_mark, opens = "?" in text, _OPENING.match(text) is not None
    if not text.isascii():
        asking += len(_CHINESE_ASKING.findall(text)) + len(_CHINESE_PAST.findall(text))
        has_mark = has_mark or "\uff1f" in text
        opens = opens or _CHINESE_OPENING.match(text) is not None
    has_mark = has_mark or _asks_without_mark(text)
    points_here = _points_here(text) and _points_here(_REMEMBER_PHRASE.sub(" ", text))
    return 0.3 * has_mark + 0.2 * opens + 0.3 * (asking >= 2) - 0.3 * points_here


def only_asks(word: str) -> bool:
    """Whether a keyword, in lower case, asks or points to the past and names nothing itself: "when", 哪天, 来着."""
    if word in _ASKING_OR_PAST:
        return True
    return not word.isascii() and bool(_CHINESE_ASKING.search(word) or _CHINESE_PAST.search(word))


def _asks_without_mark(text: str) -> bool:
    """Whether it asks plainly though no mark says so. `text` in lower case."""
    if text.isascii():
        return cues.QUESTION_START_EN.match(text) is not None
    return _CHINESE_ENDING.search(text) is not None or (
        cues.QUESTION_ZH.search(text) is not None and cues.NOT_QUESTION_ZH.search(text) is None
    )


def _points_here(text: str) -> bool:
    """Whether it refers to the talk at hand. `text` in lower case."""
    if not _DEICTIC_WORDS.isdisjoint(lowered_words(text)):
        return True
    return not text.isascii() and _CHINESE_DEICTIC.search(text) is not None
