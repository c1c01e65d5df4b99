"""From friendly values to protobuf messages, driven by the contract's own descriptors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from numbers import Integral
from typing import Any, NamedTuple, TypeVar

from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message as ProtoMessage

_P = TypeVar("_P", bound=ProtoMessage)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_LEAST_MS = 10_000_000_000  # April 1970; a number below it is taken for seconds by mistake
_DURATIONS = frozenset({"timeout_ms", "burst_window_ms"})
_WHOLE_NUMBERS = (
    FieldDescriptor.CPPTYPE_INT32,
    FieldDescriptor.CPPTYPE_INT64,
    FieldDescriptor.CPPTYPE_UINT32,
    FieldDescriptor.CPPTYPE_UINT64,
)


class _Field(NamedTuple):
    name: str
    """As the caller knows it, for the words of an error."""
    enum: EnumDescriptor | None
    repeated: bool
    is_text: bool
    is_time: bool
    is_count: bool


def encode(kind: type[_P], /, **values: object) -> _P:
    r"""Build a protobuf message: clean text, enums by name, times in ms; None leaves a field unset.

    Examples
    --------
    >>> from backscroll.v1.message_pb2 import Author
    >>> encode(Author, id="u1", name="Ann \ud83d", kind="bot").name
    'Ann �'
    """
    fields = _fields(kind.DESCRIPTOR)
    if unknown := values.keys() - fields.keys():
        known = ", ".join(fields)
        raise TypeError(f"{kind.DESCRIPTOR.name} has no {min(unknown)!r}; there are {known}")
    return kind(
        **{
            name: _encode(fields[name], value)
            for name, value in values.items()
            if value is not None
        }
    )


def check(kind: type[ProtoMessage], values: Mapping[str, object]) -> None:
    """Refuse early what `encode` would refuse; only fields of one text, number, time or enum.

    Examples
    --------
    >>> from backscroll.v1.message_pb2 import Author
    >>> check(Author, {"id": 5})
    Traceback (most recent call last):
    TypeError: Author.id must be text, not int: str(5)
    """
    known = _fields(kind.DESCRIPTOR)
    for name, value in values.items():
        field = known.get(name) or known.get(f"{name}_ms")
        if field is not None and not field.repeated and value is not None:
            _refuse(field, value)


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
            return {
                _encode_one(field, key): _encode_one(field, item) for key, item in value.items()
            }
        items = value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
        return [_encode_one(field, item) for item in items]
    return _encode_one(field, value)


def _encode_one(field: _Field, value: object) -> object:
    _refuse(field, value)
    if field.enum is not None and isinstance(value, str):
        return _numbers(field.enum)[value]
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, datetime):
        return epoch_ms(value)
    to_proto = getattr(value, "to_proto", None)
    return value if to_proto is None else to_proto()


def _refuse(field: _Field, value: object) -> None:
    """Raise if a value is not of its field's kind, in words that name the field."""
    kind = type(value).__name__
    if field.is_text and not isinstance(value, str):
        hint = f": str({value!r})" if isinstance(value, Integral) else ""
        raise TypeError(f"{field.name} must be text, not {kind}{hint}")
    if field.enum is not None and isinstance(value, str) and value not in _numbers(field.enum):
        known = ", ".join(repr(known) for known in _numbers(field.enum))
        raise ValueError(f"{field.name}: no {field.enum.name} {value!r}; there are {known}")
    if field.is_time and isinstance(value, datetime):
        epoch_ms(value)
    elif field.is_time and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise TypeError(f"{field.name} must be an aware datetime or whole milliseconds, not {kind}")
    elif field.is_time and 0 < int(value) < _LEAST_MS:  # type: ignore[call-overload]
        raise ValueError(
            f"{field.name} {value} looks like seconds; milliseconds are wanted, or a datetime"
        )
    if field.is_count and not isinstance(value, Integral):
        raise TypeError(f"{field.name} must be a whole number, not {kind}")
    if field.is_count and int(value) < 0:  # type: ignore[call-overload]
        raise ValueError(f"{field.name} must not be negative: {value}")


@cache
def _numbers(enum: EnumDescriptor) -> dict[str, int]:
    """Names of an enum's values without the prefix that its zero value shows."""
    prefix = enum.values[0].name.removesuffix("UNSPECIFIED")
    return {value.name.removeprefix(prefix).lower(): value.number for value in enum.values}


@cache
def _fields(kind: Descriptor) -> dict[str, _Field]:
    return {field.name: _field(kind, field) for field in kind.fields}


def _field(kind: Descriptor, field: FieldDescriptor) -> _Field:
    # A request's fields are the call's own keywords.
    owner = "" if kind.name.endswith("Request") else f"{kind.name.removesuffix('Part')}."
    is_number = field.cpp_type in _WHOLE_NUMBERS
    is_time = is_number and field.name.endswith("_ms") and field.name not in _DURATIONS
    is_map = field.message_type is not None and field.message_type.GetOptions().map_entry
    return _Field(
        name=owner + (field.name.removesuffix("_ms") if is_time else field.name),
        enum=field.enum_type,
        repeated=_is_repeated(field),
        is_text=field.type == FieldDescriptor.TYPE_STRING or is_map,  # every map is text to text
        is_time=is_time,
        is_count=is_number and not is_time,
    )


def _is_repeated(field: Any) -> bool:  # noqa: ANN401  (its types know one of the two attributes)
    if hasattr(field, "is_repeated"):  # protobuf 6.31 and newer, where `label` is deprecated
        return bool(field.is_repeated)
    return bool(field.label == field.LABEL_REPEATED)
