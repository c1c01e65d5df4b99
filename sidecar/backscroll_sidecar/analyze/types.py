"""The coarse type of a message: question, answer, discussion, notification or casual.

A line that holds a question to be answered is a question even if it answers another one first: that is what the next
lines will be about. An answer gives what somebody asked for, advice included; a reply edge to a question is the best
sign of it, set phrases are the second best. What is neither, nor small talk, is discussion.
"""

from __future__ import annotations

from itertools import chain, pairwise

from backscroll_sidecar.analyze import cues
from backscroll_sidecar.analyze.memo import remembered
from backscroll_sidecar.analyze.stopwords import STOP_WORDS
from backscroll_sidecar.domain import AuthorKind, MessageType

_HUMAN = AuthorKind.HUMAN

MAX_CHARS = 1_000
"""Characters that are read: the first lines show the type."""

_MAX_SMALL_TALK_WORDS = 12
_MAX_OPENED_SMALL_TALK_WORDS = 8
_MAX_LAUGHED_WORDS = 10
_MAX_SMALL_TALK_CHARS_ZH = 24
_MAX_SMALL_TALK_REST_ZH = 4


def classify(
    text: str,
    *,
    is_reply: bool,
    parent_is_question: bool | None,
    author_kind: AuthorKind,
) -> MessageType:
    """The type of `text`. `parent_is_question` is None where the parent is unknown; ignored without a reply edge.

    Bots that are not the caller's own and the platform itself post notifications. Pure, O(`MAX_CHARS`).
    """
    if author_kind is not _HUMAN:
        return MessageType.NOTIFICATION
    return _type_of(text[:MAX_CHARS], is_reply, is_reply and parent_is_question is True)


@remembered
def _type_of(text: str, is_reply: bool, answers_question: bool) -> MessageType:
    line = _Line(text)
    if line.notifies():
        return MessageType.NOTIFICATION
    if cues.ONLY_MARKS.fullmatch(line.bare):
        return line.type_without_words(is_reply=is_reply)
    if line.has_question_mark:
        return MessageType.QUESTION
    if len(line.words) <= cues.MAX_ASSENT_WORDS and cues.BARE_ASSENT.fullmatch(line.bare):
        return MessageType.ANSWER if answers_question else MessageType.CASUAL
    if line.is_small_talk():
        return MessageType.CASUAL
    if line.asks_without_mark():
        return MessageType.QUESTION
    if answers_question or line.advises() or (not is_reply and line.asserts()):
        return MessageType.ANSWER
    return MessageType.DISCUSSION


class _Line:
    """One text made ready for the cues: `full` lower-cased, `body` without its address, `bare` without links too."""

    __slots__ = ("_phrases", "_words", "bare", "body", "full", "has_question_mark", "is_ascii")

    def __init__(self, text: str) -> None:
        self.full = text.strip().lower().replace("\u2019", "'")
        self.is_ascii = self.full.isascii()
        self.body = _without_address(self.full)
        self.bare = self.body
        if "://" in self.bare or "www." in self.bare:
            self.bare = cues.URL.sub(" ", self.bare).strip()
        if "[" in self.bare:
            self.bare = cues.MARK.sub(" ", self.bare).strip()
        self.has_question_mark = "?" in self.bare or "\uff1f" in self.bare
        self._words: list[str] | None = None
        self._phrases: frozenset[tuple[str, ...]] | None = None

    @property
    def words(self) -> list[str]:
        """The words of `bare`; a line with a question mark is never asked for them."""
        if self._words is None:
            self._words = _words_in(self.bare)
        return self._words

    def notifies(self) -> bool:
        """Whether it is a join, an away message or an announcement, and asks nothing."""
        if self.has_question_mark:
            return False
        if cues.NOTIFICATION_START.match(self.full) or self._has(cues.NOTIFICATION_EN):
            return True
        return not self.is_ascii and bool(
            cues.NOTIFICATION_START_ZH.match(self.full) or cues.NOTIFICATION_ZH.search(self.full)
        )

    def type_without_words(self, *, is_reply: bool) -> MessageType:
        """Links, media, emoji or punctuation alone. A link given to somebody is an answer."""
        if cues.URL.search(self.body):
            return MessageType.ANSWER if is_reply else MessageType.DISCUSSION
        if ": " in self.body:  # a picture with a description
            return MessageType.DISCUSSION
        return MessageType.CASUAL

    def is_small_talk(self) -> bool:
        """Thanks, greetings, laughter, backchannel, typing corrections: nothing to remember."""
        if len(self.bare) <= 2 or self._corrects_typing():
            return True
        if self.is_ascii:
            return self._is_small_talk_en()
        if len(self.bare) > _MAX_SMALL_TALK_CHARS_ZH:
            return False
        rest, social = cues.SOCIAL_ZH.subn("", self.bare)
        if not social:
            return cues.ONLY_FILLER_ZH.fullmatch(rest) is not None
        return len(cues.FILLER_ZH.sub("", rest)) <= _MAX_SMALL_TALK_REST_ZH

    def _corrects_typing(self) -> bool:
        may_correct = "*" in self.bare or self.bare.startswith("s/")
        return may_correct and cues.TYPO_FIX.fullmatch(self.bare) is not None

    def _is_small_talk_en(self) -> bool:
        count = len(self.words)
        if count > _MAX_SMALL_TALK_WORDS:
            return False
        social = cues.SOCIAL_EN.intersection(self.words)
        if social and cues.SMALL_TALK_EN.issuperset(self.words):
            return cues.QUESTION_START_EN.match(self.bare) is None  # "hey, is there a way to do it"
        if count <= _MAX_OPENED_SMALL_TALK_WORDS and cues.SOCIAL_START_EN.match(self.bare):
            return True
        return count <= _MAX_LAUGHED_WORDS and not cues.LAUGHS_EN.isdisjoint(social)

    def asks_without_mark(self) -> bool:
        """Whether a line without a question mark asks all the same."""
        if self.words and (cues.QUESTION_START_EN.match(self.bare) or self._has(cues.QUESTION_EN)):
            return True
        return (
            not self.is_ascii
            and cues.QUESTION_ZH.search(self.bare) is not None
            and cues.NOT_QUESTION_ZH.search(self.bare) is None
        )

    def advises(self) -> bool:
        """Whether it tells somebody what to do, the usual answer to a problem."""
        if not self.words:
            return False
        return cues.ADVICE_START_EN.match(self.bare) is not None or self._has(cues.ADVICE_EN)

    def asserts(self) -> bool:
        """Whether it begins or ends as answers do ("yes, …", "a few …", "知道，…", "…100元")."""
        if cues.ASSERT_EN.match(self.bare):
            return True
        if self.is_ascii or cues.NOT_ANSWER_ZH.match(self.bare):
            return False
        return bool(cues.ANSWER_START_ZH.match(self.bare) or cues.ANSWER_ZH.search(self.bare))

    def _has(self, phrases: cues.Phrases) -> bool:
        """Whether two or three words in a row are one of the phrases."""
        if self._phrases is None:
            self._phrases = _phrases_in(self.words)
        return not phrases.isdisjoint(self._phrases)


def _words_in(text: str) -> list[str]:
    """What `cues.WORD` finds: in ASCII by white space, a third cheaper, unless an apostrophe begins a word."""
    if text.isascii():
        spaced = text.encode().translate(cues.NO_WORD_TO_SPACE).decode()
        if spaced[:1] != "'" and " '" not in spaced:
            return spaced.split()
    return cues.WORD.findall(text)


def _phrases_in(words: list[str]) -> frozenset[tuple[str, ...]]:
    """The phrases among the words. Nine lines of ten hold not even the beginning of one."""
    if cues.PHRASE_STARTS.isdisjoint(pairwise(words)):
        return frozenset()
    triples = zip(words, words[1:], words[2:], strict=False)
    return cues.PHRASES.intersection(chain(pairwise(words), triples))


def _without_address(line: str) -> str:
    """The line without ``name: `` or ``@name `` at its start; "no, …" and "ok: …" call nobody and stay."""
    if not (":" in line or "," in line or "@" in line or "：" in line):
        return line
    address = cues.ADDRESS.match(line)
    if address is None:
        return line
    name = address.group().strip(" \t:,：@")
    return line if name in STOP_WORDS or name in cues.SOCIAL_EN else line[address.end() :]
