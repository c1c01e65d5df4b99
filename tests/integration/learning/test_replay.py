"""Recorded builds asked again with something else, over the wire, on a real chat."""

import gzip
import json
from importlib import resources

import pytest

from backscroll import AsyncClient, Author, Message, Overrides
from backscroll.errors import InvalidRequest, NotFound
from backscroll.v1 import context_pb2, learning_pb2
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.server import start_server
from backscroll_sidecar.wiring import open_app
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

NOON = 1_795_176_000_000
CHAT = resources.files("backscroll_sidecar") / "data" / "demo_chat.jsonl.gz"
PROFILES = (
    "balanced", "classic", "chain_recent", "naive", "memory", "hybrid", "hybrid_linear", "steady",
)  # fmt: skip
"""All that choose the same for the same question; "retrieval" waits for vectors."""
QUESTION_AT = (60, 140, 220, 300)


def chat():
    for line in map(json.loads, gzip.decompress(CHAT.read_bytes()).splitlines()):
        yield Message(
            line["message_id"],
            Author(line["user_id"], line["name"]),
            line["content"],
            line["timestamp"],
            mentions=line["mentions"],
        )


async def recorded(client, profiles, **fields):
    """A chat as it grows, with questions in between; ids of contexts and what each showed."""
    messages, shown = list(chat()), {}
    for place, end in enumerate(QUESTION_AT):
        begin = QUESTION_AT[place - 1] + 1 if place else 0
        await client.append("irc", messages[begin : end + 1])
        for profile in profiles:
            context = await client.build_context(
                "irc", trigger_message_id=messages[end].id, profile=profile, **fields
            )
            shown[context.id] = {one.message.id for one in context.items}
    await client.append("irc", messages[QUESTION_AT[-1] + 1 :])
    return shown


async def replayed(client, *args, **fields):
    *builds, summary = [one async for one in client.replay_builds(*args, **fields)]
    assert isinstance(summary, learning_pb2.ReplaySummary)
    return builds, summary


@pytest.mark.row("N-13")
async def test_unchanged_replays_show_what_was_shown(tmp_path):
    """Every deterministic profile, though the chat went on, and what came late would be a candidate by its time."""
    async with served(tmp_path / "b.db") as (client, _):
        shown = await recorded(client, PROFILES)
        messages = list(chat())
        late = [
            Message(f"late{at}", "eve", messages[at].text, messages[at].sent_at - 1)
            for at in QUESTION_AT
        ]
        await client.append("irc", late)
    async with served(tmp_path / "b.db") as (client, app):
        before = app.builder.build_count, app.builder.numbers
        builds, summary = await replayed(client, "irc")
        assert [one.context_id for one in builds] == list(shown)
        for one in builds:
            assert (one.left_out, list(one.came), list(one.went)) == ("", [], []), one
            assert one.kept_count == len(shown[one.context_id])
            assert one.policy_after == one.policy_before
            assert one.tokens_after == one.tokens_before
            assert not one.erased_count + one.recalled_count + one.edited_count
        assert summary.same_count == summary.replayed_count == len(shown)
        assert summary.tokens_after == summary.tokens_before > 0
        # Nothing is recorded, nothing is counted.
        assert len([one async for one in client.list_usage_records("irc")]) == len(shown)
        assert (app.builder.build_count, app.builder.numbers) == before
        assert app.builder.build_count == 0


@pytest.mark.row("N-13")
async def test_another_profile_layout_budget_and_weights():
    async with served() as (client, _):
        shown = await recorded(client, ["balanced"])
        builds, summary = await replayed(client, "irc", profile="naive")
        assert summary.came_count + summary.went_count > 0
        for one in builds:
            assert one.policy_after.startswith("naive@")
            assert one.policy_before.startswith("balanced@")
            came = {line.message_id for line in one.came}
            went = {line.message_id for line in one.went}
            assert went <= shown[one.context_id]
            assert not came & shown[one.context_id]
            assert one.kept_count + len(went) == len(shown[one.context_id])
            for line in one.came:
                assert line.fate_after == context_pb2.FATE_SELECTED != line.fate_before
        context_id = next(iter(shown))
        (one,), summary = await replayed(client, "irc", context_id, token_budget=300)
        assert one.tokens_after <= 300
        assert one.went
        assert {line.fate_after for line in one.went} == {context_pb2.FATE_BUDGET}
        assert summary.replayed_count == 1
        (one,), _ = await replayed(client, "irc", context_id, layout="single_user")
        assert one.tokens_after != one.tokens_before
        assert not one.went
        (one,), _ = await replayed(client, "irc", context_id, overrides=Overrides(max_context=2))
        assert one.kept_count + len(one.came) <= 2
        (one,), _ = await replayed(client, "irc", context_id, token_budget=1)
        assert one.left_out == "budget_too_small"


@pytest.mark.row("N-13")
async def test_weights_of_then_and_of_now():
    """A channel's weights stand in the record; others are tried on top of them."""
    only_words = {"time_decay": 0.0, "keyword_overlap": 1.0, "user_continuity": 0.0}
    only_age = {"time_decay": 1.0, "keyword_overlap": 0.0, "user_continuity": 0.0}
    async with served() as (client, _):
        await client.set_channel_settings(
            "irc", profile="classic", overrides={"weights": only_words, "max_context": 5}
        )
        await recorded(client, [None])
        await client.delete_channel_settings("irc")
        _, summary = await replayed(client, "irc")
        assert summary.same_count == summary.replayed_count == len(QUESTION_AT)
        _, summary = await replayed(client, "irc", overrides={"weights": only_age})
        assert summary.came_count > 0


@pytest.mark.row("N-13")
async def test_what_a_request_had_beside_its_question():
    """System text, tools and preferences take their tokens in the replay, too; styles are those of then."""
    async with served() as (client, _):
        fields = {
            "system": "You are the channel's helper. " * 20,
            "tools_json": json.dumps(
                [{"type": "function", "function": {"name": "f", "description": "x " * 40}}]
            ),
            "preferences": ["likes short answers"],
            "reserve_tokens": 100,
            "token_budget": 900,
            "layout": "context_and_question",
            "speaker_style": "tagged",
            "time_style": "iso_date",
            "self_ids": ["bot"],
            "tokenizer": "chars_4",
        }
        shown = await recorded(client, ["balanced", "hybrid"], **fields)
        builds, summary = await replayed(client, "irc")
        for one in builds:  # where the budget cuts, tokens between the parts may decide on a line
            assert (len(one.came), len(one.went)) <= (1, 1), one
            assert one.kept_count >= len(shown[one.context_id]) - 1
            assert one.tokens_after == pytest.approx(one.tokens_before, abs=40)
        assert summary.replayed_count == 2 * len(QUESTION_AT)


@pytest.mark.row("N-13")
async def test_what_changed_since_is_said():
    async with served() as (client, _):
        shown = await recorded(client, ["naive"])
        await replayed(client, "irc")  # what waits is recorded: an erasure drops it
        context_id, ids = list(shown.items())[-1]
        erased, recalled, edited = sorted(ids)[:3]
        await client.erase("irc", message_ids=[erased])
        await client.recall_message("irc", recalled)
        await client.edit_message("irc", edited, "something else")
        (one,), _ = await replayed(client, "irc", context_id)
        assert (one.erased_count, one.recalled_count, one.edited_count) == (1, 1, 1)
        assert {line.message_id for line in one.went} == {"", recalled}


@pytest.mark.row("N-13")
async def test_what_cannot_be_replayed():
    async with served() as (client, _):
        await client.append("irc", list(chat())[:50])
        asked = await client.build_context("irc", "what does tab do?", asker="azriel")
        (one,), summary = await replayed(client, "irc")
        assert (one.context_id, one.left_out) == (asked.id, "question_not_stored")
        assert summary.left_out_count == {"question_not_stored": 1}
        with pytest.raises(NotFound) as unknown:
            await replayed(client, "irc", "never")
        assert unknown.value.reason == "CONTEXT_NOT_FOUND"
        with pytest.raises(NotFound):
            await replayed(client, "other", asked.id)
        with pytest.raises(InvalidRequest) as profile:
            await replayed(client, "irc", profile="none such")
        assert profile.value.reason == "UNKNOWN_PROFILE"
        for fields, field in (
            ({"token_budget": 0}, "token_budget"),
            ({"context_id": "x" * 600}, "context_id"),
        ):
            with pytest.raises(InvalidRequest) as refused:
                await replayed(client, "irc", **fields)
            assert refused.value.field == field
        question = await client.build_context(
            "irc", "in other words", trigger_message_id=list(chat())[40].id
        )
        (one,), _ = await replayed(client, "irc", question.id)
        assert list(one.not_kept) == ["question"]


@pytest.mark.row("N-13")
@pytest.mark.parametrize("profile", ["naive", "balanced"])
async def test_what_came_behind_the_question_and_before_the_build_is_there(profile):
    """A build reads what has come by then, whatever its question; what came after it is not there."""
    async with served() as (client, _):
        messages = list(chat())[:61]
        question = messages[60]
        await client.append("irc", messages)
        late = [
            Message(f"late{n}", "eve", question.text, question.sent_at - 1 - n) for n in range(2)
        ]
        await client.append("irc", late[0])
        context = await client.build_context("irc", trigger_message_id=question.id, profile=profile)
        assert "late0" in {one.message.id for one in context.items}
        await client.append("irc", late[1])
        (one,), _ = await replayed(client, "irc")
        assert (one.left_out, list(one.came), list(one.went)) == ("", [], [])
        assert one.kept_count == len(context.items)


@pytest.mark.row("N-13")
async def test_the_message_that_was_answered_is_answered_again():
    async with served() as (client, _):
        messages = list(chat())[:61]
        await client.append("irc", messages)
        fields = {"trigger_message_id": messages[60].id, "profile": "chain_recent"}
        context = await client.build_context("irc", reply=messages[3].id, **fields)
        assert messages[3].id in {one.message.id for one in context.items}
        (one,), _ = await replayed(client, "irc", context.id)
        assert (list(one.came), list(one.went), list(one.not_kept)) == ([], [], [])
        other = await client.build_context("irc", **fields)
        assert messages[3].id not in {one.message.id for one in other.items}


@pytest.mark.injects_fault
@pytest.mark.row("N-13")
async def test_builds_that_were_not_ranked_are_left_out(monkeypatch):
    """What caught up has another way of choosing; what broke had none."""
    async with served() as (client, app):
        messages = list(chat())[:61]
        await client.append("irc", messages)
        trigger = messages[60].id
        await client.build_context("irc", trigger_message_id=trigger, catch_up=messages[20].id)
        with monkeypatch.context() as breaking:
            breaking.setattr(app.builder._picker, "_ranker", None)
            broken = await client.build_context("irc", trigger_message_id=trigger)
        assert broken.raw.rung == context_pb2.RUNG_RECENT
        await client.build_context("irc", trigger_message_id=trigger)
        builds, summary = await replayed(client, "irc")
        assert [one.left_out for one in builds] == ["catch_up", "degraded", ""]
        assert summary.left_out_count == {"catch_up": 1, "degraded": 1}
        assert summary.replayed_count == 1


@pytest.mark.row("N-13", "P-17")
async def test_a_limited_key_sees_nothing_of_other_channels():
    """Neither as a line that went nor as one that came; one for the whole tenant sees that nothing changed."""
    tokens = {"whole": "a", "limited": {"tenant": "a", "channels": ["here"]}}
    settings = Settings(database=":memory:", embedder="none", search_scopes={"a": "tenant"})
    async with open_app(settings, embedder=FakeEmbedder()) as app:
        server = await start_server(app, listen=["127.0.0.1:0"], tokens=tokens)
        async with (
            AsyncClient(server.addresses[0], token="whole") as owner,
            AsyncClient(server.addresses[0], token="limited") as limited,
        ):
            for channel in ("here", "there"):
                lines = ["the cat sleeps on the sofa", "rain again", "where does the cat sleep?"]
                await owner.append(
                    channel,
                    [Message(f"{channel}{n}", "u1", one, NOON + n) for n, one in enumerate(lines)],
                )
                assert (await owner.wait_for_index(channel, wait_s=10)).ready
            context = await owner.build_context(
                "here", trigger_message_id="here2", profile="retrieval", semantic_scope="tenant"
            )
            foreign = [one for one in context.items if one.channel == "there"]
            assert foreign
            (one,), _ = await replayed(owner, "here")
            assert (list(one.came), list(one.went)) == ([], [])
            assert one.kept_count == len(context.items)
            for context_id in ("", context.id):
                (one,), _ = await replayed(limited, "here", context_id)
                assert (one.left_out, list(one.came), list(one.went)) == ("", [], [])
                assert one.kept_count == len(context.items) - len(foreign)
        await server.stop()
