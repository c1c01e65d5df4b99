"""Preferences over the wire: stored, listed, deleted; in every context for a question of theirs, restarts or not."""

import pytest

from backscroll import Author, Conflict, InvalidRequest, Message
from backscroll_sidecar.config.settings import MemorySettings
from backscroll_sidecar.errors import StoreUnavailable
from tests.kit.kept import kept_bytes
from tests.kit.served import served

NOON = 1_795_176_000_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
LINES = [
    Message(f"m{n}", (ANN, BEN)[n % 2], f"small talk number {n}", NOON - 600_000 + n * 1_000)
    for n in range(40)
]
PROFILES = (
    "balanced", "classic", "chain_recent", "retrieval", "naive", "memory", "room", "hybrid", "hybrid_linear", "steady",
)  # fmt: skip
SHORT, TEA, FORMAL = "likes short answers", "喜欢喝茶 (tea)", "wants to be called Dr. Ann"


async def ask(client, channel="room", asker=ANN, **fields):
    fields = {"question": "and what now?", "asked_at": NOON, "asker": asker, **fields}
    return await client.build_context(channel, **fields)


async def lines_for(client, channel="room", asker=ANN, **fields) -> list[str]:
    """The preferences that the model reads."""
    context = await ask(client, channel, asker, layout="single_user", **fields)
    assert {one.source for one in context.degradations} <= {"semantic"}  # there is no embedder
    body = context.payload_bytes.decode()
    assert context.text.count("User Preferences") == body.count("User Preferences") <= 1
    known = (SHORT, TEA, FORMAL, "asks for sources", "likes coffee")
    found = [(context.text.find(one), one) for one in known if one in context.text]
    assert all(context.text.count(one) == 1 for _, one in found)
    assert (context.tokens.preferences > 0) == bool(found)
    return [one for _, one in sorted(found)]


@pytest.mark.row("S2-06", "S2-24")
async def test_set_restart_and_build_without_naming_them(tmp_path):
    """S2-24: what holds everywhere first, then what holds in the channel; of nobody else, nowhere else."""
    database = tmp_path / "history.db"
    async with served(database) as (client, _):
        await client.append("room", LINES)
        await client.append("other", LINES)
        assert await lines_for(client) == []
        await client.set_preference("u1", TEA, channel="room")
        await client.set_preference("u1", SHORT)
        await client.set_preference("u2", "likes coffee")
        assert await lines_for(client) == [SHORT, TEA]
    async with served(database) as (client, _):
        for _ in range(2):
            assert await lines_for(client) == [SHORT, TEA]
            assert await lines_for(client, "other") == [SHORT]
            assert await lines_for(client, asker=BEN) == ["likes coffee"]
            assert await lines_for(client, asker=Author("u3", "Eve")) == []
        assert await lines_for(client, question="", asker=None, trigger_message_id="m38") == [
            SHORT,
            TEA,
        ]
        listed = await client.list_preferences("u1")
        assert [(one.channel, one.text) for one in listed] == [("", SHORT), ("room", TEA)]
        await client.delete_preference("u1", listed[0].id)
        assert await lines_for(client) == [TEA]
    async with served(database) as (client, _):
        assert await lines_for(client) == [TEA]
        assert [one.text for one in await client.list_preferences("u1")] == [TEA]


@pytest.mark.row("S2-06", "S2-24")
@pytest.mark.parametrize("profile", PROFILES)
async def test_every_profile_that_reads_preferences_has_them(client, profile):
    """S2-06: those of the request on top of the stored ones, each once; where the source is named, in any profile."""
    await client.append("room", LINES)
    await client.set_preference("u1", SHORT)
    on_top = ["asks for sources", f" {SHORT}"]
    named = {"sources": ["recent", "preferences"]}
    assert await lines_for(client, profile=profile, overrides=named) == [SHORT]
    assert await lines_for(client, profile=profile, overrides=named, preferences=on_top) == [
        SHORT,
        "asks for sources",
    ]
    assert await lines_for(client, profile=profile, overrides={"sources": ["recent"]}) == []
    assert await lines_for(client, profile=profile) == [SHORT]
    for built in (
        await ask(client, profile=profile),
        await ask(client, profile=profile, explain=True),
    ):
        assert SHORT in built.text
        assert SHORT in built.payload_bytes.decode()
    unknown = await ask(client, profile=profile, asker="u9", preferences=[FORMAL])
    assert FORMAL in unknown.payload_bytes.decode()


@pytest.mark.row("S2-24")
async def test_stored_ones_are_as_those_of_a_request(client):
    """The same answer, byte for byte, whichever way they came."""
    await client.append("room", LINES)
    given = await ask(client, preferences=[SHORT, TEA], explain=True)
    await client.set_preference("u1", SHORT)
    await client.set_preference("u1", TEA, channel="room")
    stored = await ask(client, explain=True)
    assert (stored.text, stored.payload_bytes) == (given.text, given.payload_bytes)
    assert stored.raw.explanation == given.raw.explanation


@pytest.mark.row("S2-24")
async def test_chat_reads_them_too(client):
    """The echo says what the model would be sent."""
    await client.append("room", LINES)
    await client.set_preference("u1", TEA)
    answer = await client.chat("room", "and what now?", asker=ANN, asked_at=NOON)
    assert answer.raw.context.tokens.preferences > 0


@pytest.mark.row("S2-24")
async def test_an_id_is_one_preference(client):
    """Set again it is replaced in its place; without an id the same text is the same one; deletions say how many."""
    await client.set_preference("u1", "likes coffee", preference_id="drink")
    first = await client.set_preference("u1", SHORT)
    again = await client.set_preference("u1", f"  {SHORT}\n")
    assert first.id == again.id != ""
    assert 0 < first.updated_at_ms <= again.updated_at_ms
    await client.set_preference("u1", TEA, preference_id="drink")
    await client.set_preference("u1", FORMAL, preference_id="drink", channel="room")
    await client.set_preference("u2", "likes coffee", preference_id="drink")
    assert [one.text for one in await client.list_preferences("u1")] == [TEA, SHORT, FORMAL]
    assert [one.text for one in await client.list_preferences("u1", channel="hall")] == [TEA, SHORT]
    assert await client.delete_preference("u1", "drink") == 1
    assert await client.delete_preference("u1", "drink") == 0
    assert [one.text for one in await client.list_preferences("u1")] == [SHORT, FORMAL]
    assert await client.delete_preference("u1", "") == 1
    assert [one.text for one in await client.list_preferences("u1")] == [FORMAL]
    assert [one.text for one in await client.list_preferences("u2")] == ["likes coffee"]


@pytest.mark.row("S2-24")
async def test_a_hundred_and_no_more(client):
    """CONFLICT; one that is there can be replaced, and another channel has a hundred of its own."""
    for n in range(100):
        await client.set_preference("u1", f"line {n}", preference_id=f"p{n}")
    with pytest.raises(Conflict):
        await client.set_preference("u1", "one more")
    await client.set_preference("u1", "another line", preference_id="p7")
    await client.set_preference("u1", "one more", channel="room")
    assert len(await client.list_preferences("u1")) == 101


@pytest.mark.row("S2-24")
@pytest.mark.parametrize(
    ("fields", "field", "reason"),
    [
        ({"user_id": ""}, "preference.user_id", "MISSING_FIELD"),
        ({"user_id": "u" * 513}, "preference.user_id", "TOO_LARGE"),
        ({"text": ""}, "preference.text", "MISSING_FIELD"),
        ({"text": " \n\u3000"}, "preference.text", "MISSING_FIELD"),
        ({"text": "猫" * 667}, "preference.text", "TOO_LARGE"),
        ({"text": "a\0b"}, "preference.text", "INVALID_FIELD"),
        ({"channel": "c" * 513}, "preference.channel", "TOO_LARGE"),
        ({"preference_id": "p" * 129}, "preference.id", "TOO_LARGE"),
    ],
)
async def test_what_can_never_be_stored_names_its_field(client, fields, field, reason):
    """Typed, and nothing is stored."""
    with pytest.raises(InvalidRequest) as refused:
        await client.set_preference(**{"user_id": "u1", "text": SHORT, **fields})
    assert (refused.value.field, refused.value.reason) == (field, reason)
    assert list(await client.list_preferences("u1")) == []
    for call in (client.list_preferences(""), client.delete_preference("", "p")):
        with pytest.raises(InvalidRequest) as refused:
            await call
        assert (refused.value.field, refused.value.reason) == ("user_id", "MISSING_FIELD")


@pytest.mark.row("S2-24")
async def test_erasing_the_user_erases_them(tmp_path):
    """Those that hold everywhere and those of the channel; no byte of them stays in a file, others keep theirs."""
    database = tmp_path / "history.db"
    async with served(database) as (client, _):
        await client.append("room", LINES)
        await client.set_preference("u1", FORMAL)
        await client.set_preference("u1", TEA, channel="room")
        await client.set_preference("u2", SHORT)
        assert await lines_for(client) == [FORMAL, TEA]
        assert (await client.erase("room", user_id="u1"))["preferences"] == 1
        assert await lines_for(client) == [FORMAL]  # it holds elsewhere, too
        assert (await client.erase(user_id="u1", all_channels=True))["preferences"] == 1
        assert await lines_for(client) == []
        assert list(await client.list_preferences("u1")) == []
        assert await lines_for(client, asker=BEN) == [SHORT]
    files = kept_bytes(tmp_path)
    assert (FORMAL.encode() in files, TEA.encode() in files, SHORT.encode() in files) == (
        False, False, True,
    )  # fmt: skip


@pytest.mark.row("S2-24")
async def test_a_build_reads_nothing_for_who_has_none(tmp_path):
    """Who has any is read once, and again after a change: what is acknowledged is in the next build."""
    async with served(tmp_path / "history.db") as (client, app):
        await client.append("room", LINES)
        await client.set_preference("u2", SHORT)
        reads = []
        plain = app.store.records_of_owner

        async def counted(tenant, kind, owner, now_ms):
            reads.append(owner)
            return await plain(tenant, kind, owner, now_ms)

        app.store.records_of_owner = counted
        for _ in range(3):
            assert await lines_for(client) == []
            assert await lines_for(client, asker=BEN) == [SHORT]
        assert reads == ["u2"]
        await client.set_preference("u1", TEA)
        assert await lines_for(client) == [TEA]
        assert await lines_for(client, asker=BEN) == [SHORT]
        assert reads == ["u2", "u1"]


@pytest.mark.row("S2-24")
async def test_preferences_that_cannot_be_read_cost_only_themselves(tmp_path):
    """Law 5: named, the rest of the context is there, and the next build has them again."""
    async with served(tmp_path / "history.db", memory=MemorySettings()) as (client, app):
        await client.append("room", LINES)
        await client.set_preference("u1", TEA)
        plain = app.store.records_of_owner

        async def broken(*_):
            raise StoreUnavailable("the disk is away")

        app.store.records_of_owner = broken
        context = await ask(client)
        (lost,) = context.degradations
        assert (lost.stage, lost.reason, lost.source) == (
            "gather", "STORE_UNAVAILABLE", "preferences",
        )  # fmt: skip
        assert context.items
        app.store.records_of_owner = plain
        assert await lines_for(client) == [TEA]
