"""The arguments of a tool call as vendors take them: JSON of one object, whatever a model or a bot wrote. Pure."""

from __future__ import annotations

import json
from typing import Any

import orjson

from backscroll_sidecar.adapters.broken_json import read_object

MAX_REPAIRED_CHARS = 16_384
"""Longer texts are quoted. One answer's calls share it: so much takes some 20 ms at worst (two busy cores)."""
MAX_OBJECTS = 32
"""Objects in a row that are looked for in one call."""
MAX_UNWRAPPED = 2
"""How often JSON may stand inside a JSON text before it is quoted."""

_DECODER = json.JSONDecoder()


def object_json(text: str, max_repaired_chars: int = MAX_REPAIRED_CHARS) -> str:
    """`text` where it is a JSON object, else the object that was meant, else ``{"arguments": text}``.

    What is longer than `max_repaired_chars` and no JSON is not looked into.
    """
    text = text.strip()
    if text in {"", "null"}:
        return "{}"
    for _ in range(1 + MAX_UNWRAPPED):
        found = _loaded(text)
        if isinstance(found, dict):
            return text
        if not isinstance(found, str):
            break
        text = found.strip()  # written twice: JSON in a JSON text
    repaired = _repaired(text) if len(text) <= max_repaired_chars else ""
    return repaired or orjson.dumps({"arguments": _encodable(text)}).decode()


def objects_in(text: str) -> list[str]:
    """The texts of several whole JSON objects behind each other, equal ones once; `text` alone where it is not that."""
    if _loaded(text) is not None:
        return [text]
    found: dict[str, str] = {}
    at = 0
    try:
        for _ in range(MAX_OBJECTS):
            value, end = _DECODER.raw_decode(text, at)
            if not isinstance(value, dict):
                break
            found.setdefault(json.dumps(value, sort_keys=True), text[at:end])
            at = end
            while text[at : at + 1].isspace():
                at += 1
            if at == len(text):
                return list(found.values())
    except (ValueError, RecursionError):
        pass
    return [text]


def _loaded(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The value of a JSON text; None where it is none."""
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def _repaired(text: str) -> str:
    """The object that a broken text was meant to be; empty where that is unclear or cannot be written."""
    try:
        value = read_object(text)
        return orjson.dumps(value).decode() if value else ""
    except (ValueError, TypeError):
        return ""


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()
