"""What a model found in messages, as far as it may be kept. Pure."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from backscroll_sidecar.analyze import keywords
from backscroll_sidecar.preferences.preference import Kept, Origin
from backscroll_sidecar.preferences.rules import MOST_FOUND, kept_of
from backscroll_sidecar.preferences.topics import TOPIC_NAME, Topics, TopicType
from backscroll_sidecar.texts import REDACTED

MAX_VALUE_CHARS = 120
_FENCE = re.compile(r"\A```(?:json)?\s*(.*?)\s*```\Z", re.DOTALL)
_REDACTED = [word for pair in REDACTED.values() for word in pair]


class _Found(msgspec.Struct):
    message: int
    topic: str
    value: str


class _Answer(msgspec.Struct):
    found: list[Any]


def found_in(answer: str, texts: Sequence[str], topics: Topics) -> Mapping[int, list[Kept]]:
    """By the index of the text: what was found in it. Raises `ValueError` where the answer cannot be read.

    An entry that names no text, whose topic does not take its value, or whose value does not stand in its text, is
    left out.
    """
    if fenced := _FENCE.match(answer):
        answer = fenced[1]
    entries = msgspec.json.decode(answer, type=_Answer).found
    found: dict[int, dict[tuple[str, str], Kept]] = defaultdict(dict)
    for entry in entries:
        try:
            one = msgspec.convert(entry, _Found)
        except msgspec.ValidationError:
            continue
        if 0 < one.message <= len(texts) and TOPIC_NAME.fullmatch(one.topic):
            kept = _kept(one, texts[one.message - 1], topics)
            if kept is not None and len(found[one.message - 1]) < MOST_FOUND:
                found[one.message - 1].setdefault((kept.topic, kept.value.casefold()), kept)
    return {index: [*by_value.values()] for index, by_value in found.items()}


def _kept(one: _Found, text: str, topics: Topics) -> Kept | None:
    value = one.value.strip()
    if (
        not value
        or len(value) > MAX_VALUE_CHARS
        or "\0" in value
        or any(word in value for word in _REDACTED)
    ):
        return None
    if topics.of(one.topic).type is TopicType.TEXT and not _stands_in(value, text):
        return None
    return kept_of(one.topic, value, value, topics, Origin.MODEL)


def _stands_in(value: str, text: str) -> bool:
    if value.casefold() in text.casefold():
        return True
    words = keywords(value)
    return bool(words) and len(set(words).intersection(keywords(text))) * 2 >= len(words)
