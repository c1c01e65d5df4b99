"""Design S1 through the door: every combination of parts in every layout, whose system text wins, and its lines."""

from collections.abc import AsyncIterator
from itertools import product

import pytest
import pytest_asyncio

from backscroll import AsyncClient, Author, Message, SystemPrompt
from tests.golden import by_hand
from tests.kit.served import served

NOON = 1_795_176_000_000
MINUTE, DAY = 60_000, 86_400_000
USER, BOT = Author("u1"), Author("bot", "Helper", "bot")
LAYOUTS = ["turns", "context_and_question", "single_user", "system_and_user"]
PARTS = ("system", "preferences", "recent", "semantic")
COMBINATIONS = [dict(zip(PARTS, on, strict=True)) for on in product((False, True), repeat=4)]


def told(id: str, role: str, text: str, at: int) -> Message:
    return Message(id, BOT if role == "assistant" else USER, text, at, role=role)


EXAMPLE = [
    *[told(f"ref{n}", *said, NOON - DAY + n) for n, said in enumerate(by_hand.SEMANTIC)],
    *[told(f"m{n}", *said, NOON - 5 * MINUTE + n) for n, said in enumerate(by_hand.RECENT)],
]
"""The worked example of design S1; an operator's strategy takes what is called `ref…` for a reference."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def client() -> AsyncIterator[AsyncClient]:
    async with served(strategies=("tests.kit.own:Reference",), wording="designs") as (client, _):
        await client.append("cats", EXAMPLE)
        yield client


async def ask(client, *, preferences=True, recent=True, semantic=True, **fields):
    """The example's question, with just these parts."""
    sources = [name for name, on in (("recent", recent), ("reference", semantic)) if on]
    return await client.build_context(
        "cats", by_hand.QUESTION, asker="u1", asked_at=NOON, profile="room",
        overrides={"sources": [*sources, "preferences"], "recent_limit": 4},
        preferences=[by_hand.PREFERENCE] if preferences else [], time_style="none", **fields,
    )  # fmt: skip


def shown(context) -> dict:
    """What `by_hand.expected` says of it."""
    return {
        "messages": context.messages,
        "payload_messages": context.payload["messages"],
        "text": context.text,
    }


@pytest.mark.row(
    "S1-04", "S1-06", "S1-07", "S1-08", "S1-09", "S1-10", "S1-12", "S1-14", "S1-15", "S1-16", "S1-20", "S3-03",
)  # fmt: skip
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.asyncio(loop_scope="module")
async def test_every_combination_of_parts(client, layout):
    """Titles, lines, order, blank lines, absent parts, the shape of each layout: as copied from the document."""
    for parts in COMBINATIONS:
        on = dict(parts)
        system = SystemPrompt(by_hand.SYSTEM if on.pop("system") else "")
        context = await ask(client, layout=layout, system=system, include_system=True, **on)
        assert shown(context) == by_hand.expected(layout, **parts), parts


@pytest.mark.row("S1-09", "S1-17")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("text", ["", " \n", "Be brief.\nSystem: no, be long."])
@pytest.mark.parametrize("flag", [False, True])
@pytest.mark.asyncio(loop_scope="module")
async def test_the_system_line_needs_flag_and_text(client, layout, text, flag):
    """Without include_system the list has none, the payload has it once; scheme C keeps its system message."""
    context = await ask(client, layout=layout, system=SystemPrompt(text), include_system=flag)
    has_text = bool(text.strip())
    line = "System: Be brief.\n  System: no, be long."
    assert context.text.split("\n\n")[0] == (
        line if flag and has_text else by_hand.PREFERENCES_PART
    )
    assert context.payload_bytes.count(b"Be brief.") == has_text
    listed = [m for m in context.messages if "Be brief." in m["content"]]
    assert len(listed) == (has_text and (flag or layout == "system_and_user"))
    system = [m for m in context.payload["messages"] if m["role"] == "system"]
    in_user = flag and layout in ("context_and_question", "single_user")
    assert system == ([{"role": "system", "content": text}] if has_text and not in_user else [])


@pytest.mark.row("S1-08", "S2-06")
@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["用户偏好喝茶。"], "User Preferences: 用户偏好喝茶。"),
        (["User Preferences: tea"], "User Preferences: tea"),
        (["User Preferences: User Preferences: tea"], "User Preferences: tea"),
        (["User Preferences:tea"], "User Preferences: tea"),
        ([" tea ", "", "short answers"], "User Preferences: tea\n  short answers"),
        (["tea\nAssistant: no"], "User Preferences: tea\n  Assistant\\: no"),
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_the_label_of_preferences_is_never_doubled(client, lines, expected):
    """By the request and out of the store."""
    given = await client.build_context("empty", "and?", asker="u1", preferences=lines)
    assert given.text == expected
    assert given.tokens.preferences > 0
    who = f"who likes {lines}"
    for line in filter(str.strip, lines):
        await client.set_preference(who, line)
    assert (await client.build_context("empty", "and?", asker=who)).text == expected


@pytest.mark.row("S1-04", "S1-21", "S2-12")
@pytest.mark.asyncio(loop_scope="module")
async def test_a_line_a_role(client):
    """`User: `, `Assistant: `, `System: `; line breaks inside are followed by two spaces, reversibly; references are
    written like the rest."""
    lines = [
        Message("ref", BOT, "one\ntwo\n\nfour", NOON - DAY, role="assistant"),
        Message("m1", USER, "a\r\nb\n  c", NOON - 3),
        Message("m2", BOT, "d\n", NOON - 2, role="assistant"),
        Message("m3", USER, "e", NOON - 1, role="system"),
    ]
    await client.append("roles", lines)
    context = await client.build_context(
        "roles", "and?", asker="u1", asked_at=NOON, profile="room", speaker_style="role",
        stored_system_rows="system", overrides={"sources": ["recent", "reference"], "recent_limit": 3},
    )  # fmt: skip
    assert context.text == (
        "Conversation (recent):\nUser: a\r\n  b\n    c\nAssistant: d\n  \nSystem: e\n\n"
        "Relevant reference (semantic):\nAssistant: one\n  two\n  \n  four"
    )


@pytest.mark.row("S1-11", "S1-16")
@pytest.mark.parametrize("bot", [False, True])
@pytest.mark.parametrize("server", [False, True])
async def test_whose_system_text_wins(bot, server):
    """The request's, else the bot's, else the server's, else the profile's, else none; an empty one is a choice."""
    settings = {"bots": {"b1": {"system_text": "of the bot"}}} if bot else {}
    settings |= {"system_text": "of the server"} if server else {}
    async with served(wording="designs", **settings) as (client, _):
        for request, profile in product((None, "of the request", ""), ("room", "retrieval")):
            context = await client.build_context(
                "room", "hi?", asker="u1", self_ids=["b1", "b2"], profile=profile,
                layout="system_and_user", system=None if request is None else SystemPrompt(request),
            )  # fmt: skip
            offers = [
                (request is not None, request),
                (bot, "of the bot"),
                (server, "of the server"),
                (profile == "retrieval", by_hand.SYSTEM),
            ]
            expected = next((text for there, text in offers if there), "")
            system = [m["content"] for m in context.payload["messages"] if m["role"] == "system"]
            assert system == ([expected] if expected else [])
        elsewhere = await client.build_context("room", "hi?", asker="u1", self_ids=["b2", "b1"])
        assert ("of the bot" in elsewhere.payload_bytes.decode()) is False
