"""Messages without a vector, embedded in the background. The queue is the store itself, so nothing is lost in a crash.

    publish → the channel is due → a page of rows without a vector → embed a batch → VectorsChange → next batch

Nobody who appends waits for it. It gives way to requests: while there are any, it rests as long as it works.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence

import numpy as np

from backscroll_sidecar.concurrency.jobs import ALONE, Job, Jobs
from backscroll_sidecar.domain import ChannelKey, StoredMessage
from backscroll_sidecar.errors import BackscrollError
from backscroll_sidecar.ports import (
    Applied,
    Embedder,
    HistoryReader,
    MessageVector,
    ModelError,
    ModelFault,
    Unembedded,
    VectorsChange,
    Waited,
)

log = logging.getLogger(__name__)

PAGE_ROWS = 512
MAX_BATCH = 32
MAX_BATCH_CHARS = 16_000
MAX_TEXT_CHARS = 4_000
"""A vector of a longer text says little about any part of it, and vendors refuse long inputs."""
MAX_DUE_CHANNELS = 10_000
MAX_REFUSED = 100_000
"""Refused texts remembered, some 20 MB at most. A forgotten one is asked for, and refused, again when it is met."""
FIRST_RETRY_S, MAX_RETRY_S = 0.2, 60.0
CHANNELS_PAGE = 500

Submit = Callable[[VectorsChange], Awaitable[Applied]]


def embedded_text(row: Unembedded) -> str:
    """What of a message is embedded: who said it and what, the way people ask for it later."""
    name = row.author_name.strip()
    text = row.text.strip()
    return (f"{name}: {text}" if name else text)[:MAX_TEXT_CHARS]


class Backlog:
    """Embeds what has no vector. Owned by the event loop; also a publisher of the writer.

    Parameters
    ----------
    reader : finds the rows; an instance per store.
    submit : makes vectors durable: the one writer's `submit`.
    embedder : makes the vectors.

    Attributes
    ----------
    embedded : vectors stored so far.
    refused : texts that the embedder will never take, the last `MAX_REFUSED`; these are not asked for again until the
        next start.
    fault : what the embedder or the store failed with last, None after a success.
    """

    def __init__(
        self,
        reader: HistoryReader,
        submit: Submit,
        embedder: Embedder,
        jobs: Jobs = ALONE,
    ) -> None:
        self._reader = reader
        self._submit = submit
        self._embedder = embedder
        self._jobs = jobs
        self._request_count: Callable[[], int] = lambda: 0
        self._due: OrderedDict[ChannelKey, int] = OrderedDict()
        self._must_scan = jobs.is_alone
        self._scanning = False
        self._working_on: ChannelKey | None = None
        self._wake = asyncio.Event()
        self._moved = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._turn: asyncio.Task[None] | None = None
        self.refused: dict[tuple[ChannelKey, str, int], None] = {}
        self.embedded = 0
        self.fault: ModelFault | None = None

    # --- being told and asked ----------------------------------------------------------------------

    def publish(self, key: ChannelKey, applied: Applied) -> None:
        """Remember that a channel has new or changed rows. Cheap."""
        if applied.stored:
            self._put_due(key, min(stored.seq for stored in applied.stored))

    def take_over(self, key: ChannelKey, rows: Sequence[StoredMessage]) -> None:
        """Embed what another server did not."""
        if rows:
            self._put_due(key, min(row.seq for row in rows))

    def is_behind(self, key: ChannelKey, seq: int, message_id: str) -> bool:  # noqa: ARG002
        """Whether a row may have no vector yet."""
        return self._must_scan or key == self._working_on or self._due.get(key, seq + 1) <= seq

    async def wait(self, key: ChannelKey, timeout_s: float) -> Waited:
        """Wait until everything stored before the call has a vector.

        An embedder that is being loaded is waited for as well: questions cannot be embedded before.

        Raises `StoreUnavailable`.
        """
        if not self._jobs.is_alone:
            self._put_due(key, 1)  # whoever got the messages may be gone
        info = await self._reader.channel_info(key)
        last_seq, left, can_embed = info.last_seq if info else 0, 1, False
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_s):
                with contextlib.suppress(ModelError):
                    await self._embedder.embed([])
                can_embed = True
                while left:
                    moved = self._moved
                    left = await self.count(key, last_seq)
                    if left:
                        await moved.wait()
        left = await self.count(key, last_seq)
        return Waited(can_embed and not left, left)

    async def count(self, key: ChannelKey, until_seq: int) -> int:
        """How many rows up to this one (included) have no vector, those that will never have one left out.

        A channel that is not due has none left: then nothing is counted in a store that is this server's alone.
        """
        embedder = self._embedder
        if self._task is not None and self._jobs.is_alone and not self._is_behind(key):
            return 0
        count = await self._reader.unembedded_count(key, embedder.id, embedder.dims, until_seq)
        return max(0, count - sum(1 for refused in self.refused if refused[0] == key))

    def give_way_to(self, request_count: Callable[[], int]) -> None:
        """Rest as long as it works while this number grows: it counts the requests served."""
        self._request_count = request_count

    @property
    def due_channels(self) -> int:
        """Channels with messages that wait for their vector, as far as they are known; at most `MAX_DUE_CHANNELS`."""
        return len(self._due) + (self._working_on is not None)

    def _is_behind(self, key: ChannelKey) -> bool:
        return self._must_scan or self._scanning or key in self._due or key == self._working_on

    # --- life --------------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the task, once: first everything that a former process left."""
        if self._task is None:
            self._task = asyncio.create_task(self._run(), name="backscroll-backlog")
            if not self._jobs.is_alone:
                self._turn = asyncio.create_task(self._scan_in_turn(), name=Job.EMBEDDING_ALL)

    async def close(self) -> None:
        """Stop. What is not embedded is found again by the next start. Idempotent."""
        for task in (self._task, self._turn):
            if task is not None:
                task.cancel()
                await asyncio.wait({task})
        self._task = self._turn = None

    # --- the task ----------------------------------------------------------------------------------

    async def _run(self) -> None:
        retry_s = FIRST_RETRY_S
        while True:
            try:
                if self._must_scan:
                    await self._scan()
                elif self._due:
                    await self._work()
                else:
                    self._wake.clear()
                    await self._wake.wait()
                retry_s, self.fault = FIRST_RETRY_S, None
            except ModelError as error:
                if error.fault is not self.fault:
                    log.warning("messages cannot be embedded: %s", error.safe_reason)
                self.fault = error.fault
                await asyncio.sleep(max(retry_s, min(error.retry_after_s or 0.0, MAX_RETRY_S)))
                retry_s = min(2 * retry_s, MAX_RETRY_S)
            except BackscrollError as error:
                log.warning("vectors cannot be stored: %s", error.message)
                await asyncio.sleep(retry_s)
                retry_s = min(2 * retry_s, MAX_RETRY_S)
            except Exception:
                log.exception("the backlog met an unexpected error and goes on")
                await asyncio.sleep(retry_s)
                retry_s = min(2 * retry_s, MAX_RETRY_S)

    async def _scan_in_turn(self) -> None:
        """Look at all channels where no other server does, or the one that did is gone."""
        await self._jobs.turn(Job.EMBEDDING_ALL, self._embedder.id)
        self._must_scan = True
        self._wake.set()

    async def _scan(self) -> None:
        """Make every channel due. With more channels than `MAX_DUE_CHANNELS` it is done in several rounds."""
        self._must_scan, self._scanning = False, True
        try:
            await self._scan_all()
        except BaseException:
            self._must_scan = True
            raise
        finally:
            self._scanning = False

    async def _scan_all(self) -> None:
        after: ChannelKey | None = None
        while page := await self._reader.channels(after, CHANNELS_PAGE):
            for key in page:
                self._due[key] = 1
            after = page[-1]
            if len(self._due) >= MAX_DUE_CHANNELS:
                while self._due:
                    await self._work()

    async def _work(self) -> None:
        """One page of the channel that has waited longest; what is left of it goes to the end of the line."""
        key, from_seq = next(iter(self._due.items()))
        del self._due[key]
        self._working_on = key
        try:
            embedder = self._embedder
            page = await self._reader.unembedded(
                key, embedder.id, embedder.dims, from_seq, PAGE_ROWS
            )
            rows = [r for r in page.rows if (key, r.message_id, r.revision) not in self.refused]
            for batch in _batches(rows):
                from_seq = batch[0].seq
                await self._embed(key, batch)
            if page.next_seq is not None:
                self._put_due(key, page.next_seq)
        except BaseException:
            self._put_due(key, from_seq)
            raise
        finally:
            self._working_on = None
        moved, self._moved = self._moved, asyncio.Event()
        moved.set()

    async def _embed(self, key: ChannelKey, batch: Sequence[Unembedded]) -> None:
        """Embed and store; a batch that is refused is taken apart until the text that is to blame stands alone."""
        loop = asyncio.get_running_loop()
        requests, started_s = self._request_count(), loop.time()
        try:
            vectors = await self._embedder.embed([embedded_text(row) for row in batch])
        except ModelError as error:
            if error.fault is not ModelFault.REJECTED:
                raise
            if len(batch) == 1:
                self._refuse((key, batch[0].message_id, batch[0].revision))
                log.warning("a message cannot be embedded and is left out")
                return
            middle = len(batch) // 2
            await self._embed(key, batch[:middle])
            await self._embed(key, batch[middle:])
            return
        values = np.ascontiguousarray(vectors, "<f4")
        made = tuple(
            MessageVector(row.message_id, row.revision, values[i].tobytes())
            for i, row in enumerate(batch)
        )
        await self._submit(VectorsChange(key, self._embedder.id, made))
        self.embedded += len(made)
        # Requests first: while there are any, half of the time is theirs.
        await asyncio.sleep(loop.time() - started_s if self._request_count() != requests else 0)

    def _refuse(self, row: tuple[ChannelKey, str, int]) -> None:
        self.refused[row] = None
        if len(self.refused) > MAX_REFUSED:
            del self.refused[next(iter(self.refused))]

    def _put_due(self, key: ChannelKey, from_seq: int) -> None:
        self._due[key] = min(from_seq, self._due.get(key, from_seq))
        if len(self._due) > MAX_DUE_CHANNELS:
            self._due.popitem(last=False)
            self._must_scan = True
        self._wake.set()


def _batches(rows: Sequence[Unembedded]) -> list[Sequence[Unembedded]]:
    """Cut into batches of bounded count and length, in order."""
    batches: list[Sequence[Unembedded]] = []
    start = size = 0
    for at, row in enumerate(rows):
        length = min(len(row.text), MAX_TEXT_CHARS)
        if at > start and (at - start >= MAX_BATCH or size + length > MAX_BATCH_CHARS):
            batches.append(rows[start:at])
            start, size = at, 0
        size += length
    return [*batches, rows[start:]] if rows else []
