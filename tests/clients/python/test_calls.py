"""Both clients against a server on a real socket: each call does what it says."""

import pickle

import pytest

from backscroll import (
    AppendReport,
    AsyncClient,
    Client,
    ExperimentArm,
    Member,
    Message,
    NotFound,
    Omitted,
    text_of,
)
from backscroll.v1 import context_pb2, history_pb2
from tests.clients.python.calls_kit import MIB, lines

DAY_MS = 86_400_000

# --- append ---------------------------------------------------------------------------------------


def test_append_reports_each_message(client):
    report = client.append("room", [*lines(2), Message("", "ann", "x"), *lines(1)])
    assert [result.message_id for result in report.results] == ["m0", "m1", "", "m0"]
    assert (report.stored, report.duplicates) == (2, 1)
    assert [result.field for result in report.problems] == ["id"]
    assert (
        repr(report)
        == "<AppendReport: 4 messages, 2 stored, 1 duplicates, 1 problems: '' refused, missing_id (id)>"
    )


def test_a_report_says_what_became_of_the_first_problem():
    conflict = history_pb2.AppendResult(
        message_id="m1", outcome=history_pb2.APPEND_OUTCOME_CONFLICT
    )
    assert repr(AppendReport((conflict, conflict))) == (
        "<AppendReport: 2 messages, 0 stored, 0 duplicates, 2 problems: 'm1' conflict>"
    )


def test_append_takes_one_message_or_a_generator_or_protobuf(client, fake):
    assert client.append("room", Message("a", "ann", "1")).stored == 1
    assert client.append("room", (message for message in lines(2))).stored == 2
    assert client.append("room", Message("b", "ann", "1").to_proto()).stored == 1
    assert client.append("room", []).results == ()
    assert len(fake.requests("AppendMessages")) == 3


def test_append_splits_by_number(client, fake):
    report = client.append("room", lines(2_500))
    assert [len(request.messages) for request in fake.requests("AppendMessages")] == [
        1_000,
        1_000,
        500,
    ]
    assert [result.message_id for result in report.results] == [f"m{n}" for n in range(2_500)]
    assert report.stored == 2_500


def test_append_splits_by_size(client, fake):
    messages = [Message(f"m{n}", "ann", "猫" * 20_000) for n in range(150)]  # 60 KB each
    assert client.append("room", messages).stored == 150
    sizes = [request.ByteSize() for request in fake.requests("AppendMessages")]
    assert len(sizes) == 3
    assert max(sizes) < 4 * MIB
    assert max(sizes) > 3.3 * MIB


def test_a_message_no_call_can_carry_is_refused_here_and_harms_no_other(client, fake):
    giant = Message("giant", "ann", "x" * (9 * MIB))
    report = client.append("room", [*lines(2), giant, Message("after", "ann", "y")])
    assert [result.message_id for result in report.results] == ["m0", "m1", "giant", "after"]
    (problem,) = report.problems
    assert problem.outcome == history_pb2.APPEND_OUTCOME_REFUSED
    assert problem.refusal == history_pb2.APPEND_REFUSAL_TEXT_TOO_LARGE
    assert problem.field == "parts"
    assert report.stored == 3


# --- build_context --------------------------------------------------------------------------------


def test_a_context_has_what_a_bot_needs(client, room):
    context = client.build_context("room", "那猫呢？", asker="ben", model="gpt", explain=True)
    assert [text_of(item.message) for item in context.items] == [f"line {n}" for n in range(5)]
    assert context.messages[-1] == {"role": "user", "content": "那猫呢？"}
    assert context.payload["messages"][-1]["content"] == "那猫呢？"
    assert "那猫呢？".encode() in context.payload_bytes
    assert context.payload["model"] == "gpt"
    assert context.text == "\n".join(f"line {n}" for n in range(5))
    assert context.explanation.profile == "balanced"
    assert context.tokens.total == 42
    assert context.raw.channel_known
    assert repr(context) == "<Context c1: 5 items, 42 tokens, ranked>"


def test_an_unknown_channel_gives_an_empty_context(client):
    context = client.build_context("nowhere", "hello?")
    assert not context.raw.channel_known
    assert not context.items
    assert not context.degradations
    assert context.explanation is None


def test_a_context_without_payload_says_so(client):
    context = client.build_context("room", "hello?", payload_formats="none")
    with pytest.raises(LookupError, match="without a payload"):
        _ = context.payload


READ = {
    "messages": lambda context: context.messages,
    "payloads": lambda context: context.payload,
    "text": lambda context: context.text,
}
OMITTED = [
    (),
    "text",
    ["messages"],
    ["payloads", "text"],
    ["item_messages", "messages", "payloads", "text"],
]


@pytest.mark.parametrize("omit", OMITTED)
@pytest.mark.parametrize("how", ["build_context", "chat", "stream_chat"])
def test_what_was_left_out_says_so_when_it_is_read(client, room, how, omit):
    """No empty text that could pass for an empty channel; the rest is as it would be."""
    parts = {omit} if isinstance(omit, str) else set(omit)
    made = getattr(client, how)("room", "hello?", omit=omit)
    if how == "stream_chat":
        made = next(iter(made))
    context = made if how == "build_context" else made.context
    assert context.omitted == parts
    assert len(context.items) == 5
    assert all(item.message.id for item in context.items)
    whole = client.build_context("room", "hello?")
    for part, read in READ.items():
        if part not in parts:
            assert read(context) == read(whole)
            continue
        with pytest.raises(Omitted, match=f"omit has '{part}'") as found:
            read(context)
        assert found.value.part == part
        assert pickle.loads(pickle.dumps(found.value)).part == part
    assert "5 items" in repr(context)


def test_a_part_without_a_name_is_refused(client):
    with pytest.raises(ValueError, match="text"):
        client.build_context("room", "hello?", omit="texts")


# --- reading --------------------------------------------------------------------------------------


def test_list_messages_walks_the_pages(client, room):
    found = client.list_messages("room", page_size=2)
    assert [stored.message.id for stored in found] == ["m0", "m1", "m2", "m3", "m4"]
    assert [request.page_token for request in room.requests("ListMessages")] == ["", "2", "4"]


@pytest.mark.parametrize(
    ("limit", "page_size", "asked"),
    [(3, None, [3]), (3, 2, [2, 1]), (5, None, [5]), (9, None, [9]), (0, None, [])],
)
def test_list_messages_stops_at_the_limit(client, room, limit, page_size, asked):
    found = client.list_messages("room", newest_first=True, limit=limit, page_size=page_size)
    assert [stored.message.id for stored in found] == ["m4", "m3", "m2", "m1", "m0"][:limit]
    assert [request.limit for request in room.requests("ListMessages")] == asked


def test_wrong_arguments_come_up_before_the_first_page(fake):
    with Client(fake.address) as client, pytest.raises(TypeError):
        client.list_messages("room", limit="x")
    assert not fake.seen


def test_the_small_reads(client, room):
    assert client.get_channel("room").newest_message_id == "m4"
    assert client.get_thread("room", "m1", limit=7).root_message_id == "m1"
    assert room.requests("GetThread")[0].limit == 7
    assert [hit.message.message.id for hit in client.search("room", "line 3")] == ["m3"]
    assert client.search("room", "line 3").exhaustive
    assert [member.user_id for member in client.list_members("room")] == ["ann"]


def test_export_gives_every_message(client, room):
    assert [stored.sequence for stored in client.export_messages("room")] == [1, 2, 3, 4, 5]


def test_health_says_what_the_health_service_says(client, fake):
    assert client.health() == "serving"
    fake.health.enter_graceful_shutdown()
    assert client.health() == "not_serving"
    with pytest.raises(NotFound):
        client.health("no.such.Service")


# --- changing -------------------------------------------------------------------------------------


def test_edit_recall_and_erase(client, room):
    edited = client.edit_message(
        "room", "m1", "better", mentions=["ben"], edited_at=1_795_132_800_007
    )
    assert (text_of(edited.message), edited.revision) == ("better", 1)
    request = room.requests("EditMessage")[0]
    assert (request.mentions[0].user_id, request.edited_at_ms) == ("ben", 1_795_132_800_007)
    assert client.recall_message("room", "m1") is None
    assert client.erase("room", message_ids=["m2", "m3"]) == {"messages": 2}
    assert client.erase("room", user_id="ann") == {"messages": 3}


def test_pin_list_and_unpin(client, room):
    assert client.pin_message("room", "m2") is None
    client.pin_message("room", "m1")
    client.pin_message("room", "m2")
    assert [row.message.id for row in client.list_pinned_messages("room")] == ["m2", "m1"]
    assert client.unpin_message("room", "m2") is None
    assert [row.message.id for row in client.list_pinned_messages("room")] == ["m1"]
    (request,) = room.requests("UnpinMessage")
    assert (request.channel, request.message_id) == ("room", "m2")


def test_list_events(client, room):
    every = ["agent.started", "turn.started", "model.called", "turn.ended"]
    assert [one.event.type for one in client.list_events("room", page_size=3)] == every
    assert [one.event.type for one in client.list_events("room", limit=3, page_size=2)] == every[:3]
    assert [one.event.type for one in client.list_events("room", types=["x"])] == ["x"]
    list(client.list_events("room", context_id="c1", newest_first=True))
    request = room.requests("ListEvents")[-1]
    assert (request.channel, request.context_id, request.newest_first) == ("room", "c1", True)


def test_usage_records(client, room):
    assert client.get_usage_record("c9").context_id == "c9"
    ids = [one.context_id for one in client.list_usage_records("room", page_size=2)]
    assert ids == ["c0", "c1", "c2", "c3", "c4"]
    assert len(list(client.list_usage_records(limit=3, page_size=2))) == 3
    list(
        client.list_usage_records(
            "room", user_id="u", since=1_795_176_000_000, with_candidates=True
        )
    )
    request = room.requests("ListUsageRecords")[-1]
    assert (request.channel, request.user_id, request.since_ms) == ("room", "u", 1_795_176_000_000)
    assert request.with_candidates
    assert not request.HasField("until_ms")


def test_topic_labels(client, room):
    (one,) = client.set_topic_labels("room", "sport", "m1", set_by="ann")
    assert (one.message_id, one.label, one.set_by) == ("m1", "sport", "ann")
    client.set_topic_labels("room", "food", ["m1", "m2"])
    listed = [(one.label, one.message_id) for one in client.list_topic_labels("room", page_size=2)]
    assert listed == [("sport", "m1"), ("food", "m1"), ("food", "m2")]
    assert len(list(client.list_topic_labels("room", "food", limit=1))) == 1
    assert client.delete_topic_labels("room", "food", "m1") == 1
    assert client.delete_topic_labels("room", "food") == 1
    assert list(room.requests("DeleteTopicLabels")[0].message_ids) == ["m1"]


def test_consent(client, room):
    assert client.get_usage_consent("u") is True
    client.set_usage_consent("u", collect_usage=False)
    assert client.get_usage_consent("u") is False
    client.set_usage_consent("u", collect_usage=True)
    assert client.get_usage_consent("u") is True


def test_exported_builds(client, room):
    *builds, summary = client.export_usage_records(
        "room", user_id="u", with_texts=True, until=1_795_176_000_000
    )
    assert [one.record.context_id for one in builds] == ["c0", "c1", "c2"]
    assert summary.build_count == 3
    (request,) = room.requests("ExportUsageRecords")
    assert (request.channel, request.user_id, request.with_texts) == ("room", "u", True)
    assert request.until_ms == 1_795_176_000_000
    assert not request.HasField("since_ms")


def test_tuned_weights(client, room):
    told = client.tune_channel("room", dry_run=True, requested_by="ann")
    assert told.detail == "replay only: no propensities"
    asked = room.requests("TuneChannel")[-1]
    assert (asked.dry_run, asked.requested_by) == (True, "ann")
    made = [client.roll_back_weights("room", 0, requested_by="ann").version for _ in range(3)]
    assert made == [1, 2, 3]
    listed = [one.version for one in client.list_weight_versions("room", page_size=2)]
    assert listed == [3, 2, 1]


def test_period_summaries(client, fake):
    listed = [one.text for one in client.list_period_summaries("days", page_size=2)]
    assert listed == [f"day {n}" for n in range(5)]
    assert client.delete_period_summary("days", "24:0") is True
    assert client.delete_period_summary("room", "24:0") is False


def test_catching_up(client, room):
    client.build_context("room", catch_up="m1")
    client.build_context("room", catch_up=1_795_176_000_000)
    given = context_pb2.CatchUp(since_message_id="m2")
    client.build_context("room", "and then?", catch_up=given)
    by_id, by_time, as_given = room.requests("BuildContext")
    assert by_id.catch_up.since_message_id == "m1"
    assert by_time.catch_up.since_ms == 1_795_176_000_000
    assert as_given.catch_up == given


def test_replays(client, room):
    weights = {"weights": {"time_decay": 0.5}}
    *builds, summary = client.replay_builds(
        "room", "c1", profile="classic", overrides=weights, layout="single_user", token_budget=900
    )
    assert [one.policy_after for one in builds] == ["classic"] * 2
    assert summary.replayed_count == 2
    (request,) = room.requests("ReplayBuilds")
    assert (request.channel, request.context_id, request.token_budget) == ("room", "c1", 900)
    assert request.layout == context_pb2.LAYOUT_SINGLE_USER
    assert request.overrides.weights.time_decay == 0.5


def test_channel_settings(client, room):
    overrides = {"max_context": 5, "weights": {"time_decay": 0.5}}
    stored = client.set_channel_settings(
        "room", profile="classic", overrides=overrides, collect_usage=False, retention_days=30
    )
    assert (stored.retention.days, stored.retention.HasField("messages")) == (30, False)
    assert (stored.profile, stored.overrides.max_context) == ("classic", 5)
    assert stored.overrides.weights.time_decay == 0.5
    assert not stored.overrides.weights.HasField("reply_chain")
    assert not stored.collect_usage
    for name in ("b", "c"):
        client.set_channel_settings(name)
    assert client.get_channel_settings("room") == stored
    listed = [one.channel for one in client.list_channel_settings(page_size=2)]
    assert listed == ["c", "b", "room"]
    assert len(list(client.list_channel_settings(limit=1))) == 1
    assert client.delete_channel_settings("b") is True
    assert client.delete_channel_settings("b") is False


def test_experiments(client, room):
    arms = [ExperimentArm("new", 2.0, "classic", {"max_context": 5}, "single_user")]
    put = client.put_experiment(
        "e", arms, coverage=0.1, holdout=0.05, allowed_channels=["vip"], assigned_by="resolver",
        shadow=ExperimentArm("next", profile="steady"), starts_at=1_795_176_000_000,
    )  # fmt: skip
    kept = put.experiment
    (arm,) = kept.arms
    assert (arm.name, arm.weight, arm.profile, arm.overrides.max_context) == (
        "new",
        2.0,
        "classic",
        5,
    )
    assert (kept.coverage, kept.holdout, list(kept.allowed_channels)) == (0.1, 0.05, ["vip"])
    assert (kept.shadow.profile, kept.assigned_by, kept.HasField("stops_at_ms")) == (
        "steady",
        2,
        False,
    )
    for name in ("f", "g"):
        client.put_experiment(name, [ExperimentArm("a"), ExperimentArm("b")])
    client.put_experiment("h", [ExperimentArm("a")], validate_only=True, allow_moves=True)
    assert room.requests("PutExperiment")[-1].allow_moves
    assert client.get_experiment("e") == kept
    assert [one.experiment_id for one in client.list_experiments(page_size=2)] == ["g", "f", "e"]
    assert client.stop_experiment("e").stops_at_ms == 1_795_176_000_000
    report = client.get_experiment_report("f", since=1_795_176_000_000)
    assert [one.arm for one in report.arms] == ["a", "b", "control"]
    assert client.delete_experiment("e") is True
    assert client.delete_experiment("e") is False


def test_feedback(client, room):
    told = client.record_feedback("c1", user_id="u", rating=3, text="很好")
    assert (told.user_feedback, told.success_indicator) == ("很好", 0.5)
    client.record_feedback(channel="room", reply_message_id="a", success=0.0)
    first, second = room.requests("RecordFeedback")
    assert (first.context_id, first.user_id, first.rating) == ("c1", "u", 3)
    assert not first.HasField("success")
    assert (second.channel, second.reply_message_id, second.success) == ("room", "a", 0.0)
    assert second.HasField("success")
    assert not second.HasField("rating")


def test_an_answer_of_a_build(client, room):
    client.append("room", Message("a9", "bot", "at ten"), context_id="c1")
    assert room.requests("AppendMessages")[-1].context_id == "c1"


def test_get_metrics(client, room):
    [sample] = client.get_metrics()
    assert (sample.value, sample.unit, sample.period) == (3, "contexts/h", "start")
    assert [one.name for one in client.get_metrics("a", "b")] == ["a", "b"]
    assert list(room.requests("GetMetrics")[-1].names) == ["a", "b"]
    assert [one.began_at_ms for one in client.get_metric_minutes("a", minutes=2)] == [0, 1]


def test_alias(client, room):
    assert client.alias_message("room", "m1", "p1") is None
    request = room.requests("AliasMessage")[0]
    assert (request.channel, request.message_id, request.alias_id) == ("room", "m1", "p1")


def test_set_list_and_delete_preferences(client, room):
    kept = client.set_preference("ann", "likes tea", channel="room", preference_id="p1")
    assert (kept.id, kept.user_id, kept.channel, kept.text) == ("p1", "ann", "room", "likes tea")
    assert client.set_preference("ann", "likes short answers").id
    client.set_preference("ben", "likes tea")
    texts = [one.text for one in client.list_preferences("ann", channel="room")]
    assert texts == ["likes short answers", "likes tea"]
    assert [one.channel for one in client.list_preferences("ann", channel="other")] == [""]
    assert client.delete_preference("ann", "p1") == 0  # the one that holds everywhere
    assert client.delete_preference("ann", "p1", channel="room") == 1
    assert client.delete_preference("ann", "") == 1
    assert list(client.list_preferences("ann")) == []
    made = client.set_preference(
        "ann",
        channel="room",
        topic="likes",
        value="tea",
        valid_from=DAY_MS * 20_000,
        valid_until=DAY_MS * 20_001,
    )
    assert (made.value, made.valid_from_ms, made.valid_until_ms) == (
        "tea",
        DAY_MS * 20_000,
        DAY_MS * 20_001,
    )
    listed = client.list_preferences("ann", topic="likes", include_past=True, at=DAY_MS * 20_000)
    assert [one.text for one in listed] == ["The user likes tea."]
    assert list(client.list_preferences("ann", topic="language")) == []
    assert client.delete_preference("ann", "", all_channels=True) == 1
    assert [one.name for one in client.list_preference_topics()] == ["language", "likes"]


def test_upsert_members_splits_and_takes_one(client, room):
    assert (
        client.upsert_members(
            "room", Member("u", "Una", ["U"], "bot", 1_795_132_800_001, 1_795_132_800_002)
        )
        is None
    )
    client.upsert_members("room", (Member(f"u{n}") for n in range(1_001)))
    client.upsert_members("room", [])
    assert [len(request.members) for request in room.requests("UpsertMembers")] == [1, 1_000, 1]


# --- streams that are left ------------------------------------------------------------------------


def test_leaving_the_loop_ends_the_call(room):
    room.endless_export = True
    with Client(room.address) as client:
        for stored in client.export_messages("room"):
            assert stored.sequence == 1
            break
        assert room.ended.wait(60)


async def test_leaving_the_loop_ends_the_call_async(room):
    import asyncio

    room.endless_export = True
    async with AsyncClient(room.address) as client:
        async for stored in client.export_messages("room"):
            assert stored.sequence == 1
            break
        assert await asyncio.to_thread(room.ended.wait, 5)
