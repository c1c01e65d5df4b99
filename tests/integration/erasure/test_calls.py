"""One call erases a person everywhere, or a tenant: what it tells, what it refuses, what open turns do (N-10)."""

import asyncio
from collections.abc import Sequence

import grpc
import pytest

from backscroll import AsyncClient, ExperimentArm, InvalidRequest, Message, Unavailable
from backscroll.v1 import session_pb2, session_pb2_grpc
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.history import service
from backscroll_sidecar.ports import RECEIPT_STORES, Applied, Change
from tests.integration.chat.talk import talk, text_of, turn
from tests.kit.fake_model import STOP, FakeModel, Wait
from tests.kit.postgres import IN_POSTGRES, server
from tests.kit.served import in_background, running, served

NOON_MS = 1_795_176_000_000


def said(id_: str, author: str = "u1", text: str = "hello") -> Message:
    return Message(id_, author, text, NOON_MS)


@pytest.mark.row("N-10")
def test_the_client_that_waits_erases_as_well() -> None:
    with in_background() as client:
        for room in ("a", "b"):
            client.append(room, [said("m1"), said("m2", "u2")])
        told = client.erase(user_id="u1", all_channels=True, dry_run=True)
        assert (told["messages"], told.is_dry_run) == (2, True)
        receipt = client.erase(user_id="u1", all_channels=True)
        assert receipt == told
        assert (receipt.is_dry_run, receipt.tenant) == (False, "default")
        assert receipt.are_files_clean != IN_POSTGRES  # there are none
        assert set(receipt) == RECEIPT_STORES
        assert client.erase(whole_tenant=True)["messages"] == 2
        assert not any(client.erase(whole_tenant=True).values())


@pytest.mark.row("N-10", "P-22")
async def test_files_of_postgres_are_its_own_to_clean() -> None:
    """The server does not know when: the receipt says so, each time."""
    async with served(await server().emptied()) as (client, _):
        await client.append("a", said("m1"))
        for count in (1, 0):
            receipt = await client.erase("a", user_id="u1")
            assert receipt["messages"] == count
            assert (receipt.are_files_clean, receipt.files_clean_by_ms) == (False, 0)


@pytest.mark.row("N-10")
@pytest.mark.parametrize(
    ("named", "field"),
    [
        ({}, "channel"),
        ({"user_id": "u1"}, "channel"),
        ({"channel": "a"}, "message_ids"),
        ({"channel": "a", "user_id": "u1", "message_ids": ["m"]}, "message_ids"),
        ({"channel": "a", "user_id": "u1", "whole_channel": True}, "message_ids"),
        ({"all_channels": True}, "user_id"),
        ({"all_channels": True, "user_id": "u1", "channel": "a"}, "channel"),
        ({"all_channels": True, "user_id": "u1", "whole_channel": True}, "whole_channel"),
        ({"whole_tenant": True, "user_id": "u1"}, "user_id"),
        ({"whole_tenant": True, "channel": "a"}, "channel"),
        ({"whole_tenant": True, "all_channels": True, "user_id": "u1"}, "all_channels"),
        ({"whole_tenant": True, "whole_channel": True}, "whole_channel"),
    ],
)
async def test_what_is_ambiguous_is_refused(named: dict, field: str) -> None:
    async with served() as (client, _):
        await client.append("a", said("m1"))
        with pytest.raises(InvalidRequest) as refused:
            await client.erase(**named)
        assert refused.value.field == field
        assert len([one async for one in client.list_messages("a")]) == 1


@pytest.mark.row("N-10")
@pytest.mark.parametrize("whole", [False, True])
async def test_a_turn_elsewhere_does_not_store_the_words_again(*, whole: bool) -> None:
    """The model answers in one channel while the person goes from another; the next turn is stored as ever."""
    go = asyncio.Event()
    model = FakeModel([Wait(go), "4711, says u9", STOP], ["fine", STOP])
    async with talk(model) as bot:
        await bot.client.append("other", said("m1", "u9", "my secret is 4711"))
        asking = asyncio.create_task(bot.ask(turn("what is it?", question_message_id="q1")))
        async with asyncio.timeout(120):
            while not model.calls or not await bot.stored():  # noqa: ASYNC110 - nothing else tells
                await asyncio.sleep(0.005)
        named = {"whole_tenant": True} if whole else {"user_id": "u9", "all_channels": True}
        await bot.client.erase(**named)
        go.set()
        heard = await asking
        assert [one.reason for one in heard.errors] == ["MESSAGE_GONE"]
        assert "4711" not in str([text_of(one) for one in await bot.stored()])
        again = await bot.ask(turn("and now?", question_message_id="q2"))
        assert (again.text, again.errors) == ("fine", [])
        assert text_of((await bot.stored())[-1]) == "fine"


@pytest.mark.row("N-10")
async def test_an_erasure_that_broke_off_is_finished_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of three channels one is done when the store fails: turns are not held for ever, the rest goes the next time."""
    async with served() as (client, app):
        for room in ("a", "b", "c"):
            await client.append(room, said("m1"))
        apply = app.store.apply

        async def fails(changes: Sequence[Change]) -> Sequence[Applied]:
            if any(one.key.channel == "b" for one in changes):
                raise StoreUnavailable("the disk is gone")
            return await apply(changes)

        with monkeypatch.context() as broken:
            broken.setattr(service, "ERASED_AT_ONCE", 1)
            broken.setattr(app.store, "apply", fails)
            with pytest.raises(Unavailable):
                await client.erase(user_id="u1", all_channels=True)
        assert (await client.erase(user_id="u1", all_channels=True))["messages"] == 2
        for room in ("a", "b", "c"):
            stored = await app.store.get_messages(ChannelKey("default", room), ["m1"])
            assert stored == {}


@pytest.mark.row("N-10")
async def test_what_only_names_a_person_or_a_channel_loses_the_name() -> None:
    """A session without its owner, a space without a participant; sharing and experiments without the channel."""
    async with (
        running() as (server, _),
        AsyncClient(server.addresses[0], timeout_s=120.0) as client,
        grpc.aio.insecure_channel(server.addresses[0]) as channel,
    ):
        rooms = session_pb2_grpc.SessionServiceStub(channel)
        await client.append("room", said("m1"))
        anna = session_pb2.Participant(
            id="anna", name="Anna", kind=session_pb2.PARTICIPANT_KIND_PERSONA
        )
        space = session_pb2.Space(slug="cafe", participants=[anna])
        await rooms.PutSpace(session_pb2.PutSpaceRequest(space=space))
        session = session_pb2.Session(
            session_id="s1", channel="room", owner_id="anna", title="Anna's evening",
            policy=session_pb2.RoomPolicy(allowed_author_ids=["anna"]),
        )  # fmt: skip
        await rooms.CreateSession(session_pb2.CreateSessionRequest(session=session))
        receipt = await client.erase(user_id="anna", all_channels=True)
        assert receipt["names"] == 2
        found = (
            await rooms.GetSession(
                session_pb2.GetSessionRequest(session=session_pb2.SessionRef(session_id="s1"))
            )
        ).session
        assert (found.owner_id, found.title) == ("", "")
        assert list(found.policy.allowed_author_ids) == [f"erased-{receipt.erased_at_ms}"]
        found = (await rooms.GetSpace(session_pb2.GetSpaceRequest(slug="cafe"))).space
        assert list(found.participants) == []

        await client.set_channel_settings("other", sharing={"shares_with": ["room", "x"]})
        await client.put_experiment("e", [ExperimentArm("a")], allowed_channels=["room"])
        receipt = await client.erase("room", whole_channel=True)
        assert receipt["names"] == 2
        nobody = f"erased-{receipt.erased_at_ms}"
        settings = await client.get_channel_settings("other")
        assert list(settings.sharing.shares_with) == [nobody, "x"]
        assert nobody in str(await client.get_experiment("e"))


@pytest.mark.row("N-10")
async def test_a_tenant_without_its_experiments_builds_by_none() -> None:
    async with served() as (client, _):
        await client.append("room", said("m1"))
        await client.put_experiment("e", [ExperimentArm("a")])
        assert (await client.build_context("room", "hello?")).experiment.experiment_id == "e"
        await client.erase(whole_tenant=True)
        await client.append("room", said("m2"))
        assert (await client.build_context("room", "hello?")).experiment.experiment_id == ""
