"""The channels that a caller may name and see. Nothing of others reaches that caller, not even that they exist."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

ANY = "*"
"""At the end of a pattern: whatever follows."""


class AllowedChannels(msgspec.Struct, frozen=True):
    """Channels by name, and by how their names begin. None in the place of it: all channels of the tenant."""

    names: frozenset[str] = frozenset()
    prefixes: tuple[str, ...] = ()

    @classmethod
    def of(cls, patterns: Iterable[str]) -> AllowedChannels | None:
        """Those of patterns: a name, or a beginning of names with ``*`` behind it. ``*`` alone is all: None."""
        given = list(patterns)
        if ANY in given:
            return None
        return cls(
            frozenset(one for one in given if not one.endswith(ANY)),
            tuple(sorted({one.removesuffix(ANY) for one in given if one.endswith(ANY)})),
        )

    def __contains__(self, channel: str) -> bool:
        return channel in self.names or channel.startswith(self.prefixes)

    def among(self, channels: Iterable[str]) -> list[str]:
        """Those of these channels that are allowed."""
        return [one for one in channels if one in self]

    @property
    def starts(self) -> tuple[str, ...]:
        """The names and prefixes in order, without those that another prefix holds."""
        return tuple(
            one
            for one in sorted({*self.names, *self.prefixes})
            if not any(one.startswith(prefix) and one != prefix for prefix in self.prefixes)
        )


def is_allowed(channel: str, allowed: AllowedChannels | None) -> bool:
    """Whether a caller who is limited to these may see the channel."""
    return allowed is None or channel in allowed


def just_before(name: str) -> str:
    """What stands before the name by code points, with no name that people give between the two."""
    last = ord(name[-1]) - 1
    if 0xD800 <= last <= 0xDFFF:  # no characters
        last = 0xD7FF
    return f"{name[:-1]}{chr(max(last, 0))}\U0010ffff"
