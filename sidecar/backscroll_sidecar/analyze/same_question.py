"""Compares questions without mentions and commands, which bots cut off before they ask. Pure."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache

MOST_CALLS, MOST_CALL_CHARS = 16, 128
"""More calls at one end, and longer ones, are part of the text."""
_WRITTEN = (
    r"<[@#][!&]?\w{1,64}>"  # as Discord and Slack write them
    r"|\[CQ:at,[^\[\]]{1,64}\]"  # and OneBot
)
_MENTION = rf"{_WRITTEN}|(?<![\w.])[@\uff20]\S{{1,64}}"
_PREFIX = r"/\uff0f!\uff01.\u3002>\uff1e$%~\uff5e#\uff03&+*=^"
_COMMAND = rf"(?<!\S)[{_PREFIX}][^\W\d_][\w-]{{0,31}}(?:@\w{{1,64}})?(?!\S)"
_MARKS = r"\s,\uff0c:\uff1a;\uff1b?\uff1f\u3001\u2026\u2014\-"
_START = re.compile(rf"(?:[.\u3002]{{2,}}|[{_MARKS}]|[!\uff01.\u3002](?![^\W\d_]))+")
"""Marks before a call; an exclamation mark or one full stop before a letter begins a command."""
_END = "".join(filter(re.compile(rf"[{_MARKS}!\uff01.\u3002]").match, map(chr, range(0x10000))))
"""Marks behind one. Stripped, not searched: a search begins anew at each of many marks within a text."""
_BLANKS = re.compile(rf"[{_MARKS}!\uff01.\u3002]+")


def is_same_question(stored: str, asked: str, names: Iterable[str] = ()) -> bool:
    """Whether one of two texts is the other without mentions, commands at its ends, and the marks around those.

    Parameters
    ----------
    names
        Names of the users the stored line mentions: ``Cat, what is up?`` calls Cat. A name may have spaces.
    """
    stored, asked = stored.strip(), asked.strip()
    if stored == asked:
        return True
    if not stored or not asked:
        return False
    known = tuple(sorted(filter(None, names), key=len, reverse=True))
    calls = _calls(known)
    if _adds_calls(stored, asked, calls) or _adds_calls(asked, stored, calls):
        return True
    bare = _without_calls(stored, calls)
    if bare and bare != _without_marks(stored) and bare == _without_marks(asked):
        return True
    return _mentions_more(stored, asked, _mentions(known)) or _mentions_more(
        asked, stored, _mentions(known)
    )


def said_besides_calls(text: str, names: Iterable[str] = ()) -> str:
    """The text without mentions and commands at its ends and the marks around them; `names` as above."""
    return _without_calls(text, _calls(tuple(sorted(filter(None, names), key=len, reverse=True))))


@lru_cache(maxsize=256)
def _calls(names: tuple[str, ...]) -> re.Pattern[str]:
    """Matches one call at a place: a name, a mention, a command."""
    known = "|".join(map(re.escape, names))
    by_name = rf"[@\uff20]?(?:{known})(?!\w)|[@\uff20](?:{known})(?![A-Za-z0-9_])|" if known else ""
    return re.compile(f"(?:{by_name}{_MENTION}|{_COMMAND})", re.IGNORECASE)


@lru_cache(maxsize=256)
def _mentions(names: tuple[str, ...]) -> re.Pattern[str]:
    """Matches a mention anywhere: a name counts behind its sign only."""
    known = "|".join(map(re.escape, names))
    by_name = rf"[@\uff20](?:{known})(?![A-Za-z0-9_])|" if known else ""
    return re.compile(
        rf"{by_name}{_WRITTEN}|(?<![\w.])[@\uff20][A-Za-z0-9_]{{1,64}}", re.IGNORECASE
    )


def _mentions_more(more: str, less: str, mentions: re.Pattern[str]) -> bool:
    """Whether the one says what the other does, and mentions somebody besides, wherever in it."""
    left = Counter(mentions.findall(more))
    kept = Counter(mentions.findall(less))
    if left.total() == kept.total() or not kept <= left:
        return False
    said, other = (_BLANKS.sub("", mentions.sub("", one)) for one in (more, less))
    return bool(said) and said == other


def _adds_calls(longer: str, shorter: str, calls: re.Pattern[str]) -> bool:
    """Whether what stands before and behind `shorter` in `longer` is nothing but calls, and one at least."""
    at = longer.find(shorter)
    if at < 0 or len(longer) == len(shorter):
        return False
    if longer.endswith(shorter):  # the last place, where it says the same twice
        at = len(longer) - len(shorter)
    before, behind = longer[:at], longer[at + len(shorter) :]
    if _goes_on(before[-1:], shorter[:1]) or _goes_on(shorter[-1:], behind[:1]):
        return False
    rest = _without_marks(before) + _without_marks(behind)
    return bool(rest) and not _without_calls(before, calls) and not _without_calls(behind, calls)


def _goes_on(one: str, other: str) -> bool:
    """Whether two characters stand inside one ASCII word."""
    return all(c.isascii() and (c.isalnum() or c == "_") for c in (one or " ", other or " "))


def _without_marks(text: str) -> str:
    start = _START.match(text)
    return text[start.end() if start else 0 :].rstrip(_END)


def _without_calls(text: str, calls: re.Pattern[str]) -> str:
    """The text without calls at its ends, `MOST_CALLS` at each, and the marks around them."""
    text = _without_marks(text)
    for _ in range(MOST_CALLS):
        first = calls.match(text)
        if first is None:
            break
        text = _without_marks(text[first.end() :])
    for _ in range(MOST_CALLS):
        found = calls.finditer(text, max(0, len(text) - MOST_CALL_CHARS))
        last = next((one for one in found if one.end() == len(text)), None)
        if last is None:
            break
        text = _without_marks(text[: last.start()])
    return text
