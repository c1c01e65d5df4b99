"""Pages as they stand, in the format of SQLite's own rollback journal. Pure.

Whoever opens the database and finds such a journal beside it, whose writer is gone, puts the pages back first.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable

from backscroll_sidecar.store.sqlite.pages import Layout

_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_HEADER = struct.Struct(">8sIIIII")
_NUMBER = struct.Struct(">I")
_SECTOR_BYTES = 512
_CHECKED_BYTES = 200


def encode(pages: Iterable[tuple[int, bytes]], layout: Layout, nonce: int) -> bytes:
    """The journal of these pages, by number. `nonce`: 32 bits that no journal before had, beneath its sums."""
    records = [
        _NUMBER.pack(number) + page + _NUMBER.pack(_sum(page, nonce)) for number, page in pages
    ]
    header = _HEADER.pack(
        _MAGIC, len(records), nonce, layout.page_count, _SECTOR_BYTES, layout.page_bytes
    )
    return b"".join([header.ljust(_SECTOR_BYTES, b"\0"), *records])


def _sum(page: bytes, nonce: int) -> int:
    checked = range(len(page) - _CHECKED_BYTES, 0, -_CHECKED_BYTES)
    return (nonce + sum(page[at] for at in checked)) % 2**32
