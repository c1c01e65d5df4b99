"""Laws 2 and 5 through the door: the same answer after a restart, and an answer whatever the store does."""

import asyncio
import contextlib
import time
from pathlib import Path

import pytest

from backscroll import Author, DeadlineExceeded, Member, Message, Unavailable
from backscroll.v1 import context_pb2
from backscroll_sidecar.config.settings import MemorySettings
from backscroll_sidecar.context.rendered_lines import missing_lately
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.lines.line_source import USUAL
from tests.kit.kept import STORE
from tests.kit.served import served

NOON = 1_795_176_000_000
PEOPLE = [
    Author("u1", "Ann"),
    Author("u2", "Ben"),
    Author("u3", "小黑"),
    Author("bot", "Helper", "bot"),
]
PROFILES = [
    "balanced", "classic", "chain_recent", "retrieval", "naive", "room", "memory", "hybrid", "hybrid_linear", "steady",
]  # fmt: skip


def chat(count: int = 60) -> list[Message]:
    """Answers, late parents, late lines, mentions, a picture's worth of oddities."""
    lines = []
    for n in range(count):
        author = PEOPLE[n * 7 % 4]
        late = 40_000 if n % 11 == 5 else 0
        lines.append(
            Message(
                f"m{n}", author, f"line {n} 猫 @Ben" if n % 5 == 0 else f"line {n}, cats and dogs",
                NOON - 600_000 + n * 5_000 - late, role="assistant" if author.id == "bot" else "user",
                reply_to=f"m{(n * 13 + 3) % count}" if n % 3 == 0 else None,
            )
        )  # fmt: skip
    return lines


async def everything(client) -> list[bytes]:
    """Answers of every profile to a few questions, ids, timings and cache flags taken out."""
    answers = []
    for profile in PROFILES:
        for fields in (
            {"question": "@Ben what do cats eat?", "asker": "u1"},
            {"question": "", "trigger_message_id": "m57"},
            {
                "question": "狗呢？",
                "asker": PEOPLE[2],
                "layout": "single_user",
                "reply": "m30",
                "token_budget": 300,
            },
        ):
            context = await client.build_context(
                "room", profile=profile, asked_at=NOON, explain=True, **fields
            )
            raw = context_pb2.BuildContextResponse()
            raw.CopyFrom(context.raw)
            raw.ClearField("diagnostics")
            raw.ClearField("context_id")
            raw.ClearField("events")
            answers.append(raw.SerializeToString(deterministic=True))
    return answers


@pytest.mark.row("N-08")
async def test_the_same_answers_after_a_restart(tmp_path):
    """Law 2, N-08: same store, configuration and request: same items and payload bytes before and after a restart,
    with edits, recalls, renames and an erased person in between."""
    database = tmp_path / "history.db"
    async with served(database) as (client, _):
        lines = chat()
        for start in range(0, 60, 7):
            await client.append("room", lines[start : start + 7])
            await client.build_context("room", "hot?", asker="u1")
        await client.edit_message("room", "m10", text="edited, about cats", edited_at=NOON - 5)
        await client.recall_message("room", "m20")
        await client.upsert_members("room", [Member("u2", "Benedict", aliases=["boss"])])
        await client.upsert_members("room", [Member("u2", "Benedict")])
        await client.erase("room", user_id="u3")
        await client.append("room", lines)  # redelivered: nothing new
        before = await everything(client)
    async with served(database) as (client, _):
        assert await everything(client) == before


@pytest.mark.parametrize("change", ["edit", "recall", "erase"])
async def test_a_word_that_left_the_history(tmp_path, change):
    """Law 2: once the only line with 茄子 is taken away, lines with its characters are found, before a restart too."""
    database, day = tmp_path / "history.db", 86_400_000
    told = [("m1", "番茄炒蛋很好吃"), ("m2", "桌子上有书"), ("m3", "茄子很便宜")]
    told += [(f"n{n}", f"noise {n}") for n in range(40)]
    lines = [
        Message(id, PEOPLE[n % 3], text, NOON - day + n * 1_000)
        for n, (id, text) in enumerate(told)
    ]

    async def ask(client) -> list[tuple[list[str], bytes]]:
        answers = []
        for profile in ("memory", "balanced"):
            context = await client.build_context(
                "room", "茄子", asker="u1", asked_at=NOON, profile=profile
            )
            found = [(item.message.id, item.rank, item.score) for item in context.raw.items]
            answers.append((found, context.raw.payloads[0].body))
        return answers

    async with served(database) as (client, _):
        await client.append("room", lines)
        await ask(client)
        if change == "edit":
            await client.edit_message("room", "m3", "天气很好")
        elif change == "recall":
            await client.recall_message("room", "m3")
        else:
            await client.erase("room", message_ids=["m3"])
        before = await ask(client)
    assert {"m1", "m2"} <= {id for id, _, _ in before[0][0]}
    async with served(database) as (client, _):
        assert await ask(client) == before


@pytest.mark.row("S2-14", "S5-24", "S5-29")
async def test_a_store_that_goes_away():
    """S2-14, S5-24, S5-29, law 5: a hot channel needs no store; a cold one gives an empty context that says so, and
    without a question's text a retryable error."""
    async with served() as (client, app):
        for channel in ("hot", "cold"):
            await client.append(channel, chat(10))
        await client.build_context("hot", "warm up", asker="u1")
        app.channels.drop(_key("cold"))

        async def down(*args: object, **kwargs: object) -> None:
            raise StoreUnavailable("the disk is gone")

        app.store.load_channel = down
        hot = await client.build_context(
            "hot", "what now?", asker="u1", asked_at=NOON, profile="room"
        )
        assert (len(hot.items), list(hot.degradations)) == (10, [])
        cold = await client.build_context("cold", "what now?", asker="u1", preferences=["tea"])
        assert cold.raw.rung == context_pb2.RUNG_EMPTY
        assert [(d.stage, d.source, d.reason) for d in cold.degradations] == [
            ("gather", "history", "STORE_UNAVAILABLE")
        ]
        assert cold.payload["messages"][-1]["content"] == "what now?"
        with pytest.raises(Unavailable):
            await client.build_context("cold", trigger_message_id="m3")


@pytest.mark.row("N-09", "S5-25")
async def test_a_slow_store_and_the_callers_deadline():
    """N-09, S5-25: the answer comes before the caller's deadline, with rung and reason; the load goes on. (A busy
    machine is given longer ones; the rate on a quiet one is a proof of its own.)"""
    timeouts_s = (0.1, 0.1, 0.3, 1.0, 3.0, 10.0)
    async with served() as (client, app):
        load = app.store.load_channel
        loaded = []
        # A room of its own for every try: the load of one that came too late goes on, and the next would find it.
        for n, _ in enumerate(timeouts_s):
            await client.append(f"room {n}", chat(10))
            # All but the room is known then.
            await client.build_context(f"room {n}", "hello?", asker="u1")

        async def slow(*args: object) -> object:
            loaded.append(room)
            await asyncio.sleep(timeout_s * 3)
            return await load(*args)

        app.store.load_channel = slow
        for timeout_s in timeouts_s:
            room = f"room {len(loaded)}"
            app.channels.drop(_key(room))
            with contextlib.suppress(DeadlineExceeded):
                context = await client.build_context(
                    room, "what now?", asker="u1", timeout_s=timeout_s
                )
                break
        else:
            pytest.fail("never in time")
        assert context.raw.rung == context_pb2.RUNG_EMPTY
        assert [d.reason for d in context.degradations] == ["TIMEOUT"]
        context = await client.build_context(
            room, "what now?", asker="u1", asked_at=NOON, profile="room"
        )
        assert len(context.items) == 10
        assert loaded.count(room) == 1


async def filled(database: Path) -> None:
    """A channel whose rows are in a segment when the server has stopped."""
    async with served(database) as (client, _):
        await client.append("room", chat(100))
        await client.build_context("room", "what now?", asker="u1")


@pytest.mark.row("S5-33")
@pytest.mark.parametrize("seconds", [0, 60])
async def test_a_start_loads_the_channels_used_last(tmp_path, seconds):
    """S5-33: who asks first after a restart finds the channel in memory, and gets the answer of a cold one."""
    database = tmp_path / "history.db"
    await filled(database)
    async with served(database, preload_seconds=seconds) as (client, app):
        assert (app.remembered.known(_key("room"), "u1", "", 0) is not None) == (seconds > 0)
        if seconds:  # and its lines written
            view = app.channels.hot(_key("room")).view()
            assert not len(missing_lately(view, USUAL, view.columns.time_ms.item(-1)))
        first = await client.build_context("room", "what now?", asker="u1", asked_at=NOON)
        again = await client.build_context("room", "what now?", asker="u1", asked_at=NOON)
    assert first.raw.diagnostics.cache_hit == (seconds > 0)
    assert again.raw.diagnostics.cache_hit
    assert first.payload == again.payload


@pytest.mark.parametrize(
    "error", [StoreUnavailable("the disk is gone"), RuntimeError("a fault of ours")]
)
async def test_a_start_that_cannot_load_starts(tmp_path, monkeypatch, error):
    """Law 5: what the load raises costs nobody but the first who asks."""
    database = tmp_path / "history.db"
    await filled(database)

    async def broken(*args: object) -> object:
        raise error

    monkeypatch.setattr(STORE, "lately_kept", broken)
    async with served(database) as (client, _):
        context = await client.build_context("room", "what now?", asker="u1")
        assert not context.degradations
        assert not context.raw.diagnostics.cache_hit


async def test_a_start_waits_for_no_store(tmp_path, monkeypatch):
    """Law 5: a load that hangs at the start costs what the settings say, and no channel."""
    database = tmp_path / "history.db"
    await filled(database)
    load, hangs = STORE.load_channel, asyncio.Event()

    async def slow(*args: object) -> object:
        await hangs.wait()
        return await load(*args)

    monkeypatch.setattr(STORE, "load_channel", slow)
    async with served(database, preload_seconds=0.01) as (client, app):
        assert not len(app.channels)
        hangs.set()
        context = await client.build_context("room", "what now?", asker="u1")
        assert not context.degradations


async def test_a_start_keeps_half_of_the_memory_free(tmp_path):
    """Law 9: channels that nobody asked for yet take no more."""
    database = tmp_path / "history.db"
    async with served(database) as (client, _):
        for room in range(8):
            await client.append(f"room {room}", chat(400))
            await client.build_context(f"room {room}", "what now?", asker="u1")
    async with served(database, hot_channel_bytes=1024 * 1024) as (client, app):
        assert 1 <= len(app.channels) < 8
        assert app.channels.nbytes <= 1024 * 1024
        assert app.channels.hot(_key("room 7")) is not None


@pytest.mark.row("S5-25", "S5-27")
async def test_the_servers_own_timeout():
    """S5-25, S5-27: context_build_timeout_seconds holds where the caller sets no short deadline."""
    async with served(memory=MemorySettings(context_build_timeout_seconds=0.1)) as (client, app):
        await client.append("room", chat(5))
        await client.build_context("room", "hello?", asker="u1")  # all but the room is known
        app.channels.drop(_key("room"))

        async def slow(*args: object) -> None:
            await asyncio.sleep(30)

        app.store.load_channel = slow
        started = time.perf_counter()
        context = await client.build_context("room", "what now?", asker="u1")
        assert time.perf_counter() - started < 5
        assert [d.reason for d in context.degradations] == ["TIMEOUT"]


def _key(channel: str) -> ChannelKey:
    return ChannelKey("default", channel)
