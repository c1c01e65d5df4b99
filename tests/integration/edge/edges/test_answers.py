"""Two edges, one contract: our own and gRPC's answer alike, over TCP and a unix socket, to both of gRPC's clients."""

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import history_pb2 as hpb
from backscroll_sidecar.edge.limits import MAX_RECEIVE_BYTES
from backscroll_sidecar.edge.listeners import EdgeName
from tests.integration.edge.conftest import text
from tests.integration.edge.edges.callers import (
    ANN,
    ANSWER,
    CLIENTS,
    QUESTION,
    SERVING,
    Client,
    Status,
    append,
    batch,
)
from tests.integration.edge.edges.conftest import Both, Clients
from tests.kit.patience import PATIENCE_S

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
        "backscroll.v1.AdminService",
        "backscroll.v1.ContextService",
        "backscroll.v1.FeedbackService",
        "backscroll.v1.HistoryService",
        "backscroll.v1.LearningService",
        "backscroll.v1.PreferenceService",
        "backscroll.v1.SessionService",
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
