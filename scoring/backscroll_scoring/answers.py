"""A page: what answers need of messages written in one style, as bytes and numbers; and answers joined of it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from types import ModuleType
from typing import NamedTuple

import numpy as np

from . import kernels_answers
from .arrays import Bool, Float64, Int32, Int64, UInt8, UInt32
from .fields import RECORD_BYTES, VARINT_BYTES, Tails
from .layout import BYTES, FORMS, KINDS, KNOWN, LAID, NUMBERS, PLACE, TOTALS

_NO_PLACES = np.empty(0, np.int32)
FIRST_MESSAGES, FIRST_BYTES = 64, 65_536
FIELD_BYTES = 6 * VARINT_BYTES
"""The most that the keys and sizes around everything take."""


class LaidOut(NamedTuple):
    """Selected candidates on a page: int64[LAID, k], whose rows `layout` names, and the totals."""

    laid: Int64
    totals: list[int]

    @property
    def places(self) -> Int64:
        """int64[k]: which candidates they are, ascending."""
        return self.laid[PLACE]

    @property
    def kinds(self) -> list[int]:
        """The kinds there are, each once."""
        known: list[int] = self.laid[KNOWN, : self.totals[KINDS]].tolist()
        return known


class Pieces(NamedTuple):
    """The constant parts of an answer, which `Page.join` puts around its messages. Make one with `of`."""

    joined: bytes
    ends: Int64

    @classmethod
    def of(cls, pieces: Sequence[bytes]) -> Pieces:
        """From eight parts.

        Heads of the payload and of its body; head and end of the references in the body; end of the body; titles of
        the text's two sections; head of the message with the references.
        """
        return cls(b"".join(pieces), np.cumsum([len(one) for one in pieces]))


class Page:
    """Messages by number, in all forms an answer may need. Grows; for one thread at a time."""

    __slots__ = ("_bounds", "_bytes", "_count", "_engine", "_keys", "_numbers", "_slots")

    def __init__(self, engine: ModuleType = kernels_answers) -> None:
        self._engine = engine
        self._bytes: UInt8 = np.empty(FIRST_BYTES, np.uint8)
        self._bounds: Int32 = np.zeros((FIRST_MESSAGES, FORMS + 1), np.int32)
        self._numbers: Int32 = np.empty((FIRST_MESSAGES, NUMBERS), np.int32)
        self._count = 0
        self._new_table(4 * FIRST_MESSAGES)

    def _new_table(self, size: int) -> None:
        self._keys: Int64 = np.full(size, -1, np.int64)
        self._slots: Int32 = np.full(size, -1, np.int32)

    @property
    def used_bytes(self) -> int:
        """Bytes of the forms it has."""
        return int(self._bounds[self._count - 1, FORMS]) if self._count else 0

    @property
    def nbytes(self) -> int:
        """Bytes it holds."""
        arrays = (self._bytes, self._bounds, self._numbers, self._keys, self._slots)
        return sum(one.nbytes for one in arrays)

    def add(
        self,
        keys: Sequence[int],
        forms: Sequence[Sequence[bytes]],
        numbers: Sequence[Sequence[int]],
    ) -> None:
        """Put messages, at least one, on the page: the forms and numbers of each, in the order of `layout`."""
        start, first, count = self.used_bytes, self._count, len(keys)
        pieces = [form for each in forms for form in each]
        joined = b"".join(pieces)
        self._make_room(first + count, start + len(joined))
        self._bytes[start : start + len(joined)] = np.frombuffer(joined, np.uint8)
        ends = np.cumsum(list(map(len, pieces))).reshape(count, FORMS)
        bounds = self._bounds[first : first + count]
        bounds[:, 1:] = ends + start
        bounds[:1, 0], bounds[1:, 0] = start, bounds[:-1, FORMS]
        self._numbers[first : first + count] = numbers
        self._count += count
        for slot, key in enumerate(keys, first):
            self._engine.keep_slot(key, slot, self._keys, self._slots)

    def _make_room(self, count: int, most_bytes: int) -> None:
        """Room for so many messages and bytes in all."""
        if most_bytes > len(self._bytes):
            larger = np.empty(max(2 * len(self._bytes), most_bytes), np.uint8)
            larger[: self.used_bytes] = self._bytes[: self.used_bytes]
            self._bytes = larger
        while count > len(self._bounds):
            self._bounds = np.concatenate((self._bounds, np.zeros_like(self._bounds)))
            self._numbers = np.concatenate((self._numbers, np.empty_like(self._numbers)))
            there = self._keys >= 0
            keys, slots = self._keys[there], self._slots[there]
            self._new_table(4 * len(self._bounds))
            for key, slot in zip(keys.tolist(), slots.tolist(), strict=True):
                self._engine.keep_slot(key, slot, self._keys, self._slots)

    def without(self, keys: Collection[int]) -> Page:
        """Another page with the same messages but for these."""
        out = Page(self._engine)
        out._bytes, out._bounds = self._bytes.copy(), self._bounds.copy()
        out._numbers, out._count = self._numbers.copy(), self._count
        out._keys, out._slots = self._keys.copy(), self._slots.copy()
        out._slots[np.isin(out._keys, list(keys))] = -1
        return out

    def lay_out(
        self,
        order: Int64,
        rows: Int32,
        semantic: Bool,
        kinds: UInt32,
        seq: Int64,
        time_ms: Int64,
        dated_before_ms: int,
    ) -> LaidOut:
        """Find k selected candidates on the page and add up their costs.

        Parameters
        ----------
        order : int64[k]
            Places among the m candidates, best first, each once.
        rows, semantic, kinds : int32[m], bool[m], uint32[m]
            Ascending rows; which candidates are references; the kind of each.
        seq, time_ms : int64[n]
            Arrival number and time of each row.
        dated_before_ms
            Older messages are on the page with their date.
        """
        laid, totals = np.empty((LAID, len(order)), np.int64), np.empty(TOTALS, np.int64)
        self._engine.lay_out(
            order, rows, semantic, kinds, seq, time_ms, dated_before_ms, self._keys, self._slots,
            self._numbers, self._bounds, laid, totals,
        )  # fmt: skip
        return LaidOut(laid, totals.tolist())

    def join(
        self,
        laid_out: LaidOut,
        scores: Float64,
        scored: Int32 | None,
        tails: Tails,
        keys: bytes,
        pieces: Pieces,
        question: bytes,
        asked: bytes,
    ) -> UInt8:
        """Write the payload, text, items and messages of an answer whose messages are all on the page: uint8[n].

        Parameters
        ----------
        scores, scored : float64[s], int32[s] or None
            The scores of the candidates at these ascending places; None: of all.
        tails
            The fields that items of a kind end with.
        keys : 6 bytes
            Field keys of the payload (0: not wanted), the text, an item, its rank and score, a message.
        question, asked
            The question in the payload's body, and its field of the answer.
        """
        laid, totals = laid_out
        most = 2 * (totals[BYTES] + len(pieces.joined)) + len(question) + len(asked) + FIELD_BYTES
        most += laid.shape[1] * (RECORD_BYTES + tails.longest)
        out = np.empty(most, np.uint8)
        used = self._engine.join_answer(
            self._bytes, self._bounds, laid, scores, _NO_PLACES if scored is None else scored,
            tails.known, tails.joined, tails.ends, keys, pieces.joined, pieces.ends, question, asked, out,
        )  # fmt: skip
        return out[:used]
