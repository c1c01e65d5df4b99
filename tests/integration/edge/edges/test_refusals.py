"""Two edges, one contract: what is refused, and in which words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import history_pb2 as hpb
from backscroll_sidecar.edge.limits import MAX_RECEIVE_BYTES
from backscroll_sidecar.errors import StoreReadOnly, StoreUnavailable
from tests.integration.edge.conftest import EdgeApp
from tests.integration.edge.edges.callers import (
    CLIENTS,
    EDGES,
    QUESTION,
    SERVING,
    Outcome,
    Shape,
    Status,
    batch,
    raw,
)
from tests.integration.edge.edges.conftest import Clients
from tests.integration.edge.edges.servers import Failing, edge_of
from tests.kit.patience import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
