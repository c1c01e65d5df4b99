"""The few rules of the protobuf wire format that let stored bytes be joined instead of encoded again.

A serialised message is the concatenation of its fields, so an answer can carry a stored fragment as it is.
"""

from __future__ import annotations

from collections.abc import Callable

from google.protobuf.message import Message

VARINT, FIXED64, LENGTH = 0, 1, 2


class _Numbers(dict[int, bytes]):
    """Numbers as they are encoded: the first 2,048 at once, the rest when they come."""

    def __init__(self) -> None:
        super().__init__((n, _encode(n)) for n in range(0x800))

    def __missing__(self, value: int) -> bytes:
        return _encode(value)


def _encode(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


varint: Callable[[int], bytes] = _Numbers().__getitem__
"""Encode a number that is not negative."""


def tag(message: type[Message], field: str, wire_type: int) -> bytes:
    """Encode the key of a field, its number taken from the contract."""
    return varint(message.DESCRIPTOR.fields_by_name[field].number << 3 | wire_type)


def lengthed(key: bytes, body: bytes) -> bytes:
    """Encode one field that holds bytes, a text or a message."""
    return b"".join((key, varint(len(body)), body))
