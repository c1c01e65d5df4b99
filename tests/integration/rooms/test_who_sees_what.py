"""Who may know what: audiences, presence, what is observed, whose text is shown, and the rule that shows a line."""

import pytest

from backscroll import Message
from backscroll.v1 import context_pb2 as cpb
from backscroll.v1 import session_pb2 as pb
from tests.integration.rooms.room import ANN, BOB, CATS, PERSONA, CatModel, human, room

RULE = "VISIBILITY_RULE_"


def rules(answer: cpb.BuildContextResponse) -> dict[str, str]:
    return {
        item.message.parts[0].text.text: cpb.VisibilityRule.Name(item.visible_by).removeprefix(RULE)
        for item in answer.items
    }


@pytest.mark.row("N-18", "N-11")
async def test_a_line_for_some_is_seen_by_these_and_its_author() -> None:
    async with room() as chat:
        made = await chat.open()
        for id_, author, text, audience in (
            ("m1", "u1", "for all", ()), ("m2", "u1", "for black", ("black",)),
            ("m3", "white", "white to grey", ("grey",)), ("m4", "u2", "for ann", ("u1",)),
        ):  # fmt: skip
            message = Message(id_, author, text, session_id=made.session_id, audience=audience)
            await chat.client.append(made.channel, message)
        seen = {
            viewer: rules(await chat.built(viewer_id=viewer))
            for viewer in ("black", "white", "grey", "u1", "nobody", "")
        }
    assert seen == {
        "black": {"for all": "SESSION", "for black": "AUDIENCE"},
        "white": {"for all": "SESSION", "white to grey": "AUTHOR"},
        "grey": {"for all": "SESSION", "white to grey": "AUDIENCE"},
        "u1": {"for all": "SESSION", "for black": "AUTHOR", "for ann": "AUDIENCE"},
        "nobody": {"for all": "SESSION"},
        "": {"for all": "SESSION"},
    }


@pytest.mark.row("N-18")
@pytest.mark.parametrize(
    "profile", ["balanced", "hybrid", "classic", "chain_recent", "naive", "steady", "room"]
)
async def test_no_profile_shows_what_is_not_meant(profile: str) -> None:
    """Not in items, payload, text, summary or the account of candidates; outside of sessions as well."""
    async with room() as chat:
        for number in range(12):
            secret = number % 2 == 0
            await chat.client.append(
                "group",
                Message(
                    f"m{number}", "u1", f"{'canary' if secret else 'plain'} talk of tea {number}",
                    audience=("black",) if secret else (), reply_to=f"m{number - 1}" if number else None,
                ),
            )  # fmt: skip
        request = {"channel": "group", "session_id": "", "profile": profile, "explain": True,
                   "question": "which canary talk of tea?", "reply": {"message_id": "m10"}}  # fmt: skip
        hidden = await chat.built(**request, viewer_id="white", payload_formats=[1, 3, 4, 5])
        shown = await chat.built(**request, viewer_id="black")
    text = str(hidden).replace("which canary talk of tea?", "")
    assert "canary" not in text
    assert "canary" in str(shown).replace("which canary talk of tea?", "")
    secret_ids = {f"m{number}" for number in range(0, 12, 2)}
    assert not secret_ids & {one.message_id for one in hidden.explanation.candidates}


@pytest.mark.row("P-03", "P-34", "N-18")
async def test_who_left_and_came_back_sees_both_stays() -> None:
    async with room() as chat:
        await chat.open(participants=[*CATS[:2], human("u1", "Ann")])
        await chat.say("before", targets=["white"])
        grey = pb.PutParticipantsRequest(session=chat.ref, participants=[CATS[2]])
        await chat.stub.PutParticipants(grey)
        await chat.say("first stay", targets=["white"])
        gone = pb.RemoveParticipantsRequest(session=chat.ref, participant_ids=["grey"])
        await chat.stub.RemoveParticipants(gone)
        heard = await chat.say("@小灰 between")
        assert heard.targets == []
        (ignored,) = heard.started.route.ignored
        assert ignored.reason == pb.IGNORED_REASON_UNAVAILABLE
        await chat.say("between the two", targets=["white"])
        assert "- 小灰" not in chat.model.prompt()  # no colleague any more
        await chat.stub.PutParticipants(grey)
        await chat.say("second stay", targets=["white"])
        built = await chat.built(viewer_id="grey")
        told = [one for one in rules(built) if "小白" not in one]
        assert told == ["first stay", "second stay"]
        assert set(rules(built).values()) == {"MEMBERSHIP"}
        found = next(one for one in (await chat.session()).participants if one.id == "grey")
        assert [
            (one.HasField("after_sequence"), one.HasField("until_sequence"))
            for one in found.presences
        ] == [(True, True), (True, False)]
        assert [one for one in rules(await chat.built(viewer_id="white")) if one == "before"]


@pytest.mark.row("P-03")
async def test_joining_and_leaving_may_be_told_by_the_clock() -> None:
    async with room() as chat:
        presence = pb.Presence(joined_at_ms=2_000_000_000_000 // 2, left_at_ms=1_000_000_000_500)
        cat = pb.Participant(id="grey", kind=PERSONA, name="小灰", presences=[presence])
        made = await chat.open(participants=[cat])
        for at in (-1, 0, 499, 500):
            message = Message(f"m{at}", "u1", f"at {at}", sent_at=1_000_000_000_000 + at)
            await chat.client.append(made.channel, message)
        assert list(rules(await chat.built(viewer_id="grey"))) == ["at 0", "at 499"]


@pytest.mark.row("N-18")
@pytest.mark.parametrize(
    ("observe", "seen"),
    [
        (
            pb.OBSERVE_ALL,
            ["long ago", "hello", "@小灰 you", "to grey", "own words", "answers grey"],
        ),
        (pb.OBSERVE_PRESENT, ["hello", "@小灰 you", "to grey", "own words", "answers grey"]),
        (pb.OBSERVE_ADDRESSED, ["@小灰 you", "to grey", "own words", "answers grey"]),
        (pb.OBSERVE_NONE, []),
    ],
)
async def test_what_is_observed(observe: int, seen: list[str]) -> None:
    async with room() as chat:
        made = await chat.open(participants=[human("u1", "Ann")])
        await chat.client.append(made.channel, Message("m0", "u1", "long ago"))
        cat = pb.Participant(id="grey", kind=PERSONA, name="小灰", observe=observe)
        await chat.stub.PutParticipants(
            pb.PutParticipantsRequest(session=chat.ref, participants=[cat])
        )
        for id_, author, text, more in (
            ("m1", "u1", "hello", {}), ("m2", "u1", "@小灰 you", {}),
            ("m3", "u1", "to grey", {"audience": ("grey",)}), ("m4", "grey", "own words", {}),
            ("m5", "u1", "answers grey", {"reply_to": "m4"}), ("m6", "u1", "not", {"audience": ("u2",)}),
        ):  # fmt: skip
            await chat.client.append(made.channel, Message(id_, author, text, **more))
        assert list(rules(await chat.built(viewer_id="grey"))) == seen


@pytest.mark.row("N-11", "N-18")
async def test_another_sessions_lines_stay_there() -> None:
    """In one channel: a session shows its own lines and those of none; without a session all are shown."""
    async with room() as chat:
        one = await chat.open(session_id="one", channel="group")
        await chat.open(session_id="two", channel="group")
        for id_, session_id in (("m1", "one"), ("m2", "two"), ("m3", "")):
            message = Message(id_, "u1", f"in {session_id or 'none'}", session_id=session_id)
            await chat.client.append("group", message)
        found = rules(await chat.built(session_id="one", viewer_id="black"))
        assert found == {"in one": "SESSION", "in none": "CHANNEL"}
        plain = rules(await chat.built(session_id="", channel="group"))
        assert plain == {"in one": "CHANNEL", "in two": "CHANNEL", "in none": "CHANNEL"}
        named = await chat.built(session_id="one", channel="")
        assert named.channel == one.channel
        other = chat.built(session_id="one", channel="elsewhere")
        assert await chat.refused(other) == ("INVALID_ARGUMENT", "INVALID_FIELD", "channel")


@pytest.mark.row("P-14")
@pytest.mark.parametrize(
    ("visibility", "seen"),
    [
        (cpb.AUTHOR_VISIBILITY_ALL,
         {"by eve": "CHANNEL", "by mallory": "CHANNEL", "by ann": "CHANNEL", "by bot": "CHANNEL"}),
        (cpb.AUTHOR_VISIBILITY_ALLOWLIST, {"by eve": "CHANNEL", "by ann": "CHANNEL", "by bot": "CHANNEL"}),
        (cpb.AUTHOR_VISIBILITY_ALLOWLIST_QUOTE,
         {"by eve": "CHANNEL", "by mallory": "QUOTE", "by ann": "CHANNEL", "by bot": "CHANNEL"}),
    ],
)  # fmt: skip
@pytest.mark.parametrize("profile", ["balanced", "room", "steady"])
async def test_whose_text_is_shown(visibility: int, seen: dict[str, str], profile: str) -> None:
    async with room() as chat:
        for author in ("eve", "mallory", "mallory2", "ann", "bot"):
            if author == "mallory2" and visibility == cpb.AUTHOR_VISIBILITY_ALL:
                continue
            await chat.client.append("group", Message(author, author, f"by {author}"))
        answer = await chat.built(
            session_id="", channel="group", profile=profile, author_visibility=visibility,
            allowed_author_ids=["eve"], asker={"id": "ann"}, self_ids=["bot"],
            reply={"message_id": "mallory"},
        )  # fmt: skip
        assert rules(answer) == seen


@pytest.mark.row("P-14")
async def test_a_session_may_say_whose_text_is_shown() -> None:
    async with room() as chat:
        policy = pb.RoomPolicy(
            author_visibility=cpb.AUTHOR_VISIBILITY_ALLOWLIST, allowed_author_ids=["u9"]
        )
        made = await chat.open(policy=policy, participants=[*CATS, human("u1", "Ann")])
        for author in ("u1", "u9", "u10"):
            await chat.client.append(made.channel, Message(author, author, f"by {author}"))
        await chat.say("@小黑 谁说了什么", ANN)
        assert "by u1" in chat.model.prompt()
        assert "by u9" in chat.model.prompt()
        assert "by u10" not in chat.model.prompt()


@pytest.mark.row("N-18")
async def test_a_whisper_is_answered_in_a_whisper() -> None:
    model = CatModel(lambda name, _: f"{name}的悄悄话")
    async with room(model) as chat:
        await chat.open()
        heard = await chat.say("秘密是橘子", message={"audience": ["black"]})
        assert heard.targets == [("black", "ALL")]
        (reply,) = heard.end.responses
        assert sorted(reply.audience) == ["black", "u1"]
        await chat.say("@小白 秘密是什么", BOB)
        assert "橘子" not in model.prompt()
        assert "悄悄话" not in model.prompt()
        await chat.say("@小黑 再说一遍", ANN)
        assert "橘子" in model.prompt()


@pytest.mark.row("N-18")
async def test_erasing_a_person_reaches_sessions_and_rounds() -> None:
    async with room() as chat:
        made = await chat.open(
            participants=[*CATS, human("u1", "Ann"), human("u2", "Bob"), human("u3", "Cay")],
            mode="werewolf",
        )  # fmt: skip
        chat.model.answers = lambda *_: "/pass"
        await chat.act("start")
        assert "u1" in (await chat.session()).mode_state_json
        heard = await chat.say("我是安安", request_id="r1")
        assert heard.refusal is None
        await chat.client.erase(made.channel, user_id="u1")
        after = await chat.session()
        assert "u1" not in [one.id for one in after.participants]
        assert "u1" not in str(after)
        assert (after.mode, after.mode_state_json, after.state_version) == ("free_chat", "{}", 0)
        states = await chat.stub.ListStates(pb.ListStatesRequest(session=chat.ref))
        assert "u1" not in str(states)
        lost = await chat.resume("r1")
        assert lost.refusal.reason == "ROUND_NOT_FOUND"
        anew = await chat.stub.UpdateSession(
            pb.UpdateSessionRequest(session=chat.ref, mode="werewolf")
        )
        assert anew.session.mode == "werewolf"


async def test_what_is_not_for_everybody_is_in_no_summary() -> None:
    async with room() as chat:
        for number in range(60):
            secret = number % 3 == 0
            text = f"{'canary' if secret else 'tea'} number {number} " + "of many words " * 40
            message = Message(f"m{number}", "u1", text, audience=("u2",) if secret else ())
            await chat.client.append("group", message)
        made = await chat.contexts.Compact(cpb.CompactRequest(channel="group", without_model=True))
        assert made.outcome == cpb.COMPACT_OUTCOME_COMPACTED
        assert "canary" not in made.summary
        assert "tea" in made.summary
        built = await chat.built(session_id="", channel="group", profile="balanced")
        assert built.summary == made.summary


@pytest.mark.row("S4-26")
@pytest.mark.parametrize("by", ["messages", "tokens"])
async def test_a_session_is_summarised_at_its_threshold(by: str) -> None:
    policy = {
        "messages": pb.RoomPolicy(summarise_after_messages=10),
        "tokens": pb.RoomPolicy(summarise_after_tokens=2_000, window_messages=4),
    }[by]
    policy.unaddressed = pb.UNADDRESSED_NOBODY
    words = "We meet on Friday at the old mill. " * (1 if by == "messages" else 20)
    async with room() as chat:
        await chat.open(policy=policy)
        counted = 0
        for number in range(40):
            await chat.say(f"{number}: {words}")
            await drained(chat)
            built = await chat.built(viewer_id="black")
            counted = number + 1
            tokens = 0
            if built.HasField("summary"):
                break
            stored = [
                one async for one in chat.client.list_messages((await chat.session()).channel)
            ]
            tokens = sum(one.token_count + 8 for one in stored)
            if by == "messages":
                assert counted < 10
            else:
                assert tokens < 2_000
        assert built.HasField("summary")
        if by == "messages":
            assert counted == 10
        await chat.say("@小黑 说说")
        assert built.summary.split("\n")[0] in chat.model.prompt()


async def drained(chat) -> None:
    import asyncio

    tasks = chat.app.summaries._tasks
    while tasks:
        await asyncio.wait(set(tasks))


@pytest.mark.row("P-14")
async def test_the_author_of_the_trigger_is_always_allowed() -> None:
    async with room() as chat:
        lines = [Message("m1", "ann", "by ann"), Message("m2", "ann", "so?")]
        await chat.client.append("h", lines)
        answer = await chat.built(
            session_id="",
            channel="h",
            question="",
            trigger_message_id="m2",
            author_visibility=cpb.AUTHOR_VISIBILITY_ALLOWLIST,
            allowed_author_ids=["x"],
        )
        assert list(rules(answer)) == ["by ann"]


@pytest.mark.row("N-18")
async def test_no_explanation_names_a_reply_for_others_that_broke_off() -> None:
    async with room() as chat:
        whisper = Message("m1", "bot", "for u2", role="assistant", partial=True, audience=("u2",))
        await chat.client.append("g", [whisper, Message("m2", "u1", "hello", reply_to="m1")])
        answer = await chat.built(
            session_id="",
            channel="g",
            viewer_id="u3",
            explain=True,
            reply={"message_id": "m2"},
        )
        assert [one.message_id for one in answer.explanation.candidates] == ["m2"]
