"""The words of dates in English and Chinese, and the pieces of which patterns of dates are made. Pure."""

from __future__ import annotations

import re

NAMES = re.compile(
    "[五5]月天(?![气氣])|四月是你的[谎謊]言|七月[与與]安生|八月长安|五月花号|十月革命|三月兔",
)
"""Names with the words of a date in them."""
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
COUNTS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
NUMBERS = {word: number for number, word in enumerate(COUNTS, 1)} | {"a": 1, "an": 1}
DIGITS = {digit: n for n, digit in enumerate("〇一二三四五六七八九")} | {
    "零": 0, "○": 0, "两": 2, "兩": 2,
}  # fmt: skip
COUPLE, FEW = (2, 3), (2, 6)
HALVES = {"year": ("month", 6, 1), "month": ("day", 15, 3)}
"""Half of a unit: in a smaller one, how many, and how many more or less may be meant."""
FUZZY = {
    "a couple": COUPLE, "a couple of": COUPLE, "couple": COUPLE, "couple of": COUPLE,
    "a few": FEW, "few": FEW, "several": FEW, "几": FEW, "幾": FEW,
}  # fmt: skip
UNITS = {
    "天": "day", "日": "day", "周": "week", "週": "week", "星期": "week", "礼拜": "week", "禮拜": "week", "月": "month",
    "年": "year", "季度": "quarter",
}  # fmt: skip
YEAR_WORDS = {
    "the year before last": -2, "last year": -1, "this year": 0, "year": 0, "next year": 1,
    "大前年": -3, "前年": -2, "去年": -1, "今年": 0, "本年": 0, "明年": 1, "后年": 2, "後年": 2,
}  # fmt: skip
SEASONS = {
    "spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12, "春": 3, "夏": 6, "秋": 9, "冬": 12,
}  # fmt: skip
"""First month of each, which has three; a winter belongs to the year it begins in."""
DAY_PARTS = {
    "morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30),
    "凌晨": (0, 6), "早": (5, 12), "上午": (5, 12), "中午": (11, 14), "下午": (12, 18), "傍晚": (17, 20),
    "晚": (18, 30), "夜": (18, 30),
}  # fmt: skip
"""First hour and end; a night lasts until six."""
PARTS = {
    "early": 0, "beginning": 0, "start": 0, "初": 0, "上旬": 0,
    "mid": 1, "middle": 1, "中": 1, "中旬": 1,
    "late": 2, "end": 2, "底": 2, "末": 2, "下旬": 2,
    "first half": 3, "上半": 3, "second half": 4, "下半": 4,
    "first quarter": 5, "一季": 5, "1季": 5, "q1": 5, "second quarter": 6, "二季": 6, "2季": 6, "q2": 6,
    "third quarter": 7, "三季": 7, "3季": 7, "q3": 7, "fourth quarter": 8, "四季": 8, "4季": 8, "q4": 8,
}  # fmt: skip
DAYS_OF_PART = ((1, 11), (11, 21), (21, 0), (1, 16), (16, 0))
"""Of a month: its thirds and halves, first day and end; 0: the end of the month."""
MONTHS_OF_PART = (
    (1, 4), (5, 9), (10, 13), (1, 7), (7, 13), (1, 4), (4, 7), (7, 10), (10, 13),
)  # fmt: skip
"""Of a year: its beginning, middle, end, halves and quarters, first month and end."""
HOLIDAYS = {
    "christmas": (12, 24, 3), "halloween": (10, 31, 1), "国庆": (10, 1, 7), "國慶": (10, 1, 7), "元旦": (1, 1, 1),
    "圣诞": (12, 24, 3), "聖誕": (12, 24, 3), "劳动节": (5, 1, 5), "勞動節": (5, 1, 5), "情人节": (2, 14, 1),
    "情人節": (2, 14, 1),
}  # fmt: skip
"""First month and day of each, and its days."""
WEEKS = {
    "this week": 0,
    "last week": 1,
    "week before last": 2,
    "the week before last": 2,
    "next week": -1,
}
OPENINGS = {
    "since": "since",
    "seit": "since",
    "after": "after",
    "before": "before",
    "until": "before",
    "till": "before",
}
"""Before a date they open a span: from it on, from its end on, up to it."""
OPEN_BEFORE = re.compile(
    rf"\b(?P<open>{'|'.join(OPENINGS)})(?: the)? $|(?P<since>自[从從])$", re.IGNORECASE
)
OPEN_AFTER = re.compile(
    r"(?P<since>以来|以來|至今|到[现現]在| onwards?\b| (?:to|until|till) (?:now|today)\b)|(?P<after>[以之][后後])"
    r"|(?P<before>[以之]前|前(?=[的，。？！,?!\s]|$))",
    re.IGNORECASE,
)
UNIT_BEFORE = re.compile(
    r"\b(?:day|night|evening|morning|week|weekend|month|year|hour)s? (?:(?:before|after)(?: the)? )?$",
    re.IGNORECASE,
)
"""The day before something is neither that nor all that was before."""
LOWER_WORDS = frozenset(("may", "march", "mar", "mon", "wed", "sat", "sun"))
"""Months and weekdays that are other words as well, in lower case."""
SURE_BEFORE = frozenset(("in", "since", "during", "until", "till"))
"""Before these they are months."""
_ANY_DAY = "a any black casual each every good happy most one other per second some through to"
_BEFORE_WEEKEND = "coming during following last next on over past the this"
ANY_DAY = frozenset(_ANY_DAY.split())
"""Before a weekday these mean no one day."""
BEFORE_WEEKEND = frozenset(_BEFORE_WEEKEND.split())
"""One of these before a weekend says which is meant."""
NO_DATE_BEFORE = re.compile(
    r"(?:\b(?:v|ver|version|release|build|python|ubuntu|windows|office|kernel|firmware|room|port|line|page|rfc|issue"
    r"|bug|error|code|number|no|model)[ .:#]*|版本?号?|房间|端口)$",
    re.IGNORECASE,
)
"""Numbers behind these are versions and the like, not years."""

# --- pieces of patterns ----------------------------------------------------------------------------

MONTH = (
    r"(?P<name>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
YEAR_NUMBER = r"(?P<year>(?:19|20)\d\d)"
YEAR_EN = (
    rf"(?:,? (?:of |in )?(?:{YEAR_NUMBER}(?![.:/-]?\d)\b"
    r"|(?P<year_word>last year|this year|next year|the year before last)\b))?"
)
NOT_COUNTED = (
    r"(?![.,:/-]?\d|[A-Za-z_]|\s*(?:%|[€$£]|(?:px|[kmgt]b|kg|km|ms|m?hz|usd|eur|dollars?|euros?|bucks|people|times|users"
    r"|words|lines|files|rows|points|miles|years?)\b|[元块人个個次条米万点分秒多号號字行块位]))"
)
"""Behind a number: it counts nothing."""
DAY_EN = r"(?P<day>\d{1,2})(?P<ordinal>st|nd|rd|th)?\b"
DAY_PART_EN = r"(?:(?:'s)? (?:in the )?(?P<day_part>morning|afternoon|evening|night)\b)?"
_NUMBER = rf"\d{{1,3}}|{'|'.join(COUNTS)}"
COUNT = (
    rf"(?P<count>half(?: an?)?|(?:{_NUMBER})(?:(?: or | to |-)(?:{_NUMBER}))?|an?"
    "|(?:a )?(?:couple(?: of)?|few)|several)"
)
WEEKDAY = (
    r"(?P<weekday>mon(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:rs?(?:day)?)?|fri(?:day)?|sat(?:urday)?"
    r"|sun(?:day)?|weekend)"
)
SEASON = "(?P<season>spring|summer|autumn|fall|winter)"
WEEK_EN = r"(?:last|this|next) week|(?:the )?week before last"
PART_EN = r"\b(?P<part>early|mid|late|beginning|start|middle|end|first half|second half)(?: of| in|-)?(?: the)?[ -]?\b"
PART_OF_YEAR_EN = PART_EN.replace(
    "|first half", "|(?:first|second|third|fourth) quarter|q[1-4]|first half"
)
EDGE_EN = (
    rf"\b(?P<edge>first|last) (?:(?P<edge_count>\d{{1,2}}|{'|'.join(COUNTS)}) )?"
    r"(?P<edge_unit>day|week|month)s? (?:of|in) "
)
ZH_NUMBER = "[一二三四五六七八九十]"
YEAR_ZH = (
    r"(?:(?P<year>(?<![\d.])(?:19|20)\d\d|[一二][〇零○一二三四五六七八九]{3}"
    r"|(?<![\d.])\d\d(?=年(?:\d{1,2}月|[一二三四五六七八九十]{1,2}月|[初底末春夏秋冬]|[上下]半)))\s*年"
    r"|(?P<year_word>大前年|(?<![从從之以目提])前年(?![轻輕龄齡])|去年|今年|本年|明年|后年|後年))的?\s*"
)
EDGE_ZH = r"(?P<edge>最后|最後|头|前)(?P<edge_count>\d|[一二两兩三四])?[个個]?(?P<edge_unit>天|周|週|星期|礼拜|月)"
SUBJECT_ZH = "(?:(?<![\u4e00-\u9fff\\w])|(?<=[我你您他她它们們在是家里裡到于於]))"
"""What stands before a date, rather than a word that it belongs to, as in 出发前两天 or 神舟五号."""
PART_ZH = "(?P<part>初|上旬|中旬|下旬|底|末)"
NOT_NUMBERED_ZH = "(?![线線楼樓房室门門桌位机機车車店院馆台床码碼选選球文电站口厅区仓柱铺公路字])"
"""A number with 号 before one of these is no day."""
DAY_ZH = (
    r"(?P<day>\d{1,2}|[一二三四五六七八九十]{1,3})\s*"
    r"(?:[日号號]|(?=[到至~—-](?:\d{1,2}|[一二三四五六七八九十]{1,3})[日号號]"
    rf"{NOT_NUMBERED_ZH}))"
)
DAY_PART_ZH = "的?(?:(?P<day_part>凌晨|早(?![就已该])|上午|中午|下午|傍晚|晚|夜)[上晨里间]?)?"
WEEK_ZH = r"(?<![\d一二两兩三四五六七八九十几幾半每数到至、~—-])(?:[周週]|星期|[礼禮]拜)"
BEFORE_LAST_ZH = "(?<![早晚网線线路身世以之马])(?:大?上|上{2,3})"
COUNT_ZH = (
    r"(?<![\d十百千几幾])(?P<count>\d{1,3}(?:[-~、到至]\d{1,3})?|(?<![上下前后後大小多])半"
    r"|[一二两兩三四五六七八九十]{1,3}|[几幾])\s*[个個]?"
)
UNIT_ZH = "(?P<unit>天|日|周|週|星期|礼拜|禮拜|月|年)"


_PAIR = re.compile("([一二两兩三四五六七八九])([一二两兩三四五六七八九])")
_RANGE = re.compile(" or | to |[-~、到至]")


def counts_of(text: str) -> tuple[int, int] | None:
    """The least and the most that a count in words or digits means: 3 and 4 of 三四. None: it is no number."""
    if text in FUZZY:
        return FUZZY[text]
    ends = _RANGE.split(text)
    if len(ends) == 1 and _PAIR.search(text):
        ends = [_PAIR.sub(end, text) for end in (r"\1", r"\2")]
    least, most = number_of(ends[0]), number_of(ends[-1])
    return (least, most) if least <= most and (len(ends) == 1 or least < most) else None


def number_of(text: str) -> int:
    """A count in digits, words or Chinese numerals below 100."""
    if text.isdigit():
        return int(text)
    if text in NUMBERS:
        return NUMBERS[text]
    tens, ten, ones = text.rpartition("十")
    return (DIGITS.get(tens, 1) * 10 if ten else 0) + DIGITS.get(ones, 0)
