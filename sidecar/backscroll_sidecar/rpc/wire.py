"""The few rules of the protobuf wire format that let stored bytes be joined instead of encoded again.

A serialised message is the concatenation of its fields, so an answer can carry a stored fragment as it is.
"""

from __future__ import annotations

from google.protobuf.message import Message

VARINT, FIXED64, LENGTH = 0, 1, 2


def varint(value: int) -> bytes:
    """Encode a number that is not negative."""
    if value < _SMALL_END:
        return _SMALL[value]
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


_SMALL_END = 0x800
_SMALL = tuple(
    bytes((n,)) if n < 0x80 else bytes((n & 0x7F | 0x80, n >> 7)) for n in range(_SMALL_END)
)
"""Counts, ranks and the sizes of most messages."""


def tag(message: type[Message], field: str, wire_type: int) -> bytes:
    """Encode the key of a field, its number taken from the contract."""
    return varint(message.DESCRIPTOR.fields_by_name[field].number << 3 | wire_type)


def lengthed(key: bytes, body: bytes) -> bytes:
    """Encode one field that holds bytes, a text or a message."""
    return b"".join((key, varint(len(body)), body))
