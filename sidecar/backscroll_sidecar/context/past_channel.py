"""One channel as it was when messages up to some arrival number had come, for builds that are asked again."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import numpy as np
from numpy.typing import NDArray

from backscroll_sidecar.channels import ChannelView
from backscroll_sidecar.channels.batch import batch_of
from backscroll_sidecar.channels.channel import HotChannel
from backscroll_sidecar.context.opening import Views
from backscroll_sidecar.domain import ChannelKey, MessageState, StoredMessage
from backscroll_sidecar.ports import PIN, Applied, FragmentCodec, HistoryReader, ListQuery

PAGE = 500
PUBLISHED_AT_ONCE = 32


class PastChannel:
    """Grows as the channel did, from its rows as they stand now: an edit made since is seen, what was erased is not.

    It is a `Views` of this one channel; other channels are those of `others`. Belongs to one task.

    Parameters
    ----------
    codec : as the channels in memory have it.
    """

    def __init__(
        self, reader: HistoryReader, codec: FragmentCodec, key: ChannelKey, others: Views
    ) -> None:
        self._reader = reader
        self._codec = codec
        self._key = key
        self._others = others
        self._channel: HotChannel | None = None
        self._rows: AsyncIterator[StoredMessage] = self._read()
        self._ahead: StoredMessage | None = None
        self._edited: set[int] = set()
        self.upto_seq = 0
        """It has all that came up to this number."""

    async def grow(self, upto_seq: int) -> None:
        """Take what came up to this number. Raises `StoreUnavailable`."""
        rows = [one async for one in self._rows_upto(upto_seq)]
        self._edited.update(one.seq for one in rows if one.revision)
        self.upto_seq = max(self.upto_seq, upto_seq)
        if self._channel is None:
            self._channel = await self._made(rows)
            return
        for start in range(0, len(rows), PUBLISHED_AT_ONCE):
            some = tuple(rows[start : start + PUBLISHED_AT_ONCE])
            self._channel.publish(Applied(stored=some, aliases=tuple(_aliases(some))))
            await asyncio.sleep(0)

    def now(self) -> ChannelView:
        """The channel as it is by now."""
        if self._channel is None:
            return self._others.empty_view(self._key)
        return self._channel.view()

    def changes_among(self, seqs: NDArray[np.int64]) -> tuple[int, int, int]:
        """How many of these are gone by now, how many were recalled, and how many were ever edited."""
        view = self.now()
        gone = ~np.isin(seqs, view.seq)
        recalled = np.isin(seqs, view.seq[view.state == MessageState.RECALLED])
        edited = sum(seq in self._edited for seq in seqs.tolist())
        return int(gone.sum()), int(recalled.sum()), edited

    async def _made(self, rows: Sequence[StoredMessage]) -> HotChannel:
        members = await self._reader.members(self._key)
        pins = await self._reader.records(self._key, PIN, 0)
        channel = HotChannel(self._key, self._codec, members=members)

        def load() -> None:
            if rows:
                channel.load([batch_of(rows, self._codec)])
            channel.take_aliases(tuple(_aliases(rows)))
            channel.take_pins([one.id for one in pins])
            channel.view()

        await asyncio.to_thread(load)
        return channel

    async def _rows_upto(self, upto_seq: int) -> AsyncIterator[StoredMessage]:
        while (row := self._ahead or await anext(self._rows, None)) is not None:
            self._ahead = row
            if row.seq > upto_seq:
                return
            self._ahead = None
            yield row

    async def _read(self) -> AsyncIterator[StoredMessage]:
        after = 0
        while page := await self._reader.list_messages(
            self._key, ListQuery(PAGE, after_seq=after, include_recalled=True)
        ):
            for row in page:
                yield row
            after = page[-1].seq

    # --- Views -------------------------------------------------------------------------------------

    def hot_view(self, key: ChannelKey) -> ChannelView | None:
        return self.now() if key == self._key else self._others.hot_view(key)

    async def view(self, key: ChannelKey) -> ChannelView | None:
        return self.now() if key == self._key else await self._others.view(key)

    async def view_of_user(
        self, tenant: str, user_id: str, limit: int, channels: Sequence[str] = ()
    ) -> ChannelView | None:
        return await self._others.view_of_user(tenant, user_id, limit, channels)

    def view_of(self, tenant: str, stored: Sequence[StoredMessage]) -> ChannelView:
        return self._others.view_of(tenant, stored)

    def empty_view(self, key: ChannelKey) -> ChannelView:
        return self._others.empty_view(key)


def _aliases(rows: Sequence[StoredMessage]) -> list[tuple[str, str]]:
    return [(alias, row.message.id) for row in rows for alias in row.alias_ids]
