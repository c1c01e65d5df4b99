"""Chats with marked answers, in one uniform form: a file of messages and a file of questions, JSON Lines, plain or
gzip.

Messages: ``message_id, group_id, user_id, name, content, timestamp`` (ms since the epoch), ``mentions`` (names) and,
where the platform would have known it, ``explicit_reply_to``. A group's messages stand in the order they were said.

Questions of ``task: reply`` are messages of the chat: ``query_id, group_id, message_id, gold`` (ids of what it
answers), ``conversation`` (ids of its conversation among the 100 messages before it; null: not annotated),
``judged_from`` (id of the first annotated message; absent: the group's first). Questions of ``task: memory`` are
asked after a group's last message: ``query_id, group_id, user_id, name, content, timestamp, gold`` (ids of the
evidence), ``any_gold`` (one of them is enough), ``category``. The category ``adversarial``, questions about what was
never said, is left out. ``dialogue_so_far`` is the talk with a bot that leads to the question, a line each: asker and
bot alternate, and it ends with ``content``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias

from backscroll_bench.quality.about import About, read_about
from backscroll_bench.quality.rows import DataError, Row, read_rows

Task: TypeAlias = Literal["reply", "memory"]
UNANSWERABLE = "adversarial"
ENDINGS = (".jsonl", ".jsonl.gz")
LEAST_MILLISECONDS = 10_000_000_000
"""April 1970: what is less are seconds by mistake, and the client refuses it."""
SELF_ID, SELF_NAME = "backscroll-quality-bot", "Bot"
"""The bot's own user id in a talk; `SELF_NAME` is its name."""
WINDOW = 100
"""How many messages before a question its conversation is looked for among."""
EVERYTHING = slice(None)


@dataclass(frozen=True, slots=True)
class Line:
    """One message as a server may see it. `mentions` holds a user id and a name each; `timestamp` is in ms."""

    message_id: str
    group_id: str
    user_id: str
    name: str
    content: str
    timestamp: int
    mentions: tuple[tuple[str, str], ...] = ()
    reply_to: str | None = None
    by_bot: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """One question and what should be found for it.

    `line` is what is asked; the history are the first `cut` messages of its group. `judged_from` is the position of
    the first annotated message. `dialogue_so_far`: the talk with a bot that ends with the question, a line each; empty:
    not told. `live`: asked as bots ask: the question itself is stored behind its history, the request names it.
    """

    question_id: str
    task: Task
    line: Line
    cut: int
    gold: frozenset[str]
    conversation: frozenset[str] | None = None
    judged_from: int = 0
    any_gold: bool = False
    dialogue_so_far: str = ""
    live: bool = False

    @property
    def heard(self) -> int:
        """How many messages of its group are stored when it is asked."""
        return self.cut + self.live

    @property
    def group_id(self) -> str:
        """The group it is asked in."""
        return self.line.group_id


@dataclass(frozen=True)
class ChatSet:
    """A named set: each group's messages in order, and questions of one task."""

    name: str
    groups: Mapping[str, tuple[Line, ...]]
    questions: tuple[Question, ...]
    note: str = field(default="", compare=False)
    about: About = field(default=About(), compare=False)

    @property
    def task(self) -> Task:
        """The task of all its questions."""
        return self.questions[0].task

    @property
    def message_count(self) -> int:
        """Messages of all groups."""
        return sum(map(len, self.groups.values()))

    @cached_property
    def by_group(self) -> Mapping[str, Sequence[Question]]:
        """The questions of each group that has some, in the order in which they can be asked."""
        found: dict[str, list[Question]] = {}
        for question in sorted(self.questions, key=lambda one: one.cut):
            found.setdefault(question.group_id, []).append(question)
        return {group: found[group] for group in self.groups if group in found}


def find_set(name: str) -> tuple[str, Path, Path]:
    """The name and the two files of a set.

    `name` is ``FOLDER/SET``, for ``FOLDER/SET.messages.jsonl[.gz]`` and ``FOLDER/SET.queries.jsonl[.gz]``; or the
    file of messages itself; or ``MESSAGES,QUERIES``: two files.
    """
    first, comma, second = name.partition(",")
    if comma:
        pair = Path(first), Path(second)
        for path in pair:
            if not path.is_file():
                raise DataError(path, 0, "", "there is no such file")
        return pair[0].name.partition(".")[0], *pair
    stem = name
    for ending in ENDINGS:
        stem = stem.removesuffix(f".messages{ending}")
    return Path(stem).name, _one_of(stem, "messages"), _one_of(stem, "queries")


def _one_of(stem: str, kind: str) -> Path:
    for ending in ENDINGS:
        path = Path(f"{stem}.{kind}{ending}")
        if path.is_file():
            return path
    raise DataError(f"{stem}.{kind}.jsonl.gz", 0, "", "there is no such file")


def read_set(
    name: str,
    messages: Path,
    queries: Path,
    *,
    explicit: bool = False,
    groups: slice = EVERYTHING,
    every: int = 1,
) -> ChatSet:
    """Read a set. `explicit` gives the reply links a platform would have known; `groups` says which groups are kept, in
    the order of the file, `every` keeps each n-th question of those.

    Raises
    ------
    DataError
        Names file, line and field of the first thing that is wrong.
    """
    chats = _read_messages(messages, explicit)
    kept = dict(list(chats.items())[groups])
    found = _read_questions(queries, chats, kept)[::every]
    questions = tuple(one for category, one in found if category != UNANSWERABLE)
    if not questions:
        raise DataError(queries, 0, "", "holds no questions for the groups that are kept")
    if len({one.task for one in questions}) > 1:
        raise DataError(queries, 0, "task", "a set has questions of one task only")
    return ChatSet(name, kept, questions, about=read_about(messages))


def _read_messages(path: Path, explicit: bool) -> dict[str, tuple[Line, ...]]:
    found: dict[str, list[Line]] = {}
    seen: set[str] = set()
    for row in read_rows(path):
        line = _line(row, row.text("message_id"), explicit)
        if line.message_id in seen:
            raise row.error("message_id", f"{line.message_id} stands here a second time")
        seen.add(line.message_id)
        found.setdefault(line.group_id, []).append(line)
    if not found:
        raise DataError(path, 0, "", "holds no messages")
    return {group: _with_ids(lines) for group, lines in found.items()}


def _with_ids(lines: Sequence[Line]) -> tuple[Line, ...]:
    """The lines with names in mentions turned into user ids; a name that two people had stands for itself."""
    people = {(line.name, line.user_id) for line in lines}
    owners = Counter(name for name, _ in people)
    ids = {name: user_id for name, user_id in people if owners[name] == 1}
    return tuple(
        replace(line, mentions=tuple((ids.get(name, name), name) for _, name in line.mentions))
        for line in lines
    )


def _read_questions(
    path: Path, chats: Mapping[str, Sequence[Line]], kept: Mapping[str, Sequence[Line]]
) -> list[tuple[str, Question]]:
    """Each question with its category; those of groups that are not kept are left out."""
    positions = {
        group: {line.message_id: at for at, line in enumerate(lines)}
        for group, lines in chats.items()
    }
    found = []
    for row in read_rows(path):
        group = row.text("group_id")
        if group not in chats:
            raise row.error("group_id", f"there are no messages of {group}")
        if group in kept:
            question = _question(row, kept[group], positions[group])
            found.append((row.text("category", ""), question))
    return found


def _question(row: Row, lines: Sequence[Line], position: Mapping[str, int]) -> Question:
    task = row.text("task")
    if task == "reply":
        at = row.known("message_id", row.text("message_id"), position)
        first = row.text("judged_from", lines[0].message_id)
        question = Question(
            row.text("query_id"), "reply", lines[at], at, row.ids("gold", position, at),
            conversation=row.ids("conversation", position, at) if row.get("conversation") else None,
            judged_from=row.known("judged_from", first, position),
        )  # fmt: skip
    elif task == "memory":
        name = row.text("query_id")
        question = Question(
            name, "memory", _line(row, name, explicit=False), len(lines),
            row.ids("gold", position, len(lines)), any_gold=bool(row.get("any_gold")),
            dialogue_so_far=row.text("dialogue_so_far", ""),
        )  # fmt: skip
    else:
        raise row.error("task", f"{task} is neither reply nor memory")
    if not question.gold:
        raise row.error("gold", "is empty")
    return question


def _line(row: Row, message_id: str, explicit: bool) -> Line:
    user_id = row.text("user_id")
    timestamp = row.get("timestamp")
    if type(timestamp) is not int or timestamp < LEAST_MILLISECONDS:
        raise row.error("timestamp", "milliseconds since the epoch are wanted, a whole number")
    return Line(
        message_id, row.text("group_id"), user_id, row.text("name", user_id), row.text("content"), timestamp,
        tuple((name, name) for name in row.texts("mentions")),
        (row.text("explicit_reply_to", "") or None) if explicit else None,
    )  # fmt: skip
