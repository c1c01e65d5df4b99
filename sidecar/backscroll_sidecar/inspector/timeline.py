"""A channel in order of time, with what answers what drawn beside it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backscroll.v1 import history_pb2
from backscroll.v1.message_pb2 import MessageType
from backscroll_sidecar.inspector.said import Said, stored

MOST_LANES = 5
"""Threads drawn side by side; a reply for which there is none has its arrow alone."""


@dataclass(frozen=True, slots=True)
class Spot:
    """What one lane does beside a line: "pass", "start", "end", "fork" (an answer, and it goes on), or "": nothing."""

    does: str = ""
    tone: int = 0


@dataclass(frozen=True, slots=True)
class TimelineLine:
    """One message. `answers`: what it answers, where that stands on the page too."""

    said: Said
    type: str
    sequence: int
    is_recalled: bool
    is_partial: bool
    is_inferred: bool
    answers: Said | None
    lanes: Sequence[Spot]


@dataclass(frozen=True, slots=True)
class Branch:
    """One message of a reply tree, and how deep in it."""

    depth: int
    line: TimelineLine


def timeline(messages: Sequence[history_pb2.StoredMessage]) -> list[TimelineLine]:
    """A page's messages, in the order given."""
    texts = [stored(one) for one in messages]
    place = {one.message_id: at for at, one in enumerate(texts)}
    for at, one in enumerate(messages):
        place.update(dict.fromkeys(one.alias_ids, at))
    parents = [place.get(one.reply_to, -1) for one in texts]
    lanes = _lanes([parent if parent < at else -1 for at, parent in enumerate(parents)])
    return [
        TimelineLine(
            said=said,
            type=MessageType.Name(one.message_type).removeprefix("MESSAGE_TYPE_").lower(),
            sequence=one.sequence,
            is_recalled=one.recalled,
            is_partial=one.partial,
            is_inferred=one.HasField("reply") and one.reply.inferred,
            answers=texts[parent] if parent >= 0 else None,
            lanes=spots,
        )
        for one, said, parent, spots in zip(messages, texts, parents, lanes, strict=True)
    ]


def tree(messages: Sequence[history_pb2.StoredMessage]) -> list[Branch]:
    """A reply tree, each message behind what it answers."""
    lines = timeline(messages)
    children: dict[str, list[TimelineLine]] = {}
    known = {line.said.message_id for line in lines}
    roots: list[TimelineLine] = []
    for line in lines:
        parent = line.answers.message_id if line.answers else ""
        (children.setdefault(parent, []) if parent in known else roots).append(line)
    found: list[Branch] = []
    waiting = [Branch(0, line) for line in reversed(roots)]
    seen: set[str] = set()
    while waiting:
        branch = waiting.pop()
        if branch.line.said.message_id in seen:
            continue
        seen.add(branch.line.said.message_id)
        found.append(branch)
        below = children.get(branch.line.said.message_id, [])
        waiting += [Branch(branch.depth + 1, line) for line in reversed(below)]
    return found


def _lanes(parents: Sequence[int]) -> list[list[Spot]]:
    """Which lane does what beside each line: a lane belongs to a message from itself to its last answer."""
    last: Mapping[int, int] = {parent: at for at, parent in enumerate(parents) if parent >= 0}
    of_parent: dict[int, int] = {}
    free_from = [0] * MOST_LANES
    for parent in sorted(last):
        for lane, free in enumerate(free_from):
            if free <= parent:
                of_parent[parent], free_from[lane] = lane, last[parent] + 1
                break
    width = max(of_parent.values(), default=-1) + 1
    rows = [[Spot() for _ in range(width)] for _ in parents]
    for parent, lane in of_parent.items():
        tone = parent % 6
        rows[parent][lane] = Spot("start", tone)
        for at in range(parent + 1, last[parent] + 1):
            answers = parents[at] == parent
            does = "end" if at == last[parent] else "fork" if answers else "pass"
            rows[at][lane] = Spot(does, tone)
    return rows
