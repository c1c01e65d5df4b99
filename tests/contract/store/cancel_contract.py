"""A read whose caller leaves: nothing of it stays behind, and the next one is right."""

import asyncio

from backscroll_sidecar.ports import HistoryStore
from tests.contract.store.builders import ROOM, everything, message, put, recall, rows


class CancelContract:
    """Obligations of `HistoryReader` towards callers that do not wait."""

    async def test_reads_that_are_cancelled_leave_nothing(self, store: HistoryStore) -> None:
        """Every read of the port, left at many moments, three side by side; then reads and writes as before."""
        await put(store, *(message(f"m{i}", at=i, author="u-bob") for i in range(40)))
        await put(store, message("r1", at=50, reply_to="m1"), message("r2", at=51, reply_to="r1"))
        await store.apply([recall("m3")])
        probes = ["m1", "r2", "nobody"]
        before = await everything(store, [ROOM], probes)
        for turns in range(60):
            reads = [asyncio.create_task(everything(store, [ROOM], probes)) for _ in range(3)]
            for _ in range(turns):
                await asyncio.sleep(0)
            for read in reads:
                read.cancel()
            for read in await asyncio.gather(*reads, return_exceptions=True):
                assert isinstance(read, asyncio.CancelledError) or read == before
        assert await everything(store, [ROOM], probes) == before
        (result,) = await put(store, message("last", at=60))
        assert result.seq == 43
        assert list(await rows(store))[-2:] == ["r2", "last"], "a read sees the newest commit"

    async def test_a_whole_channel_half_exported(self, store: HistoryStore) -> None:
        """An export that is given up after its first row is in nobody's way."""
        await put(store, *(message(f"m{i}") for i in range(30)))
        export = store.export(ROOM)
        assert (await anext(export)).message.id == "m0"
        await export.aclose()  # type: ignore[attr-defined]
        assert [one.message.id async for one in store.export(ROOM)] == [f"m{i}" for i in range(30)]
