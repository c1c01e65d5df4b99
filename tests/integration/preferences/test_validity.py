"""What holds when: a newer value takes the place of an older one, which stays known; over the wire."""

import pytest

from backscroll import InvalidRequest
from backscroll.v1.preference_pb2 import (
    PREFERENCE_STATUS_CURRENT,
    PREFERENCE_STATUS_PAST,
    PREFERENCE_STATUS_UPCOMING,
)
from tests.integration.preferences.asking import ANN, DAY_MS, LINES, NOON, shown, stored
from tests.kit.chats import StillClock
from tests.kit.served import served

NOW, PAST, LATER = (
    PREFERENCE_STATUS_CURRENT,
    PREFERENCE_STATUS_PAST,
    PREFERENCE_STATUS_UPCOMING,
)
SAM, ALEX = "The user wants to be called Sam.", "The user wants to be called Alex."


@pytest.mark.row("P-07")
async def test_a_newer_one_wins_from_its_time_and_the_old_one_is_kept(tmp_path):
    """Builds of the past see what held then, restarts or not; the old one is listed on demand."""
    for restart in range(2):
        async with served(tmp_path / "history.db") as (client, _):
            if not restart:
                await client.append("room", LINES)
                await client.set_preference("u1", topic="name", value="Sam")
                await client.set_preference(
                    "u1", topic="name", value="Alex", valid_from=NOON - DAY_MS
                )
            assert await shown(client) == [ALEX]
            assert await shown(client, at=NOON - DAY_MS) == [ALEX]
            assert await shown(client, at=NOON - DAY_MS - 1) == [SAM]
            assert await stored(client) == [("", "name", "Alex", NOW)]
            assert await stored(client, at=NOON - 2 * DAY_MS) == [
                ("", "name", "Sam", NOW), ("", "name", "Alex", LATER),
            ]  # fmt: skip
            old, new = await client.list_preferences("u1", include_past=True)
            assert (old.status, old.superseded_by, old.valid_until_ms) == (
                PAST, new.id, NOON - DAY_MS,
            )  # fmt: skip
            assert (new.status, new.superseded_by, new.HasField("valid_until_ms")) == (
                NOW, "", False,
            )  # fmt: skip


@pytest.mark.row("P-07")
async def test_without_a_time_it_wins_from_now_on(client):
    """And back again: each time of a value is kept. The same twice is one."""
    for value in ("de", "en", "en", "German", "英文"):
        await client.set_preference("u1", topic="language", value=value)
    found = await client.list_preferences("u1", include_past=True)
    assert [one.value for one in found] == ["de", "en", "de", "en"]
    assert [one.status for one in found] == [PAST, PAST, PAST, NOW]
    assert [one.superseded_by for one in found] == [found[-1].id] * 3 + [""]
    ends = [one.valid_until_ms for one in found[:-1]]
    assert ends == [one.valid_from_ms for one in found[1:]]
    assert not found[0].HasField("valid_from_ms")
    starts = [one.valid_from_ms for one in found[1:]]
    assert starts == sorted(starts)
    await client.delete_preference("u1", found[-1].id)
    assert await stored(client) == [("", "language", "de", NOW)]  # what it stood for holds again


@pytest.mark.row("P-07")
async def test_of_one_millisecond_the_last_holds():
    """What was replaced at once has an end too: it never held."""
    async with served(clock=StillClock(NOON)) as (client, _):
        for value in ("de", "en", "fr"):
            await client.set_preference("u1", topic="language", value=value)
        found = await client.list_preferences("u1", include_past=True)
        assert [(one.value, one.valid_until_ms) for one in found] == [
            ("de", NOON), ("en", NOON), ("fr", 0),
        ]  # fmt: skip
        assert await stored(client) == [("", "language", "fr", NOW)]


@pytest.mark.row("P-07")
async def test_the_end_of_a_window_needs_nobody(client):
    """What is over is not shown, and what it stood for holds again."""
    await client.append("room", LINES)
    await client.set_preference("u1", topic="place", value="Berlin")
    await client.set_preference(
        "u1", topic="place", value="Rome", valid_from=NOON - 9, valid_until=NOON + 9
    )
    await client.set_preference("u1", "away this week", valid_until=NOON + 9)
    berlin, rome = "The user lives in Berlin.", "The user lives in Rome."
    assert await shown(client, at=NOON - 10) == [berlin, "away this week"]
    assert await shown(client, at=NOON) == [rome, "away this week"]
    assert await shown(client, at=NOON + 8) == [rome, "away this week"]
    assert await shown(client, at=NOON + 9) == [berlin]
    assert await stored(client, at=NOON + 9) == [("", "place", "Berlin", NOW)]
    assert await stored(client, at=NOON + 9, include_past=True) == [
        ("", "place", "Berlin", NOW), ("", "place", "Rome", PAST), ("", "", "", PAST),
    ]  # fmt: skip


@pytest.mark.row("P-07")
async def test_values_that_contradict_each_other_across_topics(client):
    """Who comes to dislike tea does not like it any more; who likes tea and coffee likes both."""
    await client.append("room", LINES)
    await client.set_preference("u1", topic="likes", value="tea")
    await client.set_preference("u1", topic="likes", value="coffee")
    await client.set_preference("u1", topic="dislikes", value="Tea", valid_from=NOON)
    assert await shown(client, at=NOON - 1) == ["The user likes tea.", "The user likes coffee."]
    assert await shown(client) == ["The user likes coffee.", "The user does not like Tea."]


@pytest.mark.row("P-07")
async def test_in_its_channel_the_nearer_one_wins(client):
    """What is set for a channel stands there before what holds everywhere, and nowhere else."""
    await client.append("room", LINES)
    await client.set_preference("u1", topic="name", value="Alex")
    await client.set_preference("u1", topic="name", value="Sam", channel="room", valid_from=NOON)
    assert await shown(client) == [SAM]
    assert await shown(client, "other") == [ALEX]
    assert await stored(client) == [("", "name", "Alex", NOW), ("room", "name", "Sam", NOW)]
    assert await stored(client, channel="room") == [("room", "name", "Sam", NOW)]


@pytest.mark.row("P-07")
async def test_a_hundred_values_in_turn_leave_room_for_the_next(client):
    """Of what is over the oldest gives way, so a topic that changes all the time is never refused."""
    for n in range(102):
        await client.set_preference(
            "u1", topic="mood_of_today", value=f"v{n % 2}", valid_from=NOON + n
        )
    await client.set_preference("u1", topic="place", value="Rome")
    for n in range(110):
        await client.set_preference("u1", topic="place", value=f"p{n}")
    found = await client.list_preferences("u1", include_past=True)
    assert len(found) == 100
    assert found[-1].value == "p109"


@pytest.mark.row("P-07")
@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"valid_from": NOON, "valid_until": NOON}, "preference.valid_until_ms", "INVALID_FIELD"),
        ({"value": "x"}, "preference.value", "INVALID_FIELD"),
        ({"topic": "No Topic"}, "preference.topic", "INVALID_FIELD"),
        ({"topic": "t" * 65}, "preference.topic", "TOO_LARGE"),
        ({"topic": "t", "value": "v" * 501}, "preference.value", "TOO_LARGE"),
        ({"topic": "t", "value": "v\0"}, "preference.value", "INVALID_FIELD"),
        ({"topic": "language", "value": "klingonese!"}, "preference.value", "INVALID_FIELD"),
        ({"topic": "time_zone", "value": "UTC+99"}, "preference.value", "INVALID_FIELD"),
        ({"topic": "tone", "value": "loud"}, "preference.value", "INVALID_FIELD"),
    ],
)
async def test_what_cannot_be_names_its_field(client, fields, field, reason):
    with pytest.raises(InvalidRequest) as refused:
        await client.set_preference("u1", "a text", **fields)
    assert (refused.value.field, refused.value.reason) == (field, reason)
    assert list(await client.list_preferences("u1")) == []


@pytest.mark.row("P-07", "S2-24")
async def test_of_many_a_question_sees_what_matters(client):
    """Twenty of two hundred: how to talk to the asker always, then what the question speaks of, zh and en."""
    await client.append("room", LINES)
    for n in range(90):
        await client.set_preference("u1", f"plain line {n}", channel="room")
    for n in range(60):
        await client.set_preference("u1", topic="likes", value=f"thing{n}")
    await client.set_preference("u1", topic="likes", value="jasmine tea")
    await client.set_preference("u1", topic="likes", value="打羽毛球")
    await client.set_preference("u1", topic="name", value="Sam")
    for n in range(30):
        await client.set_preference("u1", topic="likes", value=f"more{n}")
    for question, wanted in (
        ("which jasmine blend should I buy?", "The user likes jasmine tea."),
        ("周末去哪里打羽毛球？", "用户偏好打羽毛球。"),
    ):
        lines = await shown(client, question=question)
        assert len(lines) == 20
        assert SAM in lines
        assert wanted in lines
        assert lines == await shown(client, question=question)
    assert len(await shown(client, "other", asker=ANN)) == 20
