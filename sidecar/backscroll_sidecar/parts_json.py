"""Parts of a message as JSON values: the name of the kind, then its fields in order; bytes in base64. Pure."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterable
from typing import Any

from msgspec.structs import astuple

from backscroll_sidecar.domain import (
    MediaPart,
    Part,
    ProviderStatePart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

_KINDS: dict[str, type[Part]] = {
    "text": TextPart,
    "media": MediaPart,
    "call": ToolCallPart,
    "result": ToolResultPart,
    "state": ProviderStatePart,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def encode_parts(parts: Iterable[Part]) -> list[list[Any]]:
    """Parts as JSON arrays."""
    return [[_NAMES[type(part)], *map(_as_json, astuple(part))] for part in parts]


def decode_parts(encoded: Iterable[list[Any]]) -> tuple[Part, ...]:
    """The inverse of `encode_parts`."""
    return tuple([_decode_part(*fields) for fields in encoded])


def _as_json(value: str | bytes) -> str:
    return b64encode(value).decode() if isinstance(value, bytes) else value


def _decode_part(name: str, *values: Any) -> Part:  # noqa: ANN401 - fields of a part
    if name == "state":
        provider, api, model, kind, data = values
        return ProviderStatePart(provider, api, model, kind, b64decode(data))
    return _KINDS[name](*values)
