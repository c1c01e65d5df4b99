"""Ids of turns and of the rows a turn writes, made from the turn's id so that a retry stores nothing twice.

A turn's id ends with a mark of what was asked. So the store keeps one answer to a question, and takes another one
where the question was edited or other words were asked about the same message.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Iterable

QUESTION = ":question"
REPLY = ":reply"
_QUESTION = re.compile(r"[0-9a-f]{32}:question")
_SAID = re.compile(r"[0-9a-f]{32}:(?:reply|calls:[0-9]+)")
_RANDOM_BYTES, _MARK_BYTES = 10, 6


def new_turn_id(asked: str) -> str:
    """An id for a turn that answers this text: 32 hex digits."""
    return secrets.token_hex(_RANDOM_BYTES) + mark_of(asked)


def mark_of(asked: str) -> str:
    """The mark of a text, white space aside: 12 hex digits."""
    words = " ".join(asked.split())
    return hashlib.blake2b(words.encode(), digest_size=_MARK_BYTES).hexdigest()


def asked_mark(made_id: str) -> str:
    """The mark of what was asked in a turn, from its id or one made of it."""
    return made_id[2 * _RANDOM_BYTES : 2 * (_RANDOM_BYTES + _MARK_BYTES)]


def question_id(turn_id: str) -> str:
    """The id of the question, where the caller names none."""
    return turn_id + QUESTION


def is_question(message_id: str) -> bool:
    """Whether a turn stored this as its question, under an id of its own."""
    return _QUESTION.fullmatch(message_id) is not None


def reply_id(turn_id: str) -> str:
    """The id of the whole reply."""
    return turn_id + REPLY


def partial_id(turn_id: str, attempt: str) -> str:
    """The id of a reply that broke off; each attempt has its own."""
    return f"{turn_id}:partial:{attempt}"


def calls_id(turn_id: str, iteration: int) -> str:
    """The id of the calls of model call `iteration`, and of the words with them."""
    return f"{turn_id}:calls:{iteration}"


def result_id(turn_id: str, iteration: int, place: int) -> str:
    """The id of the result of the call at `place`."""
    return f"{turn_id}:result:{iteration}:{place}"


def is_said(message_id: str) -> bool:
    """Whether a turn stored this as something the bot says to people: a whole reply, or words beside its calls."""
    return _SAID.fullmatch(message_id) is not None


def is_reply(message_id: str) -> bool:
    """Whether a turn stored this as its whole reply."""
    return is_said(message_id) and message_id.endswith(REPLY)


def answer_marks(message_ids: Iterable[str]) -> list[str]:
    """The marks of what a row with these ids is the whole reply to; none where no turn stored it."""
    return [asked_mark(one) for one in message_ids if is_reply(one)]


def turn_of(reply: str) -> str:
    """The turn whose whole reply this is."""
    return reply.removesuffix(REPLY)
