"""Messages of the contract from JSON and to it, by protobuf's own mapping, with errors that name the field."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any, TypeVar

import orjson
from google.protobuf import json_format, message_factory
from google.protobuf.message import Message

from backscroll_sidecar.edge.status import Refused, refusal_for
from backscroll_sidecar.errors import InvalidRequest, Reason

M = TypeVar("M", bound=Message)

LONG_BYTES = 32 * 1024
"""Longer ones are translated in a thread: protobuf does so in Python, at some 10 MB a second."""

_NESTED = re.compile(r"Failed to parse (\w+) field: ")


async def parse_json(kind: type[M], body: bytes) -> M:
    """The message of a JSON object.

    Raises
    ------
    Refused
        It is none, or has a field that the message has not.
    """
    if len(body) > LONG_BYTES:
        return await asyncio.to_thread(_parse, kind, body)
    return _parse(kind, body)


async def json_of(message: Message) -> bytes:
    """The message as a JSON object."""
    if message.ByteSize() > LONG_BYTES:
        return await asyncio.to_thread(_dumped, message)
    return _dumped(message)


def json_object(body: bytes | memoryview) -> dict[str, Any]:
    """A body as an object. Raises `Refused`."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise _malformed(f"is no JSON: {error}") from None
    if not isinstance(found, dict):
        raise _malformed("is no JSON object")
    try:
        orjson.dumps(found)
    except TypeError:  # it reads deeper than it writes
        raise _malformed("is nested too deep") from None
    return found


def _parse(kind: type[M], body: bytes) -> M:
    values = json_object(body or b"{}")
    try:
        return json_format.ParseDict(values, kind())
    except json_format.ParseError as error:
        raise _malformed(_said(str(error)), ".".join(_path(kind, values))) from None


def _dumped(message: Message) -> bytes:
    return orjson.dumps(json_format.MessageToDict(message))


def _said(text: str) -> str:
    """What protobuf says of the first thing that is wrong, without the list of all fields there are."""
    return _NESTED.sub("", text.splitlines()[0]).rstrip(".")


def _path(kind: type[Message], values: Mapping[str, Any]) -> list[str]:
    """The names on the way to the first field that is wrong, as the contract writes them: protobuf tells some."""
    fields = {name: one for one in kind.DESCRIPTOR.fields for name in (one.name, one.json_name)}
    for name, value in values.items():
        field = fields.get(name)
        if field is None:
            return [name]
        if _is_sound(kind, {name: value}):
            continue
        place, wrong = field.name, value
        if isinstance(value, list):
            for number, one in enumerate(value):
                if not _is_sound(kind, {name: [one]}):
                    place, wrong = f"{field.name}[{number}]", one
                    break
        if field.message_type is None or not isinstance(wrong, dict):
            return [place]
        inner: Any = field.message_type
        return [place, *_path(message_factory.GetMessageClass(inner), wrong)]
    return []


def _is_sound(kind: type[Message], values: Mapping[str, Any]) -> bool:
    try:
        json_format.ParseDict(dict(values), kind())
    except json_format.ParseError:
        return False
    return True


def _malformed(said: str, field: str = "") -> Refused:
    return refusal_for(
        InvalidRequest(
            said if field else f"the body {said}", field=field, reason=Reason.MALFORMED_REQUEST
        )
    )
