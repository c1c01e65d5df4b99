"""Two builds of one question beside each other: what came, what went, what it takes. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.inspector.explained import (
    Key,
    Line,
    Tokens,
    key_of,
    taken_lines,
    texts_of,
    tokens_of,
)
from backscroll_sidecar.inspector.payload import PayloadText, payload_of
from backscroll_sidecar.inspector.said import Said

Change = Literal["kept", "came", "went"]


@dataclass(frozen=True, slots=True)
class Pair:
    """One message that either build shows; None: it is no candidate there."""

    said: Said
    change: Change
    one: Line | None
    other: Line | None


@dataclass(frozen=True, slots=True)
class Side:
    """What one of the two came to."""

    profile: str
    taken_count: int
    candidate_count: int
    tokens: Tokens
    microseconds: int
    degradations: Sequence[str]
    payload: PayloadText | None


@dataclass(frozen=True, slots=True)
class Compared:
    """Both, and every message that either shows, in order of time."""

    one: Side
    other: Side
    pairs: Sequence[Pair]
    came: int
    went: int
    kept: int
    is_same_payload: bool


def compared(one: pb.BuildContextResponse, other: pb.BuildContextResponse) -> Compared:
    """What the second shows beside the first."""
    texts = texts_of(one, other)
    taken, taken_other = _taken(one), _taken(other)
    keys = taken | taken_other
    lines, lines_other = taken_lines(one, texts, keys), taken_lines(other, texts, keys)
    pairs = [
        Pair(
            texts[key],
            "kept"
            if key in taken and key in taken_other
            else "came"
            if key in taken_other
            else "went",
            lines.get(key),
            lines_other.get(key),
        )
        for key in _in_order(_order(one, keys), _order(other, keys))
    ]
    bodies = [[(p.format, p.body) for p in side.payloads] for side in (one, other)]
    return Compared(
        one=_side(one),
        other=_side(other),
        pairs=pairs,
        came=sum(pair.change == "came" for pair in pairs),
        went=sum(pair.change == "went" for pair in pairs),
        kept=sum(pair.change == "kept" for pair in pairs),
        is_same_payload=bodies[0] == bodies[1],
    )


def _taken(built: pb.BuildContextResponse) -> set[Key]:
    return {key_of(one) for one in built.explanation.candidates if one.fate == pb.FATE_SELECTED}


def _order(built: pb.BuildContextResponse, keys: set[Key]) -> list[Key]:
    """The candidates among these, in order of time."""
    found = map(key_of, built.explanation.candidates)
    return [key for key in found if key in keys]


def _in_order(one: list[Key], other: list[Key]) -> list[Key]:
    """Both orders as one: they agree in what they share."""
    shared, found, at = set(one) & set(other), [], 0
    for key in one:
        if key in shared:
            while other[at] != key:
                found.append(other[at])
                at += 1
            at += 1
        found.append(key)
    return found + other[at:]


def _side(built: pb.BuildContextResponse) -> Side:
    return Side(
        profile=built.profile,
        taken_count=len(built.items),
        candidate_count=len(built.explanation.candidates),
        tokens=tokens_of(built.tokens),
        microseconds=sum(built.diagnostics.stage_microseconds.values()),
        degradations=[
            " ".join(filter(None, (d.stage, d.source, d.reason))) for d in built.degradations
        ],
        payload=payload_of(built),
    )
