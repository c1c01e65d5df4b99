"""The bytes of an answer: its payloads, its text, its items and its messages, put together of rendered lines.

A layout's plan becomes a program of a few steps, the same for all questions that have the same parts. `LineTable` runs
it over the lines and over the pieces that are no lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum
from functools import lru_cache

import msgspec
import numpy as np
from numpy.typing import NDArray

from backscroll_scoring import Pieces
from backscroll_scoring.layout import (
    BODY,
    CLOSE_FIELD,
    COPY_LINES,
    COPY_PIECE,
    ESCAPED_LINE,
    ID_FIELD,
    LINE,
    LINE_COST,
    OPEN_FIELD,
    REFERENCES,
    STEP,
    TALK,
    TURN_COST,
    WRITE_ITEMS,
    WRITE_MESSAGES,
)
from backscroll_sidecar.adapters import Adapter, PayloadOptions, inside_json
from backscroll_sidecar.context.budget import Fitted, Frame
from backscroll_sidecar.context.fallback_ladder import Picked
from backscroll_sidecar.context.layouts import (
    GAP,
    QUESTION_APART,
    Block,
    Part,
    Plan,
    StandardAssembler,
    messages_of,
    system_line,
)
from backscroll_sidecar.domain import Layout, NeutralMessage, Role
from backscroll_sidecar.lines.rendering import AnswerCodec

_GROUPS = {Part.RECENT: TALK, Part.SEMANTIC: REFERENCES}


class Piece(IntEnum):
    """The pieces that are no lines. Behind them stand the literals of parts, each as it is and inside JSON."""

    KEYS, PAYLOAD, FORMAT, BODY, TEXT, MESSAGE, USER, SYSTEM, CONTENT = range(9)
    OPENING, CLOSING, COMMA, HEAD, SYSTEM_HEAD, TAIL, BREAK, JSON_BREAK, GAP, JSON_GAP = range(
        9, 19
    )


_STATIC = max(Piece) + 1
"""The first of what is the same from question to question: of the parts up to `Part.SEMANTIC`."""
_DYNAMIC = _STATIC + 2 * (Part.SEMANTIC + 1)
"""The first of what is not: behind what the question's message ends with."""
_MORE = 1 + 2 * (len(Part) - Part.QUESTION)
_GAPS, _BREAKS = (Piece.GAP, Piece.JSON_GAP), (Piece.BREAK, Piece.JSON_BREAK)
_LINES = LINE, ESCAPED_LINE


def _literal(part: Part, *, is_json: bool) -> int:
    """The number of the piece with a part's text, or title."""
    first = _STATIC if part <= Part.SEMANTIC else _DYNAMIC + 1
    return first + 2 * (part if part <= Part.SEMANTIC else part - Part.QUESTION) + is_json


@lru_cache(maxsize=256)
def _program(plan: Plan, layout: Layout, formats: int) -> NDArray[np.int64]:
    """int64[steps, STEP]: what writes an answer with so many payloads."""
    has_turns = layout is Layout.TURNS
    steps: list[tuple[int, ...]] = []
    for _ in range(formats):
        steps += _payload(plan, has_turns=has_turns)
    if plan.text:
        steps += [(OPEN_FIELD, Piece.TEXT), *_text(plan.text, is_json=False), (CLOSE_FIELD,)]
    steps.append((WRITE_ITEMS, _cost(layout)))
    for block in plan.messages:
        steps += _message(block)
    return _as_rows(steps)


def _payload(plan: Plan, *, has_turns: bool) -> Iterator[tuple[int, ...]]:
    yield from ((OPEN_FIELD, Piece.PAYLOAD), (COPY_PIECE, Piece.FORMAT), (OPEN_FIELD, Piece.BODY))
    yield COPY_PIECE, Piece.OPENING
    for at, (role, of) in enumerate(plan.payload):
        if at and plan.payload[at - 1].parts:
            yield COPY_PIECE, Piece.COMMA
        if not of:  # the question is still to come
            yield COPY_LINES, BODY, TALK, -1, Piece.COMMA
            continue
        yield COPY_PIECE, Piece.SYSTEM_HEAD if role is Role.SYSTEM else Piece.HEAD
        yield from _text(of, is_json=True)
        is_named = has_turns and of == (Part.QUESTION,)
        yield COPY_PIECE, _DYNAMIC if is_named else Piece.TAIL
    yield from ((COPY_PIECE, Piece.CLOSING), (CLOSE_FIELD,), (CLOSE_FIELD,))


def _text(of: Sequence[Part], *, is_json: bool) -> Iterator[tuple[int, ...]]:
    """Parts with a gap between them."""
    for at, part in enumerate(of):
        if at:
            yield COPY_PIECE, _GAPS[is_json]
        yield COPY_PIECE, _literal(part, is_json=is_json)
        if part in _GROUPS:
            yield COPY_LINES, _LINES[is_json], _GROUPS[part], _BREAKS[is_json]


def _message(block: Block) -> Iterator[tuple[int, ...]]:
    """A message of the answer."""
    if not block.parts:
        yield (WRITE_MESSAGES,)
        return
    role = Piece.SYSTEM if block.role is Role.SYSTEM else Piece.USER
    yield from ((OPEN_FIELD, Piece.MESSAGE), (COPY_PIECE, role))
    yield from ((OPEN_FIELD, Piece.CONTENT), *_text(block.parts, is_json=False), (CLOSE_FIELD,))
    for part in block.parts:
        if part in _GROUPS:
            yield COPY_LINES, ID_FIELD, _GROUPS[part]
    yield (CLOSE_FIELD,)


@lru_cache(maxsize=64)
def static_pieces(
    codec: AnswerCodec,
    adapter: Adapter,
    model: str,
    tools_json: str,
    system: str,
    recent_title: str,
    semantic_title: str,
) -> Pieces:
    """The pieces that are the same from question to question."""
    head = tail = system_head = opening = closing = b""
    if form := adapter.line_form:
        head, tail = form.around(Role.USER)
        system_head, _ = form.around(Role.SYSTEM)
        opening, closing = form.envelope(model, tools_json)
    pieces = (
        codec.keys, codec.payload, codec.formats[adapter.name], codec.body, codec.text, codec.messages,
        codec.roles[Role.USER], codec.roles[Role.SYSTEM], codec.content,
        opening, closing, b",", head, system_head, tail, b"\n", b"\\n", GAP.encode(), inside_json(GAP),
        *_both(system, system_line(system), recent_title, semantic_title),
    )  # fmt: skip
    return Pieces.of(pieces, room=_MORE)


def _both(*literals: str) -> Iterator[bytes]:
    """Each as it is, and inside JSON."""
    for one in literals:
        yield one.encode()
        yield inside_json(one)


@lru_cache(maxsize=256)
def _both_kept(literal: str) -> tuple[bytes, ...]:
    """The same of one that is shown again and again."""
    return tuple(_both(literal))


def assemble(
    fitted: Fitted,
    picked: Picked,
    kinds: Sequence[int],
    frame: Frame,
    codec: AnswerCodec,
    model: str,
    formats: int,
) -> NDArray[np.uint8]:
    """The fields of an answer: so many payloads, its text, its items and its messages, as bytes: uint8[n]."""
    parts, made = fitted.parts, fitted.assembled
    pieces = static_pieces(
        codec, frame.adapter, model, frame.tools_json, parts.system, parts.texts.recent_title,
        parts.texts.semantic_title,
    )  # fmt: skip
    more: tuple[bytes, ...]
    if made is None:
        plan = parts.plan(frame.layout, include_system=frame.include_system)
        program = _program(plan, frame.layout, formats)
        form = frame.adapter.line_form
        asked_tail = form.around(Role.USER, fitted.asked_by)[1] if form else b""
        more = (asked_tail, parts.question.encode(), inside_json(parts.question))
        is_labelled = frame.layout not in QUESTION_APART
        if parts.preferences or parts.summary or is_labelled:
            label = parts.literal(Part.LABELLED_QUESTION) if is_labelled else ""
            more += (*_both(label), *_both(parts.literal(Part.PREFERENCES)))
            if parts.summary:
                more += _both_kept(parts.literal(Part.SUMMARY))
    else:
        program = _own_program(frame.layout, formats, has_text=bool(made.text))
        options = PayloadOptions(model, frame.tools_json, frame.with_names)
        body = frame.adapter.payload(payload_messages(fitted, frame), options) if formats else b""
        more = body, made.text.encode(), b"".join(map(codec.message, made.messages))
    lines = parts.lines
    if fitted.dropped:
        lines = lines.ranked_anew()
    lines = lines.entered(codec)
    assert lines.source is not None
    return lines.source.table.assemble(
        lines.columns,
        picked.ranked.scores,
        picked.ranked.places,
        codec.sources(picked.gathered.sources, tuple(kinds)),
        pieces.and_more(more),
        program,
    )


def with_parts(fitted: Fitted, frame: Frame) -> Fitted:
    """The same as values, where a message consists of more than a text."""
    if fitted.assembled is not None or not fitted.parts.has_parts:
        return fitted
    made = StandardAssembler().assemble(
        fitted.parts, frame.layout, include_system=frame.include_system
    )
    return msgspec.structs.replace(fitted, assembled=made)


def payload_messages(fitted: Fitted, frame: Frame) -> tuple[NeutralMessage, ...]:
    """The messages of a payload as values, with the names that tell people apart."""
    if fitted.assembled is not None:
        messages = tuple(fitted.assembled.payload_messages)
    else:
        plan = fitted.parts.plan(frame.layout, include_system=frame.include_system)
        messages = tuple(messages_of(fitted.parts, plan.payload, frame.layout))
    shared = fitted.parts.lines.shared_names() if frame.has_names else {}
    if not shared:
        return messages
    named = ((one, shared.get(one.author_id, one.name)) for one in messages)
    return tuple(
        [
            one if name == one.name else msgspec.structs.replace(one, name=name)
            for one, name in named
        ]
    )


@lru_cache(maxsize=64)
def _own_program(layout: Layout, formats: int, *, has_text: bool) -> NDArray[np.int64]:
    """The same where somebody else made payload, text and messages: three pieces."""
    body, text, messages = _DYNAMIC, _DYNAMIC + 1, _DYNAMIC + 2
    steps: list[tuple[int, ...]] = []
    for _ in range(formats):
        steps += [(OPEN_FIELD, Piece.PAYLOAD), (COPY_PIECE, Piece.FORMAT), (OPEN_FIELD, Piece.BODY)]
        steps += [(COPY_PIECE, body), (CLOSE_FIELD,), (CLOSE_FIELD,)]
    if has_text:
        steps += [(OPEN_FIELD, Piece.TEXT), (COPY_PIECE, text), (CLOSE_FIELD,)]
    steps += [(WRITE_ITEMS, _cost(layout)), (COPY_PIECE, messages)]
    return _as_rows(steps)


def _cost(layout: Layout) -> int:
    """The column that the talk's cost is in."""
    return TURN_COST if layout is Layout.TURNS else LINE_COST


def _as_rows(steps: Sequence[tuple[int, ...]]) -> NDArray[np.int64]:
    return np.array([(*step, *(-1,) * (STEP - len(step))) for step in steps], np.int64)
