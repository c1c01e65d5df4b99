"""Bytes of JSON on their way to the parser: the depth is bounded, and half characters are mended."""

import re
from itertools import accumulate
from typing import IO

import ijson

MAX_DEPTH = 200
"""Of lists and objects inside each other. The parser keeps a path a level: memory grows with the depth's square."""
JSON_ERRORS = (ijson.JSONError, ValueError)
"""What the parser raises; a ValueError for numbers and characters that Python cannot hold."""

_NO_SIGNS = bytes(sorted(set(range(256)) - set(b'"[]{}')))
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_HALF = re.compile(
    rb"(?<!\\)((?:\\\\)*)(?:" + _HIGH + rb"(?!" + _LOW + rb")|(?<!" + _HIGH + rb")" + _LOW + rb")"
)
_OPEN_ESCAPE = re.compile(
    rb"(?<!\\)(?:\\\\)*((?:" + _HIGH + rb")?\\(?:u[0-9a-fA-F]{0,3})?|" + _HIGH + rb")\Z"
)
"""An escape that goes on in the next piece, with the first half of its character where it has one."""
_LONGEST_ESCAPE = 12


class TooDeep(ijson.JSONError):  # type: ignore[misc]
    """Lists and objects lie deeper inside each other than in any chat log."""


class Depth:
    """How deep the bytes so far go. Pieces must not end inside an escape."""

    def __init__(self) -> None:
        self._depth = 0
        self._is_inside_text = False

    def feed(self, piece: bytes) -> None:
        """Go on.

        Raises
        ------
        TooDeep
            More than `MAX_DEPTH` levels.
        """
        plain = piece.replace(rb"\\", b"").replace(rb"\"", b"").translate(None, _NO_SIGNS)
        runs = plain.split(b'"')
        signs = b"".join(runs[self._is_inside_text :: 2])
        self._is_inside_text ^= len(runs) % 2 == 0
        self._depth += _depth_of(signs, MAX_DEPTH - self._depth)


def _depth_of(signs: bytes, room: int) -> int:
    """By how much the depth changes, if it never rises by more than `room`.

    Whole pairs are taken out from the inside, which is quick; only what may be too deep is walked through.
    """
    left, rounds = signs, 0
    while rounds < room and (fewer := left.replace(b"[]", b"").replace(b"{}", b"")) != left:
        left, rounds = fewer, rounds + 1
    opened = left.count(b"[") + left.count(b"{")
    if 2 * rounds + opened <= room:  # a round takes out two levels at most: `{[]}`
        return 2 * opened - len(left)
    depths = [*accumulate(1 if sign in b"[{" else -1 for sign in signs)]
    if max(depths) > room:
        raise TooDeep(f"nested deeper than {MAX_DEPTH} levels")
    return depths[-1]


class SafeBytes:
    """A file for the parser; `bytes` counts what was read of it."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._depth = Depth()
        self._held = b""
        self.bytes = 0

    def read(self, size: int = -1) -> bytes:
        """The next piece, which may be a little shorter or longer than asked for; empty at the end.

        Raises
        ------
        TooDeep
            See `Depth`.
        """
        if size == 0:
            return b""
        while data := self._file.read(size):
            self.bytes += len(data)
            whole = self._whole(self._held + data)
            if whole:
                return self._checked(whole)
        rest, self._held = self._held, b""
        return self._checked(rest)

    def _whole(self, data: bytes) -> bytes:
        """All of it but an escape that it ends in, which is held back."""
        found = _OPEN_ESCAPE.search(data) if b"\\" in data[-_LONGEST_ESCAPE:] else None
        end = found.start(1) if found else len(data)
        self._held = data[end:]
        return data[:end]

    def _checked(self, data: bytes) -> bytes:
        self._depth.feed(data)
        if rb"\ud" in data or rb"\uD" in data:
            data = _HALF.sub(rb"\1\\ufffd", data)
        return data
