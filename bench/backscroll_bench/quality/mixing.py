"""Two crowds in one room: the lines of another channel among those of each channel.

The other channel's clock is moved and stretched to the time of the first. Its messages and people get ids of their own
and keep their names. The questions are those of the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from heapq import merge
from itertools import accumulate
from operator import itemgetter

from backscroll_bench.quality.data import WINDOW, ChatSet, Line, Question
from backscroll_bench.quality.rows import DataError
from backscroll_bench.quality.variants import noted

PREFIX = "mixed-in/"
"""Before the ids of the other channel, so that none is one of the first's."""


def mixed(chats: ChatSet, other: ChatSet | None) -> ChatSet:
    """Each channel with one of `other` mixed in: with the i-th the i-th, from the start again where there are fewer.

    Without another set it is the next one of `chats`, and with the last one the first.

    Raises
    ------
    DataError
        If there is no other set, and `chats` has one channel only.
    """
    if other is None:
        _, *guests = rooms = list(chats.groups.values())
        if not guests:
            raise DataError(chats.name, 0, "", "has one channel only, none to mix in")
        guests.append(rooms[0])
        note = "next channel mixed in"
    else:
        guests = list(other.groups.values())
        note = f"{other.name} mixed in"
    groups = {
        group: _interleaved(lines, guests[at % len(guests)])
        for at, (group, lines) in enumerate(chats.groups.items())
    }
    places = {
        group: {line.message_id: at for at, line in enumerate(lines)}
        for group, lines in groups.items()
    }
    questions = tuple(
        _moved(one, chats.groups[one.group_id], groups[one.group_id], places[one.group_id])
        for one in chats.questions
    )
    return replace(chats, groups=groups, questions=questions, note=noted(chats, note))


def _interleaved(lines: Sequence[Line], guests: Sequence[Line]) -> tuple[Line, ...]:
    """Both in the order of one clock, each in its own order; of equal times the guest's line comes 1 ms later."""
    clock, theirs = _clock(lines), _clock(guests)
    first, span = clock[0], clock[-1] - clock[0]
    stretch = span / max(1, theirs[-1] - theirs[0])
    moved = (first + round((time - theirs[0]) * stretch) for time in theirs)
    ours = zip(clock, lines, strict=True)
    renamed = zip(moved, (_guest(one, lines[0].group_id) for one in guests), strict=True)
    both = list(merge(ours, renamed, key=itemgetter(0)))
    times = accumulate((time for time, _ in both), lambda before, time: max(time, before + 1))
    return tuple(replace(line, timestamp=time) for time, (_, line) in zip(times, both, strict=True))


def _clock(lines: Sequence[Line]) -> list[int]:
    """The lines' times in ms, never falling: their order is that in which they were said."""
    return list(accumulate((line.timestamp for line in lines), max))


def _guest(line: Line, group: str) -> Line:
    return replace(
        line,
        message_id=PREFIX + line.message_id,
        group_id=group,
        user_id=PREFIX + line.user_id,
        mentions=tuple((PREFIX + user_id, name) for user_id, name in line.mentions),
        reply_to=PREFIX + line.reply_to if line.reply_to else None,
    )


def _moved(
    question: Question, lines: Sequence[Line], room: Sequence[Line], place: dict[str, int]
) -> Question:
    """The question at its place in the room; of its conversation what is among the last messages there, too."""
    if question.task == "memory":
        asked_at = max(question.line.timestamp, room[-1].timestamp + 1)
        return replace(question, line=replace(question.line, timestamp=asked_at), cut=len(room))
    cut = place[question.line.message_id]
    near = {line.message_id for line in room[max(0, cut - WINDOW) : cut]}
    return replace(
        question,
        line=replace(question.line, timestamp=room[cut].timestamp),
        cut=cut,
        conversation=(question.conversation or frozenset()) & near or None,
        judged_from=place[lines[question.judged_from].message_id],
    )
