"""Names of builds."""

from __future__ import annotations

import secrets

ID_BYTES = 16
AT_ONCE = 256
"""Asking the system for random bytes costs a build some 8 µs, for how many hardly matters."""


class RandomIds:
    """Random ids of 128 bits in hexadecimal digits, each given once."""

    __slots__ = ("_left",)

    def __init__(self) -> None:
        self._left: list[str] = []

    def next(self) -> str:
        """One that nobody had."""
        if not self._left:
            digits = secrets.token_hex(ID_BYTES * AT_ONCE)
            self._left = [
                digits[at : at + 2 * ID_BYTES] for at in range(0, len(digits), 2 * ID_BYTES)
            ]
        return self._left.pop()
