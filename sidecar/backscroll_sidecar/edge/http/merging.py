"""The messages of a client's request, and those that the model gets in their place. Pure.

A client of OpenAI's API sends all of its history with every question. What the server knows of the channel takes its
place, or stands before it. The question, what the client says as system, and a tool loop behind the question stay as
they were sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from typing import Any, NamedTuple

SYSTEM_ROLES = ("system", "developer")
MOST_COMPARED = 500
"""So many of the newest messages on either side are looked through for what both have."""
_WORDS = {"image_url": "(image)", "input_audio": "(audio)", "file": "(file)"}
"""What stands in the history for parts that are no text."""

Sent = Mapping[str, Any]
"""One message as a client or our payload has it."""


class Merge(StrEnum):
    """What becomes of the history that the client sent."""

    REPLACE = "replace"
    PREPEND = "prepend"
    OFF = "off"


class Conversation(NamedTuple):
    """A client's messages by what they are.

    Attributes
    ----------
    system : all that are so before the question, in order.
    history : the others before the question.
    question : the last message of a user; None: there is none.
    tail : all behind the question, such as a tool loop.
    """

    system: Sequence[Sent]
    history: Sequence[Sent]
    question: Sent | None
    tail: Sequence[Sent]

    @property
    def question_text(self) -> str:
        """The question's text; words stand for what is none."""
        return "" if self.question is None else text_of(self.question)

    @property
    def question_words(self) -> str:
        """The same without words for what is none."""
        return "" if self.question is None else words_of(self.question)


def conversation_of(messages: Sequence[Sent]) -> Conversation:
    """Tell a request's messages apart."""
    places = [at for at, one in enumerate(messages) if one.get("role") == "user"]
    if not places:
        return Conversation(messages, (), None, ())
    asked = places[-1]
    before = messages[:asked]
    return Conversation(
        [one for one in before if one.get("role") in SYSTEM_ROLES],
        [one for one in before if one.get("role") not in SYSTEM_ROLES],
        messages[asked],
        messages[asked + 1 :],
    )


def words_of(message: Sent) -> str:
    """A message's text without words for what is none."""
    content = message.get("content")
    if not isinstance(content, list):
        return text_of(message)
    return "\n".join(str(part["text"]) for part in content if _is_text(part))


def text_of(message: Sent) -> str:
    """A message's text, part by part; words stand for what is none."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    return "\n".join(filter(None, map(_part_text, content)))


def merged(context: Sequence[Sent], client: Conversation, merge: Merge) -> list[Sent]:
    """What the model gets.

    Parameters
    ----------
    context : the messages of a built context, the question last.
    client : what the client sent, with a question.
    merge : what becomes of its history; with OFF nobody asks.
    """
    if client.question is None:
        raise AssertionError("nobody asks")
    known, asked = list(context[:-1]), context[-1:]
    kept: Sequence[Sent] = ()
    if merge is Merge.PREPEND:
        kept = client.history
        known = _without(known, kept)
    question = _asked(client.question, text_of(asked[0]) if asked else client.question_text)
    return [*client.system, *known, *kept, question, *client.tail]


def _asked(question: Sent, shown: str) -> Sent:
    """The client's question as it came, behind what the context says before it, such as who asks.

    Where the context has other words for it (marks of ours that somebody typed are escaped), it has those.
    """
    content, said = question.get("content"), text_of(question).strip()
    is_same = shown.endswith(said)
    before = shown[: len(shown) - len(said)] if is_same else ""
    if not isinstance(content, list):
        return {**question, "content": f"{before}{content}" if is_same else shown}
    if not is_same:
        others = [part for part in content if not _is_text(part)]
        return {**question, "content": [{"type": "text", "text": shown}, *others]}
    parts = list(content)
    at = next((at for at, part in enumerate(parts) if _is_text(part)), None)
    if before and at is None:
        parts.insert(0, {"type": "text", "text": before})
    elif before and at is not None:
        parts[at] = {**parts[at], "text": before + parts[at]["text"]}
    return {**question, "content": parts}


def _without(known: Sequence[Sent], sent: Sequence[Sent]) -> list[Sent]:
    """The lines of the context that the client did not send itself, by text, role and order.

    One that was said twice and sent once stays once.
    """
    early, ours = known[:-MOST_COMPARED], known[-MOST_COMPARED:]
    theirs = sent[-MOST_COMPARED:]
    texts = [(str(one.get("role")), _plain(text_of(one))) for one in theirs]
    keys = [_key(one, texts) for one in ours]
    matcher = SequenceMatcher(None, keys, texts, autojunk=False)
    twice = {
        at
        for block in matcher.get_matching_blocks()
        for at in range(block.a, block.a + block.size)
        if keys[at][1]
    }
    return [*early, *(one for at, one in enumerate(ours) if at not in twice)]


def _key(line: Sent, texts: Sequence[tuple[str, str]]) -> tuple[str, str]:
    """Role and text of a line of ours, which may name its speaker before it: as a client has sent it, if one did."""
    role, text = str(line.get("role")), _plain(text_of(line))
    if (role, text) in texts:
        return role, text
    for their_role, their_text in texts:
        if their_role == role and their_text and text.endswith(f": {their_text}"):
            return role, their_text
    return role, text


def _plain(text: str) -> str:
    return " ".join(text.split())


def _part_text(part: object) -> str:
    if not isinstance(part, dict):
        return ""
    if _is_text(part):
        return str(part["text"])
    return _WORDS.get(str(part.get("type")), "")


def _is_text(part: object) -> bool:
    return isinstance(part, dict) and isinstance(part.get("text"), str)
