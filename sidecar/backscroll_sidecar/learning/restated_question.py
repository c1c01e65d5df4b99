"""How much a line asks what a question asked. Pure."""

from __future__ import annotations

import re

from backscroll_sidecar.analyze.ends import QUESTION_CHARS, ends_of
from backscroll_sidecar.analyze.keywords import keywords
from backscroll_sidecar.analyze.same_question import is_same_question
from backscroll_sidecar.analyze.types import classify
from backscroll_sidecar.domain import AuthorKind, MessageType
from backscroll_sidecar.learning import signal_words

NEARLY, SAME = 0.5, 0.8
"""From where on a line asks nearly the same, and the same."""
_SAYS_SO = 0.2
"""What a line gains that says it asks once more."""
_HALF_NEW = 0.6
"""Below, a line that has words of the reply goes on from it."""
_NO_WORD = re.compile(r"\W+")
_LONG_CHARS, _LONG_HAN_CHARS = 12, 5
_MOST = 0.6
_LIGHT_WORDS = frozenset(
    keywords(
        "get use make want need know try go find thing way work help tell somebody someone anybody anyone possible "
        "idea question hey guy 想 用 做 弄 办 辦 问 問 帮 幫 帮忙 幫忙 东西 東西"
    )
)
"""Keywords that many questions have, whatever they ask."""


def asks(text: str) -> bool:
    """Whether a text asks something."""
    kind = classify(text, is_reply=False, parent_is_question=None, author_kind=AuthorKind.HUMAN)
    return kind is MessageType.QUESTION


class AskedQuestion:
    """A question with its keywords, and those of the reply to it."""

    __slots__ = ("_answered", "_bare", "_bot_names", "_text", "topic")

    def __init__(self, text: str, said: str, bot_names: tuple[str, ...]) -> None:
        self._text, self._bot_names = ends_of(text, QUESTION_CHARS), bot_names
        self._bare = _NO_WORD.sub("", said)
        self.topic = _topic(said).difference(*map(keywords, bot_names))
        self._answered: frozenset[str] = frozenset()

    def add_reply(self, reply_keywords: frozenset[str]) -> None:
        """Learn what was answered: who takes that up goes on from the answer."""
        self._answered |= reply_keywords

    def share_in(self, text: str, said: str) -> float:
        """How much a line asks the same, 0 to 1.2: the share of keywords that both have (Dice's coefficient).

        0 where a line asks nothing, goes on from the answer, or shares less than two keywords.
        """
        if not self.topic:
            return 0.0
        if is_same_question(self._text, ends_of(text, QUESTION_CHARS), self._bot_names):
            return 1.0
        if self._bare in (bare := _NO_WORD.sub("", said)) and _is_long(self._bare):
            return 1.0
        if bare in self._bare and len(bare) >= _MOST * len(self._bare) and _is_long(bare):
            return 1.0
        says_so = signal_words.asks_again(said)
        if not (says_so or asks(text)) or signal_words.goes_on(said):
            return 0.0
        repeated = _topic(said)
        common = len(repeated & self.topic)
        share = 2 * common / (len(repeated) + len(self.topic))
        if says_so and common:
            return share + _SAYS_SO
        new = repeated - self.topic
        takes_up = share < _HALF_NEW and not new.isdisjoint(self._answered)
        asks_more = share < SAME and common == 2 and len(new - self._answered) > 1
        return 0.0 if common < 2 or takes_up or asks_more else share


def _is_long(bare: str) -> bool:
    """Whether a text says enough to be known again as a part of another one."""
    return len(bare) >= (_LONG_CHARS if bare.isascii() else _LONG_HAN_CHARS)


def _topic(said: str) -> set[str]:
    return set(keywords(said)) - _LIGHT_WORDS
