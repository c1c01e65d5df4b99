"""Implicit feedback over the wire: what people write behind an answer stands in its record."""

import asyncio

import pytest

from backscroll import Author, Message
from backscroll.v1 import feedback_pb2
from backscroll_sidecar.domain import ChannelKey
from tests.kit.served import served

NOON, MINUTE = 1_795_176_000_000, 60_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Helper", kind="bot")


class NoonClock:
    """Stands still, so that messages of that day are of now."""

    def now_ms(self) -> int:
        return NOON + 5 * MINUTE

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()


QUESTIONS = {
    "en": "which train goes to the sea?",
    "zh": "哪趟火车去海边？",
}


async def answered(client, language="en"):
    """A question of Ann's that the bot has answered; the id of the build."""
    await client.append(
        "room",
        [
            Message("m1", BEN, "the train to the sea leaves at ten", NOON - 30 * MINUTE),
            Message("q", ANN, QUESTIONS[language], NOON, mentions=["bot"]),
        ],
    )
    context = await client.build_context("room", trigger_message_id="q", self_ids=["bot"])
    reply = Message("a", BOT, "the one at nine", NOON + MINUTE, reply_to="q", role="assistant")
    await client.append("room", reply, context_id=context.id)
    return context.id


async def signals_of(client, context_id, count):
    """The signals of a build, once there are as many as expected."""
    for _ in range(100):
        record = await client.get_usage_record(context_id)
        if len(record.signals) == count:
            break
        await asyncio.sleep(0.1)
    kinds = [feedback_pb2.SignalKind.Name(one.kind) for one in record.signals]
    return [kind.removeprefix("SIGNAL_KIND_").lower() for kind in kinds], record


@pytest.mark.row("P-21")
@pytest.mark.parametrize(
    ("language", "text", "kind"),
    [
        ("en", "thanks, that helps!", "thanked"),
        ("zh", "谢谢，明白了！", "thanked"),
        ("en", "no, that's wrong", "corrected"),
        ("zh", "不对，我说的不是这个", "corrected"),
        ("en", "I asked which train goes to the sea", "rephrased"),
    ],
)
async def test_what_is_written_behind_an_answer(language, text, kind):
    async with served(clock=NoonClock()) as (client, _):
        context_id = await answered(client, language)
        follow_up = Message("f", ANN, text, NOON + 2 * MINUTE, reply_to="a")
        await client.append("room", follow_up)
        kinds, record = await signals_of(client, context_id, 1)
        assert kinds == [kind]
        (signal,) = record.signals
        assert (signal.message_id, signal.user_id) == ("f", "u1")
        assert (signal.value > 0.5) == (kind == "thanked")
        assert 0 < signal.confidence <= 1
        assert "f" in signal.text
        assert not record.HasField("success_indicator")  # nobody said so in as many words


@pytest.mark.row("P-21")
async def test_a_message_that_was_left_out_is_pointed_to():
    async with served(clock=NoonClock()) as (client, _):
        await client.append("room", [Message("m0", BEN, "see gate 4", NOON - 40 * MINUTE)])
        await client.append("room", [
            Message("m1", BEN, "the train to the sea leaves at ten", NOON - 30 * MINUTE),
            Message("q", ANN, QUESTIONS["en"], NOON, mentions=["bot"]),
        ])  # fmt: skip
        context = await client.build_context(
            "room", trigger_message_id="q", self_ids=["bot"], profile="classic"
        )
        assert not context.items
        reply = Message("a", BOT, "no idea", NOON + MINUTE, reply_to="q", role="assistant")
        await client.append("room", reply, context_id=context.id)
        text = 'Ben said "the train to the sea leaves at ten"'
        await client.append("room", Message("f", BEN, text, NOON + 2 * MINUTE, reply_to="a"))
        kinds, _ = await signals_of(client, context.id, 1)
        assert kinds == ["cited_left_out"]


@pytest.mark.row("P-21")
async def test_what_is_no_signal_and_what_is_taken_back():
    async with served(clock=NoonClock()) as (client, _app):
        context_id = await answered(client)
        await client.append("room", Message("x", BEN, "lunch anyone?", NOON + 2 * MINUTE))
        thanks = Message("f", ANN, "thanks!", NOON + 3 * MINUTE, reply_to="a")
        await client.append("room", thanks)
        kinds, _ = await signals_of(client, context_id, 1)
        assert kinds == ["thanked"]
        await client.recall_message("room", "f")
        kinds, _ = await signals_of(client, context_id, 0)
        assert kinds == []


@pytest.mark.row("P-21")
async def test_a_restart_in_between_loses_nothing(tmp_path):
    async with served(tmp_path / "b.db", clock=NoonClock()) as (client, _):
        context_id = await answered(client)
    async with served(tmp_path / "b.db", clock=NoonClock()) as (client, _):
        await client.append("room", Message("f", ANN, "thanks!", NOON + 2 * MINUTE, reply_to="a"))
        kinds, _ = await signals_of(client, context_id, 1)
        assert kinds == ["thanked"]


@pytest.mark.row("P-21", "N-10")
async def test_what_is_read_does_not_outlive_an_erasure(monkeypatch):
    """What was read before an erasure is not kept behind it."""
    async with served(clock=NoonClock()) as (client, app):
        context_id = await answered(client)
        await app.learning.follow_ups.close()  # nobody else reads
        thanks = Message("f", ANN, "thanks!", NOON + 2 * MINUTE, reply_to="a")
        await client.append("room", thanks)
        ids_by_seq, reading, erased = app.store.ids_by_seq, asyncio.Event(), asyncio.Event()

        async def slow(*args):
            reading.set()
            await erased.wait()
            return await ids_by_seq(*args)

        with monkeypatch.context() as patched:
            patched.setattr(app.store, "ids_by_seq", slow)
            follow_ups = app.learning.follow_ups
            read = asyncio.create_task(follow_ups.read(ChannelKey("default", "room")))
            await asyncio.wait_for(reading.wait(), 30)
            await client.erase("room", message_ids=["f"])
            erased.set()
            await read
        kinds, _ = await signals_of(client, context_id, 0)
        assert kinds == []


@pytest.mark.row("P-21")
async def test_the_latest_answers_of_a_busy_channel_are_read():
    """However much is said between two answers, what is said of the second counts."""
    async with served(clock=NoonClock()) as (client, _):
        await answered(client)
        crowd = [Message(f"x{n}", BEN, f"{n} and so on", NOON + MINUTE + n) for n in range(500)]
        await client.append("room", crowd)
        question = Message("q2", ANN, "and the train back?", NOON + 2 * MINUTE, mentions=["bot"])
        await client.append("room", question)
        context = await client.build_context("room", trigger_message_id="q2", self_ids=["bot"])
        reply = Message("a2", BOT, "at six", NOON + 3 * MINUTE, reply_to="q2", role="assistant")
        await client.append("room", reply, context_id=context.id)
        await client.append("room", Message("f", ANN, "thanks!", NOON + 4 * MINUTE, reply_to="a2"))
        kinds, _ = await signals_of(client, context.id, 1)
        assert kinds == ["thanked"]
