"""A quiz: questions one by one, points for whoever answers first. People and personas play side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.sessions.modes.base import (
    Action,
    ActionRefused,
    Announcement,
    MemoryLine,
    Outcome,
    Table,
    Traits,
    Unaddressed,
    Waiting,
)
from backscroll_sidecar.sessions.modes.moves import join, read_move, shown_name, shown_names
from backscroll_sidecar.sessions.modes.quiz_answers import plain, says_answer
from backscroll_sidecar.sessions.modes.quiz_texts import (
    ANSWER,
    END,
    NAMES_BY_WORD,
    PROMPTS,
    SKIP,
    START,
    texts_of,
)
from backscroll_sidecar.texts import Language

MAX_QUESTIONS = 200
MAX_POINTS = 1_000_000


class Question(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question, every answer that is right, the one to be told first, and what it is worth."""

    text: str
    answers: tuple[str, ...]
    points: int = 1


class QuizConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a quiz is set up.

    Attributes
    ----------
    questions : from 1 to 200.
    host : the id of whoever knows the answers and may skip a question; empty: nobody.
    contestants : ids of who may answer; none: everybody at the table but the host, whoever comes later too.
    attempts : how often a person may answer one question; 0: as often as it likes. A persona may once.
    """

    questions: tuple[Question, ...] = ()
    host: str = ""
    contestants: tuple[str, ...] = ()
    attempts: int = 0


class QuizState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A quiz.

    Attributes
    ----------
    phase : "lobby", "asking" or "over".
    index : of the current question, from 0; once it is over, of the one that was asked last.
    scores : points by id, of those who have any.
    attempts : wrong answers to the current question by id, of those whose attempts are counted.
    answered_by : who answered each question that is done; empty: nobody.
    winners : ids of those with most points, in the order of the seats.
    """

    phase: Literal["lobby", "asking", "over"] = "lobby"
    index: int = 0
    scores: dict[str, int] = {}
    attempts: dict[str, int] = {}
    answered_by: tuple[str, ...] = ()
    winners: tuple[str, ...] = ()


class Quiz:
    """The mode of that name; see `Mode`."""

    name = "quiz"
    traits = Traits(
        unaddressed=Unaddressed.NOBODY,
        heeds_mentions=True,
        in_parallel=True,
        is_serial=True,
        window_messages=20,
        most_steps=32,
    )
    config_type = QuizConfig
    state_type = QuizState
    prompts: Mapping[Language, str] = PROMPTS

    def begin(self, config: QuizConfig, table: Table, seed: int) -> QuizState:
        _check_questions(config, table)
        _check_people(config, table)
        return QuizState()

    def check(self, config: QuizConfig, state: QuizState, table: Table) -> None:
        _check_questions(config, table)
        if state.phase == "lobby":
            if state != QuizState():
                raise ActionRefused("a quiz that has not begun has no more than its phase")
        elif not 0 <= state.index < len(config.questions):
            raise ActionRefused(f"index is of no question: {state.index}", "mode_state")
        if len(state.answered_by) > len(config.questions):
            raise ActionRefused("answered_by has more than there are questions", "mode_state")
        if min((*state.scores.values(), *state.attempts.values()), default=0) < 0:
            raise ActionRefused("scores and attempts are not less than 0", "mode_state")

    def waits_for(self, config: QuizConfig, state: QuizState, table: Table) -> Waiting:
        """The personas that have not tried this question; people answer when they like."""
        if state.phase != "asking":
            return Waiting()
        personas = {one.id for one in table.seats if one.is_persona}
        return Waiting(
            tuple(
                one
                for one in contestants_of(config, table)
                if one in personas and _attempts_left(config, state, table, one)
            ),
            in_parallel=True,
        )

    def read_action(
        self, config: QuizConfig, state: QuizState, table: Table, sender_id: str, text: str
    ) -> Action | None:
        found = read_move(text, NAMES_BY_WORD)
        if found:
            return Action(found[0], sender_id, found[1])
        if state.phase == "asking" and sender_id in contestants_of(config, table):
            return Action(ANSWER, sender_id, text)
        return None

    def apply(self, config: QuizConfig, state: QuizState, table: Table, action: Action) -> Outcome:
        texts = texts_of(table.language)
        move = _MOVES.get(action.name)
        if move is None:
            moves = join(table.language, (f"/{one}" for one in (START, SKIP, END)))
            raise ActionRefused(texts.unknown_move.format(moves=moves))
        if state.phase == "over":
            raise ActionRefused(texts.over_refused)
        return move(config, state, table, action)

    def audience_of(
        self,
        config: QuizConfig,
        state: QuizState,
        table: Table,
        sender_id: str,
    ) -> Sequence[str]:
        return ()

    def memory(self, config: QuizConfig, state: QuizState, table: Table) -> Sequence[MemoryLine]:
        texts = texts_of(table.language)
        if state.phase == "lobby":
            return (MemoryLine("phase", texts.lobby_line),)
        scores = tuple(MemoryLine("scores", line) for line in _score_lines(config, state, table))
        if state.phase == "over":
            won = MemoryLine("winners", _winner_line(state, table))
            return (MemoryLine("phase", texts.over_line), won, *scores)
        question = config.questions[state.index]
        number, count = state.index + 1, len(config.questions)
        text = texts.question_line.format(number=number, count=count, text=question.text)
        lines = [MemoryLine("index", text), *scores]
        if config.host:
            answers = texts.answers_line.format(answers=join(table.language, question.answers))
            lines += (
                MemoryLine("phase", texts.host_line, (config.host,)),
                MemoryLine("index", answers, (config.host,)),
            )
        awaited = self.waits_for(config, state, table).ids
        return (*lines, *(MemoryLine("phase", texts.to_do, (one,)) for one in awaited))

    def task_begins_with(self, state: QuizState) -> str | None:
        """Each message stands for itself."""
        return None

    def stage(self, state: QuizState) -> str:
        return f"{state.phase}:{state.index}"

    def is_over(self, state: QuizState) -> bool:
        return state.phase == "over"


def contestants_of(config: QuizConfig, table: Table) -> tuple[str, ...]:
    """Who may answer, in the order of the seats."""
    chosen = frozenset(config.contestants)
    return tuple(
        one.id for one in table.seats if (one.id in chosen if chosen else one.id != config.host)
    )


def _start(config: QuizConfig, state: QuizState, table: Table, action: Action) -> Outcome:
    texts = texts_of(table.language)
    if state.phase != "lobby":
        raise ActionRefused(texts.started_refused)
    contestants = contestants_of(config, table)
    if action.actor_id and action.actor_id not in (*contestants, config.host):
        raise ActionRefused(texts.not_in_quiz, "actor_id")
    if not contestants:
        raise ActionRefused(texts.no_contestants)
    return Outcome(replace(state, phase="asking"), (_asked(config, 0, table),), "started")


def _answer(config: QuizConfig, state: QuizState, table: Table, action: Action) -> Outcome:
    _check_asking(state, table)
    texts, actor = texts_of(table.language), action.actor_id
    contestants = contestants_of(config, table)
    if actor not in contestants:
        names = shown_names(table, contestants)
        raise ActionRefused(texts.not_contestant.format(names=names), "actor_id")
    if not _attempts_left(config, state, table, actor):
        raise ActionRefused(texts.no_attempt, "actor_id")
    question = config.questions[state.index]
    if says_answer(action.argument, question.answers):
        scores = state.scores | {actor: state.scores.get(actor, 0) + question.points}
        text = texts.solved.format(
            name=shown_name(table, actor), answer=question.answers[0], points=question.points
        )
        state = replace(state, scores=scores)
        return _next(config, state, table, actor, (Announcement(text),), "answered")
    if not _is_counted(config, table, actor):
        return Outcome(state, (), "wrong")
    attempts = state.attempts | {actor: state.attempts.get(actor, 0) + 1}
    state = replace(state, attempts=attempts)
    if any(_attempts_left(config, state, table, one) for one in contestants):
        return Outcome(state, (), "wrong")
    told = texts.answer_told.format(answer=question.answers[0])
    said = (Announcement(texts.unsolved), Announcement(told))
    return _next(config, state, table, "", said, "unsolved")


def _skip(config: QuizConfig, state: QuizState, table: Table, action: Action) -> Outcome:
    _check_host(config, table, action)
    _check_asking(state, table)
    answer = config.questions[state.index].answers[0]
    text = texts_of(table.language).answer_told.format(answer=answer)
    return _next(config, state, table, "", (Announcement(text),), "skipped")


def _end(config: QuizConfig, state: QuizState, table: Table, action: Action) -> Outcome:
    _check_host(config, table, action)
    return _over(config, state, table, ())


def _next(
    config: QuizConfig,
    state: QuizState,
    table: Table,
    answered_by: str,
    said: tuple[Announcement, ...],
    event: str,
) -> Outcome:
    """The next question, or the end."""
    state = replace(state, attempts={}, answered_by=(*state.answered_by, answered_by))
    if state.index + 1 == len(config.questions):
        return _over(config, state, table, said)
    state = replace(state, index=state.index + 1)
    return Outcome(state, (*said, _asked(config, state.index, table)), event)


def _over(
    config: QuizConfig, state: QuizState, table: Table, said: tuple[Announcement, ...]
) -> Outcome:
    """The end: those with most points win, if any has points."""
    most = max(state.scores.values(), default=0)
    ranked = _ranked(config, state, table)
    winners = tuple(one for one in ranked if most and state.scores.get(one) == most)
    state = replace(state, phase="over", attempts={}, winners=winners)
    texts = texts_of(table.language)
    lines = _score_lines(config, state, table)
    text = "\n".join((texts.over, _winner_line(state, table), texts.scores, *lines))
    return Outcome(state, (*said, Announcement(text)), "ended")


def _asked(config: QuizConfig, index: int, table: Table) -> Announcement:
    question = config.questions[index]
    text = texts_of(table.language).question
    return Announcement(
        text.format(
            number=index + 1,
            count=len(config.questions),
            points=question.points,
            text=question.text,
        )
    )


def _ranked(config: QuizConfig, state: QuizState, table: Table) -> list[str]:
    """Contestants, and others with points, the most points first; equal ones in the order of the seats."""
    ids = dict.fromkeys((*contestants_of(config, table), *sorted(state.scores)))
    return sorted(ids, key=lambda one: -state.scores.get(one, 0))


def _score_lines(config: QuizConfig, state: QuizState, table: Table) -> Iterator[str]:
    text = texts_of(table.language).score
    for one in _ranked(config, state, table):
        yield text.format(name=shown_name(table, one), score=state.scores.get(one, 0))


def _winner_line(state: QuizState, table: Table) -> str:
    texts = texts_of(table.language)
    if not state.winners:
        return texts.nobody_won
    return texts.won.format(names=shown_names(table, state.winners))


def _is_counted(config: QuizConfig, table: Table, seat_id: str) -> bool:
    """Whether somebody's attempts are counted."""
    return config.attempts > 0 or any(one.id == seat_id and one.is_persona for one in table.seats)


def _attempts_left(config: QuizConfig, state: QuizState, table: Table, seat_id: str) -> bool:
    """Whether somebody may answer the current question."""
    is_persona = any(one.id == seat_id and one.is_persona for one in table.seats)
    most = 1 if is_persona else config.attempts
    return not most or state.attempts.get(seat_id, 0) < most


def _check_asking(state: QuizState, table: Table) -> None:
    if state.phase != "asking":
        raise ActionRefused(texts_of(table.language).lobby_refused)


def _check_host(config: QuizConfig, table: Table, action: Action) -> None:
    if action.actor_id and action.actor_id != config.host:
        raise ActionRefused(texts_of(table.language).host_only, "actor_id")


def _check_questions(config: QuizConfig, table: Table) -> None:
    texts, count = texts_of(table.language), len(config.questions)
    if not 1 <= count <= MAX_QUESTIONS:
        raise _misfit("questions", texts.question_count.format(most=MAX_QUESTIONS, count=count))
    for number, one in enumerate(config.questions, 1):
        if not one.text.strip():
            raise _misfit("questions", texts.empty_question.format(number=number))
        if not one.answers:
            raise _misfit("questions", texts.no_answers.format(number=number))
        for answer in one.answers:
            if not plain(answer).text:
                text = texts.empty_answer.format(number=number, answer=answer)
                raise _misfit("questions", text)
        if not 0 <= one.points <= MAX_POINTS:
            raise _misfit("questions", texts.points_range.format(number=number, most=MAX_POINTS))


def _check_people(config: QuizConfig, table: Table) -> None:
    texts = texts_of(table.language)
    ids = join(table.language, (one.id for one in table.seats))
    if config.host and not table.has(config.host):
        raise _misfit("host", texts.unknown_id.format(id=config.host, ids=ids))
    for index, one in enumerate(config.contestants):
        if not table.has(one):
            raise _misfit("contestants", texts.unknown_id.format(id=one, ids=ids))
        if one == config.host:
            raise _misfit("contestants", texts.host_contests.format(id=one))
        if one in config.contestants[:index]:
            raise _misfit("contestants", texts.twice.format(id=one))
    if config.attempts < 0:
        raise _misfit("attempts", texts.negative_attempts)


def _misfit(field: str, message: str) -> ActionRefused:
    return ActionRefused(message, f"role_config.{field}")


_MOVES: Mapping[str, Callable[[QuizConfig, QuizState, Table, Action], Outcome]] = {
    START: _start,
    ANSWER: _answer,
    SKIP: _skip,
    END: _end,
}
