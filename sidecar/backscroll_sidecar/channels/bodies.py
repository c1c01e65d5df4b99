"""Texts and wire fragments of a channel in a few large byte chunks, without a Python object per message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.ports import FragmentCodec

CHUNK_BYTES = 256 * 1024
"""A growing chunk is closed at this size. A longer one that comes whole stands alone."""
DECODED_TEXTS = 256
_PLACE_BITS = 32
_PLACE_MASK = (1 << _PLACE_BITS) - 1

Chunk = bytes | bytearray


class Bodies:
    """Bytes by place: the number of the chunk and the offset in it. Places stay valid; readers need no lock."""

    __slots__ = ("chunks", "nbytes")

    def __init__(self) -> None:
        self.chunks: list[Chunk] = []
        self.nbytes = 0

    def add(self, bodies: bytes) -> int:
        """Keep these bytes and return where they begin. Long ones are not copied."""
        self.nbytes += len(bodies)
        if len(bodies) >= CHUNK_BYTES // 4:
            self.chunks.append(bodies)
            return (len(self.chunks) - 1) << _PLACE_BITS
        last = self.chunks[-1] if self.chunks else b""
        if not isinstance(last, bytearray) or len(last) + len(bodies) > CHUNK_BYTES:
            last = bytearray()
            self.chunks.append(last)
        start = len(last)
        last += bodies
        return (len(self.chunks) - 1) << _PLACE_BITS | start


@dataclass(frozen=True, slots=True, eq=False)
class BodyColumns:
    """Where the rows of a view have their bodies. `start` and `size` are of fragments, `text_at` is from `start`."""

    chunks: Sequence[Chunk]
    start: NDArray[np.int64]
    size: NDArray[np.int32]
    text_at: NDArray[np.int32]
    text_size: NDArray[np.int32]

    def fragment(self, row: int) -> bytes:
        """The wire form of a message."""
        place = self.start.item(row)
        start = place & _PLACE_MASK
        return bytes(self.chunks[place >> _PLACE_BITS][start : start + self.size.item(row)])

    def record(self, row: int) -> bytes:
        """The wire form, and the text behind it where it is no part of it."""
        place = self.start.item(row)
        start = place & _PLACE_MASK
        size = max(self.size.item(row), self.text_at.item(row) + self.text_size.item(row))
        return bytes(self.chunks[place >> _PLACE_BITS][start : start + size])

    def text(self, row: int) -> str:
        """The text of a message."""
        place = self.start.item(row)
        start = (place & _PLACE_MASK) + self.text_at.item(row)
        end = start + self.text_size.item(row)
        return self.chunks[place >> _PLACE_BITS][start:end].decode("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True, eq=False)
class Texts(Sequence[str]):
    """The texts of a view's rows, decoded on access and cached in `decoded`."""

    bodies: BodyColumns
    decoded: dict[int, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.bodies.size)

    @overload
    def __getitem__(self, row: int) -> str: ...
    @overload
    def __getitem__(self, row: slice) -> list[str]: ...
    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [self._text(one) for one in range(*row.indices(len(self)))]
        if not 0 <= row < len(self.bodies.size):
            row = range(len(self))[row]
        return self._text(row)

    def _text(self, row: int) -> str:
        text = self.decoded.get(row)
        if text is None:
            if len(self.decoded) >= DECODED_TEXTS:
                self.decoded.clear()
            text = self.decoded[row] = self.bodies.text(row)
        return text


@dataclass(frozen=True, slots=True, eq=False)
class Fragments(Sequence[bytes]):
    """The wire forms of a view's rows, cut out on access. An edge to a stored row names its author.

    `parent`, `author`: int32[n], the latter places in `people`.
    """

    bodies: BodyColumns
    parent: NDArray[np.int32]
    author: NDArray[np.int32]
    people: Sequence[str]
    codec: FragmentCodec

    def __len__(self) -> int:
        return len(self.bodies.size)

    @overload
    def __getitem__(self, row: int) -> bytes: ...
    @overload
    def __getitem__(self, row: slice) -> list[bytes]: ...
    def __getitem__(self, row: int | slice) -> bytes | list[bytes]:
        if isinstance(row, slice):
            return [self._fragment(one) for one in range(*row.indices(len(self)))]
        return self._fragment(range(len(self))[row])

    def _fragment(self, row: int) -> bytes:
        fragment, parent = self.bodies.fragment(row), self.parent.item(row)
        if parent < 0:
            return fragment
        return self.codec.answering(fragment, self.people[self.author.item(parent)])
