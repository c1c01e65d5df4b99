"""What a bot gets from BuildContext, through the client and a real socket: contents, layouts, budget, roles."""

import re
from datetime import UTC, datetime

import pytest

from backscroll import Author, InvalidRequest, Media, Member, Message, NotFound, SystemPrompt
from backscroll.v1 import context_pb2, message_pb2
from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.domain import TokenizerName
from backscroll_sidecar.ports import UsageQuery
from tests.golden import by_hand
from tests.kit.lines import parse_lines
from tests.kit.served import served
from tests.property.chats import FORGED_NAMES, FORGERIES

COUNT = token_counter(TokenizerName.O200K).count
NOON = 1_795_176_000_000
ANN, BEN, BOT = Author("u1", "Ann"), Author("u2", "Ben"), Author("bot", "Helper", "bot")


def line(n: int, author: Author, text: str, **fields) -> Message:
    role = "assistant" if author is BOT else fields.pop("role", "user")
    return Message(f"m{n}", author, text, NOON - 60_000 + n, role=role, **fields)


async def ask(client, question: str = "what now?", channel: str = "room", **fields):
    fields.setdefault("asker", ANN)
    fields.setdefault("asked_at", NOON)
    return await client.build_context(channel, question, **fields)


def ids(context) -> list[str]:
    return [item.message.id for item in context.items]


@pytest.mark.row("S1-01", "S1-05")
async def test_stored_is_what_was_sent(client):
    """S1-01, S1-05: role and content come back as written, multi-line and emoji too, each with category and source."""
    texts = ["one\ntwo\r\nthree", "👨‍👩‍👧 e\u0301", "  spaces  ", "System: no"]
    await client.append("room", [line(n, (ANN, BOT)[n % 2], text) for n, text in enumerate(texts)])
    context = await ask(client, profile="room")
    assert [item.message.parts[0].text.text for item in context.items] == texts
    assert [item.role for item in context.items] == [
        message_pb2.ROLE_USER,
        message_pb2.ROLE_ASSISTANT,
    ] * 2
    for item in context.items:
        assert item.category == context_pb2.CATEGORY_RECENT
        assert list(item.sources) == [context_pb2.SOURCE_RECENT]


@pytest.mark.row("S1-02", "S1-03", "S2-03")
async def test_recent_by_conversation_and_by_user(client):
    """S1-02, S1-03, S2-03: the last 3 of 5 oldest first; one user's across channels; neither known: empty."""
    await client.append("room", [line(n, (ANN, BEN)[n % 2], f"line {n}") for n in range(5)])
    await client.append("cellar", [line(9, ANN, "down here")])
    three = {"recent_limit": 3}
    assert ids(await ask(client, profile="room", overrides=three)) == ["m2", "m3", "m4"]
    assert ids(await ask(client, profile="room", overrides=three, asker=None)) == ["m2", "m3", "m4"]
    assert ids(await ask(client, channel="", profile="room", overrides=three)) == ["m2", "m4", "m9"]
    unknown = await ask(client, channel="attic")
    assert (ids(unknown), unknown.raw.channel_known) == ([], False)


@pytest.mark.row("S1-12", "S1-13", "S1-18", "S1-20", "S1-22")
async def test_the_worked_example():
    """S1-12, S1-13, S1-18, S1-20, S1-22: with no layout asked for, turns with stored roles; text and list agree; the
    payload has role and content only."""
    lines = [Message(f"m{n}", {"user": ANN, "assistant": BOT}[role], text, NOON - 60_000 + n, role=role)
             for n, (role, text) in enumerate(by_hand.RECENT)]  # fmt: skip
    async with served(wording="designs") as (client, _):
        await client.append("room", lines)
        request = {"profile": "room", "preferences": [by_hand.PREFERENCE]}
        context = await ask(client, by_hand.QUESTION, **request)
    parts = {"system": False, "preferences": True, "recent": True, "semantic": False}
    expected = by_hand.expected("turns", **parts)
    assert context.payload == {"model": "gpt-4o-mini", "messages": expected["payload_messages"]}
    assert (context.messages, context.text) == (expected["messages"], expected["text"])
    assert context.raw.layout == context_pb2.LAYOUT_TURNS
    assert context.raw.speaker_style == context_pb2.SPEAKER_STYLE_ROLE


@pytest.mark.row("N-07", "S1-21")
async def test_the_forging_corpus(client):
    """N-07, S1-21, law 4: every text and every name that tries to be somebody else, over the wire: 0 successes."""
    authors = [Author(f"u{n}", name) for n, name in enumerate(FORGED_NAMES)]
    lines = [line(n, authors[n % len(authors)], text) for n, text in enumerate(FORGERIES * 2)]
    report = await client.append("room", lines)
    assert not report.problems
    for style in ("role", "tagged"):
        for layout in ("turns", "single_user"):
            context = await ask(client, profile="room", layout=layout, speaker_style=style, token_budget=50_000,
                                overrides={"max_context": 100, "recent_limit": 100})  # fmt: skip
            stored = [
                (m.id, m.author.id, m.parts[0].text.text)
                for m in (i.message for i in context.items)
            ]
            assert [id for id, _, _ in stored] == [one.id for one in lines]
            parsed = parse_lines(context.text)
            assert [p.text for p in parsed] == [text for _, _, text in stored]
            if style == "tagged":
                assert [p.author_id for p in parsed] == [author for _, author, _ in stored]
            assert {message["role"] for message in context.payload["messages"]} == {"user"}


@pytest.mark.row("P-02", "P-25", "S2-08")
async def test_the_budget(client):
    """Law 3, S2-08, P-02, P-25: the total of all parts is at most the budget; too little names the least that would do,
    which does."""
    await client.append(
        "room", [line(n, ANN, f"line {n} with some words in it") for n in range(50)]
    )
    request = {"profile": "room", "system": "Be kind.", "tools_json": "[{}]", "reserve_tokens": 50}
    context = await ask(client, token_budget=200, **request)
    tokens = context.tokens
    parts = [tokens.system, tokens.tools, tokens.preferences, tokens.recent, tokens.semantic, tokens.question,
             tokens.framing, tokens.reserve]  # fmt: skip
    assert sum(parts) == tokens.total <= 200 == tokens.budget
    assert 0 < len(context.items) < 20
    with pytest.raises(InvalidRequest) as refused:
        await ask(client, token_budget=20, **request)
    assert refused.value.reason == "BUDGET_TOO_SMALL"
    least = int(refused.value.metadata["least_tokens"])
    assert (await ask(client, token_budget=least, **request)).tokens.total == least
    with pytest.raises(InvalidRequest):
        await ask(client, token_budget=least - 1, **request)


@pytest.mark.row("S4-25")
async def test_the_trigger_is_not_history(client):
    """Law 3, S4-25: a stored question is excluded by id, or found by its text; unknown ids are told."""
    await client.append("room", [line(1, BEN, "hi"), line(2, ANN, "what now?")])
    for extra in ({"trigger_message_id": "m2"}, {}):
        context = await ask(client, profile="room", **extra)
        assert ids(context) == ["m1"]
        assert context.raw.trigger.id == "m2"
        assert sum("what now?" in m["content"] for m in context.payload["messages"]) == 1
    with pytest.raises(NotFound) as refused:
        await client.build_context("room", trigger_message_id="m3")
    assert refused.value.reason == "MESSAGE_NOT_FOUND"


@pytest.mark.row("P-23")
async def test_media_are_shown_and_found(client):
    """P-23: a picture with alt text is rendered as a mark and found by its words."""
    picture = Message(
        "pic", BEN, None, NOON - 7_200_000, parts=[Media("image", alt_text="a red bicycle")]
    )
    await client.append("room", [picture, line(1, BEN, "nothing of the sort")])
    context = await ask(client, "whose bicycle?", profile="classic", explain=True,
                        overrides={"relevance_threshold": 0.0}, speaker_style="role")  # fmt: skip
    assert "User: [image: a red bicycle]" in context.text
    overlap = list(context.explanation.factors).index("keyword_overlap")
    by_id = {c.message_id: c.shares[overlap] for c in context.explanation.candidates}
    assert by_id["pic"] > 0 == by_id["m1"]


@pytest.mark.row("P-24")
async def test_times_and_zones(client):
    """P-24: unset, lines older than 24 hours have their date, in the caller's zone."""
    await client.append("room", [
        Message("old", ANN, "old", datetime(2026, 11, 18, 17, tzinfo=UTC)), line(1, ANN, "new"),
    ])  # fmt: skip
    context = await ask(client, profile="room", time_zone="Asia/Shanghai")
    assert context.text == "Conversation (recent):\n[2026-11-19] User: old\nUser: new"
    relative = await ask(client, profile="room", time_style="relative")
    assert "[1 day ago] User: old" in relative.text
    with pytest.raises(InvalidRequest) as refused:
        await ask(client, time_zone="Mars/Olympus")
    assert refused.value.field == "time_zone"


@pytest.mark.row("P-24")
async def test_the_zone_of_a_server():
    """P-24: who names no zone has the server's, and a record says which it was."""
    async with served(time_zone="Asia/Shanghai") as (client, app):
        await client.append("room", [
            Message("old", ANN, "old", datetime(2026, 11, 18, 17, tzinfo=UTC)), line(1, ANN, "new"),
        ])  # fmt: skip
        context = await ask(client, profile="room")
        assert context.text == "Conversation (recent):\n[2026-11-19] User: old\nUser: new"
        await app.learning.recorder.flush()
        (kept,) = await app.store.usage_records("default", UsageQuery("room", limit=1))
        assert kept.record.asked_with.time_zone == "Asia/Shanghai"  # what a replay shows
        context = await ask(client, profile="room", time_zone="UTC")
        assert context.text == "Conversation (recent):\n[2026-11-18] User: old\nUser: new"


@pytest.mark.row("P-27")
async def test_renames(client):
    """P-27: a rename keeps mentions and speakers right, old and new; a late line under the old name renames nobody."""
    await client.append("room", [Message("m1", Author("u2", "Benny"), "I am Benny", NOON - 9_000)])
    await client.upsert_members("room", [Member("u2", "Benedict", aliases=["boss"])])
    await client.append("room", [Message("m2", Author("u2", "Benny"), "late", NOON - 20_000)])
    context = await ask(client, profile="room", speaker_style="tagged")
    assert context.text == "Conversation (recent):\nBenedict <u2>: late\nBenedict <u2>: I am Benny"
    for name in ("Benny", "Benedict", "boss"):
        context = await ask(client, f"@{name} where?", profile="classic", explain=True)
        column = list(context.explanation.factors).index("mention_relation")
        assert {c.shares[column] for c in context.explanation.candidates} == {0.075}


@pytest.mark.row("N-08")
async def test_edits_and_recalls(client):
    """N-08, law 7: an edited line is shown as it is now; a recalled one is gone and explained."""
    await client.append("room", [line(n, ANN, f"line {n}") for n in range(3)])
    await ask(client)
    await client.edit_message("room", "m1", text="corrected", edited_at=NOON - 1)
    await client.recall_message("room", "m2")
    context = await ask(client, profile="room", explain=True)
    assert context.text == "Conversation (recent):\nUser: line 0\nUser: corrected"
    fates = {c.message_id: c.fate for c in context.explanation.candidates}
    assert fates["m2"] == context_pb2.FATE_RECALLED
    assert fates["m1"] == context_pb2.FATE_SELECTED


@pytest.mark.row("N-07", "S1-12")
async def test_names_for_the_vendor(client):
    """N-07, S1-12: include_names puts reduced names into the payload's own field."""
    await client.append(
        "room", [line(1, Author("u5", "Bo Li"), "hi"), line(2, Author("u6", "小黑"), "ho")]
    )
    context = await ask(client, profile="room", include_names=True)
    first, second, asker = [m.get("name") for m in context.payload["messages"]]
    assert (first, asker) == ("Bo_Li", "Ann")
    assert re.fullmatch("u_[0-9a-f]{12}", second)
    await client.append(
        "room", [line(3, Author("u7", "小白"), "hey"), line(4, Author("u8", "Bo_Li"), "so")]
    )
    context = await ask(client, profile="room", include_names=True)
    names = [m.get("name") for m in context.payload["messages"]]
    assert names[1] == second
    assert len(set(names)) == 5
    assert names[0].startswith("u_")  # two people come to Bo_Li


@pytest.mark.row("P-02")
@pytest.mark.parametrize(
    "names", [["Ann", "Ben", "Cid", "Dan"], ["x" * 64] * 4, ["Al"] * 4, list("小黑白红")]
)
@pytest.mark.parametrize("budget", [400, 800])
async def test_names_take_what_they_take(client, names, budget):
    """P-02: the budget is filled with names, too, and held, whether they are short, long or several people's."""
    authors = [Author(f"u{n}", name) for n, name in enumerate(names)]
    await client.append("room", [line(n, authors[n % 4], f"well, number {n}") for n in range(100)])
    every = {"recent_limit": 100, "max_context": 100}
    built = await ask(
        client,
        profile="room",
        overrides=every,
        token_budget=budget,
        asker=authors[0],
        include_names=True,
    )
    assert 0 < built.tokens.total <= budget
    longest = max(item.token_count for item in built.items)
    roundings = 3 * len(built.items)  # text and speaker are counted apart
    assert budget - built.tokens.total < longest + roundings
    counted = 3 + sum(
        4 + COUNT(one["content"]) + (1 + COUNT(one["name"]) if "name" in one else 0)
        for one in built.payload["messages"]
    )
    assert counted == built.tokens.total


@pytest.mark.row("S1-11", "S5-51")
async def test_a_template(client):
    """S5-51, S1-11: a system text filled with parameters of the message."""
    prompt = SystemPrompt("You help {{asker_name}} with {{topic}}.", True, {"topic": "cats"})
    context = await ask(client, system=prompt)
    assert context.payload["messages"][0] == {
        "role": "system",
        "content": "You help Ann with cats.",
    }
    with pytest.raises(InvalidRequest) as refused:
        await ask(client, system=SystemPrompt("{{nobody}}", True))
    assert refused.value.field == "system.text"


@pytest.mark.row("S1-07", "S2-23")
async def test_a_strategy_of_the_operator():
    """S2-23, S1-07: a registered strategy is merged in its place and named."""
    async with served(strategies=("tests.kit.own:Reference",)) as (client, _):
        lines = [Message("ref1", BEN, "from the manual", NOON - 90_000), line(1, ANN, "hello")]
        await client.append("room", lines)
        context = await ask(
            client, profile="room", overrides={"recent_limit": 1}, speaker_style="role"
        )
        assert context.text == (
            "Conversation (recent):\nUser: hello\n\nRelevant reference (semantic):\nUser: from the manual"
        )
        (item,) = [item for item in context.items if item.message.id == "ref1"]
        assert (list(item.own_sources), list(item.sources)) == (
            ["reference"],
            [context_pb2.SOURCE_OWN],
        )


@pytest.mark.row("S5-23")
async def test_the_context_object(client):
    """S5-23: trigger, messages with their channel and scores, time, no summary yet."""
    await client.append("room", [line(1, BEN, "hi"), line(2, ANN, "and you?", reply_to="m1")])
    context = await client.build_context("room", trigger_message_id="m2", profile="classic")
    assert (context.raw.trigger.id, context.raw.trigger.author.name) == ("m2", "Ann")
    (item,) = context.items
    assert (item.message.channel, item.message.id, item.rank) == ("room", "m1", 1)
    assert 0.3 <= item.score <= 1
    assert (context.raw.asked_at_ms, context.raw.channel) == (NOON - 60_000 + 2, "room")
    assert not context.raw.HasField("summary")
    assert context.id


@pytest.mark.row("P-04")
async def test_only_what_the_asker_could_see(client):
    """P-04: with visible_since_membership what was said before the asker joined is left out, and told."""
    await client.append("room", [line(n, BEN, f"line {n}") for n in range(4)])
    await client.upsert_members("room", [Member("u1", "Ann", joined_at=NOON - 60_000 + 2)])
    for wanted, expected in ((False, ["m0", "m1", "m2", "m3"]), (True, ["m2", "m3"])):
        context = await ask(client, profile="room", visible_since_membership=wanted, explain=True)
        assert ids(context) == expected
    hidden = [
        c.message_id
        for c in context.explanation.candidates
        if c.fate == context_pb2.FATE_VISIBILITY
    ]
    assert hidden == ["m0", "m1"]


@pytest.mark.row("S2-17", "S3-08", "S3-18")
async def test_the_naive_profile_on_sqlite(tmp_path):
    """S2-17, S3-08, S3-18: another store, same answers: the latest 12, oldest first; each at most 4000
    characters."""
    async with served(tmp_path / "history.db") as (client, _):
        await client.append(
            "room", [line(n, ANN, f"line {n} " + "x" * (n * 200)) for n in range(30)]
        )
        context = await ask(client, profile="naive", token_budget=100_000)
        assert ids(context) == [f"m{n}" for n in range(18, 30)]
        assert [item.truncated for item in context.items] == [
            n * 200 + 8 > 4_000 for n in range(18, 30)
        ]
        assert max(len(m["content"]) for m in context.payload["messages"]) == 4_000


async def test_a_reply_to_what_is_not_stored_is_told(client):
    """Law 5: the edge is not used, and the answer says so."""
    await client.append("room", [line(1, BEN, "hi")])
    context = await client.build_context("room", "hello?", asker="u1", reply="nope")
    (lost,) = context.degradations
    assert (lost.stage, lost.reason) == ("question", "REPLY_NOT_FOUND")
    assert not (await client.build_context("room", "hello?", asker="u1", reply="m1")).degradations


async def test_a_trigger_that_is_not_stored_is_told(client):
    """Law 5: with a question the build goes on, and says what it could not use."""
    await client.append("room", [line(1, BEN, "hi")])
    context = await client.build_context("room", "hello?", asker="u1", trigger_message_id="nope")
    (lost,) = context.degradations
    assert (lost.stage, lost.reason) == ("question", "TRIGGER_NOT_FOUND")
    assert ids(context) == ["m1"]
