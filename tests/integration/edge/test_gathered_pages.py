"""Lists that the client gathers whole, page by page over the wire."""

from typing import Any

import grpc
import pytest

from backscroll import AsyncClient, Message
from backscroll.v1 import (
    admin_pb2,
    admin_pb2_grpc,
    history_pb2,
    history_pb2_grpc,
    learning_pb2,
    learning_pb2_grpc,
    preference_pb2,
    preference_pb2_grpc,
)
from backscroll_sidecar.edge.convert import learning as learning_answers
from backscroll_sidecar.edge.services import admin as admin_service
from backscroll_sidecar.edge.services import preference as preference_service
from tests.kit.served import running

NOON = 1_795_176_000_000


async def pages_of(call: Any, request: Any, items: str) -> list[list[Any]]:
    """The pages of a request, each as its items."""
    found: list[list[Any]] = []
    while True:
        page = await call(request)
        found.append(list(getattr(page, items)))
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


@pytest.mark.row("S2-24")
async def test_preferences_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are; what is deleted meanwhile leaves no gap."""
    async with (
        running() as (server, _),
        AsyncClient(server.addresses[0]) as client,
        grpc.aio.insecure_channel(server.addresses[0]) as channel,
    ):
        ask = preference_pb2_grpc.PreferenceServiceStub(channel).ListPreferences
        for room in ("hall", "", "a b", "室"):
            for n in range(3):
                await client.set_preference("u1", f"likes {room} {n}", channel=room)
        await client.set_preference("u2", "likes coffee")
        whole = list(await client.list_preferences("u1"))
        assert [one.channel for one in whole] == [""] * 3 + ["a b"] * 3 + ["hall"] * 3 + ["室"] * 3
        request = preference_pb2.ListPreferencesRequest
        for limit in (1, 5, 12, 1_000):
            pages = await pages_of(ask, request(user_id="u1", limit=limit), "preferences")
            assert [one for page in pages for one in page] == whole
            assert all(len(page) == limit for page in pages[:-1])
        assert [*map(len, await pages_of(ask, request(user_id="u1"), "preferences"))] == [12]
        first = await ask(request(user_id="u1", limit=4))
        await client.delete_preference("u1", whole[3].id, channel="a b")  # the last one shown
        rest = await ask(request(user_id="u1", page_token=first.next_page_token))
        assert list(rest.preferences) == whole[4:]
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await ask(request(user_id="u2", page_token=first.next_page_token))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        monkeypatch.setattr(preference_service, "MAX_ANSWER_BYTES", 100)
        pages = await pages_of(ask, request(user_id="u1"), "preferences")
        assert len(pages) > 3
        assert [one.text for one in await client.list_preferences("u1")] == [
            one.text for page in pages for one in page
        ]


@pytest.mark.row("S5-18")
async def test_usage_records_page_by_page(monkeypatch: pytest.MonkeyPatch) -> None:
    """A page ends at its limit, and where an answer would grow too large: with one record at least."""
    async with (
        running() as (server, _),
        AsyncClient(server.addresses[0]) as client,
        grpc.aio.insecure_channel(server.addresses[0]) as channel,
    ):
        ask = admin_pb2_grpc.AdminServiceStub(channel).ListUsageRecords
        await client.append("room", [Message(f"m{n}", "u1", "hi", NOON) for n in range(3)])
        ids = [
            (await client.build_context("room", "and?", asker="u1", asked_at=NOON)).id
            for _ in range(5)
        ]
        request = admin_pb2.ListUsageRecordsRequest

        async def pages(limit: int) -> list[list[str]]:
            found = await pages_of(ask, request(limit=limit), "records")
            return [[one.context_id for one in page] for page in found]

        assert await pages(3) == [ids[:3], ids[3:]]
        monkeypatch.setattr(admin_service, "MAX_ANSWER_BYTES", 1)
        assert await pages(3) == [[one] for one in ids]
        export = learning_pb2_grpc.LearningServiceStub(channel).ExportUsageRecords
        whole = learning_pb2.ExportUsageRecordsRequest()
        assert [len(run.builds) async for run in export(whole)] == [5, 0]  # last the summary
        monkeypatch.setattr(learning_answers, "MAX_ANSWER_BYTES", 1)
        assert [len(run.builds) async for run in export(whole)] == [1, 1, 1, 1, 1, 0]


@pytest.mark.row("P-27")
async def test_members_page_by_page() -> None:
    async with (
        running() as (server, _),
        AsyncClient(server.addresses[0]) as client,
        grpc.aio.insecure_channel(server.addresses[0]) as channel,
    ):
        ask = history_pb2_grpc.HistoryServiceStub(channel).ListMembers
        await client.append("room", [Message(f"m{n}", f"u{n}", "hi", NOON) for n in range(9)])
        await client.append("room", Message("x", "猫", "hi", NOON))
        whole = list(await client.list_members("room"))
        assert [one.user_id for one in whole] == [f"u{n}" for n in range(9)] + ["猫"]
        request = history_pb2.ListMembersRequest
        for limit in (1, 4, 10, 1_000):
            pages = await pages_of(ask, request(channel="room", limit=limit), "members")
            assert [one for page in pages for one in page] == whole
            assert all(len(page) == limit for page in pages[:-1])
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await ask(request(channel="room", limit=0))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_more_members_than_one_answer_holds() -> None:
    """An answer of all of them would be more than a client takes."""
    async with running() as (server, _), AsyncClient(server.addresses[0]) as client:
        await client.append("room", Message("m", "u", "hi", NOON))
        for start in range(0, 12_000, 500):
            await client.upsert_members(
                "room",
                [
                    history_pb2.Member(user_id=f"u{n:06}", name="n" * 400)
                    for n in range(start, start + 500)
                ],
            )
        assert len(await client.list_members("room")) == 12_001


@pytest.mark.row("S5-54")
async def test_more_minutes_than_are_kept_are_refused() -> None:
    async with (
        running() as (server, _),
        grpc.aio.insecure_channel(server.addresses[0]) as channel,
    ):
        ask = admin_pb2_grpc.AdminServiceStub(channel).GetMetrics
        await ask(admin_pb2.GetMetricsRequest(minutes=60))
        with pytest.raises(grpc.aio.AioRpcError, match="minutes") as refused:
            await ask(admin_pb2.GetMetricsRequest(minutes=61))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
