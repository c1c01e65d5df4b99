"""The table of rules by which dates in questions are found: words they need, a pattern, and what it means. Pure."""

from __future__ import annotations

import re
from typing import NamedTuple

from backscroll_sidecar.analyze.date_calendar import SHORT_WEEKDAYS
from backscroll_sidecar.analyze.date_readings import (
    Read,
    read_ago,
    read_bare_month,
    read_bare_year,
    read_day_and_month,
    read_day_of_month,
    read_day_word,
    read_holiday,
    read_month,
    read_month_zh,
    read_months,
    read_of_month,
    read_rolling,
    read_season,
    read_unit,
    read_weekday,
    read_weekday_zh,
    read_weekdays_ago,
    read_year,
    read_year_first,
    read_year_last,
)
from backscroll_sidecar.analyze.date_words import (
    BEFORE_LAST_ZH,
    COUNT,
    COUNT_ZH,
    DAY_EN,
    DAY_PART_EN,
    DAY_PART_ZH,
    DAY_ZH,
    EDGE_EN,
    EDGE_ZH,
    MONTH,
    NOT_COUNTED,
    NOT_NUMBERED_ZH,
    PART_EN,
    PART_OF_YEAR_EN,
    PART_ZH,
    SEASON,
    SUBJECT_ZH,
    UNIT_ZH,
    WEEK_EN,
    WEEK_ZH,
    WEEKDAY,
    WEEKDAYS,
    YEAR_EN,
    YEAR_NUMBER,
    YEAR_ZH,
    ZH_NUMBER,
)


class Rule(NamedTuple):
    """`needs`: one of these must be in the text: a word in lower case, a Chinese character, or `NUMERIC`."""

    needs: frozenset[str]
    pattern: re.Pattern[str]
    read: Read


YEAR_DIGITS, DIGITS_AND_POINTS, SHORT_DATE, ORDINAL = "2024", "21.1.", "1/21/24", "15th"


def _rule(needs: str, pattern: str, read: Read, *, any_case: bool = True) -> Rule:
    """`needs`: words with spaces between them; of Chinese words one character each."""
    flags = re.ASCII | (re.IGNORECASE if any_case else re.NOFLAG)
    return Rule(frozenset(needs.split()), re.compile(pattern, flags), read)


def _numeric_rule(pattern: str, read: Read, *, needs: str = YEAR_DIGITS) -> Rule:
    return Rule(frozenset((needs,)), re.compile(pattern, re.ASCII | re.IGNORECASE), read)


_WEEKDAY_WORDS = f"{' '.join((*WEEKDAYS, *SHORT_WEEKDAYS))} tues thur thurs weekend"
_MONTH_WORDS = """
jan january feb february mar march apr april may jun june jul july aug august sep sept september oct october nov
november dec december
"""
_NUMBERED = r"(?<![\w./:-])"
_NUMBERED_END = r"(?![-/.:]?[\w/])"

RULES = (
    _rule(
        "yesterday night evening morning afternoon",
        r"\b(?P<word>(?:the )?day before yesterday|(?:the )?night before last\b|yesterday|last (?=(?:night|evening)\b)"
        r"|this (?=(?:morning|afternoon|evening)\b))"
        r"(?:(?:'s)? ?(?:in the )?(?P<day_part>morning|afternoon|evening|night)\b)?",
        read_day_word,
    ),
    _rule(
        "昨 前 今",
        rf"(?P<word>大前天|前(?=晚(?![安饭飯餐]))|(?<![提之以目空])前天(?![气氣])|昨[天日]|昨(?=[晚夜早])|今天?(?=的?(?:凌|早|上午|中午|下午|傍|晚|夜)))"
        rf"{DAY_PART_ZH}",
        read_day_word,
    ),
    _rule("ago back", rf"\b{COUNT} (?P<unit>day|week|month|year)s? (?:ago|back)\b", read_ago),
    _rule("前", rf"{COUNT_ZH}{UNIT_ZH}(?<![一三四五六七八九十\d]月)(?:之|以)?前", read_ago),
    _rule(
        "前", rf"{SUBJECT_ZH}(?P<former>前)(?P<count>[两兩几幾二三]三?)[个個]?{UNIT_ZH}(?!前)", read_ago
    ),
    _numeric_rule(
        rf"{_NUMBERED}{YEAR_NUMBER}(?P<mark>[-/.])(?P<month>\d{{1,2}})(?P=mark)(?P<day>\d{{1,2}})"
        r"(?!\d|[-/.]\w|/)",
        read_year_first,
    ),
    _numeric_rule(
        rf"{_NUMBERED}(?P<one>\d{{1,2}})(?P<mark>[-/.])(?P<other>\d{{1,2}})(?P=mark){YEAR_NUMBER}{_NUMBERED_END}",
        read_year_last,
    ),
    _numeric_rule(
        rf"{_NUMBERED}{YEAR_NUMBER}[-/](?P<month>0?[1-9]|1[0-2]){_NUMBERED_END}", read_year_first
    ),
    _numeric_rule(
        rf"{_NUMBERED}(?P<month>0?[1-9]|1[0-2])[-/]{YEAR_NUMBER}{_NUMBERED_END}", read_year_first
    ),
    _numeric_rule(
        rf"{_NUMBERED}(?P<one>\d{{1,2}})(?P<mark>/)(?P<other>\d{{1,2}})/(?P<year>\d\d){_NUMBERED_END}",
        read_year_last,
        needs=SHORT_DATE,
    ),
    _numeric_rule(
        r"(?:^|\b(?P<before>on|since|am|vom|seit)(?: the)? )(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?!\w)",
        read_day_and_month,
        needs=DIGITS_AND_POINTS,
    ),
    _rule(
        _MONTH_WORDS,
        rf"(?:\b(?P<from>from|(?P<between>between)|in|during) )?\b{MONTH.replace('name', 'first')}"
        rf"(?: to | till | until | through |-|–|(?(between) and |(?!))){MONTH}{YEAR_EN}",
        read_months,
    ),
    _rule(
        "月",
        rf"(?P<from>)(?:{YEAR_ZH})?(?<![\d第])(?P<first>\d{{1,2}}|{ZH_NUMBER}{{1,2}})月?(?:[到至~—-])(?P<name>\d{{1,2}}|{ZH_NUMBER}{{1,2}})月"
        r"(?![个個\d一二三四五六七八九十])",
        read_months,
    ),
    _rule(
        "月",
        rf"(?P<from>)(?:{YEAR_ZH})?(?<![\d第一二三四五六七八九十])(?P<first>[一二三四五六七八])(?P<name>(?:(?<=一)二|(?<=二)三|(?<=三)四|(?<=四)五|(?<=五)六|(?<=六)七|(?<=七)八|(?<=八)九))月(?![个個])",
        read_months,
    ),
    _rule(
        _MONTH_WORDS,
        rf"(?:\b(?P<before>on|since|until|till|by|from|before|after)(?: the)? )?"
        r"(?<![\w.,:/-])"
        r"(?:(?P<first_day>\d{1,2})(?:st|nd|rd|th)?(?: to | till | until | through | and |-|–)(?:the )?)?"
        rf"{DAY_EN}(?: of)? {MONTH}{YEAR_EN}",
        read_day_of_month,
    ),
    _rule(
        _MONTH_WORDS,
        rf"(?:\b(?P<before>on|since|until|till|by|from|before|after|of) )?"
        rf"\b{MONTH}\.? (?:the )?{DAY_EN}(?![.:/]\d|-\d{{3}}){YEAR_EN}",
        read_day_of_month,
    ),
    _rule(
        _MONTH_WORDS,
        rf"(?:{PART_EN}|{EDGE_EN}|\b(?P<before>in|of|since|during|until|till|before|after|by|last|this|next) )?"
        rf"\b{MONTH}{YEAR_EN}",
        read_month,
    ),
    _rule(
        "月",
        rf"(?<![\d.一二两兩三四五六七八九十百几幾数半每第个個])(?:{YEAR_ZH})?"
        rf"(?P<month>\d{{1,2}}|{ZH_NUMBER}{{1,2}})\s*月份?"
        rf"(?:的?{PART_ZH}|的?{EDGE_ZH}"
        rf"|\s*{DAY_ZH}{DAY_PART_ZH}|(?![亮光球色花雪饼租薪内个個]|[一两三几\d]+次|怀胎|[不没未]见))",
        read_month_zh,
    ),
    _rule(
        "spring summer autumn fall winter",
        rf"(?:\b(?P<before>last|this|next|in|during|over|since|before|after|until|till)(?: the)? )?"
        rf"\b{SEASON}\b(?P<before_last> before last\b)?(?! (?:boot|mvc|of (?!(?:19|20)\d\d|last|this))){YEAR_EN}",
        read_season,
    ),
    _rule("ago", rf"\b{COUNT} {SEASON}s? ago\b", read_season),
    _rule("ago", rf"\b{COUNT} {WEEKDAY}s? ago\b", read_weekdays_ago),
    _rule(
        "christmas halloween",
        rf"\b(?P<before>last|this|next|on|at|over|during|for|in|since|before|after|until|till)(?: the)? "
        rf"(?P<holiday>christmas|halloween)\b(?! (?:tree|card|song|music|movie|gift|present)s?\b){YEAR_EN}",
        read_holiday,
    ),
    _rule(
        "国 國 元 圣 聖 劳 勞 情",
        rf"(?:{YEAR_ZH})?(?P<holiday>国庆|國慶|元旦|圣诞|聖誕|劳动节|勞動節|情人[节節])(?:[节節])?(?!快[乐樂]|[老树樹歌卡])",
        read_holiday,
    ),
    _rule("春 夏 秋 冬 暑", rf"{YEAR_ZH}(?P<season>[春夏秋冬](?!节)|暑假)", read_season),
    _rule("暑", r"(?P<season>暑假)", read_season),
    _rule(
        "年",
        rf"{YEAR_ZH}(?:年?(?P<part>初|底|末|中(?!间)|[上下]半)年?|第?(?:(?P<quarter>[一二三四1-4]季)度)|{EDGE_ZH}(?![一二三\d]))?",
        read_year,
    ),
    _rule("季", r"(?<![每\d一二三四])第?(?P<part>[一二三四1-4]季)度", read_year),
    _rule("半", r"(?P<part>[上下]半)年", read_year),
    _rule("年", r"(?<![\d每学學少青中老成])年(?P<part>[初底末])", read_year),
    _rule(
        "half early beginning start middle mid late end quarter q1 q2 q3 q4 first last",
        rf"(?:{PART_OF_YEAR_EN}|{EDGE_EN}(?:the )?)"
        rf"(?:{YEAR_NUMBER}\b|(?P<year_word>last year|this year|next year|(?<=the )year)\b)",
        read_year,
    ),
    _rule(
        _WEEKDAY_WORDS,
        rf"(?:\b(?P<week_before>(?:last|this|next) week)(?:'s)?(?: on)? |\b(?P<which>[a-z]+) (?:the )?)?\b{WEEKDAY}\b"
        rf"(?!-|\.\w| (?:to|through|till)\b)(?:,? (?:of |in )?(?P<week>{WEEK_EN})\b)?"
        rf"(?P<before_last> before last\b(?! (?:week|month|year)))?{DAY_PART_EN}",
        read_weekday,
    ),
    _rule(
        "周 週 期 拜",
        rf"(?:(?P<which>{BEFORE_LAST_ZH}|[这這本每隔]|下{{1,3}})[个個]?)?{WEEK_ZH}"
        rf"(?P<weekday>[一二三四五六日末]|(?<![周週])天)(?![围圍鸣鳴闭閉]|愉快|快乐)(?P<range>[到至、~—-])?{DAY_PART_ZH}",
        read_weekday_zh,
    ),
    _rule(
        "week month year quarter",
        rf"(?:{PART_EN}|{EDGE_EN}|\b{DAY_EN} (?:of|in) )?"
        r"\b(?P<which>last|this|next) (?P<unit>week|month|year|quarter)\b(?! of\b)",
        read_unit,
    ),
    _rule(
        "before",
        r"\b(?P<unit>week|month|year|quarter) (?P<which>before last)\b",
        read_unit,
    ),
    _rule("month", rf"(?:{PART_EN}|{EDGE_EN}(?:the )?)(?<=the )month\b", read_of_month),
    _rule(
        "周 週 期 拜 月 季",
        rf"(?P<which>{BEFORE_LAST_ZH}|[这這]|(?<!日)本|下{{1,3}})(?:一?[个個]|一)?(?:(?P<unit>[周週](?![期转轉边邊围圍到折刊年末一二三四五六日])|星期|[礼禮]拜|季度|月(?![亮球台饼]))"
        rf"(?:的?{PART_ZH}|的?{EDGE_ZH}|\s*{DAY_ZH})?)",
        read_unit,
    ),
    _rule("月", r"(?<![\d一二三四五六七八九十几幾半个個每上下这這本])月(?P<part>[初底末]|[上下]旬)", read_of_month),
    _rule(
        "号 號",
        rf"{SUBJECT_ZH}{DAY_ZH}{NOT_NUMBERED_ZH}{DAY_PART_ZH}",
        read_of_month,
    ),
    _numeric_rule(
        r"\b(?P<before>on|of|about|for|from|since|until|till|before|after) the (?P<day>\d{1,2})(?:st|nd|rd|th)\b"
        r"(?= (?:at|about|did|we|i|you|he|she|they|it|was|were|and|in|when|what|who)\b|[?.!,;]|$)",
        read_of_month,
        needs=ORDINAL,
    ),
    _rule(
        "last past",
        rf"\b(?:last|past) (?:{COUNT} )?(?P<unit>day|week|month|year)s?\b(?! (?:of|in)\b)",
        read_rolling,
    ),
    _rule("近 去", rf"(?:[过過]去|近){COUNT_ZH}{UNIT_ZH}(?!前)", read_rolling),
    _rule("天", rf"[这這]{COUNT_ZH}(?P<unit>天)(?!前)", read_rolling),
    _rule(
        _MONTH_WORDS,
        r"\b(?P<name>January|February|April|June|July|August|September|October|November|December)\b",
        read_bare_month,
        any_case=False,
    ),
    _numeric_rule(rf"(?<![\w.,:/$€£#@+-]){YEAR_NUMBER}{NOT_COUNTED}", read_bare_year),
)  # fmt: skip


NUMERIC = (
    (YEAR_DIGITS, re.compile(r"(?:19|20)[0-9]{2}")),
    (SHORT_DATE, re.compile(r"[0-9]/[0-9]{1,2}/[0-9]")),
    (ORDINAL, re.compile(r"[0-9](?:st|nd|rd|th)\b", re.IGNORECASE)),
    (DIGITS_AND_POINTS, re.compile(r"[0-9]\.[0-9]{1,2}\.")),
)
