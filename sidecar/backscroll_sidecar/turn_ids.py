"""Ids of the rows that a turn of StreamChat or Chat writes: made of its own, so that a retry stores nothing twice."""

from __future__ import annotations

import re

QUESTION = ":question"
REPLY = ":reply"
_QUESTION = re.compile(r"[0-9a-f]{32}:question")
_SAID = re.compile(r"[0-9a-f]{32}:(?:reply|calls:[0-9]+)")


def question_id(turn_id: str) -> str:
    """Of the question, where the caller names none."""
    return turn_id + QUESTION


def is_question(message_id: str) -> bool:
    """Whether a turn stored this as its question, under an id of its own."""
    return _QUESTION.fullmatch(message_id) is not None


def reply_id(turn_id: str) -> str:
    """Of the whole reply: a turn has one."""
    return turn_id + REPLY


def partial_id(turn_id: str, attempt: str) -> str:
    """Of a reply that broke off: the round may be tried again, and each attempt has an id of its own."""
    return f"{turn_id}:partial:{attempt}"


def calls_id(turn_id: str, iteration: int) -> str:
    """Of what the model asked for in model call `iteration`, and of what it said with it."""
    return f"{turn_id}:calls:{iteration}"


def result_id(turn_id: str, iteration: int, place: int) -> str:
    """Of the result of the call at `place`."""
    return f"{turn_id}:result:{iteration}:{place}"


def is_said(message_id: str) -> bool:
    """Whether a turn stored this as something the bot says to people: a whole reply, or words beside its calls."""
    return _SAID.fullmatch(message_id) is not None


def is_reply(message_id: str) -> bool:
    """Whether a turn stored this as its whole reply."""
    return is_said(message_id) and message_id.endswith(REPLY)


def turn_of(reply: str) -> str:
    """The turn whose whole reply this is."""
    return reply.removesuffix(REPLY)
