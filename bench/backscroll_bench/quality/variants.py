"""The same set with its clock or its naming changed: what a data set's making has put into them must not carry a
figure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace

from backscroll_bench.quality.data import ChatSet, Line, Question

_ADDRESS = re.compile(r"^\s*@?(\S{1,40}?)\s*[:,，：]\s*")


def paused(chats: ChatSet, pause_s: float) -> ChatSet:
    """Every question is asked `pause_s` seconds after the last line before it, and by somebody of the talk.

    Who asks a reply question wrote it and stays. Who asks about long ago is one of the two people who spoke last: the
    asker, where it is one of them; else each of the two in turn.
    """
    questions = []
    for number, question in enumerate(chats.questions):
        history = chats.groups[question.group_id][: question.heard]
        if not history:
            questions.append(question)
            continue
        asked_at = max(line.timestamp for line in history) + round(pause_s * 1000)
        line = replace(question.line, timestamp=asked_at)
        if question.task == "memory":
            line = _asked_by_one_of(_last_two(history), line, number)
        questions.append(replace(question, line=line))
    return replace(chats, questions=tuple(questions), note=noted(chats, f"pause {pause_s:g} s"))


def _last_two(history: Sequence[Line]) -> list[Line]:
    """The last line of each of the two people who spoke last, the last one first."""
    last: dict[str, Line] = {}
    for line in reversed(history):
        last.setdefault(line.user_id, line)
        if len(last) == 2:
            break
    return list(last.values())


def _asked_by_one_of(people: Sequence[Line], line: Line, number: int) -> Line:
    if line.user_id in {one.user_id for one in people}:
        return line
    asker = people[number % len(people)]
    return replace(line, user_id=asker.user_id, name=asker.name)


def fewer_names(chats: ChatSet, share: float) -> ChatSet:
    """Only this share of the messages that name somebody goes on naming: the others lose their mentions and the name
    that their text begins with (``ann: …``). Which ones is a hash of the message's id; questions are messages too.
    """
    names = {
        group: {line.name.casefold() for line in lines} for group, lines in chats.groups.items()
    }

    def changed(line: Line) -> Line:
        known = names[line.group_id]
        address = _ADDRESS.match(line.content)
        leads = address is not None and address[1].casefold() in known
        if not (line.mentions or leads) or draw(line.message_id) < share:
            return line
        text = line.content[address.end() :] if address is not None and leads else line.content
        return replace(line, mentions=(), content=text or line.content)

    def asked(question: Question) -> Question:
        return replace(question, line=changed(question.line))

    return replace(
        chats,
        groups={group: tuple(map(changed, lines)) for group, lines in chats.groups.items()},
        questions=tuple(map(asked, chats.questions)),
        note=noted(chats, f"{share:.0%} of the names"),
    )


def linked(chats: ChatSet) -> ChatSet:
    """The same, saying so where its lines have the reply links that a platform gives."""
    has_links = any(line.reply_to for lines in chats.groups.values() for line in lines)
    return replace(chats, note=noted(chats, "reply links given")) if has_links else chats


def draw(text: str) -> float:
    """A number in [0, 1) that only the text decides."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest()) / 2**48


def noted(chats: ChatSet, note: str) -> str:
    """What was changed in a set, with one change more."""
    return ", ".join(filter(None, (chats.note, note)))
