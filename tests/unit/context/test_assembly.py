"""Answers put together of rendered lines, by example; `tests/property/test_assembly.py` has the rule."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from backscroll_sidecar.channels import line_cache
from backscroll_sidecar.context import rendered_lines
from backscroll_sidecar.context.model import BuildRequest, SystemPrompt
from backscroll_sidecar.context.rendered_lines import MOST_KEPT_CHARS
from backscroll_sidecar.domain import Author, Category, Overrides, Role, SpeakerStyle, TimeStyle
from backscroll_sidecar.edge.convert.codec import WireCodec
from backscroll_sidecar.errors import BudgetTooSmall
from backscroll_sidecar.strategies import Messages
from tests.kit.chats import ANN, BEN, BOT, CAT, DAY_MS, HOUR_MS, KEY, NOON_MS, say
from tests.kit.rooms import Fixed, Room
from tests.property.test_assembly import Talk, answer_of

LINES = [
    say("m1", BEN, "the train\nis late", 3_000),
    say("m2", BOT, 'so "late"?', 2_000, role=Role.ASSISTANT),
    say("m3", ANN, "猫 is here", 1_000),
]


def asked(question: str = "when?", **fields: Any) -> BuildRequest:
    """Ann's question at noon."""
    given = {"asked_at_ms": NOON_MS, "self_ids": ("bot",), "profile": "room", **fields}
    return BuildRequest(KEY, question, ANN, **given)


async def test_a_near_answer():
    """Law 2: two people, the bot, a line break and a quote: each message of its own, the question last."""
    response = await Talk.of(LINES).check(asked(model="m", system=SystemPrompt("Be kind.")))
    assert response.text == (
        "Conversation (recent):\n"
        "Ben <u2>: the train\n  is late\n"
        'Assistant: so "late"?\n'
        "Ann <u1>: 猫 is here"
    )
    (payload,) = response.payloads
    assert payload.body.decode() == (
        '{"model":"m","messages":['
        '{"role":"system","content":"Be kind."},'
        '{"role":"user","content":"Ben <u2>: the train\\n  is late"},'
        '{"role":"assistant","content":"so \\"late\\"?"},'
        '{"role":"user","content":"Ann <u1>: 猫 is here"},'
        '{"role":"user","content":"Ann <u1>: when?"}]}'
    )
    assert [list(one.message_ids) for one in response.messages] == [["m1"], ["m2"], ["m3"], []]
    assert [(item.message.id, item.rank) for item in response.items] == [
        ("m1", 3), ("m2", 2), ("m3", 1),
    ]  # fmt: skip
    tokens = response.tokens
    assert (tokens.system, tokens.framing, tokens.semantic) == (7, 3, 0)
    assert tokens.total == tokens.system + tokens.recent + tokens.question + tokens.framing
    assert response.stable_prefix_tokens == 7


async def test_an_answer_with_references_and_dated_lines():
    """Law 2: what is older than a day has its date in the asker's time zone, as a message and as a reference; the
    references stand in one message, in time order."""
    old = [
        say("a", "u9", "the key is\nunder the mat", 40 * DAY_MS),
        say("b", BEN, "/ is a slash", 30 * DAY_MS),
        say("c", CAT, "after dawn", 25 * HOUR_MS),
    ]
    far = Fixed("semantic", Messages(Category.SEMANTIC, message_ids=("b", "a")))
    talk = Talk.of([*old, *LINES], strategies=(far,))
    request = asked(
        profile="retrieval", time_zone="Pacific/Kiritimati", overrides=Overrides(recent_limit=4)
    )
    response = await talk.check(request)
    reference = (
        "Relevant reference (semantic):\n"
        "[2026-10-12] <u9>: the key is\n  under the mat\n"
        "[2026-10-22] Ben <u2>: / is a slash"
    )
    assert response.text == (
        "Conversation (recent):\n"
        "[2026-11-20] Cat <u3>: after dawn\n"
        "Ben <u2>: the train\n  is late\n"
        'Assistant: so "late"?\n'
        "Ann <u1>: 猫 is here\n\n" + reference
    )
    contents = [one["content"] for one in json.loads(response.payloads[0].body)["messages"]]
    assert contents[1:] == [
        "[2026-11-20] Cat <u3>: after dawn",
        "Ben <u2>: the train\n  is late",
        'so "late"?',
        "Ann <u1>: 猫 is here",
        reference,
        "Ann <u1>: when?",
    ]
    assert list(response.messages[-2].message_ids) == ["a", "b"]
    assert response.tokens.semantic > 0


async def test_a_line_is_dated_once_it_is_a_day_old():
    """Law 2: the table has a message with and without its date; which one, the question's time says, and which date,
    the time zone."""
    talk = Talk.of([say("m1", BEN, "hello", 0)])
    for age_ms, mark in ((DAY_MS, ""), (DAY_MS + 1, "[2026-11-20] "), (DAY_MS, "")):
        response = await talk.check(asked(asked_at_ms=NOON_MS + age_ms))
        assert response.messages[0].content == f"{mark}Ben <u2>: hello"
    for zone, day in (("UTC", "20"), ("Pacific/Kiritimati", "21"), ("UTC", "20")):
        response = await talk.check(asked(time_zone=zone, asked_at_ms=NOON_MS + 2 * DAY_MS))
        assert response.messages[0].content == f"[2026-11-{day}] Ben <u2>: hello"
    response = await talk.check(asked(time_style=TimeStyle.ISO_DATE))
    assert response.messages[0].content == "[2026-11-20] Ben <u2>: hello"
    response = await talk.check(asked(time_style=TimeStyle.NONE, asked_at_ms=NOON_MS + 9 * DAY_MS))
    assert response.messages[0].content == "Ben <u2>: hello"


async def test_what_does_not_fit_is_cut():
    """Law 3: a budget that holds not all is met, by cutting; one that does not hold the question is refused."""
    talk = Talk.of(LINES)
    whole = await talk.check(asked())
    cut = await talk.check(asked(token_budget=whole.tokens.total - 1))
    assert len(cut.items) == 2
    assert cut.tokens.total < whole.tokens.total
    assert cut.events[-1].type == "context.compressed"
    for budget in (1, 12):
        assert await talk.check(asked(token_budget=budget)) is None
        with pytest.raises(BudgetTooSmall):
            await answer_of(talk.room, asked(token_budget=budget))


async def test_a_full_table_begins_anew(monkeypatch):
    """Law 2: when what is kept of a channel is too much, it is forgotten, and answers stay right."""
    monkeypatch.setattr(line_cache, "MAX_TABLE_BYTES", 400_000)
    talk = Talk.of([say(f"m{n:03}", f"u{n % 3 + 1}", f"{n} " + "fish " * 50, 300_000 - n * 1_000)
                    for n in range(250)])  # fmt: skip
    sizes = []
    for n in range(10, 250, 5):
        response = await talk.check(asked(asked_at_ms=NOON_MS - 300_000 + n * 1_000))
        assert response.items[-1].message.id == f"m{n:03}"
        sizes.append(talk.room.channels.hot_view(KEY).lines.nbytes)
    assert any(after < before for before, after in pairwise(sizes))
    assert max(sizes) <= 800_000


async def test_long_lines_are_not_kept():
    """Law 2: messages that are more than a channel may keep are rendered each time, and right."""
    talk = Talk.of([say(f"m{n}", BEN, f"{n}" + "x" * 60_000, 60_000 - n) for n in range(16)])
    response = await talk.check(asked(token_budget=1_000_000))
    assert len(response.items) == 16
    assert talk.room.channels.hot_view(KEY).lines.nbytes < 200_000


@pytest.mark.parametrize("far", [False, True])
async def test_changes_are_seen_at_once(far):
    """Law 1: nor is a recalled message shown, nor an edited one as it was, nor anybody by a former name."""
    ids = ("m1", "m2", "m3") if far else ()
    strategy = Fixed("semantic", Messages(Category.SEMANTIC, message_ids=ids))
    talk = Talk.of([*LINES, say("m4", BEN, "/", 500)], strategies=(strategy,))
    request = asked(profile="retrieval", overrides=Overrides(recent_limit=1 if far else 10))
    before = await talk.check(request)
    assert "the train" in before.text

    talk.edit("m1", "the bus")
    edited = await talk.check(request)
    assert "the train" not in str(edited)
    assert "Ben <u2>: the bus" in edited.text

    talk.rename("u2", "Benjamin")
    renamed = await talk.check(request)
    assert "Benjamin <u2>: the bus" in renamed.text
    assert "Ben <" not in str(renamed)

    talk.recall("m1")
    recalled = await talk.check(request)
    assert "the bus" not in str(recalled)
    assert "m1" not in [item.message.id for item in recalled.items]

    talk.append(say("m5", BEN, "/new", 100))
    assert "Benjamin <u2>: /new" in (await talk.check(request)).text


async def test_a_build_that_began_before_a_change_brings_nothing_back():
    """Law 1: it reads the channel as it was, and what it writes is not seen by the builds to come."""

    class Provider:
        def __init__(self, room: Room) -> None:
            self.room, self.kept = room, None

        def hot_view(self, key):
            return self.kept or self.room.channels.hot_view(key)

        def __getattr__(self, name):
            return getattr(self.room.channels, name)

    talk = Talk.of(LINES)
    provider = Provider(talk.room)
    talk.room.builder.opening.views = provider
    await talk.room.channels.view(KEY)
    provider.kept = talk.room.channels.hot_view(KEY)
    talk.edit("m1", "the bus")
    assert "the train" in (await answer_of(talk.room, asked())).text
    provider.kept = None
    assert "the train" not in (await talk.check(asked())).text


@pytest.mark.parametrize("text", ["/", "/start", "a\n/b", "\n/"])
@pytest.mark.parametrize("style", SpeakerStyle)
async def test_slashes_at_the_beginning(text, style):
    """Law 3: only a line that begins with a slash may count less behind another one: a reference of somebody whose
    name does so is counted where it stands; other slashes are nothing special."""
    lines = [say("s", Author("u8", "/slash"), text, 9_000), say("t", BEN, text, 8_000), *LINES]
    request = asked(speaker_style=style)
    response = await Talk.of(lines).check(request)
    shown = text.replace("\n", "\n  ") if style is SpeakerStyle.TAGGED else text
    assert response.messages[0].content.endswith(shown)

    for ids in (("t",), ("s", "t")):
        far = Fixed("semantic", Messages(Category.SEMANTIC, message_ids=ids))
        request = asked(
            speaker_style=style, profile="retrieval", overrides=Overrides(recent_limit=3)
        )
        response = await Talk.of(lines, strategies=(far,)).check(request)
        assert list(response.messages[-2].message_ids) == list(ids)


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("far", [False, True])
async def test_a_rename_while_lines_are_rendered(far, before):
    """Nobody has two names in one answer, nor a former one in the next."""
    lines = [say(f"m{n}", BEN, f"line {n}", 100_000 - n) for n in range(40)]
    talk = Talk.of([*lines, say("last", CAT, "x" * (MOST_KEPT_CHARS + 9 if far else 5), 1_000)])
    request = asked(overrides=Overrides(max_context=60, recent_limit=60), token_budget=9_000)
    await talk.room.channels.view(KEY)
    few = Overrides(max_context=10, recent_limit=10)
    await answer_of(talk.room, replace(request, overrides=few))  # some are rendered already
    real, renamed = rendered_lines.run, []

    async def slowly(cost_us: float, work: Any) -> Any:
        done = await real(cost_us, work) if not before else None
        if not renamed:
            renamed.append(cost_us)
            talk.rename("u2", "Bo")
        return done if done is not None else await real(cost_us, work)

    with patch.object(rendered_lines, "run", slowly):
        first = await answer_of(talk.room, request)
    assert renamed
    for response in (first, await talk.check(request)):
        shown = [one.content for one in response.messages if "<u2>" in one.content]
        assert {content.partition(" <u2>")[0] for content in shown} == {"Bo"}


async def test_over_all_channels():
    """S1-03: of two messages of one id and number in two channels each is shown as what it is."""
    here, there = say("m1", ANN, "here", 2_000), say("m1", ANN, "there", 1_000)
    room = Room([here, replace(there, channel="elsewhere")], codec=WireCodec(), hot=False)
    request = replace(asked(), key=KEY._replace(channel=""))
    contents = [one.content for one in (await answer_of(room, request)).messages]
    assert contents == ["here", "there", "when?"]
