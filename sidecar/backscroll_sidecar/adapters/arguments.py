"""The arguments of a tool call as vendors take them: JSON of one object, whatever a model or a bot wrote. Pure."""

from __future__ import annotations

import json
from typing import Any

import orjson

MAX_REPAIRED_CHARS = 2_048
"""Longer texts are quoted: the library takes the longer for each character, here .14 s at worst (two busy cores)."""
MAX_UNWRAPPED = 2
"""How often JSON may stand inside a JSON text before it is quoted."""

_DECODER = json.JSONDecoder()


def object_json(text: str) -> str:
    """`text` where it is a JSON object, else the object that was meant, else ``{"arguments": text}``."""
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
    return _repaired(text) or orjson.dumps({"arguments": _encodable(text)}).decode()


def objects_in(text: str) -> list[str]:
    """The texts of several whole JSON objects behind each other, equal ones once; `text` alone where it is not that."""
    if _loaded(text) is not None:
        return [text]
    found: dict[str, str] = {}
    at = 0
    try:
        while at < len(text):
            value, end = _DECODER.raw_decode(text, at)
            if not isinstance(value, dict):
                return [text]
            found.setdefault(json.dumps(value, sort_keys=True), text[at:end])
            at = end + len(text[end:]) - len(text[end:].lstrip())
    except (ValueError, RecursionError):
        return [text]
    return list(found.values()) or [text]


def _loaded(text: str) -> Any:  # noqa: ANN401 - whatever JSON holds
    """The value of a JSON text; None where it is none."""
    try:
        return orjson.loads(text)
    except ValueError:
        return None


def _repaired(text: str) -> str:
    """The object that a broken text was meant to be; empty where nothing shows that it was one."""
    if len(text) > MAX_REPAIRED_CHARS or "{" not in text:
        return ""
    import json_repair  # noqa: PLC0415 - rarely wanted

    try:
        value = json_repair.repair_json(text, return_objects=True, skip_json_loads=True)
        return orjson.dumps(value).decode() if isinstance(value, dict) and value else ""
    except (ValueError, TypeError, RecursionError):
        return ""


def _encodable(text: str) -> str:
    return text.encode(errors="replace").decode()
