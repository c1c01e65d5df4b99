"""Which channels show lines of each other: only where both want it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from backscroll_sidecar.domain import ChannelSettings, Readable, SharedChannel, Sharing

MOST_CHANNELS = 64
"""A build looks through so many others: first those that are named, then those of groups, what was set last first."""


class SharingMap:
    """Who reads whom in one tenant. Made of all that is set there, in the order in which it is to be looked at."""

    def __init__(self, settings: Mapping[str, ChannelSettings]) -> None:
        self._sharing = {
            channel: one.sharing for channel, one in settings.items() if one.sharing is not None
        }
        self._joined: dict[str, list[str]] = {}
        for channel, sharing in self._sharing.items():
            for group in dict.fromkeys(sharing.groups):
                self._joined.setdefault(group, []).append(channel)
        self._readable: dict[str, Readable] = {}

    def readable(self, channel: str) -> Readable:
        """The other channels whose lines this one may show."""
        sharing = self._sharing.get(channel)
        if sharing is None:
            return Readable()
        if channel not in self._readable:
            found: list[SharedChannel] = []
            for one in self._agreed(channel, sharing):
                if len(found) == MOST_CHANNELS:
                    self._readable[channel] = Readable(tuple(found), is_whole=False)
                    break
                found.append(one)
            else:
                self._readable[channel] = Readable(tuple(found))
        return self._readable[channel]

    def _agreed(self, channel: str, sharing: Sharing) -> Iterator[SharedChannel]:
        """The channels that agree, each once; itself is none."""
        seen = {channel}
        for other in sharing.reads_from:
            theirs = self._sharing.get(other)
            if other not in seen and theirs is not None and channel in theirs.shares_with:
                seen.add(other)
                yield SharedChannel(other)
        for group in sharing.groups:
            for other in self._joined[group]:
                if other not in seen:
                    seen.add(other)
                    yield SharedChannel(other, group)
