"""A real server on a real socket, with the real history and builder over a store in memory."""

import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import grpc
import pytest
import pytest_asyncio
import structlog
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from backscroll.v1 import context_pb2_grpc, history_pb2, history_pb2_grpc
from backscroll.v1 import message_pb2 as pb
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.edge.call_pipeline import CallRecord
from backscroll_sidecar.server import RunningServer, start_server
from backscroll_sidecar.wiring import open_app

START_MS = 1_700_000_000_000
OPTIONS = [("grpc.max_receive_message_length", 4 * 1024 * 1024)]
_names = itertools.count(1)


@dataclass
class EdgeApp:
    """What a server needs, its parts replaceable."""

    history: Any
    builder: Any
    on_warm_up: Callable[[], Any] | None = None
    chat: Any = None
    preferences: Any = None
    summaries: Any = None
    periods: Any = None
    replays: Any = None
    rooms: Any = field(default_factory=MagicMock)
    learning: Any = field(default_factory=MagicMock)
    profiles: Any = field(default_factory=dict)
    numbers: Any = None
    spans: Any = None
    replicas: Any = None

    async def warm_up(self) -> None:
        if self.on_warm_up is not None:
            await self.on_warm_up()


@dataclass
class Served:
    """A server that runs, and clients of it."""

    app: EdgeApp
    running: RunningServer
    channel: grpc.aio.Channel
    records: list[CallRecord]

    @property
    def history(self) -> history_pb2_grpc.HistoryServiceStub:
        return history_pb2_grpc.HistoryServiceStub(self.channel)

    @property
    def context(self) -> context_pb2_grpc.ContextServiceStub:
        return context_pb2_grpc.ContextServiceStub(self.channel)

    async def append(self, channel: str, *messages: pb.Message) -> list[history_pb2.AppendResult]:
        request = history_pb2.AppendMessagesRequest(channel=channel, messages=messages)
        return list((await self.history.AppendMessages(request)).results)


@asynccontextmanager
async def serving(
    app: EdgeApp | None = None,
    listen: str = "127.0.0.1:0",
    database: str | Path = ":memory:",
    **options: Any,
) -> AsyncIterator[Served]:
    """Serve on one address until the block ends."""
    settings = Settings(database=database, durability="normal", embedder="none")
    async with open_app(settings) as real:
        app = app or EdgeApp(
            real.history,
            real.builder,
            chat=real.chat,
            preferences=real.preferences,
            summaries=real.summaries,
            periods=real.periods,
            replays=real.replays,
            rooms=real.rooms,
            learning=real.learning,
            profiles=real.profiles,
            numbers=real.numbers,
        )
        records: list[CallRecord] = []
        running = await start_server(app, listen=[listen], observe=records.append, **options)
        try:
            async with grpc.aio.insecure_channel(running.addresses[0], OPTIONS) as channel:
                yield Served(app, running, channel, records)
        finally:
            await running.stop(0)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served() -> AsyncIterator[Served]:
    """One server for all tests of a module; each takes channels of its own."""
    async with serving() as one:
        yield one


@pytest.fixture
def name() -> str:
    """A channel that no other test uses."""
    return f"channel-{next(_names)}"


@pytest.fixture(autouse=True)
def quiet_logs() -> AsyncIterator[list[dict[str, Any]]]:
    """Log lines as values."""
    with structlog.testing.capture_logs() as lines:
        yield lines


def text(words: str, id: str = "m1", **changes: Any) -> pb.Message:
    """A plain message."""
    fields: dict[str, Any] = {
        "id": id,
        "author": pb.Author(id="u1", name="Ann"),
        "parts": [pb.Part(text=pb.TextPart(text=words))],
        "sent_at_ms": START_MS,
    }
    return pb.Message(**(fields | changes))


@dataclass(frozen=True)
class Refusal:
    """How a call was refused."""

    code: grpc.StatusCode
    reason: str
    metadata: dict[str, str]
    text: str

    @property
    def field(self) -> str:
        return self.metadata.get("field", "")


def refusal(error: grpc.aio.AioRpcError) -> Refusal:
    """What a client learns of an error."""
    status = rpc_status.from_call(error)
    if status is None:
        return Refusal(error.code(), "", {}, error.details() or "")
    (detail,) = status.details
    info = error_details_pb2.ErrorInfo()
    assert detail.Unpack(info)
    assert info.domain == "backscroll.v1"
    return Refusal(error.code(), info.reason, dict(info.metadata), error.details() or "")


async def refused(call: Any) -> Refusal:
    """Await a call that must fail, a stream to its end."""

    async def to_the_end() -> None:
        async for _ in call:
            pass

    streams = hasattr(call, "__aiter__") and not hasattr(call, "__await__")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await (to_the_end() if streams else call)
    return refusal(caught.value)
