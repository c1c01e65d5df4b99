"""What is recorded of builds, over the wire and in the database."""

import asyncio
import json

import pytest

from backscroll import Author, Message, Overrides
from backscroll.errors import BackscrollError, InvalidRequest, NotFound
from backscroll.v1 import context_pb2
from backscroll_sidecar.config.settings import MemorySettings
from backscroll_sidecar.edge.convert import usage
from backscroll_sidecar.learning import feedback
from tests.kit.fake_model import STOP, FakeModel
from tests.kit.kept import columns, plan, rows
from tests.kit.served import served

NOON = 1_795_176_000_000
MINUTE = 60_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Helper", kind="bot")
CHAT = [
    Message("m1", BEN, "the train to the sea leaves at ten", NOON - 30 * MINUTE),
    Message("m2", ANN, "猫吃什么呢", NOON - 20 * MINUTE),
    Message("m3", BEN, "bring the tickets for the train", NOON - 10 * MINUTE),
    Message("q", ANN, "when does the train leave?", NOON, mentions=["bot"]),
]


async def ask(client, **fields):
    return await client.build_context(
        "room", trigger_message_id="q", **{"self_ids": ["bot"], **fields}
    )


def answer(id_="a", reply_to="q", **fields):
    said = {"role": "assistant", **fields}
    return Message(id_, BOT, "at ten", NOON + MINUTE, reply_to=reply_to, **said)


@pytest.mark.row("S5-18", "S5-21")
@pytest.mark.parametrize("profile", ["balanced", "classic", "hybrid"])
async def test_a_record_has_all_that_was_scored(profile):
    """S5-18: ids, scores of all scored candidates with what became of them; as `explain` tells it."""
    async with served() as (client, _):
        await client.append("room", CHAT)
        overrides = Overrides(max_context=1)
        context = await ask(client, profile=profile, overrides=overrides, explain=True)
        record = await client.get_usage_record(context.id)
        assert (record.channel, record.user_id, record.trigger_message_id) == ("room", "u1", "q")
        assert list(record.context_message_ids) == [one.message.id for one in context.items]
        told = {one.message_id: one for one in context.explanation.candidates}
        kept = {one.message_id: one for one in record.candidates}
        assert kept.keys() == told.keys()
        assert len(kept) > 1
        for id_, one in kept.items():
            assert one.score == pytest.approx(told[id_].score, abs=6e-5)
            assert one.fate == told[id_].fate
        assert {one.fate for one in kept.values()} != {context_pb2.FATE_SELECTED}
        assert record.profile == profile
        assert record.policy_id.startswith(f"{profile}@")
        assert record.token_count == context.tokens.total
        assert record.token_budget == context.tokens.budget
        assert record.asked_at_ms == context.raw.asked_at_ms
        assert record.build_microseconds > 0
        assert record.created_at_ms > 0
        assert not record.HasField("llm_response")
        assert not record.HasField("user_feedback")
        assert not record.HasField("success_indicator")


@pytest.mark.row("S5-18")
async def test_what_found_no_room_has_that_fate():
    """S5-18: a message that the budget cut is no message of the context."""
    async with served() as (client, _):
        lines = [Message(f"l{n}", BEN, f"train {n} " * 20, NOON - n * MINUTE) for n in range(30)]
        await client.append("room", [*lines, CHAT[-1]])
        context = await ask(client, token_budget=400)
        record = await client.get_usage_record(context.id)
        shown = {one.message.id for one in context.items}
        assert set(record.context_message_ids) == shown
        fates = {one.message_id: one.fate for one in record.candidates}
        assert {id_ for id_, fate in fates.items() if fate == context_pb2.FATE_SELECTED} == shown
        assert context_pb2.FATE_BUDGET in fates.values()


@pytest.mark.row("S5-18")
async def test_other_weights_are_another_policy():
    async with served() as (client, _):
        await client.append("room", CHAT)
        same = [await ask(client, profile="classic") for _ in range(2)]
        other = await ask(client, profile="classic", overrides=Overrides(relevance_threshold=0.5))
        ids = [(await client.get_usage_record(one.id)).policy_id for one in (*same, other)]
        assert ids[0] == ids[1] != ids[2]


@pytest.mark.row("S5-18")
async def test_the_answer_is_joined_by_context_id_or_by_its_edge():
    """S5-18: llm_response is unset until the reply is stored."""
    async with served() as (client, _):
        await client.append("room", CHAT)
        first, second = await ask(client), await ask(client)
        await client.append("room", answer("a1", reply_to=None), context_id=first.id)
        record = await client.get_usage_record(first.id)
        assert (record.reply_message_id, record.llm_response) == ("a1", "at ten")
        assert (await client.get_usage_record(second.id)).reply_message_id == ""
        await client.append("room", answer("a2"))
        assert (await client.get_usage_record(second.id)).reply_message_id == "a2"
        await client.edit_message("room", "a2", "at eleven")
        assert (await client.get_usage_record(second.id)).llm_response == "at eleven"
        await client.recall_message("room", "a2")
        assert not (await client.get_usage_record(second.id)).HasField("llm_response")


@pytest.mark.row("S5-22")
async def test_feedback_on_an_answer_that_two_builds_have_is_for_the_newer_one():
    async with served() as (client, _):
        await client.append("room", CHAT)
        first, second = await ask(client), await ask(client)
        for one in (first, second):
            await client.append("room", answer(), context_id=one.id)
            assert (await client.get_usage_record(one.id)).reply_message_id == "a"
        told = await client.record_feedback(channel="room", reply_message_id="a", rating=5)
        assert told.context_id == second.id
        assert not (await client.get_usage_record(first.id)).HasField("success_indicator")


@pytest.mark.row("S5-18")
async def test_the_answer_of_a_chat_is_joined():
    async with served(model=FakeModel(["at ", "ten", STOP])) as (client, _):
        await client.append("room", CHAT)
        reply = await client.chat("room", trigger_message_id="q", self_ids=["bot"])
        (record,) = [one async for one in client.list_usage_records("room")]
        assert record.reply_message_id == reply.end.reply_message_id
        assert record.llm_response == "at ten"


@pytest.mark.row("S5-18", "S5-19")
async def test_the_table_is_the_designs(tmp_path):
    """S5-18, S5-19: columns, what may be missing, the default of the time; the plans of both queries use an index."""
    path = tmp_path / "b.db"
    async with served(path) as (client, _):
        await client.append("room", CHAT)
        context = await ask(client)
        await client.append("room", answer(), context_id=context.id)
        await client.record_feedback(context.id, user_id="u1", rating=5, text="好")
        await client.get_usage_record(context.id)
    names = columns(path, "context_usage_records")
    (values,) = rows(path, f"SELECT {', '.join(names)} FROM context_usage_records")
    row = dict(zip(names, values, strict=True))
    assert set(row) == {
        "id", "tenant", "context_id", "group_id", "user_id", "trigger_message_id", "context_message_ids",
        "llm_response", "user_feedback", "success_indicator", "relevance_scores", "created_at",
        "experiment_id", "arm",
    }  # fmt: skip
    assert (row["context_id"], row["group_id"], row["user_id"]) == (context.id, "room", "u1")
    assert json.loads(row["context_message_ids"]) == [one.message.id for one in context.items]
    assert (row["llm_response"], row["user_feedback"], row["success_indicator"]) == (
        "at ten", "好", 1.0,
    )  # fmt: skip
    scores = json.loads(row["relevance_scores"])
    assert scores.keys() >= {one.message.id for one in context.items}
    assert all(0 <= score <= 1 for score in scores.values())
    told = columns(path, "usage_records")
    assert {name for name, (is_optional, _) in told.items() if is_optional} - {"number"} == {
        "candidates", "reply_seq", "user_feedback", "success_indicator", "other_channels",
        "experiment_id", "arm", "shadow_of",
    }  # fmt: skip
    _, now = told["created_at_ms"]
    ((now_ms, made_ms),) = rows(path, f"SELECT {now}, created_at_ms FROM usage_records")
    assert abs(now_ms - made_ms) < 60_000
    for condition, order, index, looked_up in (
        (
            "channel = '' AND user_id = ''",
            "number",
            "usage_records_by_user",
            ["tenant", "channel", "user_id"],
        ),
        (
            "created_at_ms > 0",
            "created_at_ms",
            "usage_records_by_time",
            ["tenant", "created_at_ms"],
        ),
    ):
        question = (
            f"SELECT number FROM usage_records WHERE tenant = '' AND {condition} ORDER BY {order}"
        )
        assert (index, looked_up) in plan(path, question)


@pytest.mark.row("S5-18", "S5-19")
async def test_the_view_finds_messages_one_by_one(tmp_path):
    """It reads the messages that a record names, however many there are, and finds its records by an index."""
    path = tmp_path / "b.db"
    async with served(path) as (client, _):
        await client.append("room", CHAT)
        await ask(client)
        await client.get_channel("room")
    question = (
        "SELECT * FROM context_usage_records WHERE tenant = '' AND group_id = '' AND user_id = ''"
        " ORDER BY id DESC"
    )
    found = plan(path, question)
    assert [one for one in found if one[0].startswith("usage_records")] == [
        ("usage_records_by_user", ["tenant", "channel", "user_id"])
    ]
    messages = [looked_up for name, looked_up in found if "usage" not in name]
    assert messages == [["tenant", "channel", "seq"]] * 3


@pytest.mark.row("S5-18")
async def test_pages_and_conditions():
    async with served() as (client, _):
        await client.append("room", CHAT)
        await client.append("other", [Message("x", BEN, "hello", NOON)])
        ids = [(await ask(client)).id for _ in range(5)]
        ids.append((await client.build_context("other", "hello?", asker=BEN)).id)
        records = [one async for one in client.list_usage_records(page_size=2)]
        assert [one.context_id for one in records] == ids
        assert not any(one.candidates for one in records)
        newest = client.list_usage_records("room", newest_first=True, limit=3, page_size=2)
        assert [one.context_id async for one in newest] == ids[4:1:-1]
        bens = client.list_usage_records(user_id="u2", with_candidates=True)
        (one,) = [one async for one in bens]
        assert one.context_id == ids[-1]
        assert one.candidates[0].message_id == "x"
        about = client.list_usage_records("room", trigger_message_id="q")
        assert [one.context_id async for one in about] == ids[:5]
        later = client.list_usage_records(since=records[-1].created_at_ms + 3_600_000)
        assert [one async for one in later] == []


@pytest.mark.row("S5-18")
async def test_bad_requests_name_the_field():
    async with served() as (client, _):
        with pytest.raises(NotFound) as unknown:
            await client.get_usage_record("never")
        assert (unknown.value.reason, unknown.value.field) == ("CONTEXT_NOT_FOUND", "context_id")
        with pytest.raises(InvalidRequest) as lacking:
            _ = [one async for one in client.list_usage_records(trigger_message_id="q")]
        assert lacking.value.field == "channel"


@pytest.mark.row("S5-27", "S5-18")
async def test_nothing_is_recorded_where_collection_is_off():
    memory = MemorySettings(enable_async_data_collection=False)
    async with served(memory=memory) as (client, _):
        await client.append("room", CHAT)
        context = await ask(client)
        await client.append("room", answer(), context_id=context.id)
        assert [one async for one in client.list_usage_records()] == []
        with pytest.raises(NotFound):
            await client.record_feedback(context.id, rating=1)


@pytest.mark.row("S5-18", "N-10")
async def test_a_restart_keeps_records_and_an_erasure_takes_them(tmp_path):
    path = tmp_path / "b.db"
    async with served(path) as (client, _):
        await client.append("room", CHAT)
        context = await ask(client)  # queued when the server stops
    async with served(path) as (client, _):
        record = await client.get_usage_record(context.id)
        assert {"m1", "m3"} <= set(record.context_message_ids)
        receipt = await client.erase("room", message_ids=["m3"])
        assert receipt["usage_records"] == 0
        record = await client.get_usage_record(context.id)
        left = set(record.context_message_ids) | {one.message_id for one in record.candidates}
        assert "m3" not in left
        assert "m1" in left
        receipt = await client.erase("room", user_id="u1")
        assert receipt["usage_records"] == 1
        with pytest.raises(NotFound):
            await client.get_usage_record(context.id)


@pytest.mark.row("N-10")
async def test_a_build_that_is_queued_does_not_outlive_an_erasure():
    """N-10: what was built before an erasure is not recorded behind it."""
    async with served() as (client, app):
        await client.append("room", CHAT)
        context = await ask(client)
        assert app.learning.recorder.queued_count == 1
        await client.erase("room", user_id="u1")
        with pytest.raises(NotFound):
            await client.get_usage_record(context.id)
        assert [one async for one in client.list_usage_records()] == []


@pytest.mark.row("S5-22")
async def test_feedback_stands_in_the_record():
    """S5-22: user_feedback and success_indicator are set; the same user's replaces the one before."""
    async with served() as (client, _):
        await client.append("room", CHAT)
        context = await ask(client)
        await client.append("room", answer(), context_id=context.id)
        first = await client.record_feedback(context.id, user_id="u1", rating=2, text="half right")
        assert (first.user_feedback, first.success_indicator) == ("half right", 0.25)
        again = await client.record_feedback(
            channel="room", reply_message_id="a", user_id="u1", success=0.5
        )
        assert again.context_id == context.id
        assert not again.HasField("user_feedback")
        assert again.success_indicator == 0.5
        await client.record_feedback(context.id, user_id="u2", rating=5, text="很有用")
        record = await client.get_usage_record(context.id)
        assert (record.user_feedback, record.success_indicator) == ("很有用", 0.75)
        assert [(one.user_id, one.rating, one.value) for one in record.signals] == [
            ("u1", 0, 0.5), ("u2", 5, 1.0),
        ]  # fmt: skip
        await client.erase("room", user_id="u2")
        record = await client.get_usage_record(context.id)
        assert not record.HasField("user_feedback")
        assert record.success_indicator == 0.5


@pytest.mark.row("S5-22")
@pytest.mark.parametrize(
    ("given", "reason", "field"),
    [
        ({"rating": 1}, "MISSING_FIELD", "context_id"),
        ({"context_id": "c"}, "MISSING_FIELD", "rating"),
        ({"context_id": "c", "text": " "}, "MISSING_FIELD", "rating"),
        ({"context_id": "c", "rating": 0}, "INVALID_FIELD", "rating"),
        ({"context_id": "c", "rating": 6}, "INVALID_FIELD", "rating"),
        ({"context_id": "c", "success": 1.5}, "INVALID_FIELD", "success"),
        ({"context_id": "c", "success": float("nan")}, "INVALID_FIELD", "success"),
        ({"context_id": "c", "text": "x" * 4_001}, "TOO_LARGE", "text"),
        ({"reply_message_id": "a", "rating": 1}, "MISSING_FIELD", "channel"),
        (
            {"context_id": "c", "channel": "room", "reply_message_id": "a", "rating": 1},
            "INVALID_FIELD", "reply_message_id",
        ),
        ({"context_id": "c", "rating": 1}, "CONTEXT_NOT_FOUND", "context_id"),
        ({"channel": "room", "reply_message_id": "a", "rating": 1}, "MESSAGE_NOT_FOUND", "reply_message_id"),
        ({"channel": "room", "reply_message_id": "m1", "rating": 1}, "CONTEXT_NOT_FOUND", "reply_message_id"),
    ],
)  # fmt: skip
async def test_bad_feedback_names_the_field(given, reason, field):
    async with served() as (client, _):
        await client.append("room", CHAT)
        with pytest.raises(BackscrollError) as refused:
            await client.record_feedback(**given)
        assert (refused.value.reason, refused.value.field) == (reason, field)


@pytest.mark.row("S5-21")
async def test_many_builds_at_once_are_all_recorded():
    async with served() as (client, app):
        await client.append("room", CHAT)
        contexts = await asyncio.gather(*(ask(client) for _ in range(300)))
        ids = {one.context_id async for one in client.list_usage_records("room", page_size=100)}
        assert ids == {one.id for one in contexts}
        assert app.learning.recorder.dropped_count == 0


async def test_so_many_people_have_a_say_and_the_record_stays_readable(monkeypatch):
    """A flood of user ids makes no record that nobody can read, and no feedback that takes ever longer."""
    monkeypatch.setattr(feedback, "MAX_RATERS", 3)
    monkeypatch.setattr(usage, "MAX_TEXT_BYTES", 3_000)
    async with served() as (client, _):
        await client.append("room", CHAT)
        context = await ask(client)
        for number in range(3):
            await client.record_feedback(
                context.id, user_id=f"x{number}", rating=1, text="猫" * 1_000
            )
        with pytest.raises(InvalidRequest) as refused:
            await client.record_feedback(context.id, user_id="x3", rating=1)
        assert (refused.value.reason, refused.value.field) == ("TOO_LARGE", "user_id")
        again = await client.record_feedback(context.id, user_id="x1", rating=5)
        assert again.success_indicator == pytest.approx(1 / 3)
        record = await client.get_usage_record(context.id)
        assert [one.user_id for one in record.signals] == ["x0", "x2", "x1"]
        assert [one.text for one in record.signals] == ["猫" * 333, "猫" * 333, ""]
