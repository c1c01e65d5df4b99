"""A question inside a thread is answered out of it; what it replies to is seen wherever that stands."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from backscroll import AsyncClient, Author, Message, Overrides, SystemPrompt
from backscroll_sidecar.context.profiles import PROFILES
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

NOON = 1_795_176_000_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Cat", "bot")
NARROW = sorted(PROFILES.keys() - {"classic"})


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[AsyncClient]:
    async with served(embedder=FakeEmbedder()) as (client, _):
        yield client


def topics() -> list[Message]:
    """Two topics that take turns about the same thing, lines outside of both, a question in the first."""
    out = []
    for n in range(6):
        for m, (thread, author) in enumerate((("A", ANN), ("B", BEN), (None, ANN))):
            text = f"deploy of the server, step {n} of {thread}"
            id = f"{thread or 'main'}{n}"
            out.append(Message(id, author, text, NOON + 3_000 * n + m * 1_000, thread_id=thread))
    return [*out, Message("q", ANN, "what about the deploy?", NOON + 30_000, thread_id="A")]


async def shown(client: AsyncClient, channel: str, profile: str, **request: object) -> set[str]:
    """The first letters of the ids in the context: by the quick way and by the one that explains."""
    found = []
    for explain in (False, True):
        built = await client.build_context(
            channel, self_ids=["bot"], profile=profile, explain=explain,
            overrides=Overrides(relevance_threshold=0.0), **request
        )  # fmt: skip
        found.append({item.message.id[0] for item in built.items})
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize("profile", NARROW)
@pytest.mark.asyncio(loop_scope="module")
async def test_the_trigger_narrows_the_build_to_its_thread(client, profile):
    """Unset: the trigger's thread, named or found by its text; another or none, where the request says so."""
    channel = f"topics {profile}"
    await client.append(channel, topics())
    assert (await client.wait_for_index(channel, wait_s=10)).ready
    assert await shown(client, channel, profile, trigger_message_id="q") == {"A"}
    found = {"question": "what about the deploy?", "asker": "u1", "asked_at": NOON + 31_000}
    assert await shown(client, channel, profile, **found) == {"A"}
    assert await shown(client, channel, profile, trigger_message_id="q", thread_id="B") == {"B"}
    whole = await shown(client, channel, profile, trigger_message_id="q", thread_id="")
    assert whole == {"A", "B", "m"}
    nowhere = {"question": "what about the deploy, then?", "asker": "u1"}
    assert await shown(client, channel, profile, **nowhere) >= {"A", "B", "m"}


@pytest.mark.asyncio(loop_scope="module")
async def test_classic_reads_the_whole_channel(client):
    """The design's way of picking knows no threads, unless one is asked for."""
    await client.append("classic topics", topics())
    assert await shown(client, "classic topics", "classic", trigger_message_id="q") == {
        "A",
        "B",
        "m",
    }
    narrow = {"trigger_message_id": "q", "thread_id": "A"}
    assert await shown(client, "classic topics", "classic", **narrow) == {"A"}


@pytest.mark.parametrize("profile", sorted(PROFILES))
@pytest.mark.asyncio(loop_scope="module")
async def test_what_it_replies_to_is_seen_in_any_thread(client, profile):
    """A thread begins with an answer to a line of the channel; that line is part of it, its neighbours are not."""
    channel = f"begun {profile}"
    await client.append(channel, [
        Message("top", BEN, "shall we deploy?", NOON),
        Message("main", BEN, "or shall we not", NOON + 1_000),
        Message("first", ANN, "let us talk here", NOON + 2_000, thread_id="T", reply_to="top"),
        Message("q", ANN, "@Cat what do you think?", NOON + 3_000, thread_id="T", reply_to="first"),
        Message("r", ANN, "and you, @Cat?", NOON + 4_000, thread_id="T", reply_to="top"),
    ])  # fmt: skip
    low = Overrides(relevance_threshold=0.0)
    for trigger, must in (("q", {"first"}), ("r", {"top"})):
        built = await client.build_context(
            channel, trigger_message_id=trigger, self_ids=["bot"], profile=profile,
            thread_id="T", overrides=low,
        )  # fmt: skip
        ids = {item.message.id for item in built.items}
        assert must <= ids
        assert "main" not in ids
        if PROFILES[profile].keep_chain:
            assert "top" in ids


@pytest.mark.asyncio(loop_scope="module")
async def test_the_template_knows_the_thread(client):
    """thread_id of a system template is where the question stands."""
    await client.append("template", topics())
    system = SystemPrompt("Topic {{thread_id}}.", is_template=True)
    for request, topic in (({}, "A"), ({"thread_id": "B"}, "B"), ({"thread_id": ""}, "A")):
        built = await client.build_context(
            "template", trigger_message_id="q", system=system, self_ids=["bot"], **request
        )
        assert built.payload["messages"][0]["content"] == f"Topic {topic}."
