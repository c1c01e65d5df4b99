"""A turn of a bot and the lines around it, as `signals` reads them."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from backscroll_sidecar.domain import Author


@dataclass(frozen=True, slots=True)
class ChatLine:
    """A message as a follow-up sees it.

    `reply_to_id` is the message it answers, as the sender said; empty: none. `mention_ids` are user ids.
    """

    message_id: str
    author: Author
    text: str
    sent_at_ms: int
    reply_to_id: str = ""
    mention_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Turn:
    """A question, the bot's reply, and what the context had shown.

    Attributes
    ----------
    shown_ids : of the messages that the context showed, by any of their ids.
    earlier : lines before the question, oldest first, shown or not; only they can be found by a link or a quotation.
    people : others of the channel, besides the authors of the lines, who may be called by their names.
    """

    question: ChatLine
    reply: ChatLine
    shown_ids: AbstractSet[str] = field(default_factory=frozenset)
    earlier: Sequence[ChatLine] = ()
    people: Sequence[Author] = ()
