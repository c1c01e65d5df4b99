"""All channels in memory: loaded when needed, kept under a byte limit, told of every commit."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import ClassVar

import msgspec

from backscroll_sidecar.channel_cache import ChannelCache
from backscroll_sidecar.channels.batch import Batch, batch_of
from backscroll_sidecar.channels.channel import HotChannel
from backscroll_sidecar.channels.segment_ranges import SegmentRange
from backscroll_sidecar.channels.segments import (
    SEGMENT_ROWS,
    BadSegmentError,
    format_of,
    links_in,
    unpack,
)
from backscroll_sidecar.channels.view import ChannelView
from backscroll_sidecar.concurrency.background import in_background
from backscroll_sidecar.domain import ChannelKey, Member, StoredMessage
from backscroll_sidecar.ports import (
    Applied,
    CatchUp,
    ChannelRows,
    FragmentCodec,
    HistoryReader,
    Segment,
    nothing_to_catch_up,
)

log = logging.getLogger(__name__)

DEFAULT_MAX_BYTES = 512 * 1024 * 1024
PRELOADED_SEGMENTS = 1_024
"""Newest segments that a start looks at to find the channels used last."""


class Channels(ChannelCache[HotChannel]):
    """The channels in memory. What is unknown to the store is not kept.

    Parameters
    ----------
    reader : where channels are loaded from.
    codec : encodes the wire form of a message at append.
    max_bytes : estimated memory of all channels together; one larger alone stays beside the others.
    """

    setting: ClassVar[str] = "hot_channel_bytes"

    def __init__(
        self, reader: HistoryReader, codec: FragmentCodec, *, max_bytes: int = DEFAULT_MAX_BYTES
    ) -> None:
        super().__init__(max_bytes)
        self._reader = reader
        self._codec = codec
        self.segment_format = format_of(codec)
        self.on_load: Callable[[ChannelKey, int], None] = lambda *_: None
        """Called after every load with the number of rows that no segment held."""
        self._catch_up: CatchUp = nothing_to_catch_up
        self.damaged_segments = 0
        """Loads that met a damaged segment. It is rebuilt from its rows."""

    def follow(self, catch_up: CatchUp) -> None:
        """Know which version of a channel is loaded at the start: else its first call would load it again."""
        self._catch_up = catch_up

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def nbytes(self) -> int:
        """Estimated memory of all of them."""
        return self._size

    @property
    def has_room(self) -> bool:
        """Whether at least half of the memory is free, so that preloading evicts nothing."""
        return 2 * self._size <= self._max_size

    def _take(self, key: ChannelKey, kept: HotChannel, applied: Applied) -> bool:
        """An erasure drops the channel: names learnt from what is gone must not outlive it."""
        del key
        if applied.is_erasure:
            return False
        kept.publish(applied)
        return not kept.is_worn

    def _size_of(self, kept: HotChannel) -> int:
        return kept.nbytes if kept.known else 0

    def _loaded(self, key: ChannelKey, kept: HotChannel) -> None:
        if kept.known:
            self.on_load(key, kept.loose_count)
        else:
            self.drop(key)

    def hot(self, key: ChannelKey) -> HotChannel | None:
        """The channel if it is in memory. Does not count as a use."""
        return self._kept.get(key)

    def hot_view(self, key: ChannelKey) -> ChannelView | None:
        """The channel if it is in memory: no await, the usual case."""
        channel = self._kept.get(key)
        if channel is None:
            return None
        self._kept.move_to_end(key)
        return channel.view()

    async def view(self, key: ChannelKey) -> ChannelView | None:
        """The channel as of now, loaded if need be; None when nothing is known of it.

        Raises `StoreUnavailable`. A caller that gives up does not stop the load.
        """
        channel = await self._get(key, partial(self._read, key))
        return channel.view() if channel.known else None

    async def lately_kept(self) -> AsyncGenerator[ChannelView]:
        """Load the channels used last before the server stopped, while `has_room`.

        Raises `StoreUnavailable`. Used at start, so that first questions find them in memory.
        """
        for key in await self._reader.lately_kept(self.segment_format, PRELOADED_SEGMENTS):
            if not self.has_room:
                return
            await self._catch_up(key.tenant, [key.channel])
            if (view := await self.view(key)) is not None:
                yield view

    async def view_of_user(
        self, tenant: str, user_id: str, limit: int, channels: Sequence[str] = ()
    ) -> ChannelView | None:
        """What one user said in these channels of the tenant, none named: in any; newest `limit`. None when nothing
        is known.

        Rows of several channels stand side by side in this view, so reply edges, which are ids within one channel,
        are left out.
        """
        stored = await self._reader.latest_of_user(tenant, user_id, channels, limit)
        if not stored:
            return None
        author = stored[-1].message.author
        return self.view_of(tenant, stored, [Member(author.id, author.name, kind=author.kind)])

    def view_of(
        self, tenant: str, stored: Sequence[StoredMessage], members: Sequence[Member] = ()
    ) -> ChannelView:
        """Messages of any channels as a view, not kept; of equal times in the order given. Without reply edges."""
        apart = [
            msgspec.structs.replace(
                s, seq=place, analysis=msgspec.structs.replace(s.analysis, reply=None)
            )
            for place, s in enumerate(stored, 1)
        ]
        channel = HotChannel(ChannelKey(tenant, ""), self._codec, members=members)
        channel.load([batch_of(apart, self._codec, of_many_channels=True)])
        return replace(channel.view(), origins=[(s.message.channel, s.seq) for s in stored])

    def empty_view(self, key: ChannelKey) -> ChannelView:
        """A channel with nothing in it, not kept."""
        return HotChannel(key, self._codec).view()

    async def _read(self, key: ChannelKey) -> HotChannel:
        """The channel as the store has it, put together in a thread."""
        rows = await self._reader.load_channel(key, self.segment_format)
        if not rows.parts and not rows.members:
            return HotChannel(key, self._codec)
        try:
            return await asyncio.to_thread(self._made, key, rows)
        except BadSegmentError as error:
            self.damaged_segments += 1
            log.warning(
                "the channel %r of %r is read from its rows: %s", key.channel, key.tenant, error
            )
            rows = await self._reader.load_channel(key)
            return await asyncio.to_thread(self._made, key, rows)

    def _made(self, key: ChannelKey, rows: ChannelRows) -> HotChannel:
        with in_background():
            channel = HotChannel(key, self._codec, members=rows.members)
            channel.load([self._batch(key, part) for part in rows.parts])
            channel.take_aliases(rows.aliases)
            channel.take_pins(rows.pinned)
            for part in rows.parts:
                if isinstance(part, Segment):
                    channel.segment_ranges.append(SegmentRange(part.first_seq, part.last_seq))
                else:
                    channel.loose_count += len(part)
            segments = [part for part in rows.parts if isinstance(part, Segment)]
            if segments:
                channel.take_links(links_in(segments[-1]))
            channel.view()
        return channel

    def _batch(self, key: ChannelKey, part: Segment | Sequence[StoredMessage]) -> Batch:
        if isinstance(part, Segment):
            return unpack(key, part)
        batch = batch_of(part, self._codec)
        if len(batch) < SEGMENT_ROWS:
            return batch
        return replace(batch, terms=batch.block())  # a third less memory: worth its sorting
