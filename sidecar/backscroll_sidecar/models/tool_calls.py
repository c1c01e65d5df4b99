"""Calls of tools put together from pieces of an answer, and text that is fit to be passed on. Pure, no SDK."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from uuid import uuid4

import orjson

from backscroll_sidecar.adapters.arguments import MAX_REPAIRED_CHARS, object_json, objects_in
from backscroll_sidecar.analyze.sanitise import REPLACEMENT, clean_text
from backscroll_sidecar.domain import MAX_ID_BYTES, ProviderStatePart, ToolCallPart
from backscroll_sidecar.models.faults import failed
from backscroll_sidecar.ports import ModelFault
from backscroll_sidecar.texts import FAULTS

MAX_TOOL_CHARS = 1024 * 1024
"""Most characters of an answer's calls, which are held until it ends."""

_CHARS_A_CALL = 2_048
"""What a call counts for at least: 512 calls at most, whose results still fit one request."""


class SafeText:
    """Joins surrogate halves across deltas, and replaces lone ones and NUL."""

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        """The next piece of clean text; it may be empty."""
        if self._half:
            piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return clean(piece)

    def end(self) -> str:
        """A replacement for a half that is left."""
        half, self._half = self._half, ""
        return REPLACEMENT if half else ""


def clean(text: str) -> str:
    """`text` without lone surrogates and NUL."""
    if not text.isascii():
        text = clean_text(text)[0]
    return text.replace("\0", REPLACEMENT) if "\0" in text else text


@dataclass(slots=True)
class Call:
    """A call as far as it has come. `parts`: it, once it is whole, and what only its vendor can read before it."""

    id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    states: dict[str, ProviderStatePart] = field(default_factory=dict)
    parts: list[ToolCallPart] = field(default_factory=list)


class CallAssembler:
    """Puts calls together from pieces, also where a server leaves `index` out or sends 0 for all."""

    def __init__(self) -> None:
        self._calls: list[Call] = []
        self._by_index: dict[int, Call] = {}
        self._chars = 0

    def __bool__(self) -> bool:
        return bool(self._calls)

    def feed(
        self,
        id: str,
        name: str,
        arguments: str,
        index: object,
        states: Iterable[ProviderStatePart] = (),
    ) -> Call:
        """Take a call, whole or a piece. Returns what is known of it by now."""
        call = self._current(index, id, name)
        call.id, call.name = call.id or id, call.name or name
        call.pieces.append(arguments)
        for state in states:
            call.states[state.kind] = state
        self._count(len(arguments) + len(id) + len(name))
        return call

    def _count(self, chars: int) -> None:
        self._chars += chars
        if self._chars > MAX_TOOL_CHARS:
            raise failed(ModelFault.BAD_RESPONSE, FAULTS["calls_too_large"][0])

    def _current(self, index: object, id: str, name: str) -> Call:
        place = _place(index)
        if place is None:
            known = self._calls[-1] if self._calls else None
            fresh = known is not None and bool(name and known.name and not id)
        else:
            known = self._by_index.get(place)
            # A name for one that has another, and arguments: a call of its own on the same index.
            fresh = known is not None and bool(
                name and known.name and name != known.name and any(known.pieces)
            )
        if known is None or fresh or (id and known.id and id != known.id):
            known = Call()
            self._calls.append(known)
            self._count(_CHARS_A_CALL)
        if place is not None:
            self._by_index[place] = known
        return known

    def whole(self, *, stopped: bool) -> list[ToolCallPart]:
        """All calls. Unless the model has said that it stopped, each one's arguments must be whole JSON.

        Two whole objects in one call are two calls, since some servers send all on one index. Arguments that are no
        object are repaired or quoted. An id that is missing, used before or too long to be sent back is replaced.
        """
        parts: list[ToolCallPart] = []
        used: set[str] = set()
        repairable_chars = MAX_REPAIRED_CHARS
        for call in self._calls:
            text, name = clean("".join(call.pieces)).strip(), clean(call.name)
            if not name:
                raise failed(ModelFault.BAD_RESPONSE, FAULTS["cut_call"][0])
            if len(name.encode()) > MAX_ID_BYTES:
                raise failed(ModelFault.BAD_RESPONSE, FAULTS["calls_too_large"][0])
            for n, one in enumerate(objects_in(text or "{}")):
                if not stopped and not _is_json(one):
                    raise failed(ModelFault.BAD_RESPONSE, FAULTS["cut_call"][0])
                if n:
                    self._count(_CHARS_A_CALL)
                id = clean(call.id)
                if not id or id in used or len(id.encode()) > MAX_ID_BYTES:
                    id = f"call_{uuid4().hex[:24]}"
                used.add(id)
                arguments = object_json(one, repairable_chars)
                if arguments != one:
                    repairable_chars -= len(one)
                call.parts.append(ToolCallPart(id, name, arguments))
            parts += call.parts
        return parts


def _place(index: object) -> int | None:
    """The index of a call, which some servers write as text; None where there is none."""
    if isinstance(index, str) and index.isdecimal() and len(index) < 10:
        return int(index)
    return index if isinstance(index, int) else None


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except ValueError:
        return False
    return True
