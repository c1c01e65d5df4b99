"""What a bridge makes of events, against the real server."""

import asyncio
import json
import subprocess

import pytest

from backscroll import AsyncClient, Author, Client, Message, text_of
from backscroll.adapters import AsyncBridge, Bridge, Edited, Members, Recalled, Said
from backscroll.testing import serve
from backscroll.values import Member
from tests.adapters.kit import NODE, node_with

ROOM, CAT, NOON = "test:1", Author("cat", "Cat", "bot"), 1_795_176_000_000


@pytest.fixture(scope="module")
def server():
    with serve(answer=lambda _: "At nine.") as running:
        yield running


@pytest.fixture
def bridge(server):
    yield Bridge(server.client)
    server.client.erase(ROOM, whole_channel=True)


def said(id, text, author="ann", at=NOON, **more):
    return Said(ROOM, Message(id, author, text, at), "cat", **more)


def texts(client: Client):
    return {
        one.message.id: text_of(one.message)
        for one in client.list_messages(ROOM, include_recalled=True)
    }


def test_what_is_for_the_bot_is_answered_once(bridge):
    question = said("q1", "when is dinner?", is_for_bot=True)
    assert bridge.take(said("q0", "hello")) is None
    assert bridge.take(question) is question
    assert bridge.take(question) is None
    assert bridge.take(None) is None


def test_the_reply_is_recorded_with_its_context(bridge, server):
    asked = bridge.take(said("r1", "when is dinner?", is_for_bot=True))
    context = bridge.context(asked, system="You are a cat.")
    reply = Said(ROOM, Message("r2", CAT, "At nine.", NOON + 1, role="assistant"), "cat")
    assert bridge.take(reply, answers=context) is None
    assert server.client.get_usage_record(context.id).reply_message_id == "r2"


def test_what_the_server_answered_gets_the_platforms_id(bridge, server):
    asked = bridge.take(said("s1", "when is dinner?", is_for_bot=True))
    answer = bridge.chat(asked)
    reply = Said(ROOM, Message("s2", CAT, answer.text, NOON + 1, role="assistant"), "cat")
    bridge.take(reply, answers=answer)
    bridge.take(reply)  # the platform tells of it, too
    assert list(texts(server.client).values()) == ["when is dinner?", "At nine."]


def test_a_copy_that_the_platform_told_of_first_is_taken_back(bridge, server):
    asked = bridge.take(said("t1", "when is dinner?", is_for_bot=True))
    answer = bridge.chat(asked)
    shown = Message("t2", CAT, "At nine, says the cat.", NOON + 1, role="assistant")
    bridge.take(Said(ROOM, shown, "cat"))
    bridge.take(Said(ROOM, shown, "cat"), answers=answer)
    assert sorted(texts(server.client).values()) == ["", "At nine.", "when is dinner?"]


def test_edits_of_what_is_there_and_of_what_is_not(bridge, server):
    bridge.take(said("e1", "at nine"))
    bridge.take(Edited(ROOM, Message("e1", "ann", "at ten", NOON), NOON + 5))
    bridge.take(Edited(ROOM, Message("e2", "ann", "at six", NOON + 1), NOON + 5))
    assert bridge.take(said("e2", "at five", at=NOON + 1, is_for_bot=True)) is None  # came late
    assert texts(server.client) == {"e1": "at ten", "e2": "at six"}


def test_deletions_of_what_is_there_and_of_what_is_not_yet(bridge, server):
    bridge.take(said("d1", "at nine"))
    bridge.take(Recalled(ROOM, ("d1", "d2", "d1")))
    assert bridge.take(said("d2", "oh", is_for_bot=True)) is None
    bridge.take(Edited(ROOM, Message("d1", "ann", "at ten", NOON), NOON + 5))
    assert texts(server.client) == {"d1": "", "d2": ""}


def test_members_are_told_once_and_found_by_alias(bridge, server):
    ann = Member("ann", "Ann", aliases=["ann_l"])
    bridge.take(said("m1", "hello", members=(ann,)))
    bridge.take(said("m2", "hello?", members=(ann,)))
    bridge.take(Members(ROOM, (Member("ben", left_at=NOON),)))
    bridge.take(said("m3", "@ann_l, here?", "ben"))
    *_, last = server.client.list_messages(ROOM)
    assert list(last.mentioned_user_ids) == ["ann"]


def test_what_is_refused_is_logged(bridge, caplog):
    assert bridge.take(said("x" * 600, "hello", is_for_bot=True)) is None
    assert ROOM in caplog.text


def test_with_an_event_loop(bridge, server):
    async def talk() -> None:
        async with AsyncClient(server.address) as client:
            waiting = AsyncBridge(client)
            asked = await waiting.take(said("a1", "when is dinner?", is_for_bot=True))
            assert (await waiting.context(asked)).messages[-1]["content"] == "when is dinner?"
            assert (await waiting.chat(asked)).text == "At nine."

    asyncio.run(talk())


@pytest.mark.proof
def test_in_node():
    """The same of the bridge for Node, with what a platform should not tell; it speaks Telegram."""
    node = node_with("grammy")
    with serve(replies=["At nine."]) as server:
        command = [node, "bridge.mjs", server.address]
        done = subprocess.run(command, cwd=NODE, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        *taken, (context_id, is_shown) = map(json.loads, done.stdout.splitlines())
        assert ["The answer failed: the test gave no reply for this call", False] in taken
        asked = [what for what, is_asked in taken if is_asked]
        assert asked == ["a question", "another question", "the next question"]
        stored = server.client.list_messages("telegram:B1:1", include_recalled=True)
        found = {one.message.id: (text_of(one.message), list(one.alias_ids)) for one in stored}
        record = server.client.get_usage_record(context_id)
    assert is_shown
    assert record.reply_message_id == "10"
    answers = [one for id, one in found.items() if not id.isdigit()]
    assert answers == [("At nine.", [])]
    assert {id: text for id, (text, _) in found.items() if id.isdigit()} == {
        "1": "when is dinner?", "2": "at ten?", "3": "", "8": "", "9": "and now?", "10": "At ten.", "11": "when?",
    }  # fmt: skip
    assert done.stderr.count("was not stored") == 8
    assert done.stderr.count("could not be read") == 1
