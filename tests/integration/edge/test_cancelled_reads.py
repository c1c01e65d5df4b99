"""A call that reads and is left: the next one is right, no room is lost, and the database is free (both edges)."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from backscroll.v1 import context_pb2 as cpb
from backscroll.v1 import history_pb2 as pb
from backscroll.v1 import message_pb2 as mpb
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.edge import call_pipeline, limits
from backscroll_sidecar.edge.limits import AdmissionLimits
from backscroll_sidecar.server import start_server
from backscroll_sidecar.store.sqlite.reading import PagingConnection
from backscroll_sidecar.wiring import App, open_app
from tests.integration.edge.conftest import START_MS, EdgeApp, Served, text
from tests.integration.edge.http2.serving import until


async def told(call: Any) -> Any:
    """An answer, what differs from call to call left out; of a stream all parts."""
    if hasattr(call, "__aiter__"):
        return [part async for part in call]
    answer = await call
    if isinstance(answer, cpb.BuildContextResponse):
        return [item.message.id for item in answer.items]
    return answer


CHANNELS = ("g0", "g1", "g2", "g3")  # a build reads a cold one only, hence one for each
READS: dict[str, Callable[[Served, str], Any]] = {
    "ListMessages": lambda s, c: s.history.ListMessages(pb.ListMessagesRequest(channel=c)),
    "GetThread": lambda s, c: s.history.GetThread(pb.GetThreadRequest(channel=c, message_id="m1")),
    "GetChannel": lambda s, c: s.history.GetChannel(pb.GetChannelRequest(channel=c)),
    "ListChannels": lambda s, c: s.history.ListChannels(pb.ListChannelsRequest()),
    "SearchMessages": lambda s, c: s.history.SearchMessages(
        pb.SearchMessagesRequest(channel=c, query="line")
    ),
    "ListMembers": lambda s, c: s.history.ListMembers(pb.ListMembersRequest(channel=c)),
    "ListPinnedMessages": lambda s, c: s.history.ListPinnedMessages(
        pb.ListPinnedMessagesRequest(channel=c)
    ),
    "ExportMessages": lambda s, c: s.history.ExportMessages(pb.ExportMessagesRequest(channel=c)),
    "BuildContext": lambda s, c: s.context.BuildContext(
        cpb.BuildContextRequest(channel=c, question="which line?", asked_at_ms=START_MS + 99)
    ),
}


@asynccontextmanager
async def serving(database: Path, edge: str) -> AsyncIterator[tuple[Served, App]]:
    settings = Settings(database=database, durability="normal", embedder="none")
    async with open_app(settings) as real:
        app = EdgeApp(real.history, real.builder)
        records: list[call_pipeline.CallRecord] = []
        running = await start_server(app, listen=["127.0.0.1:0"], observe=records.append, edge=edge)
        try:
            async with grpc.aio.insecure_channel(running.addresses[0]) as channel:
                yield Served(app, running, channel, records), real
        finally:
            await running.stop(0)


@pytest.mark.row("N-09")
@pytest.mark.parametrize("edge", ["auto", "grpc"])
@pytest.mark.parametrize("method", READS)
async def test_a_read_that_is_left_harms_no_other(
    method: str, edge: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = AdmissionLimits(
        running=1, waiting=0
    )  # a place that is not given back is missed at once
    monkeypatch.setattr(call_pipeline, "DEFAULT_ADMISSION", limit)
    for name in ("BuildContext", "ExportMessages"):
        monkeypatch.setitem(limits.ADMISSIONS, name, limit)  # type: ignore[arg-type]
    database = tmp_path / "reads.db"
    async with serving(database, edge) as (served, _):
        lines = [text(f"line {i}", f"m{i}", sent_at_ms=START_MS + i) for i in range(20)]
        lines.append(text("yes", "r1", reply=mpb.Reply(message_id="m1"), sent_at_ms=START_MS + 30))
        for channel in CHANNELS:
            await served.append(channel, *lines)
            await served.history.PinMessage(pb.PinMessageRequest(channel=channel, message_id="m2"))
        right = await told(READS[method](served, CHANNELS[-1]))
        assert len(str(right)) > 10
    async with serving(database, edge) as (served, real):  # the channel is cold once more
        arrived, inside, go_on = threading.Event(), threading.Event(), threading.Event()
        admit = call_pipeline.CallPipeline._admit

        def arrive(*given: Any) -> Any:
            arrived.set()
            return admit(*given)

        def hold() -> None:  # in the reading thread, inside a statement
            if arrived.is_set():  # what is read behind everything goes on until then
                inside.set()
                assert go_on.wait(60)

        monkeypatch.setattr(call_pipeline.CallPipeline, "_admit", arrive)

        store: Any = real.store
        for channel in CHANNELS[:-1]:
            for event in (arrived, inside, go_on):
                event.clear()
            served.records.clear()
            await store._reader.run(lambda c: c.set_progress_handler(hold, 1))
            left = asyncio.ensure_future(told(READS[method](served, channel)))
            assert await asyncio.to_thread(inside.wait, 60)
            left.cancel()
            await until(lambda: served.records, "the server knows that somebody left")
            assert [record.code for record in served.records] == ["CANCELLED"]
            go_on.set()
            await store._reader.run(lambda c: c.set_progress_handler(None, 1))
        assert await told(READS[method](served, CHANNELS[-1])) == right
        assert await store._reader.run(lambda c: (type(c), c.in_transaction)) == (
            PagingConnection,
            False,
        )
        await served.append(channel, text("after", "m99", sent_at_ms=START_MS + 40))
        await store.empty_log()  # which no snapshot may be left open for
        found = await served.history.ListMessages(
            pb.ListMessagesRequest(channel=channel, newest_first=True, limit=1)
        )
        assert [one.message.id for one in found.messages] == ["m99"]
