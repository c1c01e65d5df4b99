"""Two edges, one contract: who calls, and what else a call carries beside its messages."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from google.rpc import status_pb2  # type: ignore[import-untyped]
from grpc_health.v1 import health_pb2

from backscroll.v1 import history_pb2 as hpb
from backscroll_sidecar.edge.bind_policy import parse_address
from backscroll_sidecar.edge.listeners import EdgeName, Listeners
from backscroll_sidecar.edge.status import Code, Refused
from tests.integration.edge.conftest import EdgeApp, text
from tests.integration.edge.edges.callers import (
    CLIENTS,
    QUESTION,
    SERVING,
    Shape,
    Status,
    append,
    batch,
)
from tests.integration.edge.edges.conftest import Both
from tests.integration.edge.edges.servers import Edge, edge_of
from tests.kit.endpoints import endpoints, unary_unary

pytestmark = pytest.mark.asyncio(loop_scope="module")


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
        in_capitals = (("authorization", "BEARER t-two"),)
        found = await client.call("GetChannel", asked, metadata=in_capitals)
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


async def echo_metadata(request: bytes, caller: Any) -> bytes:
    """Answer with what came as metadata, or refuse."""
    found = [pair for pair in caller.metadata if pair[0].startswith("x-")]
    if request:
        raise Refused(Code.DATA_LOSS, WORDS, "ANY", {"words": WORDS}, is_final=True)
    return repr([(name, value) for name, value in found]).encode()


@asynccontextmanager
async def echoing(edge: EdgeName, folder: Path) -> AsyncIterator[Edge]:
    """A server of one handler, which tells what its call looks like from there."""
    listeners = Listeners(endpoints(Echo=unary_unary(echo_metadata)), edge=edge)
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
        told = dict(found.trailing)
        assert told.pop("grpc-retry-pushback-ms") == "-1"
        status = status_pb2.Status.FromString(told.pop("grpc-status-details-bin"))
        assert not told
        assert (status.code, status.message) == (15, WORDS)


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
