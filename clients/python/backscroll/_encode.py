"""From friendly values to protobuf messages, driven by the contract's own descriptors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any, NamedTuple, TypeVar

from google.protobuf.descriptor import Descriptor, EnumDescriptor
from google.protobuf.message import Message as ProtoMessage

_P = TypeVar("_P", bound=ProtoMessage)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)


class _Field(NamedTuple):
    enum: EnumDescriptor | None
    repeated: bool


def encode(kind: type[_P], /, **values: object) -> _P:
    r"""Build a protobuf message: clean text, enums by name, times in ms; None leaves a field unset.

    Examples
    --------
    >>> from backscroll.v1.message_pb2 import Author
    >>> encode(Author, id="u1", name="Ann \ud83d", kind="bot").name
    'Ann �'
    """
    fields = _fields(kind.DESCRIPTOR)
    return kind(
        **{
            name: _encode(fields[name], value)
            for name, value in values.items()
            if value is not None
        }
    )


def clean(text: str) -> str:
    r"""Replace what is no Unicode text by U+FFFD; join the halves of a surrogate pair.

    Chat platforms and sloppy JSON produce lone surrogates; protobuf refuses them.

    Examples
    --------
    >>> clean("half a smile: \ud83d"), clean("a whole one: \ud83d\ude00")
    ('half a smile: �', 'a whole one: 😀')
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def epoch_ms(when: datetime) -> int:
    """Milliseconds since the epoch; a time without a zone could mean anything and is refused.

    Examples
    --------
    >>> epoch_ms(datetime(2026, 11, 20, tzinfo=UTC))
    1795132800000
    """
    if when.tzinfo is None:
        raise ValueError("a datetime needs a time zone, for example datetime.now(timezone.utc)")
    return (when - _EPOCH) // _MILLISECOND


def enum_name(enum: EnumDescriptor, number: int) -> str:
    """Lower-case name of an enum's value without the enum's prefix.

    Examples
    --------
    >>> from backscroll.v1.message_pb2 import Role
    >>> enum_name(Role.DESCRIPTOR, Role.ROLE_ASSISTANT)
    'assistant'
    """
    for name, known in _numbers(enum).items():
        if known == number:
            return name
    return str(number)  # a newer server's value


def _encode(field: _Field, value: object) -> object:
    if field.repeated:
        if isinstance(value, Mapping):
            return {clean(key): clean(item) for key, item in value.items()}
        items = value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        return [_encode_one(field, item) for item in items]
    return _encode_one(field, value)


def _encode_one(field: _Field, value: object) -> object:
    if field.enum is not None and isinstance(value, str):
        return _number(field.enum, value)
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, datetime):
        return epoch_ms(value)
    to_proto = getattr(value, "to_proto", None)
    return value if to_proto is None else to_proto()


def _number(enum: EnumDescriptor, name: str) -> int:
    try:
        return _numbers(enum)[name]
    except KeyError:
        known = ", ".join(repr(known) for known in _numbers(enum))
        raise ValueError(f"no {enum.name} {name!r}; there are {known}") from None


@cache
def _numbers(enum: EnumDescriptor) -> dict[str, int]:
    """Names of an enum's values without the prefix that its zero value shows."""
    prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
    return {value.name.removeprefix(prefix).lower(): value.number for value in enum.values}


@cache
def _fields(kind: Descriptor) -> dict[str, _Field]:
    return {field.name: _Field(field.enum_type, _is_repeated(field)) for field in kind.fields}


def _is_repeated(field: Any) -> bool:  # noqa: ANN401  (its types know one of the two attributes)
    if hasattr(field, "is_repeated"):  # protobuf 6.31 and newer, where `label` is deprecated
        return bool(field.is_repeated)
    return bool(field.label == field.LABEL_REPEATED)
