"""A summary of a stretch of chat without a language model: the few lines that hold the most facts per token. Pure.

Each fact counts by its form and its rarity, once: lines are taken greedily by what they add to those already taken.
The lines of an earlier summary compete with the new ones, a little dearer, so that summaries can be made again and
again.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush
from math import log
from typing import NamedTuple

from backscroll_sidecar.analyze.keywords import keywords
from backscroll_sidecar.analyze.sanitise import clean_text
from backscroll_sidecar.analyze.types import classify
from backscroll_sidecar.domain import KNOWN_KINDS, AuthorKind, MessageType
from backscroll_sidecar.summaries.excerpts import WIDE, excerpt
from backscroll_sidecar.summaries.facts import Fact, facts_of, plain_words

ROOM_CHARS = 180
"""Of a text, in ASCII characters; longer ones are cut."""
LEAST_ROOM_CHARS = 90
"""To which a text is cut where a line does not fit the budget."""
_OVERHEAD = 6
"""Tokens added to each line's: a lone word is short and says little."""
_MAX_MISFITS = 64
"""After so many lines that do not fit beside those taken, no more are tried."""
_KNOWN_GAIN = 1.25
_QUESTION_GAIN = 0.4
_OWN_GAIN = 0.5
_FOCUS_GAIN = 4.0
"""Of a line with a word that is asked for."""
_ASKED_WEIGHT = 1.0
"""Of such a word by itself, as of a plain name."""
_SPEAKER_GAIN = 0.3
"""Of a name that is a speaker's: who talks is shown anyway."""
_SHARE = 1 / 16
"""By so much each line of a speaker is divided more than a better one: the 17th is worth half."""
_SHOWN_LINE = re.compile(r"\[([^\[\]]+)\] (?:(.*?)(?<!\\): )?(.*)")
_BRACKET = re.compile(
    rf"\[(?!\\)(?!(?i:{'|'.join(sorted(KNOWN_KINDS))})(?:\]|: ))(?=[^\[\]]*\](?!\())"
)
"""Opens what may be taken for an id: no mark of a medium, no link's text."""
_FIRST_COLON = re.compile(r"\A((?:[^:：]|:(?! |\Z))*)(?<!\\)(:(?= |\Z)|：)")


class ChatLine(NamedTuple):
    """A message as it may stand in a summary."""

    message_id: str
    speaker: str
    """As it is to be shown; may be empty."""
    text: str
    """As rendered; may be long and hold line breaks."""
    keywords: tuple[str, ...] = ()
    """Of the text, as `analyze.keywords` finds them, where that was done already."""
    is_own: bool = False
    """The bot's own: it counts half."""


@dataclass(slots=True)
class _Candidate:
    """A line that may be shown: what it would show, what it costs in tokens, what each of its facts is worth."""

    line: ChatLine
    place: int
    facts: list[Fact]
    values: list[float]
    share: float = 1.0
    shown: str = ""
    cost: int = 0
    worth: dict[str, float] = field(default_factory=dict)

    def gain(self, seen: set[str]) -> float:
        """What it adds to the facts seen already, per token."""
        added = sum([value for key, value in self.worth.items() if key not in seen])
        return self.share * added / (self.cost + _OVERHEAD)


def key_lines(
    lines: Sequence[ChatLine],
    max_tokens: int,
    count: Callable[[str], int],
    known: str = "",
    focus: str = "",
) -> str:
    r"""The lines ``[message_id] speaker: text`` that hold the most facts, in order, at most `max_tokens` by `count`.

    `known` is an earlier summary of this shape; its lines come first. Those with a keyword of `focus` are worth more.
    A text is shown in one line, a long one cut around its facts, and what looks like an id in it gets a backslash:
    ``[\id]``. Lines with nothing but small talk, and such with an id that has brackets or line breaks, are left out.
    Empty where nothing fits. O(n log n).
    """
    fresh = [_flat(line) for line in lines if _is_plain_id(line.message_id)]
    ids, own = {line.message_id for line in fresh}, {line.speaker for line in fresh if line.is_own}
    old = [line for line in _read(known, own - {""}) if line.message_id not in ids]
    candidates = _candidates(old, fresh, keywords(focus))
    for one in candidates:
        _show(one, ROOM_CHARS, count)
    _divide(candidates)
    chosen = _chosen(candidates, max_tokens, count)
    summary = _joined(chosen)
    while chosen and count(summary) > max_tokens:
        chosen.pop()
        summary = _joined(chosen)
    return summary


def _flat(line: ChatLine) -> ChatLine:
    """The line without line breaks and lone surrogates."""
    return line._replace(text=_one_row(line.text), speaker=_one_row(line.speaker))


def _one_row(text: str) -> str:
    return " ".join(clean_text(text)[0].split())


def _is_plain_id(message_id: str) -> bool:
    return (
        bool(message_id)
        and " ".join(message_id.split()) == message_id
        and not ("[" in message_id or "]" in message_id)
    )


def _read(known: str, own: set[str]) -> Iterator[ChatLine]:
    """The lines of an earlier summary; what is none is passed over."""
    for row in known.split("\n"):
        if match := _SHOWN_LINE.fullmatch(row.strip()):
            message_id, speaker, text = match.groups("")
            if _is_plain_id(message_id):
                yield _flat(ChatLine(message_id, speaker, text, is_own=speaker in own))


def _candidates(
    old: Sequence[ChatLine], fresh: Sequence[ChatLine], focus: Sequence[str]
) -> list[_Candidate]:
    """The lines with facts, each fact valued by its form and by its rarity in all lines, and what is asked for more."""
    lines = [*old, *fresh]
    wanted = frozenset(focus)
    found = [facts_of(line.text, line.keywords) + _asked_for(line.text, wanted) for line in lines]
    small: set[str] = set().union(*(plain_words(line.text) for line in lines))
    speakers = {line.speaker.lower() for line in lines}
    frequency = Counter(counted for facts in found for counted in {fact.counted for fact in facts})
    most = len(lines) + 1
    made = []
    for place, (line, facts) in enumerate(zip(lines, found, strict=True)):
        real = [fact for fact in facts if not (fact.is_name and fact.key in small)]
        kept, gain = _counting(line, real)
        if not kept:
            continue
        gain *= _KNOWN_GAIN if place < len(old) else 1.0
        if wanted and not wanted.isdisjoint(fact.key for fact in kept):
            gain *= _FOCUS_GAIN
        values = [
            gain
            * fact.weight
            * log(most / frequency[fact.counted], most)
            * (_SPEAKER_GAIN if fact.key in speakers else 1.0)
            for fact in kept
        ]
        made.append(_Candidate(line, place, kept, values))
    return made


def _asked_for(text: str, wanted: Set[str]) -> list[Fact]:
    """The words of a text that are asked for, as facts, which they are by that."""
    if not wanted:
        return []
    folded = text.lower()
    found = ((word, folded.find(word)) for word in sorted(wanted & {*keywords(text)}))
    return [
        Fact(word, max(0, at), max(0, at) + len(word), _ASKED_WEIGHT, is_exact=True)
        for word, at in found
    ]


def _counting(line: ChatLine, facts: list[Fact]) -> tuple[list[Fact], float]:
    """The facts of a line that count, and how much: less of a question and the bot, of small talk only exact ones."""
    if not facts:
        return facts, 0.0
    kind = classify(
        line.text, is_reply=False, parent_is_question=None, author_kind=AuthorKind.HUMAN
    )
    gain = _OWN_GAIN if line.is_own else 1.0
    if kind is MessageType.CASUAL:
        return [fact for fact in facts if fact.is_exact], gain
    return facts, gain * (_QUESTION_GAIN if kind is MessageType.QUESTION else 1.0)


def _show(one: _Candidate, room: int, count: Callable[[str], int]) -> None:
    """Sets what a candidate would show, in so much room, and what of its facts is there."""
    text, facts = one.line.text, one.facts
    order = sorted(range(len(facts)), key=lambda i: -one.values[i])
    shown, windows = excerpt(text, [(facts[i].start, facts[i].end) for i in order], room)
    one.worth = {}
    for fact, value in zip(facts, one.values, strict=True):
        if any(start <= fact.start and fact.end <= end for start, end in windows):
            one.worth[fact.key] = max(value, one.worth.get(fact.key, 0.0))
    one.shown = f"[{one.line.message_id}] {_said(one.line.speaker, shown)}"
    one.cost = max(1, count(one.shown + "\n"))


def _said(speaker: str, text: str) -> str:
    """``speaker: text`` without what looks like an id and, where nobody is named, like a speaker."""
    said = f"{speaker}: {text}" if speaker else _FIRST_COLON.sub(r"\1\\\2", text)
    return _BRACKET.sub(r"[\\", said) if "[" in said else said


def _divide(candidates: Iterable[_Candidate]) -> None:
    """Gives people their share: each further line of a speaker is worth a little less, the best one first."""
    by_speaker = defaultdict[str, list[_Candidate]](list)
    for one in candidates:
        by_speaker[one.line.speaker].append(one)
    for own in by_speaker.values():
        own.sort(key=lambda one: (-one.gain(set()), one.place))
        for n, one in enumerate(own):
            one.share = 1 / (1 + n * _SHARE)


def _chosen(
    candidates: Sequence[_Candidate], max_tokens: int, count: Callable[[str], int]
) -> list[_Candidate]:
    """The candidates taken, best first, by lazy greedy: a gain never grows, so a top that is fresh is the best."""
    seen, chosen, left = set[str](), list[_Candidate](), max_tokens
    heap = [(-one.gain(seen), i) for i, one in enumerate(candidates)]
    heapify(heap)
    cut, misfits = set[int](), 0
    while heap and left > 0 and (misfits < _MAX_MISFITS or not chosen):
        before, i = heappop(heap)
        one = candidates[i]
        gain = one.gain(seen)
        if gain <= 0:
            continue
        if -gain > before:
            heappush(heap, (-gain, i))
        elif one.cost <= left:
            chosen.append(one)
            seen.update(one.worth)
            left -= one.cost
        elif i in cut or len(one.line.text) <= LEAST_ROOM_CHARS // WIDE:
            misfits += 1
        else:
            cut.add(i)
            _show(one, LEAST_ROOM_CHARS, count)
            heappush(heap, (-one.gain(seen), i))
    return chosen


def _joined(chosen: Iterable[_Candidate]) -> str:
    return "\n".join(one.shown for one in sorted(chosen, key=lambda one: one.place))
