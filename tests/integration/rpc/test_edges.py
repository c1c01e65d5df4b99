"""One contract, two edges: our own and gRPC's answer alike, over TCP and a unix socket, to both of gRPC's clients."""

from __future__ import annotations

import asyncio
import itertools
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol

import grpc
import pytest
import pytest_asyncio
from google.protobuf import message_factory
from google.rpc import error_details_pb2  # type: ignore[import-untyped]
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2
from grpc_status import rpc_status

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import history_pb2 as hpb
from backscroll.v1 import message_pb2
from backscroll_sidecar.errors import StoreReadOnly, StoreUnavailable
from backscroll_sidecar.models.fake import FakeModel
from backscroll_sidecar.ports import Finished, FinishReason
from backscroll_sidecar.rpc.exposure import parse_address
from backscroll_sidecar.rpc.guard import CallRecord
from backscroll_sidecar.rpc.limits import MAX_RECEIVE_BYTES
from backscroll_sidecar.rpc.listeners import EdgeName, Listeners
from backscroll_sidecar.server import RunningServer, start_server
from backscroll_sidecar.settings import Settings
from backscroll_sidecar.wiring import open_app
from tests.integration.rpc.conftest import EdgeApp, text
from tests.integration.rpc.sending import METHODS
from tests.integration.rpc.sending import path as path_of

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


class OnTheLoop:
    """`grpc.aio`."""

    def __init__(self, target: str, *options: tuple[str, Any], **others: Any) -> None:
        own = ("grpc.channel_id", next(_own))
        self.channel = grpc.aio.insecure_channel(target, [own, *options], **others)

    async def call(self, method: Any, *requests: Any, most: int = 0, **options: Any) -> Outcome:
        shape = Shape.of(method)
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
        self,
        make: Callable[..., Client] = OnTheLoop,
        transport: str = "tcp",
        *args: Any,
        **more: Any,
    ) -> AsyncIterator[Client]:
        client = make(self.target(transport), *args, **more)
        try:
            yield client
        finally:
            await client.close()


@asynccontextmanager
async def edge_of(name: EdgeName, app: Any, folder: Path, **options: Any) -> AsyncIterator[Edge]:
    """Serve an app over TCP and a unix socket."""
    records: list[CallRecord] = []
    listen: list[str] = options.pop(
        "listen", ["127.0.0.1:0", f"unix:{folder}/{name}-{next(_own)}.sock"]
    )
    running = await start_server(app, listen=listen, edge=name, observe=records.append, **options)
    try:
        yield Edge(name, running, records)
    finally:
        await running.stop(0)


async def until(condition: Callable[[], object]) -> None:
    """Wait for what another task does."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - no event tells
            await asyncio.sleep(0.005)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def app() -> AsyncIterator[EdgeApp]:
    """One history and one builder behind all edges, with a model that plays its part."""
    settings = Settings(database=Path(":memory:"), durability="normal", embedder="none")
    model = FakeModel(answer=lambda _: (ANSWER, Finished(FinishReason.STOP)))
    async with open_app(settings, model=model) as real:
        yield EdgeApp(real.history, real.builder, chat=real.chat)


Both = dict[EdgeName, Edge]
Clients = dict[tuple[EdgeName, str, str], Client]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(app: EdgeApp, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Both]:
    """Two servers of one app that stay the same for all tests."""
    folder = tmp_path_factory.mktemp("edges")
    async with edge_of("auto", app, folder) as ours, edge_of("grpc", app, folder) as theirs:
        yield {"auto": ours, "grpc": theirs}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def clients(both: Both) -> AsyncIterator[Clients]:
    """One connection of every kind that there is, for all tests: whatever a call comes to, it goes on."""
    made: Clients = {
        (edge, transport, kind): CLIENTS[kind](both[edge].target(transport))
        for edge, transport, kind in itertools.product(EDGES, TRANSPORTS, CLIENTS)
    }
    yield made
    for one in made.values():
        await one.close()


@pytest.fixture(params=EDGES)
def edge(request: pytest.FixtureRequest) -> EdgeName:
    name: EdgeName = request.param
    return name


@pytest.fixture(params=TRANSPORTS)
def transport(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=CLIENTS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def client(clients: Clients, edge: EdgeName, transport: str, kind: str) -> Client:
    return clients[edge, transport, kind]


QUESTION = pb.BuildContextRequest(question="when do we meet?", channel="g")


def append(channel: str, *messages: Any) -> hpb.AppendMessagesRequest:
    return hpb.AppendMessagesRequest(channel=channel, messages=messages)


def batch(channel: str, count: int, size: int, first: int = 0) -> hpb.ImportMessagesRequest:
    messages = [text("x" * size, f"m{i}") for i in range(first, first + count)]
    return hpb.ImportMessagesRequest(channel=channel, messages=messages)


# --- what is answered -----------------------------------------------------------------------------


async def test_a_message_is_stored_and_found_again(client: Client, name: str) -> None:
    stored = await client.call("AppendMessages", append(name, text("we meet at six, 在哪里？🐟")))
    assert stored.answer.results[0].sequence == 1
    asked = pb.BuildContextRequest(channel=name, question="when do we meet?")
    built = await client.call("BuildContext", asked)
    assert built.answer.channel_known
    assert built.answer.items
    counted = await client.call("GetChannel", hpb.GetChannelRequest(channel=name))
    assert counted.answer.message_count == 1


async def test_both_chats_say_what_the_model_says(client: Client, name: str) -> None:
    turn = pb.StreamChatRequest(
        context=pb.BuildContextRequest(
            channel=name, question="where?", asker=ANN, self_ids=["bot"]
        ),
        model_call=pb.ModelCall(),
    )
    streamed = await client.call("StreamChat", turn)
    kinds = [event.WhichOneof("event") for event in streamed.answers]
    assert (streamed.code, kinds[0], kinds[-1]) == (Status.OK, "context", "end")
    assert "".join(event.delta for event in streamed.answers) == ANSWER
    once = await client.call("Chat", pb.ChatRequest(turn=turn))
    assert once.answer.text == ANSWER
    assert once.answer.end.reason == streamed.answers[-1].end.reason


async def test_an_import_of_several_mebibytes_comes_back(client: Client, name: str) -> None:
    """Of many messages, one of them of 3.5 MiB: more than any window."""
    batches = [batch(name, 60, 60_000)] + [batch(name, 10, 60_000, 60 + 10 * i) for i in range(6)]
    report = await client.call("ImportMessages", *batches)
    assert (report.answer.stored_count, report.answer.refused_count) == (120, 0)
    export = await client.call("ExportMessages", hpb.ExportMessagesRequest(channel=name))
    assert export.code is Status.OK
    rows = [row.message for run in export.answers for row in run.messages]
    assert [row.id for row in rows] == [f"m{i}" for i in range(120)]
    assert {len(row.parts[0].text.text) for row in rows} == {60_000}


async def test_an_import_of_nothing_is_answered(client: Client) -> None:
    assert (await client.call("ImportMessages")).answer == hpb.ImportMessagesResponse()


def silent_after(*requests: Any, over: threading.Event) -> Iterator[Any]:
    """A stream that has more to say, one day."""
    yield from requests
    over.wait(PATIENCE_S)


async def test_an_import_is_ended_before_its_caller_ends_it(
    clients: Clients, edge: EdgeName, transport: str, name: str
) -> None:
    """A caller who says nothing more, and does not end either, is told what was wrong."""
    client, over = clients[edge, transport, "sync"], threading.Event()
    requests = silent_after(batch(name, 2, 1), batch(name, 1_001, 1), over=over)
    try:
        found = await asyncio.wait_for(client.call("ImportMessages", requests), PATIENCE_S)
    finally:
        over.set()
    assert (found.code, found.reason) == (Status.INVALID_ARGUMENT, "BATCH_TOO_LARGE")


async def test_an_import_is_ended_while_its_caller_writes(
    client: Client, kind: str, name: str
) -> None:
    """Also one who has much more to send is told what was wrong, and the connection goes on."""
    more = [batch(name, 10, 60_000)] * 5
    found = await client.call("ImportMessages", more[0], batch(name, 1_001, 1), *more)
    # What `grpc.aio` itself says when a stream was ended while it still wrote; no server sent it.
    if not (kind == "aio" and found.details == "Internal error from Core"):
        assert (found.code, found.reason) == (Status.INVALID_ARGUMENT, "BATCH_TOO_LARGE")
        assert found.field == "messages"
    counted = await client.call("GetChannel", hpb.GetChannelRequest(channel=name))
    assert counted.answer.message_count == 10


async def test_health_is_told_once_and_for_long(client: Client) -> None:
    for service in ("", "backscroll.v1.ContextService", "backscroll.v1.HistoryService"):
        asked = health_pb2.HealthCheckRequest(service=service)
        assert (await client.call("Check", asked)).answer.status == SERVING
        watched = await client.call("Watch", asked, most=1)
        assert [one.status for one in watched.answers] == [SERVING]


async def test_reflection_lists_and_gives_files(client: Client) -> None:
    """Two questions in one call, which streams both ways."""
    found = await client.call(
        "ServerReflectionInfo",
        reflection_pb2.ServerReflectionRequest(list_services=""),
        reflection_pb2.ServerReflectionRequest(file_by_filename="backscroll/v1/context.proto"),
        reflection_pb2.ServerReflectionRequest(file_by_filename="no.proto"),
    )
    assert found.code is Status.OK
    listed, file, none = found.answers
    assert [one.name for one in listed.list_services_response.service] == [
        "backscroll.v1.ContextService",
        "backscroll.v1.HistoryService",
        "grpc.health.v1.Health",
        "grpc.reflection.v1alpha.ServerReflection",
    ]
    assert file.file_descriptor_response.file_descriptor_proto
    assert none.error_response.error_code == Status.NOT_FOUND.value[0]


async def test_many_calls_at_once_share_a_connection(client: Client, name: str) -> None:
    calls = [client.call("AppendMessages", append(name, text("x", f"m{i}"))) for i in range(60)]
    found = await asyncio.gather(*calls)
    assert sorted(one.answer.results[0].sequence for one in found) == list(range(1, 61))


@pytest.mark.parametrize("packed", [grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_requests_may_be_packed(
    both: Both, edge: EdgeName, kind: str, packed: grpc.Compression, name: str
) -> None:
    """By the connection and by the call, one message and a stream of them."""
    async with both[edge].client(CLIENTS[kind], "tcp", compression=packed) as client:
        stored = await client.call("AppendMessages", append(name, text("x" * 60_000)))
        assert stored.answer.results[0].sequence == 1
        report = await client.call("ImportMessages", *[batch(name, 40, 60_000, 100)] * 2)
        assert (report.answer.stored_count, report.answer.duplicate_count) == (40, 40)
        record = both[edge].records[-2]
        assert (record.method.rpartition("/")[2], record.request_bytes > 60_000) == (
            "AppendMessages", True,
        )  # fmt: skip
    async with both[edge].client(CLIENTS[kind]) as client:
        again = append(name, text("x" * 60_000))
        stored = await client.call("AppendMessages", again, compression=packed)
        assert stored.answer.results[0].outcome == hpb.APPEND_OUTCOME_DUPLICATE


@pytest.mark.parametrize("packed", [grpc.Compression.Gzip, grpc.Compression.Deflate])
async def test_what_unpacks_to_too_much_is_refused(
    both: Both, edge: EdgeName, kind: str, packed: grpc.Compression
) -> None:
    async with both[edge].client(CLIENTS[kind], "tcp", compression=packed) as client:
        found = await client.call("BuildContext", bytes(4 * MAX_RECEIVE_BYTES))
        assert (found.code, found.trailing) == (Status.RESOURCE_EXHAUSTED, ())
        found = await client.call("BuildContext", bytes(MAX_RECEIVE_BYTES))
        assert found.reason == "MALFORMED_REQUEST"
        assert (await client.call("BuildContext", QUESTION)).code is Status.OK


# --- what is refused: the same from both ----------------------------------------------------------

INVALID, UNIMPLEMENTED = Status.INVALID_ARGUMENT, Status.UNIMPLEMENTED
BUILD, IMPORT = (
    "/backscroll.v1.ContextService/BuildContext",
    "/backscroll.v1.HistoryService/ImportMessages",
)
BAD_CALLS: dict[str, tuple[grpc.StatusCode, str, Any, tuple[Any, ...]]] = {
    # By name: status, field of the ErrorInfo or "", method, requests.
    "no question": (INVALID, "question", "BuildContext", (pb.BuildContextRequest(),)),
    "no channel": (INVALID, "channel", "AppendMessages", (hpb.AppendMessagesRequest(),)),
    "long channel": (INVALID, "channel", "GetChannel", (hpb.GetChannelRequest(channel="频" * 900),)),
    "bad token": (
        INVALID, "page_token", "ListMessages", (hpb.ListMessagesRequest(channel="g", page_token="ä%"),),
    ),
    "no turn": (INVALID, "context", "StreamChat", (pb.StreamChatRequest(),)),
    "no turn at once": (INVALID, "context", "Chat", (pb.ChatRequest(),)),
    "no batch": (INVALID, "messages", "ImportMessages", (batch("never", 1_001, 1),)),
    "unknown channel": (
        Status.NOT_FOUND, "channel", "GetChannel", (hpb.GetChannelRequest(channel="频道 100%"),),
    ),
    "export of nothing": (
        Status.NOT_FOUND, "channel", "ExportMessages", (hpb.ExportMessagesRequest(channel="nothing"),),
    ),
    "unknown service's health": (
        Status.NOT_FOUND, "", "Check", (health_pb2.HealthCheckRequest(service="no"),),
    ),
    "malformed build": (INVALID, "", "BuildContext", (b"\xff",)),
    "malformed list": (INVALID, "", "ListMessages", (b"\x0b" * 500,)),
    "malformed stream": (INVALID, "", "StreamChat", (b"\x0a\x7f",)),
    "malformed export": (INVALID, "", "ExportMessages", (b"\xff",)),
    "malformed import": (INVALID, "", "ImportMessages", (b"\xff",)),
    "malformed behind a good one": (INVALID, "", "ImportMessages", (b"", b"\xff")),
    "malformed check": (INVALID, "", "Check", (b"\xff",)),
    "malformed watch": (INVALID, "", "Watch", (b"\xff",)),
    "malformed reflection": (INVALID, "", "ServerReflectionInfo", (b"\xff",)),
    "unknown method": (UNIMPLEMENTED, "", Shape("/backscroll.v1.ContextService/No"), (b"x",)),
    "unknown service": (UNIMPLEMENTED, "", Shape("/no.Service/No"), (b"",)),
    "no method": (UNIMPLEMENTED, "", Shape("/x"), (b"",)),
    "nothing": (UNIMPLEMENTED, "", Shape("//"), (b"",)),
    "long path": (UNIMPLEMENTED, "", Shape("/" + "x" * 3_000 + "/No"), (b"",)),
    "stream of an unknown method": (UNIMPLEMENTED, "", Shape("/no.Service/No", gives_many=True), (b"",)),
    "too large": (Status.RESOURCE_EXHAUSTED, "", "BuildContext", (bytes(MAX_RECEIVE_BYTES + 1),)),
    "far too large": (Status.RESOURCE_EXHAUSTED, "", "BuildContext", (bytes(2 * MAX_RECEIVE_BYTES),)),
    "too large for health": (Status.RESOURCE_EXHAUSTED, "", "Check", (bytes(MAX_RECEIVE_BYTES + 1),)),
    "too large for a chat": (Status.RESOURCE_EXHAUSTED, "", "StreamChat", (bytes(MAX_RECEIVE_BYTES + 1),)),
    "too large for an import": (
        Status.RESOURCE_EXHAUSTED, "", "ImportMessages", (bytes(MAX_RECEIVE_BYTES + 1),),
    ),
    "just not too large": (INVALID, "", "BuildContext", (bytes(MAX_RECEIVE_BYTES),)),
    "called as a stream": (INVALID, "question", Shape(BUILD, takes_many=True), (b"",)),
    "called twice": (INVALID, "question", Shape(BUILD, takes_many=True), (b"", raw(QUESTION))),
    "called as no stream": (INVALID, "", Shape(IMPORT), (b"\xff",)),
}  # fmt: skip


def plain(outcome: Outcome) -> Outcome:
    """Without the word that newer versions of gRPC put before its own errors."""
    return replace(outcome, details=outcome.details.removeprefix("SERVER: "))


@pytest.mark.parametrize("bad", BAD_CALLS)
async def test_a_bad_call_is_refused_alike(
    clients: Clients, transport: str, kind: str, bad: str
) -> None:
    """Status, words, ErrorInfo and all other trailers; and the connection goes on."""
    code, named, method, requests = BAD_CALLS[bad]
    ours, theirs = [
        await clients[edge, transport, kind].call(method, *requests, timeout=PATIENCE_S)
        for edge in EDGES
    ]
    assert plain(ours) == plain(theirs)
    assert (ours.code, ours.field) == (code, named)
    for edge in EDGES:
        found = await clients[edge, transport, kind].call("Check", health_pb2.HealthCheckRequest())
        assert found.answer.status == SERVING


@pytest.mark.parametrize(
    "error",
    [StoreReadOnly("full: 100%, 磁盘"), StoreUnavailable("x" * 3_000), ValueError("a secret")],
    ids=["no retry", "long", "fault"],
)
async def test_an_error_behind_the_edge_is_told_alike(
    app: EdgeApp, tmp_path: Path, kind: str, error: Exception
) -> None:
    """But for the number of an incident."""
    found = []
    for edge in EDGES:
        failing = EdgeApp(app.history, Failing(error), chat=app.chat)
        async with (
            edge_of(edge, failing, tmp_path) as served,
            served.client(CLIENTS[kind]) as client,
        ):
            one = await client.call("BuildContext", QUESTION)
            incident = served.records[-1].incident
            (info,) = one.infos
            assert info.metadata.get("incident", "") == incident
            found.append((one.code, one.details, info.reason, sorted(dict(one.trailing))))
    assert found[0] == found[1]


# --- time -----------------------------------------------------------------------------------------


async def test_a_deadline_that_passes_is_told_and_counted(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    slow = Slow()
    async with (
        edge_of(edge, EdgeApp(app.history, slow, chat=app.chat), tmp_path) as served,
        served.client(CLIENTS[kind], transport) as client,
    ):
        await client.call("Check", health_pb2.HealthCheckRequest())  # so that it is connected
        found = await client.call("BuildContext", QUESTION, timeout=1.0)
        assert (found.code, found.details) == (Status.DEADLINE_EXCEEDED, "Deadline Exceeded")
        await until(lambda: served.records)
        assert (slow.started, slow.cancelled) == (1, 1)
        assert [one.code for one in served.records] == ["DEADLINE_EXCEEDED"]
        assert served.running.missed_deadlines == {"BuildContext": 1}


async def test_a_deadline_far_away_changes_nothing(client: Client) -> None:
    """Headers have eight digits for it."""
    for timeout in (1e2, 1e5, 1e8):
        found = await client.call("Check", health_pb2.HealthCheckRequest(), timeout=timeout)
        assert found.answer.status == SERVING


async def test_a_caller_who_leaves_cancels_the_handler(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    slow = Slow()
    async with (
        edge_of(edge, EdgeApp(app.history, slow, chat=app.chat), tmp_path) as served,
        served.client(CLIENTS[kind], transport) as client,
    ):
        stub: Any = Shape.of("BuildContext").on(client.channel)  # type: ignore[attr-defined]
        call = stub.future(QUESTION) if kind == "sync" else stub(QUESTION)
        waiting = None if kind == "sync" else asyncio.ensure_future(call.code())
        await until(lambda: slow.running)
        assert call.cancel()
        assert (await waiting if waiting else call.code()) is Status.CANCELLED
        await until(lambda: served.records)
        assert (slow.running, slow.cancelled) == (0, 1)
        (record,) = served.records
        assert (record.code, record.reason, record.incident) == ("CANCELLED", "", "")
        assert not served.running.missed_deadlines


async def test_a_caller_who_hangs_up_cancels_the_handler(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    slow = Slow()
    async with edge_of(edge, EdgeApp(app.history, slow, chat=app.chat), tmp_path) as served:
        async with served.client(CLIENTS[kind], transport) as client:
            calls = [asyncio.ensure_future(client.call("BuildContext", QUESTION)) for _ in range(3)]
            await until(lambda: slow.running == 3)
        await until(lambda: len(served.records) == 3)
        assert slow.cancelled == 3
        assert {one.code for one in served.records} == {"CANCELLED"}
        await asyncio.gather(*calls, return_exceptions=True)


async def test_a_stream_that_is_left_ends(both: Both, client: Client, edge: EdgeName) -> None:
    """An export of which only the first run is read."""
    await client.call("ImportMessages", *[batch("ample", 50, 60_000, 50 * i) for i in range(6)])
    before = len(both[edge].records)
    export = hpb.ExportMessagesRequest(channel="ample")
    found = await client.call("ExportMessages", export, most=1)
    assert len(found.answers) == 1
    await until(lambda: len(both[edge].records) > before)
    assert both[edge].records[-1].code == "CANCELLED"


# --- who ------------------------------------------------------------------------------------------


def bearer(token: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {token}"),)


async def test_tokens_tell_tenants_apart(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str, name: str
) -> None:
    tokens = {"t-one": f"one-{name}", "t-two": f"two-{name}"}
    async with (
        edge_of(edge, app, tmp_path, tokens=tokens) as served,
        served.client(CLIENTS[kind], transport) as client,
    ):
        stored = await client.call(
            "AppendMessages", append("g", text("of one")), metadata=bearer("t-one")
        )
        assert stored.answer.results[0].sequence == 1
        asked = hpb.GetChannelRequest(channel="g")
        assert (await client.call("GetChannel", asked, metadata=bearer("t-one"))).answer
        found = await client.call("GetChannel", asked, metadata=bearer("t-two"))
        assert found.reason == "CHANNEL_NOT_FOUND"
        for headers in ((), bearer("wrong"), bearer(""), bearer("t-one") * 2):
            found = await client.call("GetChannel", asked, metadata=headers)
            assert (found.code, found.reason) == (Status.UNAUTHENTICATED, "UNAUTHENTICATED")
            found = await client.call("ImportMessages", batch("g", 1, 1), metadata=headers)
            assert found.code is Status.UNAUTHENTICATED
        assert (
            await client.call("Check", health_pb2.HealthCheckRequest())
        ).answer.status == SERVING
        assert [one.tenant for one in served.records[:3]] == [
            f"one-{name}", f"one-{name}", f"two-{name}",
        ]  # fmt: skip


METADATA: tuple[tuple[str, str | bytes], ...] = (
    ("x-all-bin", bytes(range(256))),
    ("x-words-bin", "pässe, 频道 🐟".encode()),
    ("x-empty-bin", b""),
    ("x-commas-bin", b",,"),
    ("x-twice", "one"),
    ("x-twice", "two, three"),
    ("x-empty", ""),
    ("x-marks", "~!#$%&'*+-.^_`|{}()<>@;:/[]?=\\\""),
    ("x-inner", "a  b"),
    ("x-long", "y" * 5_000),
)
WORDS = "100% of 频道 \x7f\t🐟 \n~"


async def echo_metadata(request: bytes, context: Any) -> bytes:
    """Answer with what came as metadata, or refuse with it."""
    found = [pair for pair in context.invocation_metadata() if pair[0].startswith("x-")]
    if request:
        await context.abort(Status.DATA_LOSS, WORDS, tuple(tuple(pair) for pair in found))
    return repr([(name, value) for name, value in found]).encode()


@asynccontextmanager
async def echoing(edge: EdgeName, folder: Path) -> AsyncIterator[Edge]:
    """A server of one handler, which tells what its call looks like from there."""
    handlers: Any = {"Echo": grpc.unary_unary_rpc_method_handler(echo_metadata)}
    listeners = Listeners(edge=edge)
    listeners.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t", handlers),))
    wanted = ("127.0.0.1:0", f"unix:{folder}/{edge}.sock")
    bound = [listeners.bind(parse_address(one)) for one in wanted]
    await listeners.start()
    running: Any = SimpleNamespace(addresses=bound)
    try:
        yield Edge(edge, running)
    finally:
        await listeners.stop(0)


async def test_metadata_is_what_it_was_on_both_ways(
    tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    """Bytes of any kind, names that come twice, words that are not ASCII."""
    async with echoing(edge, tmp_path) as served, served.client(CLIENTS[kind], transport) as client:
        found = await client.call(Shape("/t/Echo"), b"", metadata=METADATA)
        assert found.answer.decode() == repr(list(METADATA))
        found = await client.call(Shape("/t/Echo"), b"x", metadata=METADATA)
        assert (found.code, found.details) == (Status.DATA_LOSS, WORDS)
        assert found.trailing == METADATA


async def test_a_call_with_too_much_metadata_is_refused_alone(
    both: Both, edge: EdgeName, kind: str
) -> None:
    """RESOURCE_EXHAUSTED, and calls beside it on the connection go on."""
    async with both[edge].client(CLIENTS[kind]) as client:
        for size in (17_000, 40_000):
            watch = asyncio.ensure_future(
                client.call("Watch", health_pb2.HealthCheckRequest(), timeout=0.1)
            )
            headers = (("x-long", "y" * size),)
            found = await client.call("BuildContext", QUESTION, metadata=headers)
            assert found.code is Status.RESOURCE_EXHAUSTED
            assert (await watch).code is Status.DEADLINE_EXCEEDED


# --- beginnings and ends --------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def target_of(transport: str, folder: Path) -> str:
    return f"127.0.0.1:{free_port()}" if transport == "tcp" else f"unix:{folder}/later.sock"


async def test_a_call_may_wait_until_there_is_a_server(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    target = target_of(transport, tmp_path)
    client = CLIENTS[kind](target, *RECONNECT)
    try:
        check = health_pb2.HealthCheckRequest()
        assert (await client.call("Check", check)).code is Status.UNAVAILABLE
        options: dict[str, Any] = {"wait_for_ready": True, "timeout": PATIENCE_S}
        waiting = asyncio.ensure_future(client.call("Check", check, **options))
        await asyncio.sleep(0.03)
        assert not waiting.done()
        async with edge_of(edge, app, tmp_path, listen=[target]):
            assert (await waiting).answer.status in {SERVING, NOT_SERVING}
            assert (await client.call("BuildContext", QUESTION, **options)).code is Status.OK
    finally:
        await client.close()


async def test_a_server_that_starts_again_takes_the_place_of_the_last(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, kind: str
) -> None:
    """The same port and the same path; a client of the last one finds its way by itself."""
    async with edge_of(edge, app, tmp_path) as first:
        listen = list(first.running.addresses)
        made = [CLIENTS[kind](target, *RECONNECT) for target in listen]
        for client in made:
            assert (await client.call("BuildContext", QUESTION)).code is Status.OK
    other: EdgeName = "grpc" if edge == "auto" else "auto"
    for name in (edge, other):
        async with edge_of(name, app, tmp_path, listen=listen) as again:
            assert list(again.running.addresses) == listen
            for client in made:
                options: dict[str, Any] = {"wait_for_ready": True, "timeout": PATIENCE_S}
                assert (await client.call("BuildContext", QUESTION, **options)).code is Status.OK
    for client in made:
        await client.close()


async def test_a_stop_lets_running_calls_end_and_takes_no_new_ones(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    slow = Slow()
    async with (
        edge_of(edge, EdgeApp(app.history, slow, chat=app.chat), tmp_path) as served,
        served.client(CLIENTS[kind], transport) as client,
        served.client(CLIENTS[kind], transport) as fresh,
    ):
        ending = asyncio.ensure_future(client.call("BuildContext", QUESTION))
        await until(lambda: slow.running)
        stopping = asyncio.ensure_future(served.running.stop(PATIENCE_S))
        check, codes = health_pb2.HealthCheckRequest(), {Status.OK}
        async with asyncio.timeout(PATIENCE_S):
            while codes != {Status.UNAVAILABLE}:  # asked again where one is left without an answer
                codes = {
                    (await one.call("Check", check, timeout=2.0)).code for one in (client, fresh)
                }
        assert (await client.call("BuildContext", QUESTION)).code is Status.UNAVAILABLE
        assert not stopping.done()
        slow.go.set()
        assert (await ending).details == "it ended well"
        await asyncio.wait_for(stopping, PATIENCE_S)
        await asyncio.wait_for(served.running.wait(), PATIENCE_S)
        assert (slow.started, slow.cancelled) == (1, 0)


async def test_a_stop_breaks_off_what_does_not_end(
    app: EdgeApp, tmp_path: Path, edge: EdgeName, transport: str, kind: str
) -> None:
    """Once the grace is over: a call, and one who watches, who hears before that it ends."""
    slow = Slow()
    async with (
        edge_of(edge, EdgeApp(app.history, slow, chat=app.chat), tmp_path) as served,
        served.client(CLIENTS[kind], transport) as client,
    ):
        watch = asyncio.ensure_future(client.call("Watch", health_pb2.HealthCheckRequest()))
        long = asyncio.ensure_future(client.call("BuildContext", QUESTION))
        await until(lambda: slow.running)
        await asyncio.wait_for(served.running.stop(0.05), PATIENCE_S)
        assert (await long).code is Status.UNAVAILABLE
        heard = await watch
        assert heard.code is Status.UNAVAILABLE
        assert [one.status for one in heard.answers] in ([SERVING, NOT_SERVING], [NOT_SERVING])
        await until(lambda: slow.cancelled)
        assert [one.code for one in served.records] == ["CANCELLED"]
        await served.running.stop(0)


async def test_a_stop_leaves_no_socket_behind(app: EdgeApp, tmp_path: Path, edge: EdgeName) -> None:
    async with edge_of(edge, app, tmp_path) as served:
        port = int(served.target("tcp").rpartition(":")[2])
        path = Path(served.target("unix").removeprefix("unix:"))
        assert path.exists()  # noqa: ASYNC240
    assert not path.exists()  # noqa: ASYNC240
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port))
