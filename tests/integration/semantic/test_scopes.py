"""Scopes that span channels: refused unless the configuration permits them, and then inside the tenant only (law 6)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from backscroll import AsyncClient, Author, Message
from backscroll.v1 import history_pb2 as pb
from backscroll.v1.history_pb2_grpc import HistoryServiceStub
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.ports import Embedder
from backscroll_sidecar.server import start_server
from backscroll_sidecar.vectors import service
from backscroll_sidecar.wiring import open_app
from tests.kit.fake_embedder import FakeEmbedder

NOON = 1_795_176_000_000
TOKENS = {"token-a": "a", "token-b": "b"}
USER, TENANT = pb.SEARCH_SCOPE_USER, pb.SEARCH_SCOPE_TENANT


@asynccontextmanager
async def house(
    scopes: dict[str, str], embedder: Embedder | None = None, **more: Any
) -> AsyncIterator[tuple[HistoryServiceStub, dict[str, AsyncClient]]]:
    """Two tenants with the same channels; everybody talks about cats somewhere."""
    settings = Settings(database=":memory:", embedder="none", search_scopes=scopes, **more)
    async with open_app(
        settings, embedder=embedder or FakeEmbedder(synonyms={"feline": "cat"})
    ) as app:
        server = await start_server(app, listen=["127.0.0.1:0"], tokens=TOKENS)
        address = server.addresses[0]
        async with (
            AsyncClient(address, token="token-a") as a,
            AsyncClient(address, token="token-b") as b,
            grpc.aio.insecure_channel(address) as channel,
        ):
            for name, client in (("a", a), ("b", b)):
                for room, author in (("one", "u1"), ("two", "u2"), ("three", "u1")):
                    lines = [f"cat of {name} in {room}", "something else", "again nothing"]
                    await client.append(
                        room,
                        [
                            Message(f"{room}{n}", Author(author), line, NOON + n)
                            for n, line in enumerate(lines)
                        ],
                    )
                    assert (await client.wait_for_index(room, wait_s=10)).ready
            yield HistoryServiceStub(channel), {"a": a, "b": b}
        await server.stop()


async def search(stub: HistoryServiceStub, token: str = "token-a", **fields: Any) -> list[str]:
    request = pb.SearchMessagesRequest(**{"query": "feline", "limit": 3, **fields})
    answer = await stub.SearchMessages(request, metadata=[("authorization", f"Bearer {token}")])
    scores = [hit.score for hit in answer.hits]
    assert scores == sorted(scores, reverse=True)
    return [hit.message.message.parts[0].text.text for hit in answer.hits if hit.score > 0.3]


async def refusal(stub: HistoryServiceStub, **fields: Any) -> tuple[grpc.StatusCode, str, str]:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await search(stub, **fields)
    trailing = dict(tuple(pair) for pair in caught.value.trailing_metadata() or ())
    detail = status_pb2.Status.FromString(trailing["grpc-status-details-bin"]).details[0]
    info = error_details_pb2.ErrorInfo()
    detail.Unpack(info)
    return caught.value.code(), info.reason, info.metadata["field"]


DENIED = (grpc.StatusCode.PERMISSION_DENIED, "NOT_ALLOWED", "scope")


async def test_nothing_is_found_elsewhere_by_default():
    """Law 6: without a word in the configuration both are refused, by a typed error that names the field."""
    async with house({}) as (stub, clients):
        assert await refusal(stub, scope=USER, user_id="u1") == DENIED
        assert await refusal(stub, scope=TENANT) == DENIED
        context = await clients["a"].build_context("one", "feline", asker="u1", profile="retrieval")
        assert {item.message.channel for item in context.raw.items} == {"one"}


async def test_a_permission_is_of_one_tenant_and_of_one_width():
    async with house({"a": "user", "b": "tenant"}) as (stub, _):
        assert sorted(await search(stub, scope=USER, user_id="u1")) == [
            "cat of a in one",
            "cat of a in three",
        ]
        assert await search(stub, scope=USER, user_id="nobody") == []
        assert await refusal(stub, scope=TENANT) == DENIED
        assert sorted(await search(stub, "token-b", scope=TENANT)) == [
            "cat of b in one", "cat of b in three", "cat of b in two",
        ]  # fmt: skip
        assert await search(stub, "token-b", scope=TENANT, query="  ") == []
        assert len(await search(stub, "token-b", scope=TENANT, limit=1)) == 1


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"scope": USER}, ("MISSING_FIELD", "user_id")),
        ({"scope": USER, "user_id": "u1", "channel": "one"}, ("INVALID_FIELD", "channel")),
        ({"scope": TENANT, "user_id": "u1"}, ("INVALID_FIELD", "user_id")),
        ({"channel": "one", "user_id": "u1"}, ("INVALID_FIELD", "user_id")),
        ({"scope": 9, "channel": "one"}, ("INVALID_FIELD", "scope")),
    ],
)
async def test_what_makes_no_sense_is_refused(fields, expected):
    async with house({"a": "tenant"}) as (stub, _):
        code, *told = await refusal(stub, **fields)
        assert (code, tuple(told)) == (grpc.StatusCode.INVALID_ARGUMENT, expected)


async def test_words_in_one_channel_as_ever():
    async with house({}) as (stub, _):
        assert await search(stub, channel="one", query="cat") == ["cat of a in one"]


async def test_an_approximate_search_says_so(monkeypatch):
    """Law 2: scopes are searched by the indexes of their channels; one that is approximate makes the answer so."""
    asked = {"query": "feline", "limit": 3, "scope": TENANT}

    async def exhaustive(stub: HistoryServiceStub, **fields: Any) -> bool:
        request = pb.SearchMessagesRequest(**fields)
        answer = await stub.SearchMessages(request, metadata=[("authorization", "Bearer token-a")])
        assert answer.hits
        return answer.exhaustive

    async with house({"a": "tenant"}) as (stub, clients):
        assert await exhaustive(stub, **asked)
        assert await exhaustive(stub, query="cat", channel="one")
    monkeypatch.setattr(service, "SIGN_ROWS", 700)
    lines = [
        Message(f"m{n}", Author("u9"), f"cat {n} of {n * 7 % 90}", NOON + n) for n in range(900)
    ]
    async with house({"a": "tenant"}) as (stub, clients):
        await clients["a"].append("four", lines)
        assert (await clients["a"].wait_for_index("four", wait_s=20)).ready
        assert not await exhaustive(stub, **asked)
