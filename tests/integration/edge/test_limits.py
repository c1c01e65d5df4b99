"""Sizes: what is refused by us with a reason, what gRPC itself refuses, and that the server goes on after both."""

from collections.abc import AsyncIterator

import grpc
import pytest

from backscroll.v1 import context_pb2 as cpb
from backscroll.v1 import history_pb2 as hpb
from backscroll.v1 import message_pb2 as pb
from tests.integration.edge.conftest import Served, refused, text

pytestmark = pytest.mark.asyncio(loop_scope="module")

KIB, MIB = 1024, 1024 * 1024
INVALID = grpc.StatusCode.INVALID_ARGUMENT


def heavy(count: int, size: int) -> list[pb.Message]:
    return [text("x" * size, f"m{i}") for i in range(count)]


async def test_a_thousand_items_and_no_more(served: Served, name: str) -> None:
    found = await refused(served.append(name, *heavy(1_001, 1)))
    assert (found.code, found.reason, found.field) == (INVALID, "BATCH_TOO_LARGE", "messages")
    assert found.metadata["limit_items"] == "1000"
    assert len(await served.append(name, *heavy(1_000, 1))) == 1_000


async def test_four_mebibytes_and_no_more(served: Served, name: str) -> None:
    """The error is ours, with a reason, up to gRPC's own limit of 8 MiB."""
    assert len(await served.append(name, *heavy(63, 65_000))) == 63
    for count in (66, 110):
        found = await refused(served.append(name, *heavy(count, 65_000)))
        assert (found.code, found.reason) == (INVALID, "BATCH_TOO_LARGE")
        assert found.metadata["limit_bytes"] == str(4 * MIB)
    counted = await served.history.GetChannel(hpb.GetChannelRequest(channel=name))
    assert counted.message_count == 63


async def test_an_import_has_the_same_limits(served: Served, name: str) -> None:
    async def requests(*batches: list[pb.Message]) -> AsyncIterator[hpb.ImportMessagesRequest]:
        for messages in batches:
            yield hpb.ImportMessagesRequest(channel=name, messages=messages)

    for bad in (heavy(1_001, 1), heavy(66, 65_000)):
        found = await refused(served.history.ImportMessages(requests(heavy(2, 1), bad)))
        assert (found.code, found.reason) == (INVALID, "BATCH_TOO_LARGE")
    counted = await served.history.GetChannel(hpb.GetChannelRequest(channel=name))
    assert counted.message_count == 2


@pytest.mark.parametrize("size", [8 * MIB + 1, 20 * MIB])
async def test_above_8_mib_grpc_refuses_and_the_connection_lives(
    served: Served, name: str, size: int
) -> None:
    """gRPC's own limit: RESOURCE_EXHAUSTED without a reason of ours, for every method alike."""
    stub = served.channel.unary_unary("/backscroll.v1.ContextService/BuildContext")
    found = await refused(stub(b"\0" * size))
    assert (found.code, found.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "")
    assert (await served.append(name, text("x")))[0].outcome == hpb.APPEND_OUTCOME_STORED


@pytest.mark.parametrize("size", [65_537, 5 * MIB, 7 * MIB])
async def test_a_question_too_large_is_told_so(served: Served, size: int) -> None:
    request = cpb.BuildContextRequest(channel="g", question="x" * size)
    found = await refused(served.context.BuildContext(request))
    assert (found.code, found.reason, found.field) == (INVALID, "TOO_LARGE", "question")
    assert found.metadata["limit_bytes"] == "65536"


@pytest.mark.parametrize(
    "request_",
    [
        hpb.GetChannelRequest(channel="x" * 5 * MIB),
        hpb.ListMessagesRequest(channel="g", page_token="A" * 5 * MIB),
        hpb.SearchMessagesRequest(channel="g", query="x" * 5 * MIB),
        hpb.EraseRequest(channel="g", message_ids=["m" * 5 * MIB]),
        hpb.UpsertMembersRequest(channel="g", members=[hpb.Member(user_id="u" * 5 * MIB)]),
    ],
    ids=lambda value: type(value).__name__,
)
async def test_anything_else_too_large_is_told_so(served: Served, request_: object) -> None:
    rpc = type(request_).__name__.removesuffix("Request")
    found = await refused(getattr(served.history, rpc)(request_))
    assert found.code is INVALID
    assert found.reason in {"TOO_LARGE", "INVALID_FIELD"}
    assert len(found.text.encode()) <= 512
