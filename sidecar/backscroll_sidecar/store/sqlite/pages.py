"""What stands in pages of SQLite's b-trees and belongs to no row: copies that a split left behind. Pure.

`PRAGMA secure_delete` zeroes rows and pages that are freed. Rows that move to a neighbour stay where they stood, in the
unallocated part of their page, as long as nothing is written over them. SQLite never reads that part.

    | header | cell pointers → | unallocated | ← cells, and free blocks between them |
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

FILE_HEADER_BYTES = 100
"""In front of the first page's own header."""
MAX_PAGES = 1 << 24
"""Below, the number of no page has a first byte: so no page that begins with one looks like one of a b-tree."""

_HEADER = struct.Struct(">BHHH")
_FREE_BLOCK = struct.Struct(">HH")
_HEADER_BYTES = {2: 12, 5: 12, 10: 8, 13: 8}
"""By the kind of page: inner nodes, leaves."""
_ZEROS = bytes(65_536)


class Layout(NamedTuple):
    """How a file is cut into pages. Of a page only the first `usable_bytes` are a b-tree's."""

    page_bytes: int
    usable_bytes: int
    page_count: int


class Stale(NamedTuple):
    """Bytes of a page that are not zero and belong to nothing."""

    start: int
    end: int


def stale_parts(pages: bytes, first: int, layout: Layout) -> Iterator[tuple[int, list[Stale]]]:
    """The pages that hold such bytes, by number.

    Parameters
    ----------
    pages : bytes
        Some pages one behind the other, as they stand in the file.
    first : int
        The number of the first; SQLite counts from 1.
    layout : Layout
        Of the file.
    """
    for at in range(0, len(pages), layout.page_bytes):
        number = first + at // layout.page_bytes
        start = at + FILE_HEADER_BYTES if number == 1 else at
        if pages[start] in _HEADER_BYTES:
            found = _stale_in(pages, at, start, layout.usable_bytes)
            if found:
                yield number, found


def _stale_in(pages: bytes, at: int, start: int, usable: int) -> list[Stale]:
    """Of the page at `at`, whose header is at `start`; none where it is no whole page of a b-tree."""
    kind, free, cells, content = _HEADER.unpack_from(pages, start)
    content = content or 65_536
    pointers_end = start - at + _HEADER_BYTES[kind] + 2 * cells
    if not pointers_end <= content <= usable:
        return []
    parts = [Stale(pointers_end, content)]
    least = content
    while free:
        if not least <= free <= usable - 4:
            return []
        following, size = _FREE_BLOCK.unpack_from(pages, at + free)
        if size < 4 or free + size > usable:
            return []
        parts.append(Stale(free + 4, free + size))
        least, free = free + size, following
    return [
        part
        for part in parts
        if pages[at + part.start : at + part.end] != _ZEROS[: part.end - part.start]
    ]
