"""A question in an address: fields of `BuildContextRequest` by their names in the contract, both ways. Pure.

``profile=classic&overrides.max_context=5`` is a request of which everything else is left to the server. What begins
with ``b.`` is what the other side of a comparison has otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor
from google.protobuf.message import Message

from backscroll.v1 import context_pb2 as pb

Pairs = list[tuple[str, str]]
OTHER = "b."
TRIGGER = "trigger_message_id"
LEFT_OUT = frozenset({"explain", "omit", "pictures", "query_embedding"})
"""Fields that no address has: the page sets them itself, or they are too long for one."""

_INTEGERS = {
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_UINT32,
    FieldDescriptor.TYPE_INT32,
}
_TRUE, _FALSE = frozenset({"true", "1", "on", "yes"}), frozenset({"false", "0", "off", "no"})


class BadField(ValueError):
    """A value of an address is none of its field's."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name}: {why}")
        self.name = name


class UnknownField(BadField):
    """A field of an address is none of a question's."""

    def __init__(self, name: str) -> None:
        super().__init__(name, "a question has no such field")


def question_of(given: Iterable[tuple[str, str]]) -> pb.BuildContextRequest:
    """The request that fields of an address make. A blank value is none. Raises `BadField`."""
    request = pb.BuildContextRequest()
    for name, value in given:
        if value.strip():
            _set(request, name, value)
    return request


def pairs_of(request: Message, prefix: str = "") -> Pairs:
    """The fields of an address that make this request."""
    found: Pairs = []
    for field, value in request.ListFields():
        name = prefix + field.name
        if field.name in LEFT_OUT or (field.message_type and field.is_repeated):
            continue
        if field.message_type:
            found += pairs_of(value, f"{name}.")
        else:
            found += [
                (name, _written(field, one)) for one in (value if field.is_repeated else [value])
            ]
    return found


def both_of(given: Sequence[tuple[str, str]]) -> tuple[Pairs, Pairs]:
    """What both sides of a comparison have, and what the other side has otherwise."""
    one = [(name, value) for name, value in given if not name.startswith(OTHER)]
    other = [(name.removeprefix(OTHER), value) for name, value in given if name.startswith(OTHER)]
    return one, [(name, value) for name, value in other if value.strip()]


def changed(one: Pairs, other: Pairs) -> Pairs:
    """The fields of one side with those that the other one has otherwise in their place."""
    names = {name for name, _ in other}
    return [(name, value) for name, value in one if name not in names] + other


def _set(request: Message, path: str, value: str) -> None:
    holder: Any = request
    *parents, name = path.split(".")
    for parent in parents:
        field = holder.DESCRIPTOR.fields_by_name.get(parent)
        if field is None or field.message_type is None or field.is_repeated:
            raise UnknownField(path)
        holder = getattr(holder, parent)
    field = holder.DESCRIPTOR.fields_by_name.get(name)
    if field is None or field.message_type is not None or (not parents and name in LEFT_OUT):
        raise UnknownField(path)
    try:
        if field.is_repeated:
            words = value.replace(",", " ").split() if field.enum_type or parents else [value]
            getattr(holder, name).extend(_read(field, one) for one in words)
        else:
            setattr(holder, name, _read(field, value))
    except (ValueError, TypeError) as error:
        raise BadField(path, str(error)) from None


def _read(field: FieldDescriptor, value: str) -> Any:  # noqa: ANN401 - of the field's type
    if field.enum_type:
        return _number(field, value.strip())
    if field.type == FieldDescriptor.TYPE_BOOL:
        word = value.strip().lower()
        if word not in _TRUE | _FALSE:
            raise ValueError("true or false")
        return word in _TRUE
    if field.type in _INTEGERS:
        return _whole(value)
    if field.type in {FieldDescriptor.TYPE_DOUBLE, FieldDescriptor.TYPE_FLOAT}:
        return _decimal(value)
    return value


def _number(field: FieldDescriptor, word: str) -> int:
    """Of an enum's value, by its name with the enum's own before it or without."""
    values = _enum(field).values_by_name
    ending = "_" + word.upper().replace("-", "_")
    found = [one.number for name, one in values.items() if name == word.upper()]
    found = found or [
        one.number for name, one in values.items() if _short(field, name) == ending[1:]
    ]
    if not found:
        raise ValueError("one of " + ", ".join(_short(field, name).lower() for name in values))
    return int(found[0])


def _enum(field: FieldDescriptor) -> EnumDescriptor:
    if field.enum_type is None:
        raise TypeError(f"{field.name} is no enum")
    return field.enum_type


def _short(field: FieldDescriptor, name: str) -> str:
    """A value's name without that of its enum: the words that all of them begin with."""
    names = list(_enum(field).values_by_name)
    prefix = names[0].removesuffix("UNSPECIFIED")
    return name.removeprefix(prefix)


def _written(field: FieldDescriptor, value: Any) -> str:  # noqa: ANN401 - of the field's type
    if field.enum_type:
        return _short(field, field.enum_type.values_by_number[value].name).lower()
    if field.type == FieldDescriptor.TYPE_BOOL:
        return "true" if value else "false"
    return str(value)


def _whole(value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError("a whole number") from None


def _decimal(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError("a number") from None
