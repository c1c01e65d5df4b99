"""Values that have one form, however they are written: languages and time zones. Pure."""

from __future__ import annotations

import re
import zoneinfo
from functools import lru_cache

LANGUAGES = {
    "en": ("english", "英语", "英文"),
    "zh": ("chinese", "mandarin", "中文", "汉语", "普通话", "华语", "国语"),
    "yue": ("cantonese", "粤语", "广东话"),
    "ja": ("japanese", "日语", "日文"),
    "ko": ("korean", "韩语", "韩文"),
    "de": ("german", "deutsch", "德语", "德文"),
    "fr": ("french", "法语", "法文"),
    "es": ("spanish", "西班牙语"),
    "pt": ("portuguese", "葡萄牙语"),
    "it": ("italian", "意大利语"),
    "ru": ("russian", "俄语", "俄文"),
    "nl": ("dutch", "荷兰语"),
    "sv": ("swedish", "瑞典语"),
    "pl": ("polish", "波兰语"),
    "tr": ("turkish", "土耳其语"),
    "ar": ("arabic", "阿拉伯语"),
    "hi": ("hindi", "印地语"),
    "vi": ("vietnamese", "越南语"),
    "th": ("thai", "泰语"),
    "id": ("indonesian", "印尼语"),
}
_BY_NAME = {name: tag for tag, names in LANGUAGES.items() for name in names}
_TAG = re.compile(r"[a-z]{2,3}(?:-[a-z0-9]{2,8})*", re.IGNORECASE)
_OFFSET = re.compile(
    r"(?:utc|gmt)?\s*([+\-\u2212])\s*(\d{1,2})(?::?([0-5]\d))?|(?:utc|gmt|z)", re.IGNORECASE
)
_EAST = re.compile(r"([东西])([一二三四五六七八九十]{1,2}|\d{1,2})区")
_DIGITS = {word: n for n, word in enumerate("零一二三四五六七八九十")} | {"十一": 11, "十二": 12}
_NAMED_ZONES = {"北京时间": 8, "beijing time": 8, "china standard time": 8}
_FARTHEST_H = 14


def as_language(value: str) -> str:
    """A language as its tag. Raises `ValueError` where it is none."""
    folded = value.casefold()
    if folded in _BY_NAME:
        return _BY_NAME[folded]
    if _TAG.fullmatch(value) and folded.split("-")[0] in LANGUAGES:
        return folded.split("-")[0] if "-" not in folded else value
    if _TAG.fullmatch(value) and len(value.split("-", maxsplit=1)[0]) in (2, 3):
        return value
    raise ValueError("is no language: a tag such as en, or a name such as English or 英文")


def as_time_zone(value: str) -> str:
    """A time zone as its name, or as an offset such as UTC+08:00. Raises `ValueError` where it is none."""
    folded = value.casefold().removesuffix("时区").strip()
    if folded in _NAMED_ZONES:
        return _offset(_NAMED_ZONES[folded], 0)
    if east := _EAST.fullmatch(value.removesuffix("时区")):
        hours = int(east[2]) if east[2].isdecimal() else _DIGITS.get(east[2], 99)
        return _offset(hours if east[1] == "东" else -hours, 0)
    if offset := _OFFSET.fullmatch(folded):
        hours, minutes = int(offset[2] or 0), int(offset[3] or 0)
        return _offset(-hours if offset[1] in ("-", "\u2212") else hours, minutes)
    if named := _zones().get(folded.replace(" ", "_")):
        return named
    raise ValueError("is no time zone: a name such as Europe/Berlin, or an offset such as UTC+8")


def _offset(hours: int, minutes: int) -> str:
    if abs(hours) > _FARTHEST_H:
        raise ValueError("is no time zone: it is more than 14 hours away")
    return "UTC" if not hours and not minutes else f"UTC{hours:+03d}:{minutes:02d}"


@lru_cache(1)
def _zones() -> dict[str, str]:
    """By name in small letters, and by the city where that names one zone only."""
    zones: dict[str, str] = {}
    for name in sorted(zoneinfo.available_timezones()):
        zones[name.casefold()] = name
    for name in [*zones.values()]:
        if "/" in name and not name.startswith(("Etc/", "posix/", "right/", "SystemV/")):
            zones.setdefault(name.rpartition("/")[2].casefold(), name)
    return zones
