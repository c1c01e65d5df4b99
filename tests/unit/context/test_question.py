"""What is asked, by whom, when, of what: everything a request may leave out, and what is refused."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from backscroll_sidecar.domain import (
    ChannelKey,
    Mention,
    MessageState,
    MessageType,
    Reply,
    Rung,
    SpeakerStyle,
)
from backscroll_sidecar.errors import Gone, InvalidRequest, NotFound, Reason
from tests.kit.chats import ANN, BEN, BOT, CAT, HOUR_MS, MINUTE_MS, NOON_MS, say, stored_in_order
from tests.kit.rooms import Room, ids, payload, shares

LINES = [say(f"m{n}", (BEN, CAT)[n % 2], f"line {n}", HOUR_MS - n * MINUTE_MS) for n in range(6)]


# --- by whom, of what ----------------------------------------------------------------------------


def test_without_a_user():
    """S2-03: without an asker the context is of the conversation alone."""
    built = Room(LINES).build_now(asker=None, profile="room")
    assert ids(built) == [f"m{n}" for n in range(6)]
    assert payload(built)["messages"][-1] == {"role": "user", "content": "what now?"}


def test_without_a_conversation():
    """S2-03, S1-03: without a channel it is what the asker said in any channel, newest first found, in time order."""
    lines = [*LINES, say("x1", BEN, "elsewhere", 30 * MINUTE_MS, channel="other"),
             say("x2", CAT, "not Ben", 20 * MINUTE_MS, channel="other")]  # fmt: skip
    room = Room(lines, hot=False)
    built = room.build_now(asker=BEN, key=ChannelKey("default", ""), profile="room")
    assert ids(built) == ["m0", "m2", "m4", "x1"]
    built = room.build_now(
        asker=BEN,
        key=ChannelKey("default", ""),
        profile="room",
        overrides={"recent_limit": 3, "max_context": 3},
    )
    assert ids(built) == ["m2", "m4", "x1"]


def test_a_user_seen_under_two_names():
    """P-27: lines from several channels are shown under the name the person goes by now."""
    lines = [
        say("a", replace(BEN, name="Benny"), "one"),
        say("b", BEN, "two", 1_000, channel="other"),
    ]
    built = Room(lines, hot=False).build_now(
        "?", BEN, key=ChannelKey("default", ""), profile="room", speaker_style=SpeakerStyle.TAGGED
    )
    assert built.text == "Conversation (recent):\nBen <u2>: one\nBen <u2>: two"


def test_without_either():
    """S2-03: neither conversation nor user: an empty context, and the question goes on."""
    room = Room(LINES, hot=False)
    built = room.build_now(asker=None, key=ChannelKey("default", ""))
    assert (ids(built), built.channel_known, built.rung) == ([], False, Rung.RANKED)
    assert len(payload(built)["messages"]) == 1
    assert ids(room.build_now(asker=CAT, key=ChannelKey("default", "nowhere"))) == []


def test_of_one_thread():
    """`thread_id` keeps only messages of that container of the channel."""
    lines = [replace(line, thread_id="t" if n % 2 else "") for n, line in enumerate(LINES)]
    room = Room(lines)
    assert ids(room.build_now(profile="room", thread_id="t")) == ["m1", "m3", "m5"]
    assert len(ids(room.build_now(profile="room", thread_id=""))) == 6  # the whole channel
    assert ids(room.build_now(profile="room", thread_id="never")) == []
    assert len(ids(room.build_now(profile="room"))) == 6


def test_recent_by_conversation():
    """S1-02, S2-04, S3-09: N = 3 of 5 returns the last 3, oldest first."""
    built = Room(LINES[:5]).build_now(profile="naive", overrides={"recent_limit": 3})
    assert ids(built) == ["m2", "m3", "m4"]


@pytest.mark.parametrize("lines", [LINES, []])
def test_no_recent_lines_wanted(lines):
    """S2-04, S5-50: a limit of 0 is none, not all."""
    built = Room(lines).build_now(profile="room", overrides={"recent_limit": 0}, explain=True)
    assert (ids(built), built.explanation.candidates) == ([], ())


def test_recent_means_time_then_arrival():
    """Recent means (timestamp, arrival), so a late message takes its place in time."""
    late = [
        say("late", BEN, "late", HOUR_MS - 90_000),
        say("tie", CAT, "tie", HOUR_MS - 2 * MINUTE_MS),
    ]
    built = Room([*LINES, *late]).build_now(profile="room")
    assert ids(built) == ["m0", "m1", "late", "m2", "tie", "m3", "m4", "m5"]


# --- when ----------------------------------------------------------------------------------------


def test_when_it_was_asked():
    """`asked_at` as given; else the trigger's time; else the later of clock and newest message. Later
    messages are not seen."""
    ahead = say("ahead", BEN, "from a clock that runs fast", -5 * MINUTE_MS)
    room = Room([*LINES, ahead])
    given = room.build_now(profile="room", asked_at_ms=NOON_MS - HOUR_MS + 2 * MINUTE_MS)
    assert (given.asked_at_ms, ids(given)) == (
        NOON_MS - HOUR_MS + 2 * MINUTE_MS,
        ["m0", "m1", "m2"],
    )
    trigger = room.build_now("", None, profile="room", trigger_message_id="m3")
    assert (trigger.asked_at_ms, ids(trigger)) == (LINES[3].sent_at_ms, ["m0", "m1", "m2"])
    unset = room.build_now(profile="room", asked_at_ms=None)
    assert (unset.asked_at_ms, ids(unset)[-1]) == (NOON_MS + 5 * MINUTE_MS, "ahead")
    assert Room(LINES).build_now(profile="room", asked_at_ms=None).asked_at_ms == NOON_MS


def test_the_very_first_message_is_the_trigger():
    """Text, asker and time come from it as from any other; nothing was said before."""
    built = Room(LINES).build_now(
        "", None, trigger_message_id="m0", speaker_style=SpeakerStyle.TAGGED
    )
    assert (ids(built), built.asked_at_ms) == ([], LINES[0].sent_at_ms)
    assert payload(built)["messages"] == [{"role": "user", "content": "Ben <u2>: line 0"}]


# --- what it answers and whom it names -----------------------------------------------------------


def test_edge_and_mentions_of_the_trigger():
    """S5-02, S5-03: what the request leaves out comes from the stored trigger; what it brings, wins."""
    lines = [*LINES, say("t", ANN, "hm?", 0, reply_to="m1", mentions=("u2",))]
    request = {"trigger_message_id": "t", "profile": "classic", "explain": True}
    stored = Room(lines).build_now("", None, **request)
    assert shares(stored, "m1")["reply_chain"] == pytest.approx(0.4)
    assert shares(stored, "m2")["mention_relation"] == pytest.approx(0.15 * 0.5)
    brought = Room(lines).build_now(
        "", None, **request, reply=Reply("m2"), mentions=(Mention("u3"),)
    )
    assert shares(brought, "m2")["reply_chain"] == pytest.approx(0.4)
    assert shares(brought, "m1")["reply_chain"] == 0
    assert shares(brought, "m3")["mention_relation"] == pytest.approx(0.15 * 0.5)


def test_names_in_a_question_are_ids():
    """S5-03, P-27: `@Ben` finds the one user of that name; a name two people share finds nobody; a name is no id."""
    room = Room(LINES)
    named = room.build_now("@Ben?", profile="classic", explain=True)
    assert shares(named, "m0")["mention_relation"] == pytest.approx(0.075)
    by_id = room.build_now("@u2?", profile="classic", explain=True)
    assert shares(by_id, "m0")["mention_relation"] == 0
    shared = Room(
        [*LINES, say("x", "u9", "hi"), say("y", replace(ANN, id="u8", name="Ben"), "I am Ben, too")]
    )
    built = shared.build_now("@Ben?", profile="classic", explain=True)
    assert shares(built, "m0")["mention_relation"] == 0


@pytest.mark.parametrize(
    ("request_", "addressed"),
    [
        ({"question": "@Helper what now?"}, True),
        ({"question": "what now?", "mentions": (Mention("bot"),)}, True),
        ({"question": "what now?", "reply": Reply("b")}, True),
        ({"question": "what now?", "reply": Reply("m1")}, False),
        ({"question": "what now, helper of Ben?"}, False),
        ({"question": "", "trigger_message_id": "r"}, True),
        ({"question": "@Helper what now?", "self_ids": ("another",)}, False),
    ],
)
def test_addressed(request_, addressed):
    """S2-18: the bot is addressed by a mention of it or a reply to it, and by nothing else."""
    lines = [*LINES, say("b", BOT, "I am here", 2_000), say("r", ANN, "and?", 1_000, reply_to="b")]
    request = {"self_ids": ("bot",), "profile": "room", **request_}
    assert Room(lines).build_now(**request).addressed is addressed


@pytest.mark.parametrize(
    ("question", "type_"),
    [("where do we meet?", MessageType.QUESTION), ("你好", MessageType.CASUAL)],
)
def test_the_type_of_a_question(question, type_):
    """S5-04: what the analysis makes of the question is told."""
    assert Room(LINES).build_now(question).question_type is type_


@pytest.mark.parametrize(
    ("parent", "type_"),
    [("where do we meet?", MessageType.ANSWER), ("we meet.", MessageType.DISCUSSION)],
)
def test_an_answer_is_one_by_what_it_answers(parent, type_):
    """S5-04: the type of a question to the bot depends on the line it replies to, the very first one, too."""
    built = Room([say("p", BEN, parent)]).build_now("at the station", reply=Reply("p"))
    assert built.question_type is type_


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_", "error", "reason"),
    [
        ({"question": "  "}, InvalidRequest, Reason.QUESTION_MISSING),
        ({"question": "", "trigger_message_id": "nope"}, NotFound, Reason.MESSAGE_NOT_FOUND),
        ({"question": "", "trigger_message_id": "gone"}, Gone, Reason.MESSAGE_GONE),
        ({"profile": "nope"}, InvalidRequest, Reason.UNKNOWN_PROFILE),
        ({"token_budget": 5}, InvalidRequest, Reason.BUDGET_TOO_SMALL),
    ],
)
def test_what_is_refused(request_, error, reason):
    """Law 5: refuse is an exception, with a reason of the closed set."""
    stored = stored_in_order([*LINES[:3], say("gone", ANN, "", MINUTE_MS)])
    stored[3] = replace(stored[3], state=MessageState.RECALLED)
    with pytest.raises(error) as refused:
        Room(stored).build_now(**request_)
    assert refused.value.reason is reason


def test_a_channel_never_heard_of():
    """An empty context with channel_known false, no error."""
    built = Room().build_now(profile="classic")
    assert (built.channel_known, ids(built), built.rung) == (False, [], Rung.RANKED)
    assert payload(built)["messages"][-1]["content"] == "what now?"


def test_a_bare_mention_is_a_valid_trigger():
    """S2-09: a trigger without text is valid; its edges and author still count."""
    lines = [say("a", BOT, "I found it", 2 * MINUTE_MS), say("t", ANN, "", 0, reply_to="a")]
    built = Room(lines).build_now(
        "", None, trigger_message_id="t", profile="classic", self_ids=("bot",)
    )
    assert (ids(built), built.addressed) == (["a"], True)
    assert payload(built)["messages"][-1] == {"role": "user", "content": "(no text)"}
