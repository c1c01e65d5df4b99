"""Parsing that says what is wrong. Bytes that are no message never end a call as UNKNOWN.

protobuf refuses a whole request for one string that is not UTF-8. A batch may not: the same bytes are read again
with a shadow of the contract whose strings are bytes, and each item is judged on its own (law: one bad item never
harms the others).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple, TypeVar

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message

from backscroll.v1 import (
    admin_pb2,
    context_pb2,
    experiment_pb2,
    feedback_pb2,
    history_pb2,
    learning_pb2,
    message_pb2,
    preference_pb2,
    session_pb2,
)
from backscroll_sidecar.domain import AppendOutcome, AppendResult, RefusalCode
from backscroll_sidecar.edge.convert.fields import batch_too_large
from backscroll_sidecar.edge.limits import MAX_BATCH_BYTES, MAX_BATCH_ITEMS
from backscroll_sidecar.errors import InvalidRequest, Reason

M = TypeVar("M", bound=Message)
BatchRequest = type[history_pb2.AppendMessagesRequest] | type[history_pb2.ImportMessagesRequest]


class Batch(NamedTuple):
    """A batch as sent: each item either a message or the refusal of one whose strings are not UTF-8."""

    channel: str
    items: Sequence[message_pb2.Message | AppendResult]
    restores_erased: bool = False
    members: Sequence[history_pb2.Member] = ()
    members_at_ms: int | None = None
    context_id: str = ""


def parse(kind: type[M], raw: bytes) -> M:
    """Parse a request.

    Raises
    ------
    InvalidRequest
        MALFORMED_REQUEST; with the field where a string is not UTF-8.
    """
    try:
        return kind.FromString(raw)
    except DecodeError:
        raise _malformed(_bad_field(kind, raw)) from None


def parse_batch(kind: BatchRequest, raw: bytes) -> Batch:
    """Parse a batch; an item whose strings are not UTF-8 becomes a refusal in its place.

    Raises
    ------
    InvalidRequest
        BATCH_TOO_LARGE, or MALFORMED_REQUEST when more is wrong than single items.
    """
    if len(raw) > MAX_BATCH_BYTES:
        raise batch_too_large("messages", MAX_BATCH_BYTES, "bytes")
    try:
        request = kind.FromString(raw)
    except DecodeError:
        return _parse_items(kind, raw)
    _check_items(len(request.messages))
    if isinstance(request, history_pb2.AppendMessagesRequest):
        return Batch(request.channel, request.messages, context_id=request.context_id)
    return Batch(request.channel, request.messages, request.restore_erased, *_members(request))


def _parse_items(kind: BatchRequest, raw: bytes) -> Batch:
    shadow = _parse_shadow(kind, raw)
    if shadow is None:
        raise _malformed("")
    channel: bytes = shadow.channel  # type: ignore[attr-defined]
    if not _is_utf8(channel):
        raise _malformed("channel")
    items: Sequence[Message] = shadow.messages  # type: ignore[attr-defined]
    _check_items(len(items))
    parsed = [_parse_item(item) for item in items]
    shadow.ClearField("messages")
    rest = parse(kind, shadow.SerializeToString())
    if isinstance(rest, history_pb2.AppendMessagesRequest):
        return Batch(channel.decode(), parsed, context_id=rest.context_id)
    return Batch(channel.decode(), parsed, rest.restore_erased, *_members(rest))


def _members(
    request: history_pb2.ImportMessagesRequest,
) -> tuple[Sequence[history_pb2.Member], int | None]:
    """The people an import tells of, and when they were so."""
    at_ms = request.members_at_ms if request.HasField("members_at_ms") else None
    return request.members, at_ms


def _parse_item(shadow: Message) -> message_pb2.Message | AppendResult:
    try:
        return message_pb2.Message.FromString(shadow.SerializeToString())
    except DecodeError:
        return AppendResult(
            shadow.id.decode(errors="replace"),  # type: ignore[attr-defined]
            AppendOutcome.REFUSED,
            refusal=RefusalCode.BAD_UTF8,
            field=next(_bad_strings(shadow), ""),
        )


def _check_items(count: int) -> None:
    if count > MAX_BATCH_ITEMS:
        raise batch_too_large("messages", MAX_BATCH_ITEMS, "items")


def _malformed(field: str) -> InvalidRequest:
    why = f"{field} is not UTF-8" if field else "the bytes are no such message"
    return InvalidRequest(why, field=field, reason=Reason.MALFORMED_REQUEST)


# --- the shadow ------------------------------------------------------------------------------------


@cache
def _shadow() -> tuple[descriptor_pool.DescriptorPool, frozenset[str]]:
    """The contract once more, with bytes for every string, the same on the wire; and which fields were strings."""
    pool = descriptor_pool.DescriptorPool()
    strings: set[str] = set()
    for module in (
        message_pb2, history_pb2, context_pb2, preference_pb2, feedback_pb2, experiment_pb2, admin_pb2, session_pb2,
        learning_pb2,
    ):  # fmt: skip
        file = descriptor_pb2.FileDescriptorProto()
        module.DESCRIPTOR.CopyToProto(file)
        for message in file.message_type:
            strings.update(_use_bytes(message, file.package))
        pool.Add(file)
    return pool, frozenset(strings)


def _use_bytes(message: descriptor_pb2.DescriptorProto, scope: str) -> Iterator[str]:
    name = f"{scope}.{message.name}"
    for field in message.field:
        if field.type == descriptor_pb2.FieldDescriptorProto.TYPE_STRING:
            field.type = descriptor_pb2.FieldDescriptorProto.TYPE_BYTES
            yield f"{name}.{field.name}"
    for nested in message.nested_type:
        nested.options.ClearField(
            "map_entry"
        )  # a map's key may be no bytes; its wire form is a list
        yield from _use_bytes(nested, name)


def _parse_shadow(kind: type[Message], raw: bytes) -> Message | None:
    pool, _ = _shadow()
    try:
        descriptor = pool.FindMessageTypeByName(kind.DESCRIPTOR.full_name)
        return message_factory.GetMessageClass(descriptor).FromString(raw)
    except (DecodeError, KeyError):  # KeyError: a request of another contract, such as health
        return None


def _bad_field(kind: type[Message], raw: bytes) -> str:
    """The first string of a request that is not UTF-8, in dotted form; empty if that is not what is wrong."""
    shadow = _parse_shadow(kind, raw)
    return "" if shadow is None else next(_bad_strings(shadow), "")


def _bad_strings(shadow: Message) -> Iterator[str]:
    _, strings = _shadow()
    for field, value in shadow.ListFields():
        singular = isinstance(value, bytes | Message)
        for i, one in enumerate((value,) if singular else value if _has_texts(field) else ()):
            path = field.name if singular else f"{field.name}[{i}]"
            if isinstance(one, Message):
                for inner in _bad_strings(one):
                    yield f"{path}.{inner}"
            elif field.full_name in strings and not _is_utf8(one):
                yield path


def _has_texts(field: FieldDescriptor) -> bool:
    return field.type in {FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_BYTES}


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
