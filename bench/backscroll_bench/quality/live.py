"""Memory questions as a bot lives them: in the middle of a talk with it, which stands in the channel.

Each question gets a channel of its own: the set's lines, and a day after the last one the talk that led to the
question, a line every 15 s. Asker and bot take turns; the question is the last line, stored once, as any line is. The
bot asks 10 s later, as bots do: by the id of that line, with its own user id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from backscroll_bench.quality.data import SELF_ID, SELF_NAME, ChatSet, Line, Question
from backscroll_bench.quality.rows import DataError
from backscroll_bench.quality.variants import draw, noted

SILENCE_MS, BETWEEN_LINES_MS, ASKED_AFTER_MS = 86_400_000, 15_000, 10_000


def lived(chats: ChatSet, *, shuffled: bool = False) -> ChatSet:
    """Every question behind the talk that led to it, in a channel of its own.

    `shuffled` is the control: half the lines of each talk are replaced by those of other askers and the bot's answers
    to them, from the questions that follow. Whoever gains by the talk as the asker's own must lose by that.

    Raises
    ------
    DataError
        If a question has no talk, or one that does not end with it; `shuffled`, if others' talks have too few lines.
    """
    talks = [_talk(chats, question) for question in chats.questions]
    groups, questions = {}, []
    for number, question in enumerate(chats.questions):
        talk = _shuffled(chats, talks, number) if shuffled else talks[number]
        history = chats.groups[question.group_id]
        group = f"{question.group_id}/{number}"
        begin_ms = max(line.timestamp for line in history) + SILENCE_MS
        said = [
            replace(
                line,
                message_id=f"{question.question_id}/talk/{at}",
                timestamp=begin_ms + at * BETWEEN_LINES_MS,
            )
            for at, line in enumerate([*talk, question.line])
        ]
        groups[group] = tuple(replace(line, group_id=group) for line in (*history, *said))
        last = groups[group][-1]
        asked = replace(last, timestamp=last.timestamp + ASKED_AFTER_MS)
        cut = len(groups[group]) - 1
        questions.append(replace(question, line=asked, cut=cut, live=True))
    note = "live, talk shuffled" if shuffled else "live"
    return replace(chats, groups=groups, questions=tuple(questions), note=noted(chats, note))


def _talk(chats: ChatSet, question: Question) -> list[Line]:
    """The lines before the question: the last one is the bot's, the one before the asker's, and so on."""
    said, content = question.dialogue_so_far.rstrip(), question.line.content.rstrip()
    name = question.question_id
    if not said:
        raise DataError(chats.name, 0, "dialogue_so_far", f"question {name} has none")
    if not said.endswith(content):
        raise DataError(
            chats.name, 0, "dialogue_so_far", f"that of {name} does not end with content"
        )
    before = [text for text in said.removesuffix(content).split("\n") if text.strip()]
    asker = replace(question.line, mentions=(), reply_to=None)
    bot = replace(asker, user_id=SELF_ID, name=SELF_NAME, by_bot=True)
    ends_with_bot = (bot, asker)
    return [
        replace(ends_with_bot[back % 2], content=text) for back, text in enumerate(reversed(before))
    ][::-1]


def _shuffled(chats: ChatSet, talks: Sequence[Sequence[Line]], number: int) -> list[Line]:
    """The talk of a question with half of its lines, drawn, by those who spoke in other askers' talks."""
    question, talk = chats.questions[number], list(talks[number])
    drawn = sorted(range(len(talk)), key=lambda at: draw(f"{question.question_id}/{at}"))
    others = {by_bot: _others(chats, talks, number, by_bot=by_bot) for by_bot in (False, True)}
    for at in sorted(drawn[: -(-len(talk) // 2)]):
        other = next(others[talk[at].by_bot], None)
        if other is None:
            raise DataError(chats.name, 0, "dialogue_so_far", "too little talk of other askers")
        talk[at] = other
    return talk


def _others(
    chats: ChatSet, talks: Sequence[Sequence[Line]], number: int, *, by_bot: bool
) -> Iterator[Line]:
    """What other askers said, or the bot to them, in the questions that follow; behind the last comes the first."""
    count = len(talks)
    for other in (at % count for at in range(number + 1, number + count)):
        if chats.questions[other].line.user_id != chats.questions[number].line.user_id:
            yield from (line for line in talks[other] if line.by_bot == by_bot)
