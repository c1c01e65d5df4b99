"""The pipeline bound by JSON over HTTP instead of gRPC, without a socket: nothing behind it is of one carrier only."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format

from backscroll.v1 import context_pb2, history_pb2
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.edge.call_pipeline import CallPipeline, CallRecord, Method
from backscroll_sidecar.edge.limits import AdmissionLimits
from backscroll_sidecar.edge.services import methods_of
from backscroll_sidecar.edge.services.context import ContextServicer
from backscroll_sidecar.edge.services.history import HistoryServicer
from backscroll_sidecar.edge.status import Code, Refused
from backscroll_sidecar.edge.tenants import TokenTenants
from backscroll_sidecar.errors import InvalidRequest, Reason
from backscroll_sidecar.wiring import open_app

# --- the binding: all that JSON over HTTP needs for a unary method ---------------------------------------

STATUSES = {
    Code.INVALID_ARGUMENT: 400, Code.UNAUTHENTICATED: 401, Code.NOT_FOUND: 404, Code.RESOURCE_EXHAUSTED: 429,
    Code.INTERNAL: 500, Code.UNAVAILABLE: 503, Code.DEADLINE_EXCEEDED: 504,
}  # fmt: skip
Answer = tuple[int, dict[str, Any]]


@dataclass
class HttpCaller:
    headers: dict[str, str]

    @property
    def metadata(self) -> list[tuple[str, str]]:
        return [(name.lower(), value) for name, value in self.headers.items()]

    @property
    def time_left_s(self) -> float | None:
        timeout = self.headers.get("Request-Timeout")
        return None if timeout is None else float(timeout)


def bind(pipeline: CallPipeline, method: Method, kind: Any, answer_kind: Any) -> Callable[..., Any]:
    def parse(raw: bytes) -> Any:
        try:
            return method.parse(json_format.Parse(raw, kind()).SerializeToString())
        except json_format.ParseError:
            raise InvalidRequest("no such JSON", reason=Reason.MALFORMED_REQUEST) from None

    endpoint = pipeline.endpoint(replace(method, parse=parse))

    async def post(body: bytes, **headers: str) -> Answer:
        caller = HttpCaller({name.replace("_", "-"): value for name, value in headers.items()})
        try:
            answer = await endpoint.answer(body, caller)
        except Refused as refused:
            told = {"reason": refused.reason, "text": refused.text, **refused.metadata}
            return STATUSES[refused.code], told
        return 200, json_format.MessageToDict(answer_kind.FromString(answer))

    return post


# --- what it gets ------------------------------------------------------------------------------------------


class Http:
    """A few methods of one app."""

    def __init__(self, app: Any, **limits: AdmissionLimits) -> None:
        self.records: list[CallRecord] = []
        self.pipeline = CallPipeline(
            TokenTenants({"t-one": "one", "t-two": "two"}), self.records.append, limits
        )
        self.pipeline.ready = True
        servicers = (
            ContextServicer(app.builder, app.chat, app.summaries, app.periods, "1"),
            HistoryServicer(app.history),
        )
        methods = {one.name: one for servicer in servicers for one in methods_of(servicer)}
        self.build = bind(
            self.pipeline, methods["BuildContext"],
            context_pb2.BuildContextRequest, context_pb2.BuildContextResponse,
        )  # fmt: skip
        self.append = bind(
            self.pipeline, methods["AppendMessages"],
            history_pb2.AppendMessagesRequest, history_pb2.AppendMessagesResponse,
        )  # fmt: skip


@pytest.fixture
async def app() -> AsyncIterator[Any]:
    settings = Settings(database=Path(":memory:"), durability="normal", embedder="none")
    async with open_app(settings) as app:
        yield app


ONE = {"Authorization": "Bearer t-one"}
TWO = {"Authorization": "Bearer t-two"}
BATCH = b"""{"channel": "g", "messages": [{"id": "m1", "author": {"id": "u1", "name": "Ann"},
    "parts": [{"text": {"text": "the roof leaks"}}], "sentAtMs": 1700000000000}]}"""
QUESTION = b'{"channel": "g", "question": "what leaks?"}'


async def test_a_reply_and_the_tenant_of_the_credential(app: Any) -> None:
    http = Http(app)
    status, told = await http.append(BATCH, **ONE)
    assert (status, told["results"][0]["messageId"]) == (200, "m1")
    status, told = await http.build(QUESTION, **ONE)
    assert (status, [item["message"]["id"] for item in told["items"]]) == (200, ["m1"])
    status, told = await http.build(QUESTION, **TWO)
    assert (status, "items" in told) == (200, False)
    assert [one.tenant for one in http.records] == ["one", "one", "two"]
    assert {one.code for one in http.records} == {"OK"}


@pytest.mark.parametrize(
    ("body", "status", "reason", "field"),
    [
        (b'{"question": "x", "timeZone": "Mars"}', 400, "INVALID_FIELD", "time_zone"),
        (b'{"question": " "}', 400, "QUESTION_MISSING", "question"),
        (b"{", 400, "MALFORMED_REQUEST", None),
    ],
)
async def test_a_typed_error_with_its_field(
    app: Any, body: bytes, status: int, reason: str, field: str | None
) -> None:
    http = Http(app)
    found, told = await http.build(body, **ONE)
    assert (found, told["reason"], told.get("field")) == (status, reason, field)
    assert [(one.code, one.reason) for one in http.records] == [("INVALID_ARGUMENT", reason)]


async def test_who_has_no_credential_or_comes_too_early_is_told(app: Any) -> None:
    http = Http(app)
    assert (await http.build(QUESTION))[0] == 401
    http.pipeline.ready = False
    assert (await http.build(QUESTION, **ONE))[0] == 503


async def test_room_is_that_of_the_method_and_a_deadline_ends_the_wait(app: Any) -> None:
    builder = Waiting()
    app = Parts(builder, app.chat, app.summaries, app.periods, app.history)
    http = Http(app, BuildContext=AdmissionLimits(running=1, waiting=1, wait_s=30))
    running = asyncio.ensure_future(http.build(QUESTION, **ONE))
    await builder.began.wait()
    status, told = await http.build(QUESTION, **ONE, Request_Timeout="0.02")
    assert (status, told["reason"]) == (429, "OVERLOADED")
    assert http.pipeline.missed_deadlines["BuildContext"] <= 1
    builder.go.set()
    status, told = await running
    assert (status, told["reason"]) == (500, "INTERNAL")
    assert told["incident"] == http.records[-1].incident


async def test_the_deadline_is_what_the_builder_is_told(app: Any) -> None:
    builder = Waiting()
    builder.go.set()
    http = Http(Parts(builder, app.chat, app.summaries, app.periods, app.history))
    await http.build(QUESTION, **ONE, Request_Timeout="10")
    assert 9 < builder.request.time_left_s <= 9.6


@dataclass
class Parts:
    builder: Any
    chat: Any
    summaries: Any
    periods: Any
    history: Any


class Waiting:
    """A builder that fails when it is told to."""

    def __init__(self) -> None:
        self.began, self.go = asyncio.Event(), asyncio.Event()
        self.request: Any = None

    async def build(self, request: Any, **_: Any) -> Any:
        self.request = request
        self.began.set()
        await self.go.wait()
        raise RuntimeError("no words for the caller")
