"""A table of rendered lines: each message written in one style, in all forms an answer may need, with its numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from . import kernels_assembly
from . import kernels_line_table as kernels
from .arrays import Bool, Float64, Int32, Int64, UInt8, UInt32
from .kernels_line_table import MARK_BITS
from .layout import COLUMNS, FORMS, KNOWN, NUMBERS, SUMS

_NO_PLACES = np.empty(0, np.int32)
FIRST_LINES, FIRST_BYTES = 64, 65_536


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """Pieces of bytes, one behind the other. Make them with `of`.

    Attributes
    ----------
    joined : bytes
    ends : int64[n]
        Where each ends, and room for more behind them.
    count : int
    """

    joined: bytes
    ends: Int64
    count: int

    @classmethod
    def of(cls, pieces: Sequence[bytes], room: int = 0) -> Pieces:
        """From any number, with room for some more."""
        ends = np.zeros(len(pieces) + room, np.int64)
        np.cumsum([len(one) for one in pieces], out=ends[: len(pieces)])
        return cls(b"".join(pieces), ends, len(pieces))

    def and_more(self, pieces: Sequence[bytes]) -> Pieces:
        """With some more behind them, as many as there is room for."""
        ends, at = self.ends.copy(), len(self.joined)
        for i, one in enumerate(pieces, self.count):
            at += len(one)
            ends[i] = at
        return Pieces(b"".join((self.joined, *pieces)), ends, self.count + len(pieces))


class LineTable:
    """Rendered lines by key, `key_of` a message and its mark. Grows; for one thread at a time."""

    __slots__ = ("_bounds", "_bytes", "_count", "_keys", "_numbers", "_own", "_slots")

    def __init__(self) -> None:
        self._bytes: UInt8 = np.empty(FIRST_BYTES, np.uint8)
        self._bounds: Int32 = np.zeros((FIRST_LINES, FORMS + 1), np.int32)
        self._numbers: Int32 = np.empty((FIRST_LINES, NUMBERS), np.int32)
        self._count = 0
        self._own: tuple[UInt8, Int32, Int32, Int64, Int32] | None = None
        self._new_index(4 * FIRST_LINES)

    def _new_index(self, size: int) -> None:
        self._keys: Int64 = np.full(size, -1, np.int64)
        self._slots: Int32 = np.full(size, -1, np.int32)

    @property
    def used_bytes(self) -> int:
        """Bytes of the forms it has."""
        return int(self._bounds[self._count - 1, FORMS]) if self._count else 0

    @property
    def nbytes(self) -> int:
        """Bytes it holds, without what it lends."""
        arrays = self._own or (self._bytes, self._bounds, self._numbers, self._keys, self._slots)
        return sum(one.nbytes for one in arrays)

    def add(
        self,
        keys: Sequence[int],
        forms: Sequence[Sequence[bytes]],
        numbers: Sequence[Sequence[int]],
    ) -> range:
        """Enter lines, at least one: the forms and numbers of each, in the order of `layout`. Returns their slots."""
        self._give_back()
        slots = self._write(forms, numbers)
        self._count = slots.stop
        for key, slot in zip(keys, slots, strict=True):
            kernels.keep_slot(key, slot, self._keys, self._slots)
        return slots

    def lend(self, forms: Sequence[Sequence[bytes]], numbers: Sequence[Sequence[int]]) -> range:
        """Slots for lines, at least one, that nobody will look up: theirs until an answer is assembled."""
        self._give_back()
        self._own = self._bytes, self._bounds, self._numbers, self._keys, self._slots
        return self._write(forms, numbers)

    def _write(self, forms: Sequence[Sequence[bytes]], numbers: Sequence[Sequence[int]]) -> range:
        """Write lines behind those there are."""
        start, first, count = self.used_bytes, self._count, len(forms)
        pieces = [form for each in forms for form in each]
        joined = b"".join(pieces)
        self._make_room(first + count, start + len(joined))
        self._bytes[start : start + len(joined)] = np.frombuffer(joined, np.uint8)
        ends = np.cumsum(list(map(len, pieces))).reshape(count, FORMS)
        bounds = self._bounds[first : first + count]
        bounds[:, 1:] = ends + start
        bounds[:1, 0], bounds[1:, 0] = start, bounds[:-1, FORMS]
        self._numbers[first : first + count] = numbers
        return range(first, first + count)

    def _make_room(self, count: int, most_bytes: int) -> None:
        """Room for so many lines and bytes in all."""
        if most_bytes > len(self._bytes):
            larger = np.empty(max(2 * len(self._bytes), most_bytes), np.uint8)
            larger[: self.used_bytes] = self._bytes[: self.used_bytes]
            self._bytes = larger
        while count > len(self._bounds):
            self._bounds = np.concatenate((self._bounds, np.zeros_like(self._bounds)))
            self._numbers = np.concatenate((self._numbers, np.empty_like(self._numbers)))
            there = self._keys >= 0
            keys, slots = self._keys[there], self._slots[there]
            self._new_index(4 * len(self._bounds))
            for key, slot in zip(keys.tolist(), slots.tolist(), strict=True):
                kernels.keep_slot(key, slot, self._keys, self._slots)

    def without(self, seqs: Collection[int]) -> LineTable:
        """Another table with the same lines but for those of the messages with these numbers."""
        out = LineTable()
        out._bytes, out._bounds = self._bytes.copy(), self._bounds.copy()
        out._numbers, out._count = self._numbers.copy(), self._count
        out._keys, out._slots = self._keys.copy(), self._slots.copy()
        out._slots[np.isin(out._keys >> MARK_BITS, list(seqs))] = -1
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
    ) -> tuple[Int64, list[int], list[int]]:
        """Selected candidates as columns, by place: int64[COLUMNS, k]; their sums; the kinds there are, each once.

        What the table does not have has the slot -1 and no numbers.

        Parameters
        ----------
        order : int64[k]
            Places among the m candidates, best first, each once.
        rows, semantic, kinds : int32[m], bool[m], uint32[m]
            The row of each, behind the last for lines of elsewhere; which are references; the kind of each.
        seq, time_ms : int64[n]
            Number and time of each row.
        dated_before_ms
            Older messages are looked up with their date.
        """
        columns: Int64 = np.empty((COLUMNS, len(order)), np.int64)
        sums: Int64 = np.empty(SUMS, np.int64)
        count = kernels.lay_out(
            order, rows, semantic, kinds, seq, time_ms, dated_before_ms, self._keys, self._slots, self._numbers,
            columns, sums,
        )  # fmt: skip
        return columns, sums.tolist(), columns[KNOWN, :count].tolist()

    def look_up(self, keys: Int64, columns: Int64) -> None:
        """Enter slots and numbers of the lines with these keys, int64[k]; -1: it is not to be found here."""
        kernels.look_up(keys, self._keys, self._slots, self._numbers, columns)

    def text(self, slot: int, form: int) -> str:
        """A form of a line."""
        bounds = self._bounds[slot]
        return bytes(self._bytes[bounds[form] : bounds[form + 1]]).decode()

    def assemble(
        self,
        columns: Int64,
        scores: Float64,
        scored: Int32 | None,
        tails: Pieces,
        pieces: Pieces,
        program: Int64,
    ) -> UInt8:
        """What a program writes of lines that all have slots: uint8[n].

        Parameters
        ----------
        scores, scored : float64[s], int32[s] or None
            The scores of the candidates at these ascending places; None: of all.
        tails
            What items of each kind end with.
        pieces
            The first one as `layout` says.
        program : int64[steps, STEP]
            See `layout`.
        """
        assembled: UInt8 = kernels_assembly.assemble(
            self._bytes, self._bounds, columns, scores, _NO_PLACES if scored is None else scored, tails.joined,
            tails.ends, pieces.joined, pieces.ends, program,
        )  # fmt: skip
        self._give_back()
        return assembled

    def _give_back(self) -> None:
        """Let go of what was lent, which may have been long."""
        if self._own is not None:
            self._bytes, self._bounds, self._numbers, self._keys, self._slots = self._own
            self._own = None


def key_of(seq: int, mark: int, is_shared: bool) -> int:
    """Under which key a table has the message with this number: with a mark, 0 none, 1 a date, others below 2 ** 19;
    whether somebody else shown has the name of who speaks.
    """
    return seq << MARK_BITS | mark << 1 | is_shared


def add_up(columns: Int64) -> list[int]:
    """Sums over the columns of lines, as `layout` has them."""
    sums = np.empty(SUMS, np.int64)
    kernels.add_up(columns, sums)
    found: list[int] = sums.tolist()
    return found


def take_fitting(
    columns: Int64,
    talk_cost: int,
    blocks: Int64,
    needed: tuple[int, int],
    least_tokens: int,
    state: Int64,
    fates: UInt8,
) -> int:
    """Take lines while they fit, best first; what does not fit is passed over.

    Parameters
    ----------
    columns, talk_cost : int64[COLUMNS, k], int
        The lines, and which column has what one of the talk costs.
    blocks : int64[k]
        Lines with the same number are taken or left together; the place of each that is alone.
    needed : int, int
        The newest line, for which `least_tokens` are kept, and the one that comes first of all, -1 none: their blocks
        are not passed over.
    state : int64[3]
        See `layout.AT`; goes on from there, and is left where it ended.
    fates : uint8[k]
        0 until it is decided, then TAKEN or PASSED_OVER.

    Returns
    -------
    A line of a block that does not fit and may not be passed over; -1: none is left.
    """
    stopped: int = kernels.take_fitting(
        columns, talk_cost, blocks, *needed, least_tokens, state, fates
    )
    return stopped
