"""Features of a message, found once at ingest, and keywords of a question."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from backscroll_sidecar.analyze.keywords import keywords
from backscroll_sidecar.analyze.memo import KNOWN_CHARS, KNOWN_TEXTS
from backscroll_sidecar.analyze.mentions import mention_ids
from backscroll_sidecar.analyze.tokens import TokenCounter, token_counter
from backscroll_sidecar.analyze.types import classify
from backscroll_sidecar.domain import Analysis, AuthorKind, Reply, ReplyKind, Role

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from backscroll_sidecar.analyze.mentions import Roster, RosterOverTime
    from backscroll_sidecar.domain import Message


@dataclass(slots=True, eq=False)
class _Features:
    """Those of a text; `is_known` once somebody was told them."""

    keywords: tuple[str, ...]
    token_count: int
    is_known: bool = False


class Analyzer:
    """Message to features. Deterministic: no I/O, no clock. Safe from any thread.

    Features of the newest texts are cached, so a redelivered message, or the next "ok", is not analysed again.

    Parameters
    ----------
    counter : how tokens are counted.
    told : learns of each text whether its features were known.
    """

    def __init__(
        self, counter: TokenCounter | None = None, told: Callable[[bool], object] | None = None
    ) -> None:
        self._counter = counter or token_counter()
        self._told = told
        self._known = lru_cache(maxsize=KNOWN_TEXTS)(self._of_text)

    def _of_text(self, text: str) -> _Features:
        return _Features(keywords(text), self._counter.count(text + "\n"))

    def features(self, text: str) -> tuple[tuple[str, ...], int]:
        """The keywords of a question or a message, and its tokens as a line."""
        found = self._known(text) if len(text) <= KNOWN_CHARS else self._of_text(text)
        if self._told is not None:
            self._told(found.is_known)
        found.is_known = True
        return found.keywords, found.token_count

    def analyze(
        self,
        message: Message,
        roster: RosterOverTime,
        *,
        parent_is_question: Callable[[str], bool | None] | None = None,
    ) -> Analysis:
        """Analyse one message.

        `roster` is the channel as it was before this message came; a name means who had it when it was sent.
        `parent_is_question` looks up, by message id, whether the message answered is a question; without it only the
        text tells answers from discussion.
        """
        text = message.text
        ids = mention_ids(text, message.mentions, roster.as_of(message.sent_at_ms))
        reply = _reply(message, ids, roster)
        asked = parent_is_question(reply.message_id) if reply and parent_is_question else None
        words, token_count = self.features(text)
        own = message.role is Role.ASSISTANT  # the caller's bot converses; other bots notify
        message_type = classify(
            text,
            is_reply=reply is not None,
            parent_is_question=asked,
            author_kind=AuthorKind.HUMAN if own else message.author.kind,
        )
        return Analysis(text, message_type, ids, words, token_count, reply)

    def analyze_text(self, text: str) -> tuple[str, ...]:
        """The keywords of a question, comparable with those of stored messages."""
        return keywords(text)


def is_addressed(
    analysis_mention_ids: Collection[str],
    reply_parent_author_id: str | None,
    self_ids: frozenset[str],
) -> bool:
    """Whether a message speaks to the bot: it mentions one of the bot's ids, or replies to its message."""
    return bool(
        (reply_parent_author_id and reply_parent_author_id in self_ids)
        or not self_ids.isdisjoint(analysis_mention_ids)
    )


def _reply(message: Message, ids: tuple[str, ...], roster: Roster) -> Reply | None:
    """The sender's edge; else one inferred to the newest message of the person mentioned first, marked inferred.

    An edge to nothing or to the message itself is no edge. Mentioning oneself infers none.
    """
    sent = message.reply
    if sent is not None and sent.message_id and sent.message_id != message.id:
        return sent
    if not ids or ids[0] == message.author.id:
        return None
    parent = roster.last_message_id(ids[0])
    if not parent or parent == message.id:
        return None
    return Reply(parent, ReplyKind.MENTION, inferred=True)
