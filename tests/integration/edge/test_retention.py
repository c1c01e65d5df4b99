"""Messages that are too old or too many go from every place; the recent ones and the pinned ones stay."""

import asyncio
import contextlib
import functools

import pytest

from backscroll import Author, InvalidRequest, Message
from backscroll.v1.history_pb2 import APPEND_OUTCOME_GONE
from backscroll_sidecar.history import retention
from tests.integration.cli.in_process import Commands
from tests.kit.chats import StillClock
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.fake_model import STOP, FakeModel, Wait
from tests.kit.kept import kept_in
from tests.kit.served import running, served

DAY = 86_400_000
NOON = 1_795_176_000_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
OLD, NEW = 1_100, 80
EXPIRED = "backscroll_expired_messages_total"


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, seconds in (("FIRST_S", 0.0), ("ROUND_S", 0.02), ("BUSY_PAUSE_S", 0.0)):
        monkeypatch.setattr(retention, name, seconds)


def old_lines() -> list[Message]:
    """Forty days old, each answered by the next; the first is pinned."""
    return [
        Message(
            f"old{n}", ANN, f"zebracanary{n} lives in the zoo, 斑马{n}号", NOON - 40 * DAY + n,
            reply_to=f"old{n - 1}" if n else None,
        )
        for n in range(OLD)
    ]  # fmt: skip


def new_lines() -> list[Message]:
    """Of today; every tenth answers an old line."""
    return [
        Message(
            f"new{n}", BEN if n % 2 else ANN, f"line {n} about the zoo", NOON - 3_600_000 + n * 1_000,
            reply_to=f"old{OLD - 1 - n}" if n % 10 == 0 else None,
        )
        for n in range(NEW)
    ]  # fmt: skip


async def store(client, lines: list[Message]) -> None:
    for start in range(0, len(lines), 400):
        await client.append("room", lines[start : start + 400])


async def expired(client) -> float:
    (sample,) = await client.get_metrics(EXPIRED)
    return sample.value


async def until_expired(client, count: int) -> None:
    async with asyncio.timeout(60):
        while await expired(client) < count:  # noqa: ASYNC110 - a metric wakes nobody
            await asyncio.sleep(0.01)


async def ids(client, channel: str = "room") -> list[str]:
    return [one.message.id async for one in client.list_messages(channel, include_recalled=True)]


async def answers(client) -> list[tuple[list[str], bytes]]:
    """What builds show, by a trigger that answers an expired line among others."""
    found = []
    for profile in ("balanced", "classic", "chain_recent", "retrieval", "memory", "hybrid"):
        for fields in (
            {"question": "what about the zoo?", "asker": "u1"},
            {"trigger_message_id": "new70"},
        ):
            context = await client.build_context("room", profile=profile, asked_at=NOON, **fields)
            assert not context.raw.degradations
            shown = [one.message.id for one in context.items]
            found.append((shown, context.raw.payloads[0].body))
    return found


@pytest.mark.row("P-29")
async def test_old_messages_go_from_every_place_and_recent_ones_stay(tmp_path):
    """Builds go on meanwhile; what is left answers as a server does that never had the old ones."""
    database = tmp_path / "history.db"
    clock = StillClock(NOON - 39 * DAY)
    given = {
        "clock": clock,
        "embedder": FakeEmbedder(),
        "vector_index": "hnsw",
        "retention_days": 30,
    }
    async with served(database, **given) as (client, app):
        await store(client, old_lines())
        assert (await client.wait_for_index("room", wait_s=30)).ready
        await client.build_context("room", "zebracanary7?", asker="u1", asked_at=NOON - 39 * DAY)
        await client.compact("room", without_model=True)
        await client.pin_message("room", "old0")
        await app.embedding.vectors.settled()
        assert await expired(client) == 0
        clock.at_ms = NOON
        await store(client, new_lines())
        builds = asyncio.create_task(answers(client))
        await until_expired(client, OLD - 1)
        await builds
        assert await expired(client) == OLD - 1
        left = ["old0", *(f"new{n}" for n in range(NEW))]
        assert await ids(client) == left
        assert (await client.wait_for_index("room", wait_s=30)).ready
        mine = await answers(client)
        assert not any(
            name.startswith("old") and name != "old0" for shown, _ in mine for name in shown
        )
        again = await client.append("room", old_lines()[5:6])
        assert [one.outcome for one in again.results] == [APPEND_OUTCOME_GONE]
    async with served(clock=StillClock(NOON), embedder=FakeEmbedder(), vector_index="hnsw") as (
        other,
        _,
    ):
        await store(other, [old_lines()[0], *new_lines()])
        await other.pin_message("room", "old0")
        assert (await other.wait_for_index("room", wait_s=30)).ready
        assert await answers(other) == mine
    for where, content in kept_in(tmp_path):
        assert b"zebracanary7 " not in content, where
        assert "斑马7号".encode() not in content, where


@pytest.mark.row("P-29")
async def test_a_channel_keeps_so_many_of_its_newest(tmp_path):
    """Its own word comes before the server's; a restart goes on with it."""
    async with served(tmp_path / "b.db", clock=StillClock(NOON), retention_messages=50) as (
        client,
        _,
    ):
        await client.set_channel_settings("kept", retention_messages=0)
        told = (await client.get_channel_settings("kept")).retention
        assert (told.messages, told.HasField("days")) == (0, False)
        for channel in ("room", "kept", "few"):
            await client.append(channel, new_lines())
        await client.recall_message("few", "new78")
        told = await client.set_channel_settings("few", retention_messages=3, retention_days=2)
        assert (told.retention.messages, told.retention.days) == (3, 2)
        await until_expired(client, 30 + NEW - 4)
        assert await ids(client) == [f"new{n}" for n in range(30, NEW)]
        assert len(await ids(client, "kept")) == NEW
        assert await ids(client, "few") == ["new76", "new77", "new78", "new79"]
    async with served(tmp_path / "b.db", clock=StillClock(NOON), retention_messages=10) as (
        client,
        _,
    ):
        await until_expired(client, 40)
        assert await ids(client) == [f"new{n}" for n in range(70, NEW)]
        assert len(await ids(client, "few")) == 4


@pytest.mark.row("P-29")
async def test_a_turn_that_is_answered_meanwhile_keeps_its_reply(tmp_path):
    """An expiry is no erasure: a turn that does not show what went has its reply stored."""
    gate = asyncio.Event()
    model = FakeModel([Wait(gate), "at noon", STOP])
    async with served(tmp_path / "b.db", clock=StillClock(NOON), model=model) as (client, _):
        await client.append("room", new_lines())
        stream = client.stream_chat("room", "and then?", asker="u1", profile="naive")
        async with contextlib.aclosing(stream):
            async for event in stream:
                if not gate.is_set():
                    await client.set_channel_settings("room", retention_messages=50)
                    await until_expired(client, 1)
                    gate.set()
                last = event
        assert last.reply_message_id
        assert last.reply_message_id in await ids(client)


@pytest.mark.row("P-29")
@pytest.mark.parametrize(
    ("name", "value"), [("retention_days", 36_501), ("retention_messages", 2_000_000_001)]
)
async def test_what_is_no_limit_is_refused(name: str, value: int) -> None:
    async with served() as (client, _):
        with pytest.raises(InvalidRequest) as caught:
            await client.set_channel_settings("room", **{name: value})
        assert caught.value.field == f"settings.{name.replace('_', '.')}"


@pytest.mark.row("P-29")
async def test_it_is_set_and_shown_on_the_command_line() -> None:
    async with running() as (server, _):
        here = Commands(server.addresses[0])
        run = functools.partial(asyncio.to_thread, here.json, "settings")
        told = await run("set", "room", "--keep-days", "30")
        assert told["retention"] == {"days": 30}
        told = await run("set", "room", "--keep-messages", "0")
        assert (await run("get", "room"))["retention"] == {"days": 30, "messages": 0}


@pytest.mark.row("P-29")
async def test_a_channels_days_come_before_the_servers():
    """More days, fewer, none at all; where it says nothing the server's hold."""
    clock = StillClock(NOON - 20 * DAY)
    async with served(clock=clock, retention_days=30) as (client, _):
        for channel, days in (("few", 10), ("many", 50), ("kept", 0), ("room", None)):
            if days is not None:
                await client.set_channel_settings(channel, retention_days=days)
            for name, ago in (("old", 40), ("newer", 20)):
                await client.append(
                    channel, Message(f"{name}-{channel}", ANN, name, NOON - ago * DAY)
                )
        clock.at_ms = NOON
        await until_expired(client, 3)
        assert await ids(client, "few") == []
        assert await ids(client, "room") == ["newer-room"]
        for channel in ("many", "kept"):
            assert await ids(client, channel) == [f"old-{channel}", f"newer-{channel}"]


@pytest.mark.row("P-29")
async def test_one_round_takes_more_than_one_step(tmp_path, monkeypatch):
    """Some hundred at a time, until none is left over."""
    async with served(tmp_path / "b.db", clock=StillClock(NOON)) as (client, _):
        await store(client, old_lines())
    monkeypatch.setattr(retention, "ROUND_S", 3_600.0)
    async with served(tmp_path / "b.db", clock=StillClock(NOON), retention_days=30) as (client, _):
        await until_expired(client, OLD)
        assert await ids(client) == []
