"""Cause comes before clocks: what a question answers is seen, however the clocks of platform and server differ."""

from collections.abc import AsyncIterator

import grpc
import pytest
import pytest_asyncio

from backscroll import AsyncClient, Author, Message, Overrides
from backscroll.v1 import context_pb2, context_pb2_grpc
from backscroll_sidecar.context.profiles import PROFILES
from tests.kit.served import running, served

NOON = 1_795_176_000_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Cat", "bot")
SECOND, MINUTE = 1_000, 60_000


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[AsyncClient]:
    async with served() as (client, _):
        yield client


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("skew_ms", [1, 2 * SECOND, 10 * MINUTE])
@pytest.mark.asyncio(loop_scope="module")
async def test_what_the_trigger_answers_is_seen_though_it_is_later(client, profile, skew_ms):
    """The bot's lines are dated by a clock that goes ahead, and only the request knows what is answered: nobody else's
    lines of that time were there yet.
    """
    channel = f"{profile} {skew_ms}"
    bot = {"role": "assistant"}
    await client.append(channel, [
        Message("m", BEN, "which day is the trip?", NOON),
        Message("q", ANN, "which of the two is it?", NOON + 1_000),
        Message("n", BEN, "nobody has said this yet", NOON + 1_001),
        Message("last", BEN, "nor this", NOON + 3_000 + skew_ms),
        Message("a1", BOT, "Thursday", NOON + 1_000 + skew_ms, reply_to="m", **bot),
        Message("a2", BOT, "or Friday", NOON + 2_000 + skew_ms, reply_to="a1", **bot),
    ])  # fmt: skip
    for explain in (False, True):
        built = await client.build_context(
            channel, trigger_message_id="q", reply="a2", self_ids=["bot"], profile=profile,
            explain=explain,
            overrides=Overrides(relevance_threshold=0.0),
        )  # fmt: skip
        ids = [item.message.id for item in built.items]
        assert "a2" in ids
        if PROFILES[profile].keep_chain or profile == "classic":
            assert ids == ["m", "a1", "a2"]
        assert not {"n", "last", "q"} & set(ids)
        assert built.raw.asked_at_ms == NOON + 2_000 + skew_ms
        assert built.payload["messages"][-1]["content"].endswith("which of the two is it?")
    then = await client.build_context(
        channel, trigger_message_id="q", asked_at=NOON + 1_000, profile=profile, self_ids=["bot"]
    )
    assert not {"a1", "a2"} & {item.message.id for item in then.items}


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.asyncio(loop_scope="module")
async def test_an_answer_by_a_slow_clock_is_behind_what_it_answers(client, profile, late):
    """The same where the platform's edges are stored, whichever comes first."""
    channel = f"slow {profile} {late}"
    asked = Message("q", ANN, "which of the two is it?", NOON, reply_to="a")
    said = Message("a", BOT, "Thursday or Friday", NOON + 30_000, role="assistant")
    await client.append(channel, [asked, said] if late else [said, asked])
    built = await client.build_context(
        channel, trigger_message_id="q", self_ids=["bot"], profile=profile,
        overrides=Overrides(relevance_threshold=0.0),
    )  # fmt: skip
    assert [item.message.id for item in built.items] == ["a"]
    after = await client.build_context(channel, "and then?", asker="u2", self_ids=["bot"])
    assert [item.message.id for item in after.items] == ["a", "q"]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_ring_of_replies_ends(client):
    """Two messages that answer each other, as a broken export has them."""
    await client.append("ring", [
        Message("a", ANN, "first", NOON, reply_to="b"),
        Message("b", BEN, "second", NOON + 1_000, reply_to="a"),
    ])  # fmt: skip
    for trigger, other in (("a", "b"), ("b", "a")):
        built = await client.build_context("ring", trigger_message_id=trigger, self_ids=["bot"])
        assert {item.message.id for item in built.items} <= {other}
        assert built.raw.rung == context_pb2.RUNG_RANKED


@pytest.mark.parametrize(
    ("at", "words"),
    [
        (10**8, "seconds"),
        (1_795_176_000, "seconds"),
        (10**10 - 1, "seconds"),
        (10**14, "microseconds"),
        (1_795_176_000_000_000, "microseconds"),
        (1_795_176_000_000_000_000, "microseconds"),
        (-1, "no time"),
    ],
)
async def test_a_moment_in_another_unit_is_refused(at, words):
    """By name, over the wire: what is reckoned from it would be thousands of years off."""
    async with running() as (server, _), grpc.aio.insecure_channel(server.addresses[0]) as wire:
        stub = context_pb2_grpc.ContextServiceStub(wire)
        for good in (0, 5, 10**8 - 1, 10**10, NOON, 10**14 - 1):
            asked = context_pb2.BuildContextRequest(channel="c", question="so?", asked_at_ms=good)
            assert (await stub.BuildContext(asked)).asked_at_ms == good
        asked = context_pb2.BuildContextRequest(channel="c", question="so?", asked_at_ms=at)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.BuildContext(asked)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "asked_at_ms" in refused.value.details()
    assert words in refused.value.details()
