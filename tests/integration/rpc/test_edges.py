"""One contract, two edges: our own and gRPC's answer alike, over TCP and a unix socket, to both of gRPC's clients."""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import grpc
import pytest
import pytest_asyncio
from google.protobuf import message_factory
from google.rpc import error_details_pb2
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from grpc_status import rpc_status

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import history_pb2 as hpb
from backscroll_sidecar.errors import StoreReadOnly, StoreUnavailable
from backscroll_sidecar.models.fake import FakeModel
from backscroll_sidecar.ports import Finished, FinishReason
from backscroll_sidecar.rpc.exposure import parse_address
from backscroll_sidecar.rpc.guard import CallRecord
from backscroll_sidecar.rpc.limits import MAX_RECEIVE_BYTES, MIB
from backscroll_sidecar.rpc.listeners import EdgeName, Listeners
from backscroll_sidecar.server import RunningServer, start_server
from backscroll_sidecar.settings import Settings
from backscroll_sidecar.wiring import open_app
from tests.integration.rpc.conftest import EdgeApp, text
from tests.integration.rpc.sending import METHODS, path

pytestmark = pytest.mark.asyncio(loop_scope="module")

EDGES: tuple[EdgeName, ...] = ("auto", "grpc")
TRANSPORTS = ("tcp", "unix")
PATIENCE_S = 60.0
Status = grpc.StatusCode
METHOD = {method.name: method for method in METHODS}
RECONNECT = (
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 100),
)
_own = itertools.count()
ANSWER = "At the pond, at six."
SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


# --- what a call came to --------------------------------------------------------------------------


@dataclass(frozen=True)
class Outcome:
    """All that a caller learns of a call."""

    code: grpc.StatusCode
    details: str = ""
    trailing: tuple[tuple[str, str | bytes], ...] = ()
    answers: tuple[Any, ...] = ()
    infos: tuple[error_details_pb2.ErrorInfo, ...] = ()

    @property
    def answer(self) -> Any:
        assert self.code is Status.OK, (self.code, self.details)
        (one,) = self.answers
        return one

    @property
    def reason(self) -> str:
        return self.infos[0].reason if self.infos else ""

    @property
    def field(self) -> str:
        return self.infos[0].metadata["field"] if self.infos else ""


def failed(error: Any, answers: Sequence[Any] = ()) -> Outcome:
    """What an error of either client tells."""
    infos = []
    status = rpc_status.from_call(error)
    for detail in status.details if status is not None else ():
        info = error_details_pb2.ErrorInfo()
        assert detail.Unpack(info)
        infos.append(info)
    trailing = tuple((name, value) for name, value in error.trailing_metadata() or ())
    return Outcome(error.code(), error.details() or "", trailing, tuple(answers), tuple(infos))


# --- clients --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Shape:
    """How a method is called: its path, which sides stream, how an answer is read."""

    path: str
    takes_many: bool = False
    gives_many: bool = False
    read: Callable[[bytes], Any] = bytes

    @classmethod
    def of(cls, method: Any) -> Shape:
        if isinstance(method, Shape):
            return method
        method = METHOD[method] if isinstance(method, str) else method
        read = message_factory.GetMessageClass(method.output_type).FromString
        return cls(path(method), method.client_streaming, method.server_streaming, read)

    def on(self, channel: Any) -> Any:
        sides = ["stream" if many else "unary" for many in (self.takes_many, self.gives_many)]
        return getattr(channel, "_".join(sides))(self.path, raw, self.read)


def raw(request: Any) -> bytes:
    return request if isinstance(request, bytes) else bytes(request.SerializeToString())


class Client(Protocol):
    """One of gRPC's clients, on a connection of its own."""

    async def call(self, method: Any, *requests: Any, most: int = 0, **options: Any) -> Outcome:
        """Call and wait for the end; with `most`, leave a stream behind so many answers."""

    async def close(self) -> None:
        """Hang up."""


class OnTheLoop:
    """`grpc.aio`."""

    def __init__(self, target: str, *options: tuple[str, Any], **others: Any) -> None:
        own = ("grpc.channel_id", next(_own))
        self.channel = grpc.aio.insecure_channel(target, [own, *options], **others)

    async def call(self, method: Any, *requests: Any, most: int = 0, **options: Any) -> Outcome:
        shape = Shape.of(method)
        stub = shape.on(self.channel)
        call = stub(iter(requests) if shape.takes_many else requests[0], **options)
        answers: list[Any] = []
        try:
            if not shape.gives_many:
                answers.append(await call)
            else:
                async for one in call:
                    answers.append(one)
                    if len(answers) == most:
                        call.cancel()
                        break
        except grpc.aio.AioRpcError as error:
            return failed(error, answers)
        return Outcome(Status.OK, answers=tuple(answers))

    async def close(self) -> None:
        await self.channel.close()


class InAThread:
    """The synchronous client, which many bots use."""

    def __init__(self, target: str, *options: tuple[str, Any], **others: Any) -> None:
        own = ("grpc.channel_id", next(_own))
        self.channel = grpc.insecure_channel(target, [own, *options], **others)

    async def call(self, method: Any, *requests: Any, most: int = 0, **options: Any) -> Outcome:
        return await asyncio.to_thread(self._call, Shape.of(method), requests, most, options)

    def _call(
        self, shape: Shape, requests: Sequence[Any], most: int, options: dict[str, Any]
    ) -> Outcome:
        stub = shape.on(self.channel)
        answers: list[Any] = []
        try:
            got = stub(iter(requests) if shape.takes_many else requests[0], **options)
            if not shape.gives_many:
                answers.append(got)
            else:
                for one in got:
                    answers.append(one)
                    if len(answers) == most:
                        got.cancel()
                        break
        except grpc.RpcError as error:
            return failed(error, answers)
        return Outcome(Status.OK, answers=tuple(answers))

    async def close(self) -> None:
        await asyncio.to_thread(self.channel.close)


CLIENTS: dict[str, Callable[..., Client]] = {"aio": OnTheLoop, "sync": InAThread}
MakeClient = Callable[..., Client]


# --- servers --------------------------------------------------------------------------------------


class Slow:
    """A builder that says when it was asked, answers when it is told to, and tells what became of it."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error or StoreUnavailable("it ended well")
        self.go = asyncio.Event()
        self.running = self.started = self.cancelled = 0

    async def answer(self, request: Any, codec: Any) -> Any:
        self.started += 1
        self.running += 1
        try:
            await self.go.wait()
            raise self.error
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1


class Failing:
    """A builder that fails."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def answer(self, request: Any, codec: Any) -> Any:
        raise self.error


@dataclass
class Edge:
    """One server behind one edge, at both of this machine's kinds of addresses."""

    name: EdgeName
    running: RunningServer
    records: list[CallRecord] = field(default_factory=list)

    def target(self, transport: str) -> str:
        return self.running.addresses[TRANSPORTS.index(transport)]

    @asynccontextmanager
    async def client(
        self, make: Callable[..., Client] = OnTheLoop, transport: str = "tcp", *args: Any, **more: Any
    ) -> AsyncIterator[Client]:
        client = make(self.target(transport), *args, **more)
        try:
            yield client
        finally:
            await client.close()


@asynccontextmanager
async def edge_of(
    name: EdgeName, app: EdgeApp, folder: Path, **options: Any
) -> AsyncIterator[Edge]:
    """Serve an app over TCP and a unix socket."""
    records: list[CallRecord] = []
    listen = options.pop("listen", ["127.0.0.1:0", f"unix:{folder}/{name}-{next(_own)}.sock"])
    running = await start_server(
        app, listen=listen, edge=name, observe=records.append, **options
    )
    try:
        yield Edge(name, running, records)
    finally:
        await running.stop(0)
