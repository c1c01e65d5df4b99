"""The few rules of the protobuf wire format that let stored bytes be joined instead of encoded again, and left out.

A serialised message is the concatenation of its fields, so an answer can carry a stored fragment as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from google.protobuf.message import Message

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2
from backscroll_sidecar.domain import ResponsePart

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


# --- parts of an answer that a caller does not read ----------------------------------------------------

_ITEMS = tag(pb.BuildContextResponse, "items", LENGTH)
_ITEM_MESSAGE = tag(pb.Item, "message", LENGTH)
_MESSAGE_ID = tag(message_pb2.Message, "id", LENGTH)
_KEYS = {
    ResponsePart.MESSAGES: tag(pb.BuildContextResponse, "messages", LENGTH),
    ResponsePart.PAYLOADS: tag(pb.BuildContextResponse, "payloads", LENGTH),
    ResponsePart.TEXT: tag(pb.BuildContextResponse, "text", LENGTH),
}


def without(content: bytes, omit: Collection[ResponsePart]) -> bytes:
    """The fields of an answer but for those left out; all of them hold bytes and have keys of one byte.

    Of an item's message, which is the first field of the item, the id stays.
    """
    dropped = {_KEYS[part][0] for part in omit if part in _KEYS}
    shortened = _ITEMS[0] if ResponsePart.ITEM_MESSAGES in omit else -1
    kept: list[bytes] = []
    start = 0
    while start < len(content):
        key = content[start]
        at, end = _body(content, start)
        if key == shortened:
            kept.append(lengthed(_ITEMS, _with_id_alone(content[at:end])))
        elif key not in dropped:
            kept.append(content[start:end])
        start = end
    return b"".join(kept)


def _with_id_alone(item: bytes) -> bytes:
    at, end = _body(item, 0)
    message_id = message_pb2.Message.FromString(item[at:end]).id
    return lengthed(_ITEM_MESSAGE, lengthed(_MESSAGE_ID, message_id.encode())) + item[end:]


def _body(content: bytes, start: int) -> tuple[int, int]:
    """Where the bytes of the field that begins at `start` begin and end."""
    at, size, shift = start + 1, 0, 0
    while True:
        byte = content[at]
        at += 1
        size |= (byte & 0x7F) << shift
        if byte < 0x80:
            return at, at + size
        shift += 7
