"""Both clients of gRPC, what a call of theirs comes to, and requests that many tests make."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import grpc
from google.protobuf import message_factory
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_health.v1 import health_pb2
from grpc_status import rpc_status

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import history_pb2 as hpb
from backscroll.v1 import message_pb2
from backscroll_sidecar.edge.listeners import EdgeName
from tests.integration.edge.conftest import text
from tests.integration.edge.sending import METHODS
from tests.integration.edge.sending import path as path_of

EDGES: tuple[EdgeName, ...] = ("auto", "grpc")
TRANSPORTS = ("tcp", "unix")
Status = grpc.StatusCode
METHOD = {method.name: method for method in METHODS}
RECONNECT = (
    ("grpc.initial_reconnect_backoff_ms", 20),
    ("grpc.min_reconnect_backoff_ms", 20),
    ("grpc.max_reconnect_backoff_ms", 100),
)
serials = itertools.count()
ANSWER = "At the pond, at six."
ANN = message_pb2.Author(id="u1", name="Ann")
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
        return cls(path_of(method), method.client_streaming, method.server_streaming, read)

    def on(self, channel: Any) -> Any:
        sides = ["stream" if many else "unary" for many in (self.takes_many, self.gives_many)]
        return getattr(channel, "_".join(sides))(self.path, raw, self.read)


def raw(request: Any) -> bytes:
    return request if isinstance(request, bytes) else bytes(request.SerializeToString())


def given(shape: Shape, requests: Sequence[Any]) -> Any:
    """Requests as a stub takes them; one that is an iterator is the stream itself."""
    if not shape.takes_many or isinstance(next(iter(requests), None), Iterator):
        return requests[0]
    return iter(requests)


class Client(Protocol):
    """One of gRPC's clients, on a connection of its own."""

    async def call(self, method: Any, *requests: Any, most: int = 0, **options: Any) -> Outcome:
        """Call and wait for the end; with `most`, leave a stream behind so many answers."""

    async def close(self) -> None:
        """Hang up."""


STATUS_LOST = "Internal error from Core"
"""`grpc.aio` says this instead of the status it was sent, when the call ends while a request is still being written:
https://github.com/grpc/grpc/issues/36066."""
MOST_LOST = 5


class OnTheLoop:
    """`grpc.aio`. A call whose status it lost is made again."""

    def __init__(self, target: str, *options: tuple[str, Any], **others: Any) -> None:
        own = ("grpc.channel_id", next(serials))
        self.channel = grpc.aio.insecure_channel(target, [own, *options], **others)

    async def call(self, method: Any, *requests: Any, most: int = 0, **options: Any) -> Outcome:
        shape = Shape.of(method)
        repeatable = shape.takes_many and not isinstance(next(iter(requests), None), Iterator)
        for _ in range(MOST_LOST if repeatable else 0):
            outcome = await self._call(shape, requests, most, options)
            if outcome.details != STATUS_LOST:
                return outcome
        return await self._call(shape, requests, most, options)

    async def _call(
        self, shape: Shape, requests: Sequence[Any], most: int, options: dict[str, Any]
    ) -> Outcome:
        stub = shape.on(self.channel)
        call = stub(given(shape, requests), **options)
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
        own = ("grpc.channel_id", next(serials))
        self.channel = grpc.insecure_channel(target, [own, *options], **others)

    async def call(self, method: Any, *requests: Any, most: int = 0, **options: Any) -> Outcome:
        return await asyncio.to_thread(self._call, Shape.of(method), requests, most, options)

    def _call(
        self, shape: Shape, requests: Sequence[Any], most: int, options: dict[str, Any]
    ) -> Outcome:
        stub = shape.on(self.channel)
        answers: list[Any] = []
        try:
            got = stub(given(shape, requests), **options)
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


# --- requests -------------------------------------------------------------------------------------

QUESTION = pb.BuildContextRequest(question="when do we meet?", channel="g")


def append(channel: str, *messages: Any) -> hpb.AppendMessagesRequest:
    return hpb.AppendMessagesRequest(channel=channel, messages=messages)


def batch(channel: str, count: int, size: int, first: int = 0) -> hpb.ImportMessagesRequest:
    messages = [text("x" * size, f"m{i}") for i in range(first, first + count)]
    return hpb.ImportMessagesRequest(channel=channel, messages=messages)
