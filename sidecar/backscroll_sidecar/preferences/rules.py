"""What a message says of who wrote it, by rules for English and Chinese. Pure.

The rules would rather miss something than take what was not said: each reads whole clauses of a known form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from backscroll_sidecar.preferences import read_chinese, read_english
from backscroll_sidecar.preferences.clauses import clauses, may_tell
from backscroll_sidecar.preferences.preference import Kept, Origin
from backscroll_sidecar.preferences.topics import MAX_VALUE_BYTES, Topic, Topics
from backscroll_sidecar.scripts import HAN

MOST_FOUND = 10
"""Of one message."""
_HAS_HAN = re.compile(f"[{HAN}]")


def read_text(text: str, topics: Topics) -> list[Kept]:
    """What a text says of its author, each once, without times and sources."""
    found: dict[tuple[str, str], Kept] = {}
    if not may_tell(text):
        return []
    for clause, is_whole in clauses(text):
        for name, value in _said_in(clause, is_whole=is_whole, topics=topics):
            kept = kept_of(name, value, clause, topics)
            if kept is not None:
                found.setdefault((name, kept.value.casefold()), kept)
    return [*found.values()][:MOST_FOUND]


def kept_of(
    name: str, value: str, said: str, topics: Topics, origin: Origin = Origin.RULES
) -> Kept | None:
    """A value of a topic as it is kept; None where the topic does not take it."""
    try:
        normal = topics.of(name).normal(value)
    except ValueError:
        return None
    if not normal or len(normal.encode()) > MAX_VALUE_BYTES:
        return None
    return Kept(topics.told(name, normal, said), name, normal, origin=origin)


def _said_in(clause: str, *, is_whole: bool, topics: Topics) -> Iterator[tuple[str, str]]:
    reads_chinese = _HAS_HAN.search(clause) is not None
    own = _own_rules(tuple(one for one in topics.all() if one.is_own))
    for topic, patterns in own:
        if (match := patterns[reads_chinese].fullmatch(clause)) is not None:
            yield topic, match["v"].strip()
            return
    if reads_chinese:
        yield from read_chinese.said_in(clause)
    else:
        yield from read_english.said_in(clause, is_whole=is_whole)


@lru_cache(4)
def _own_rules(
    topics: tuple[Topic, ...],
) -> tuple[tuple[str, tuple[re.Pattern[str], re.Pattern[str]]], ...]:
    """By the operator's topics: "my WORD is ..." and 我的WORD是…"""
    return tuple((one.name, _own_patterns(one.words)) for one in topics)


def _own_patterns(words: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    any_word = "|".join(re.escape(one) for one in sorted(words, key=len, reverse=True))
    english = rf"(?:and |also |btw |well )*my (?:favou?rite )?(?:{any_word}) (?:is|are) (?P<v>[\w'&+#.\- ]{{1,60}})"
    chinese = rf"我(?:最喜欢|最爱|支持)?的(?:{any_word})(?:就是|是|叫)(?P<v>[\w·\- ]{{1,20}}?)(?:了|啦|哦|啊)?"
    return re.compile(english, re.IGNORECASE), re.compile(chinese, re.IGNORECASE)
