"""The thread source over the wire: by the root's id, stored or not, and by the platform's thread without edges."""

import pytest

from backscroll import Author, Message, Reply
from backscroll.v1 import context_pb2 as pb

NOON = 1_795_176_000_000
HOUR = 3_600_000
ANN, BEN, CAT = Author("u1", "Ann"), Author("u2", "Ben"), Author("u3", "Cat")
LONG_AGO = NOON - 50 * HOUR
"""Before the window of `classic`: only the thread finds it."""


def reply(id, to, at=LONG_AGO, author=BEN, **fields):
    return Message(id, author, f"word {id}", at, reply_to=to, **fields)


async def ask(client, messages, *, profile="classic", sources=("thread",), **fields):
    """The candidates by id, each with the sources that proposed it and its share of the reply chain."""
    await client.append("room", messages)
    context = await client.build_context(
        "room",
        fields.pop("question", "and now?"),
        asker=ANN,
        asked_at=NOON,
        profile=profile,
        overrides={"sources": sources, "relevance_threshold": 0.0},
        explain=True,
        **fields,
    )
    assert not [one for one in context.degradations if one.reason == "ERROR"]
    return {one.message_id: one for one in context.explanation.candidates}


@pytest.mark.row("S5-13")
async def test_the_thread_of_a_root_has_fifteen_at_most_and_not_the_question(client):
    """S5-13: 15 of 20, the chain and the newest; the current message is none of them."""
    lines = [
        Message("root", CAT, "root", LONG_AGO),
        *[reply(f"m{n}", "root", LONG_AGO + n) for n in range(1, 20)],
    ]
    trigger = Message("now", ANN, "and now?", NOON, reply_to="root")
    found = await ask(client, [*lines, trigger], question="", trigger_message_id="now")
    assert list(found) == ["root", *[f"m{n}" for n in range(6, 20)]]
    assert all(list(one.sources) == [pb.SOURCE_THREAD] for one in found.values())


@pytest.mark.row("S5-13")
async def test_an_empty_root_yields_none(client):
    """S5-13: a question that replies to nothing and stands in no thread has no thread."""
    assert not await ask(client, [reply("a", "gone"), reply("b", "a")])
    assert not await ask(
        client, [Message("now", ANN, "and now?", NOON)], question="", trigger_message_id="now"
    )


@pytest.mark.row("S5-61", "S5-06", "S5-13")
@pytest.mark.parametrize("by", ["request", "trigger"])
async def test_a_thread_without_its_root_is_found_by_its_id(client, by):
    """S5-61: who answers the same unknown message has .6 of the chain's weight, what answers them is there too."""
    lines = [
        reply("brother", "never-seen"),
        reply("nephew", "brother", LONG_AGO + 1),
        Message("guess", CAT, "concluded", LONG_AGO + 2, reply_to=Reply("never-seen", inferred=True)),
        reply("other", "another-unknown", LONG_AGO + 3),
    ]  # fmt: skip
    trigger = Message("now", ANN, "and now?", NOON, reply_to="never-seen")
    asked = (
        {"reply": "never-seen"}
        if by == "request"
        else {"question": "", "trigger_message_id": "now"}
    )
    found = await ask(client, [*lines, trigger] if by == "trigger" else lines, **asked)
    assert list(found) == ["brother", "nephew"]
    assert found["brother"].shares[0] == pytest.approx(0.4 * 0.6)
    assert found["nephew"].shares[0] == 0


@pytest.mark.row("S5-61")
async def test_a_chain_that_ends_at_an_unknown_root_has_the_others_who_answered_it(client):
    """S5-61: the question answers a stored message; the rest of the thread hangs on a root that is not."""
    lines = [
        reply("parent", "never-seen"),
        reply("brother", "never-seen", LONG_AGO + 1),
        reply("own", "parent", LONG_AGO + 2),
    ]
    found = await ask(client, lines, reply="parent")
    assert list(found) == ["parent", "brother", "own"]
    assert [round(one.shares[0], 6) for one in found.values()] == [0.4, 0.0, 0.24]


@pytest.mark.row("S5-61")
async def test_an_erased_root_is_as_unknown(client):
    """S5-61: erased for good, its thread is still one; a recalled one keeps its place."""
    lines = [Message("root", CAT, "secret", LONG_AGO), reply("brother", "root", LONG_AGO + 1)]
    await client.append("room", lines)
    await client.erase("room", message_ids=["root"])
    found = await ask(client, [], reply="root")
    assert list(found) == ["brother"]
    assert found["brother"].shares[0] == pytest.approx(0.4 * 0.6)


@pytest.mark.row("S5-61")
@pytest.mark.parametrize("profile", ["classic", "balanced", "room"])
async def test_the_platforms_thread_needs_no_edges(client, profile):
    """S5-61: what stands in the container of the question, and the message that the container is named after."""
    lines = [
        Message("topic-7", CAT, "it began here", LONG_AGO),
        Message("in", BEN, "said inside", LONG_AGO + 1, thread_id="topic-7"),
        Message("out", BEN, "said outside", LONG_AGO + 2),
        Message("now", ANN, "and now?", NOON, thread_id="topic-7"),
    ]
    found = await ask(
        client, lines, question="", trigger_message_id="now", thread_id="", profile=profile
    )
    assert list(found) == ["topic-7", "in"]
    edge = await ask(client, [], reply="topic-7", profile=profile)
    assert {"topic-7", "in"} <= edge.keys()


async def test_an_unknown_root_in_the_default_profile(client):
    """With everything as it is: the brother of the question is proposed by the thread, however old."""
    crowd = [Message(f"x{n}", CAT, f"noise {n}", NOON - HOUR + n) for n in range(150)]
    await client.append("room", [reply("brother", "never-seen"), *crowd])
    context = await client.build_context(
        "room", "and now?", asker=ANN, asked_at=NOON, reply="never-seen", explain=True
    )
    found = {one.message_id: list(one.sources) for one in context.explanation.candidates}
    assert found["brother"] == [pb.SOURCE_THREAD]
