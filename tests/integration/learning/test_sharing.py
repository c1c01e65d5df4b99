"""Channels that share with each other: both must want it, and nothing goes further than that."""

import pytest

from backscroll import AsyncClient, Author, Member, Message, ToolCall
from backscroll.errors import BackscrollError
from backscroll.v1 import context_pb2 as pb
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.errors import StoreUnavailable
from backscroll_sidecar.server import start_server
from backscroll_sidecar.wiring import open_app
from tests.kit.fake_embedder import FakeEmbedder
from tests.kit.served import served

NOON, HOUR = 1_795_176_000_000, 3_600_000
ANN, BEN = Author("u1", "Ann"), Author("u2", "Ben")
QUESTION = "where is the router manual?"
BOTH = {"groups": ["guild"]}
PROFILES = ("balanced", "classic", "chain_recent", "hybrid", "memory", "steady")


def lines(room, text="the router manual lies in the blue cabinet"):
    texts = ["buy bread and milk", "rain again today", f"{text} of {room}", "see you at lunch"]
    return [
        Message(f"{room}{n}", BEN, one, NOON - 3 * HOUR + n * 60_000) for n, one in enumerate(texts)
    ]


async def fill(client, *rooms):
    for room in rooms:
        await client.append(room, lines(room))


async def ask(client, channel="here", **fields):
    fields = {"asker": ANN, "asked_at": NOON, "explain": True, **fields}
    return await client.build_context(channel, fields.pop("question", QUESTION), **fields)


def shared(context):
    """The channels of the lines shown by sharing, by id."""
    return {
        item.message.id: item.channel
        for item in context.items
        if item.visible_by == pb.VISIBILITY_RULE_SHARING
    }


@pytest.mark.row("S5-44")
@pytest.mark.parametrize("profile", PROFILES)
async def test_both_sides_must_want_it(profile):
    """S5-44: off by default; one side alone is nothing; by names or by a group; taken back at the next build."""
    async with served() as (client, _):
        await fill(client, "here", "there")
        assert shared(await ask(client, profile=profile)) == {}
        await client.set_channel_settings("here", sharing={"reads_from": ["there"]})
        assert shared(await ask(client, profile=profile)) == {}
        await client.set_channel_settings("there", sharing={"shares_with": ["here"]})
        context = await ask(client, profile=profile)
        assert shared(context) == {"there2": "there"}
        assert "blue cabinet of there" in context.text
        assert not any(one.source == "sharing" for one in context.raw.degradations)
        assert shared(await ask(client, "there", profile=profile)) == {}  # one way only
        await client.delete_channel_settings("there")
        assert shared(await ask(client, profile=profile)) == {}
        for channel in ("here", "there"):
            await client.set_channel_settings(channel, sharing=BOTH)
        assert shared(await ask(client, profile=profile)) == {"there2": "there"}
        assert shared(await ask(client, "there", profile=profile)) == {"here2": "here"}
        await client.set_channel_settings("here")
        assert shared(await ask(client, profile=profile)) == {}


@pytest.mark.row("S5-44")
async def test_where_a_line_is_from_is_told():
    """In the line, in the item, in explain with the reason, in the record of the build, and in a metric."""
    async with served() as (client, _):
        await fill(client, "here", "there")
        await client.set_channel_settings("here", sharing={**BOTH, "reads_from": ["named"]})
        await client.set_channel_settings("there", sharing=BOTH)
        await client.set_channel_settings("named", sharing={"shares_with": ["here"]})
        await client.append(
            "named", [Message("n1", BEN, "a router manual is on my desk", NOON - 2 * HOUR)]
        )
        context = await ask(client)
        (line,) = [one for one in context.text.splitlines() if "blue cabinet of there" in one]
        assert line == "[#there] Ben <u2>: the router manual lies in the blue cabinet of there"
        told = {one.message_id: one for one in context.explanation.candidates if one.channel}
        assert {(id, one.channel, one.sharing_group) for id, one in told.items()} == {
            ("there2", "there", "guild"),
            ("n1", "named", ""),
        }
        for one in told.values():
            assert one.visible_by == pb.VISIBILITY_RULE_SHARING
            assert list(one.sources) == [pb.SOURCE_SHARING]
            assert (one.scored_by, one.fate) == ("memory", pb.FATE_SELECTED)
            assert sum(one.shares) == pytest.approx(one.linear)
        record = await client.get_usage_record(context.raw.context_id)
        assert {(one.message_id, one.channel) for one in record.candidates if one.channel} == {
            ("there2", "there"),
            ("n1", "named"),
        }
        (sample,) = await client.get_metrics("backscroll_context_shared_messages")
        assert sample.value == 2


@pytest.mark.row("S5-44")
async def test_what_goes_elsewhere_goes_here_at_once():
    """An erased, recalled or edited line of the other channel is gone from the next build; so is its channel."""
    async with served() as (client, _):
        await fill(client, "here", "there", "third")
        for channel in ("here", "there", "third"):
            await client.set_channel_settings(channel, sharing=BOTH)
        assert set(shared(await ask(client)).values()) == {"there", "third"}
        await client.recall_message("there", "there2")
        assert set(shared(await ask(client)).values()) == {"third"}
        await client.erase("third", user_id="u2")
        context = await ask(client)
        assert shared(context) == {}
        assert "third" not in context.text
        await client.append(
            "there", [Message("again", BEN, "the router manual: on the shelf", NOON - HOUR)]
        )
        assert set(shared(await ask(client))) == {"again"}
        await client.erase("there", whole_channel=True)
        assert shared(await ask(client)) == {}


@pytest.mark.row("S5-44")
async def test_nothing_private_is_shared():
    """Whispers, lines of sessions, tools' and systems' lines; what the asker could not see; what came later."""
    async with served() as (client, _):
        await fill(client, "here")
        for channel in ("here", "there"):
            await client.set_channel_settings(channel, sharing=BOTH)
        text, at = "the router manual lies in room", NOON - 2 * HOUR
        await client.append(
            "there",
            [
                Message("whisper", BEN, f"{text} one", at, audience=["u1", "u2"]),
                Message("session", BEN, f"{text} two", at, session_id="s1"),
                Message("system", BEN, f"{text} three", at, role="system"),
                Message("later", BEN, f"{text} four", NOON + HOUR),
            ],
        )
        assert shared(await ask(client, viewer_id="u1")) == {}
        await client.append("there", [Message("open", BEN, f"{text} five", at)])
        assert set(shared(await ask(client))) == {"open"}
        only_ann = {"author_visibility": "allowlist", "allowed_author_ids": ["u1"]}
        assert shared(await ask(client, **only_ann)) == {}
        strict = {"visible_since_membership": True}
        assert shared(await ask(client, **strict)) == {}  # not a member there
        await client.upsert_members("there", Member("u1", "Ann", joined_at=NOON - HOUR))
        assert shared(await ask(client, **strict)) == {}  # came later
        await client.upsert_members("there", Member("u1", "Ann", joined_at=NOON - 5 * HOUR))
        assert set(shared(await ask(client, **strict))) == {"open"}


@pytest.mark.row("S5-44")
async def test_it_is_limited_and_copies_count_once():
    async with served() as (client, _):
        rooms = [f"room{n}" for n in range(30)]
        await fill(client, "here", *rooms)
        for channel in ("here", *rooms):
            await client.set_channel_settings(channel, sharing=BOTH)
        assert len(shared(await ask(client))) == 5
        await client.set_channel_settings("here", sharing={**BOTH, "max_messages": 2})
        assert len(shared(await ask(client))) == 2
        same = "the router manual is the same everywhere"
        for n, room in enumerate(("here", *rooms[:4])):
            await client.append(room, [Message(f"same{n}", BEN, same, NOON - 60_000 * (n + 1))])
        context = await ask(client, question="what of the router manual is the same everywhere?")
        assert context.text.count(same) == 1
        assert shared(await ask(client, question="how are you?")) == {}


@pytest.mark.row("S5-44")
async def test_by_meaning_too():
    """With an embedder other words find the line; in Chinese as well."""
    embedder = FakeEmbedder(synonyms={"feline": "cat"})
    async with served(embedder=embedder) as (client, _):
        await client.append(
            "there", [Message("t1", BEN, "the cat sleeps on the sofa", NOON - HOUR)]
        )
        await client.append(
            "there", [Message("t2", BEN, "路由器的说明书在蓝色柜子里", NOON - HOUR)]
        )
        await fill(client, "here")
        assert (await client.wait_for_index("there", wait_s=10)).ready
        for channel in ("here", "there"):
            await client.set_channel_settings(channel, sharing=BOTH)
        assert "t1" in shared(await ask(client, question="where is the feline?"))
        assert "t2" in shared(await ask(client, question="路由器的说明书放在哪里？"))


@pytest.mark.row("S5-44")
async def test_never_past_the_tenant():
    async with open_app(Settings(database=":memory:", embedder="none")) as app:
        tokens = {"token-a": "a", "token-b": "b"}
        server = await start_server(app, listen=["127.0.0.1:0"], tokens=tokens)
        async with (
            AsyncClient(server.addresses[0], token="token-a") as a,
            AsyncClient(server.addresses[0], token="token-b") as b,
        ):
            for client, room in ((a, "here"), (b, "there")):
                await fill(client, room)
                for channel in ("here", "there"):
                    await client.set_channel_settings(channel, sharing=BOTH)
            assert shared(await ask(a)) == {}
        await server.stop()


@pytest.mark.row("S5-44")
async def test_odd_settings_do_no_harm():
    """Itself, circles, channels that are not there, the same name twice: nothing, and no error."""
    async with served() as (client, _):
        await fill(client, "here", "there")
        odd = {
            "reads_from": ["here", "nowhere", "there", "there"],
            "shares_with": ["here", "there"],
            "groups": ["guild", "guild"],
        }
        for channel in ("here", "there"):
            await client.set_channel_settings(channel, sharing=odd)
        assert shared(await ask(client)) == {"there2": "there"}
        stored = await client.get_channel_settings("here")
        assert list(stored.sharing.groups) == ["guild"]
        await client.set_channel_settings("nowhere", sharing=odd)
        assert shared(await ask(client, "nowhere")) != {}


@pytest.mark.row("S5-44")
@pytest.mark.parametrize(
    ("sharing", "field"),
    [
        ({"reads_from": [f"c{n}" for n in range(101)]}, "reads_from"),
        ({"shares_with": ["c"] * 10_000}, "shares_with"),
        ({"groups": [f"g{n}" for n in range(21)]}, "groups"),
        ({"groups": [""]}, "groups[0]"),
        ({"shares_with": ["ok", "x" * 2_000]}, "shares_with[1]"),
        ({"max_messages": 0}, "max_messages"),
        ({"max_messages": 21}, "max_messages"),
    ],
)
async def test_bad_settings_name_the_field(sharing, field):
    async with served() as (client, _):
        with pytest.raises(BackscrollError) as refused:
            await client.set_channel_settings("here", sharing=sharing)
        assert refused.value.field == f"settings.sharing.{field}"


@pytest.mark.injects_fault
@pytest.mark.row("S5-44")
async def test_a_channel_that_cannot_be_read_costs_only_its_lines(monkeypatch):
    """What breaks is named under the source `sharing`; the channel's own lines are there."""
    async with served() as (client, app):
        await fill(client, "here", "there")
        for channel in ("here", "there"):
            await client.set_channel_settings(channel, sharing=BOTH)

        async def broken(*args, **named):
            raise StoreUnavailable("no")

        monkeypatch.setattr(app.store, "get_messages", broken)
        context = await ask(client)
        lost = [(one.stage, one.source, one.reason) for one in context.raw.degradations]
        assert lost == [("gather", "sharing", "STORE_UNAVAILABLE")]
        assert shared(context) == {}
        assert len(context.items) == 4
        strict = await ask(client, asker=None, visible_since_membership=True)
        reasons = {one.reason for one in strict.raw.degradations if one.source == "sharing"}
        assert reasons == {"NO_ASKER"}


@pytest.mark.row("S5-44", "P-17")
async def test_a_key_that_is_limited_to_a_channel():
    """P-17: it gets what another channel shares with its own, and cannot open other channels by itself."""
    tokens = {"whole": "a", "limited": {"tenant": "a", "channels": ["here"]}}
    async with open_app(Settings(database=":memory:", embedder="none")) as app:
        server = await start_server(app, listen=["127.0.0.1:0"], tokens=tokens)
        async with (
            AsyncClient(server.addresses[0], token="whole") as owner,
            AsyncClient(server.addresses[0], token="limited") as limited,
        ):
            await fill(owner, "here", "there")
            await owner.set_channel_settings("there", sharing=BOTH)
            with pytest.raises(BackscrollError) as refused:
                await limited.set_channel_settings("here", sharing=BOTH)
            assert refused.value.reason == "NOT_ALLOWED"
            assert refused.value.field == "settings.sharing.groups"
            await limited.set_channel_settings("here", sharing={"reads_from": ["there"]})
            assert shared(await ask(limited)) == {}
            await owner.set_channel_settings("here", sharing=BOTH)
            assert shared(await ask(limited)) == {"there2": "there"}
            more = {**BOTH, "max_messages": 1}  # joined already
            await limited.set_channel_settings("here", sharing=more)
        await server.stop()


@pytest.mark.row("S5-44")
async def test_calls_of_tools_are_not_shared():
    """What was said with a call is part of it."""
    async with served() as (client, _):
        await fill(client, "here")
        for channel in ("here", "there"):
            await client.set_channel_settings(channel, sharing=BOTH)
        said, at = "the router manual lies in room one", NOON - 2 * HOUR
        call = ToolCall("c1", "look", "{}")
        await client.append("there", Message("call", BEN, said, at, parts=[call]))
        assert shared(await ask(client)) == {}
        await client.append("there", Message("open", BEN, said, at))
        assert set(shared(await ask(client))) == {"open"}


@pytest.mark.row("S5-44")
async def test_copies_take_no_place():
    """What one person says in several channels is one line of those that are wanted."""
    async with served() as (client, _):
        await fill(client, "here")
        for channel in ("here", "a", "b", "c"):
            await client.set_channel_settings(channel, sharing={**BOTH, "max_messages": 2})
        said = [
            ("a", "the router manual"),
            ("b", " the router manual"),
            ("c", "a router manual for all of us"),
        ]
        for channel, text in said:
            await client.append(channel, Message(f"{channel}1", BEN, text, NOON - HOUR))
        assert set(shared(await ask(client))) == {"a1", "c1"}


@pytest.mark.injects_fault
@pytest.mark.row("S5-44")
async def test_what_is_recalled_while_it_is_looked_for_is_not_shared(monkeypatch):
    """A line is shown as it is stored then, not as it was found."""
    async with served() as (client, app):
        await fill(client, "here", "there")
        for channel in ("here", "there"):
            await client.set_channel_settings(channel, sharing=BOTH)
        read = app.store.get_messages

        async def after_a_recall(key, ids):
            if "there2" in ids and key.channel == "there":
                monkeypatch.setattr(app.store, "get_messages", read)
                await client.recall_message("there", "there2")
            return await read(key, ids)

        monkeypatch.setattr(app.store, "get_messages", after_a_recall)
        assert shared(await ask(client)) == {}
        assert app.store.get_messages == read
