"""Words that stand nowhere else, and the search for them in every file of a folder, however they are written."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.kit.kept import kept_in

_ZLIB = re.compile(rb"\x78[\x01\x5e\x9c\xda]|\x1f\x8b\x08")
_MOST_BYTES = 1 << 24


@dataclass(frozen=True)
class Find:
    """A canary in a file."""

    canary: str
    written: str
    file: str
    at: int


def forms(canary: str) -> Iterator[tuple[str, bytes]]:
    """How a word may stand in a file, each with a name."""
    raw = canary.encode()
    yield "utf-8", raw
    for order in ("le", "be"):
        yield f"utf-16-{order}", canary.encode(f"utf-16-{order}")
    escaped = json.dumps(canary)[1:-1]
    yield "escaped", escaped.encode()
    yield (
        "escaped, upper case",
        re.sub(r"\\u[0-9a-f]{4}", lambda found: "\\u" + found[0][2:].upper(), escaped).encode(),
    )
    yield "hex", raw.hex().encode()
    for wide in ("utf-8", "utf-16-le"):
        for offset in range(3):
            yield f"base64 of {wide}, {offset} further", _inner_base64(canary.encode(wide), offset)


def _inner_base64(raw: bytes, offset: int) -> bytes:
    """The part of the base64 of a longer text that says nothing but the word, which stands so far in it."""
    whole = base64.b64encode(b"\0" * offset + raw + b"\0\0\0")
    return whole[(offset * 8 + 5) // 6 : (offset + len(raw)) * 8 // 6]


def found_in(folder: Path, *canaries: str) -> list[Find]:
    """Where any of them stands in any file below the folder, or row that stands for one: as it is, or compressed."""
    wanted = [
        (canary, name, form) for canary in canaries for name, form in dict(forms(canary)).items()
    ]
    found = []
    for where, content in kept_in(folder):
        for how, text in (("", content), *_unpacked(content)):
            found += [
                Find(canary, name + how, where, text.find(form))
                for canary, name, form in wanted
                if form in text
            ]
    return found


def _unpacked(content: bytes) -> Iterator[tuple[str, bytes]]:
    """Everything that begins like something compressed, unpacked as far as it goes."""
    for start in _ZLIB.finditer(content):
        unpacking = zlib.decompressobj(47)
        try:
            text = unpacking.decompress(content[start.start() : start.start() + _MOST_BYTES])
        except zlib.error:
            continue
        if text:
            yield ", compressed", text
