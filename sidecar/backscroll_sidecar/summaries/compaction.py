"""What is summarised together, when, and what came of it, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from backscroll_sidecar.domain import ChannelKey, Message
from backscroll_sidecar.summaries.progress import NEXT_SHARE
from backscroll_sidecar.summaries.summary import Summary

KEPT_MESSAGES = 20
"""The newest so many are never summarised, unless somebody asks for less."""


@dataclass(frozen=True, slots=True)
class CompactionSettings:
    """How conversations are compacted.

    Attributes
    ----------
    is_automatic : begin by itself once a threshold is reached.
    threshold_tokens, threshold_messages : of what stands behind the summary.
    keep_tokens, keep_messages : of the newest part that stays as it is, at least so much.
    must_gain : it must make the conversation shorter by so much that it pays (`progress`); else only not longer.
    """

    is_automatic: bool = False
    threshold_tokens: int = 10_000
    threshold_messages: int = 400
    keep_tokens: int = 4_000
    keep_messages: int = KEPT_MESSAGES
    must_gain: bool = True

    def counted(self, tokens: int) -> float:
        """What a message counts towards the threshold: one alone, however large, is no reason to compact twice."""
        return min(tokens, NEXT_SHARE * self.threshold_tokens)


class Outcome(StrEnum):
    """What became of a compaction."""

    COMPACTED = "compacted"
    NOTHING_TO_DO = "nothing_to_do"
    NO_PROGRESS = "no_progress"


class Compaction(NamedTuple):
    """What a compaction came to. `summary` is the one that holds now, `first_kept_id` the first message behind it."""

    outcome: Outcome
    summary: Summary | None
    first_kept_id: str = ""
    tokens_before: int = 0
    tokens_after: int = 0
    largest_id: str = ""
    model_failure: str = ""


class Missing(NamedTuple):
    """What must still come before a compaction is due: tokens, or messages."""

    tokens: float
    messages: float

    @property
    def is_due(self) -> bool:
        """Whether enough has come."""
        return self.tokens <= 0 or self.messages <= 0


class Conversation(NamedTuple):
    """What is summarised together: a channel, one thread of it, or what a session of it sees."""

    key: ChannelKey
    thread_id: str = ""
    session_id: str = ""

    @property
    def owner(self) -> str:
        """Whose its summaries are among the records of the channel. No id holds U+0000."""
        return f"\0{self.session_id}" if self.session_id else self.thread_id

    def holds(self, message: Message) -> bool:
        """Whether a message is part of it: what is not for everybody is of none."""
        if message.audience or (self.thread_id and message.thread_id != self.thread_id):
            return False
        return not self.session_id or message.session_id in ("", self.session_id)
