"""What a table of rendered lines must give: by a dictionary, by sorting, and by fields made from the inside."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from google.protobuf.internal.encoder import _VarintBytes as varint

from backscroll_scoring import layout as at


class Rendered(NamedTuple):
    """The forms and the numbers of a line."""

    forms: Sequence[bytes]
    numbers: Sequence[int]

    def of(self, column: int) -> int:
        """A number of it."""
        return self.numbers[column - at.FIRST_NUMBER]


class Line(NamedTuple):
    """A candidate that was selected; None: nobody rendered it."""

    place: int
    rank: int
    is_reference: bool
    kind: int
    rendered: Rendered | None


def key_of(seq: int, mark: int, is_shared: bool) -> int:
    """The number, 19 bits of mark, one bit."""
    return (seq * 2**19 + mark) * 2 + is_shared


def lay_out(
    order: Sequence[int],
    rows: Sequence[int],
    semantic: Sequence[bool],
    kinds: Sequence[int],
    seq: Sequence[int],
    time_ms: Sequence[int],
    dated_before_ms: int,
    known: Mapping[int, Rendered],
) -> list[Line]:
    """The selected candidates by place; what is of elsewhere nobody knows."""
    found = [
        known.get(key_of(number, int(at_ms < dated_before_ms), is_shared=False))
        for number, at_ms in zip(seq, time_ms, strict=True)
    ]
    return sorted(
        Line(i, rank, semantic[i], kinds[i], found[rows[i]] if rows[i] < len(seq) else None)
        for rank, i in enumerate(order, 1)
    )


def sums(lines: Sequence[Line]) -> list[int]:
    """Of the talk, of the references; and how many nobody rendered."""
    out = list[int]()
    for group in (False, True):
        there = {
            i: line.rendered
            for i, line in enumerate(lines)
            if line.rendered and line.is_reference == group
        }
        columns = at.LINE_TOKENS, at.LINE_COST, at.TURN_TOKENS, at.TURN_COST, at.NAME_TOKENS
        out += [len(there), *(sum(one.of(column) for one in there.values()) for column in columns)]
        out += [max(there, default=-1), sum(not one.of(at.IS_SEAMLESS) for one in there.values())]
    return [*out, sum(line.rendered is None for line in lines)]


def assemble(
    lines: Sequence[Line],
    scores: Mapping[int, float],
    tails: Mapping[int, bytes],
    pieces: Sequence[bytes],
    program: Sequence[Sequence[int]],
) -> bytes:
    """What a program writes; scores by place, tails by kind."""
    keys = [bytes((one,)) for one in pieces[0]]
    fields = [b""]
    for step, *of in program:
        if step in (at.COPY_PIECE, at.OPEN_FIELD):
            fields[-1] += pieces[of[0]]
        if step == at.OPEN_FIELD:
            fields.append(b"")
        elif step == at.CLOSE_FIELD:
            inner = fields.pop()
            fields[-1] += _sized(inner)
        elif step == at.COPY_LINES:
            fields[-1] += b"".join(_copied(lines, pieces, *of))
        elif step == at.WRITE_ITEMS:
            fields[-1] += b"".join(_items(lines, of[0], scores, tails, keys))
        elif step == at.WRITE_MESSAGES:
            fields[-1] += b"".join(_messages(lines, keys))
    return b"".join(fields)


def take_fitting(
    costs: Sequence[int],
    ranks: Sequence[int],
    blocks: Sequence[int],
    needed: tuple[int, int],
    least_tokens: int,
    left: int,
) -> tuple[list[int], set[int], int]:
    """The blocks that are needed and do not fit, those that are taken, and what is left of the tokens."""
    newest, first = (blocks[i] if i >= 0 else -1 for i in needed)
    every = range(len(costs))
    order = sorted(every, key=lambda i: (blocks[i] != first, ranks[i]))
    cost_of = {block: sum(costs[i] for i in every if blocks[i] == block) for block in blocks}
    kept = min(least_tokens, cost_of.get(newest, 0))
    stops, taken = list[int](), set[int]()
    for block in dict.fromkeys(blocks[i] for i in order):
        kept = 0 if block == newest else kept
        if cost_of[block] <= left - kept:
            left -= cost_of[block]
            taken.add(block)
        elif block in (newest, first):
            stops.append(block)
    return stops, taken, left


def _copied(
    lines: Sequence[Line], pieces: Sequence[bytes], form: int, wanted: int, *around: int
) -> Iterator[bytes]:
    before, after = (pieces[one] if one >= 0 else b"" for one in around)
    for line in lines:
        if line.is_reference == wanted:
            yield before + line.rendered.forms[form] + after


def _items(
    lines: Sequence[Line],
    talk_cost: int,
    scores: Mapping[int, float],
    tails: Mapping[int, bytes],
    keys: Sequence[bytes],
) -> Iterator[bytes]:
    for line in lines:
        cost = line.rendered.of(at.LINE_COST if line.is_reference else talk_cost)
        fields = (
            line.rendered.forms[at.ITEM],
            keys[at.CATEGORY_KEY] + keys[at.CATEGORIES + line.is_reference],
            keys[at.COST_KEY] + varint(cost),
            keys[at.RANK_KEY] + varint(line.rank),
            keys[at.SCORE_KEY] + struct.pack("<d", scores[line.place]),
            tails[line.kind],
        )
        yield keys[at.ITEM_KEY] + _sized(b"".join(fields))


def _messages(lines: Sequence[Line], keys: Sequence[bytes]) -> Iterator[bytes]:
    for line in lines:
        if not line.is_reference:
            role = keys[at.ROLE_KEY] + keys[at.ROLES + line.rendered.of(at.ROLE)]
            content = keys[at.CONTENT_KEY] + _sized(line.rendered.forms[at.CONTENT])
            yield keys[at.MESSAGE_KEY] + _sized(role + content + line.rendered.forms[at.ID_FIELD])


def _sized(inner: bytes) -> bytes:
    return varint(len(inner)) + inner
