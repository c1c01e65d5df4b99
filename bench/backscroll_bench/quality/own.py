"""A chat of one's own as a set: every reply is a question, and what it replies to is what should be found.

The file is one that `backscroll import` takes. The server does not see the links, unless `explicit` gives it those of
the history; it never sees the question's own. The conversation of a question is the tree of replies it belongs to; as
most messages carry no link, its precision is not measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from backscroll import text_of
from backscroll.v1 import message_pb2
from backscroll_bench.quality.data import EVERYTHING, WINDOW, ChatSet, Line, Question
from backscroll_bench.quality.rows import DataError
from backscroll_sidecar.importers.items import NotUnderstood, Options, Unreadable
from backscroll_sidecar.importers.sources import opened
from backscroll_sidecar.importers.survey import messages, survey


@dataclass(frozen=True, slots=True)
class Own:
    """A chat of one's own, and what of the file is not in it."""

    chats: ChatSet
    bad_lines: Sequence[tuple[str, int, str]]
    without_text: int


def read_own(
    path: Path, *, explicit: bool = False, groups: slice = EVERYTHING, every: int = 1
) -> Own:
    """Read a chat log and make its replies the questions. Lines that are no messages are passed over and told.

    Raises
    ------
    DataError
        If the file cannot be read, or holds no reply to an earlier message of its channel.
    """
    options = Options(links=True)
    try:
        with opened([str(path)]) as sources:
            found = survey(sources, options)
            said = (one for one in messages(found, options) if isinstance(one, message_pb2.Message))
            lines = [_line(one) for one in said]
    except (OSError, NotUnderstood, Unreadable) as error:
        raise DataError(path, 0, "", f"cannot be read: {error}") from None
    chats = _by_group(line for line in lines if line.content.strip())
    kept = {name: tuple(chats[name]) for name in list(chats)[groups]}
    asked = [question for group in kept.values() for question in _questions(group)][::every]
    if not asked:
        raise DataError(path, 0, "reply_to", "no message replies to an earlier one of its channel")
    shown = kept if explicit else {name: _unlinked(group) for name, group in kept.items()}
    name = path.name.partition(".")[0]
    return Own(
        ChatSet(name, shown, tuple(asked)),
        [(file, place.number, why) for file, place, why in found.bad],
        sum(not line.content.strip() for line in lines),
    )


def _by_group(lines: Iterable[Line]) -> dict[str, list[Line]]:
    """The lines of each channel in the order of time; a message that stands there twice counts once."""
    found: dict[str, dict[str, Line]] = {}
    for line in lines:
        found.setdefault(line.group_id, {}).setdefault(line.message_id, line)
    return {
        group: sorted(known.values(), key=lambda line: line.timestamp)
        for group, known in found.items()
    }


def _questions(lines: Sequence[Line]) -> list[Question]:
    position = {line.message_id: at for at, line in enumerate(lines)}
    root: dict[str, str] = {}
    questions = []
    for at, line in enumerate(lines):
        parent = line.reply_to
        root[line.message_id] = line.message_id
        if parent is None or position.get(parent, at) >= at:
            continue
        root[line.message_id] = root[parent]
        first = max(0, at - WINDOW)
        tree = {
            other.message_id for other in lines[first:at] if root[other.message_id] == root[parent]
        }
        questions.append(
            Question(
                line.message_id, "reply", replace(line, reply_to=None), at, frozenset({parent}),
                conversation=frozenset(tree) or None, judged_from=at,
            )
        )  # fmt: skip
    return questions


def _unlinked(lines: Sequence[Line]) -> tuple[Line, ...]:
    return tuple(replace(line, reply_to=None) for line in lines)


def _line(message: message_pb2.Message) -> Line:
    return Line(
        message.id, message.channel, message.author.id, message.author.name or message.author.id,
        text_of(message), message.sent_at_ms,
        tuple((one.user_id, one.name) for one in message.mentions),
        message.reply.message_id or None,
    )  # fmt: skip
