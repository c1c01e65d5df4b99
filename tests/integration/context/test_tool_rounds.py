"""P-10: a tool call and its results are taken or left together; orphans are repaired or dropped, as configured."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import AsyncClient, Author, Message, ToolCall, ToolResult
from backscroll_sidecar.context.rounds import OrphanCalls
from backscroll_sidecar.context.settings import ContextSettings
from backscroll_sidecar.domain import Role, TextPart, ToolCallPart, ToolResultPart
from tests.kit.chats import BOT, MINUTE_MS, say
from tests.kit.rooms import Room, fates, ids, ids_by_rank
from tests.kit.served import served

DROP = ContextSettings(orphan_calls=OrphanCalls.DROP)


def call(id: str, *calls: str, ago: int, text: str = ""):
    parts = (*((TextPart(text),) if text else ()), *(ToolCallPart(c, f"tool-{c}") for c in calls))
    return say(id, BOT, ago_ms=ago * MINUTE_MS, parts=parts)


def result(id: str, call_id: str, *, ago: int, text: str = "42"):
    part = ToolResultPart(call_id, f"tool-{call_id}", text)
    return say(id, BOT, ago_ms=ago * MINUTE_MS, parts=(part,), role=Role.TOOL)


def talk(*between, ago: int = 20):
    """Ten plain lines, then what is given."""
    lines = [
        say(f"m{n}", text=f"line number {n}", ago_ms=(ago + 20 - n) * MINUTE_MS) for n in range(10)
    ]
    return [*lines, *between]


ROUND = (call("c", "a", "b", ago=9), result("ra", "a", ago=8), result("rb", "b", ago=7))
ROUND_IDS = {"c", "ra", "rb"}


@pytest.mark.parametrize(
    "profile", ["balanced", "chain_recent", "room", "naive", "classic", "retrieval"]
)
@pytest.mark.parametrize("maximum", range(1, 8))
def test_a_round_is_never_cut(profile: str, maximum: int):
    """P-10: whatever the maximum, all three messages of a round are in the context or none of them is."""
    room = Room([*talk(), *ROUND, say("late", text="and now?", ago_ms=MINUTE_MS)])
    overrides = {"max_context": maximum, "recent_limit": maximum, "relevance_threshold": 0.0}
    built = room.build_now(
        "what did tool-b say?", profile=profile, overrides=overrides, explain=True
    )
    taken = ROUND_IDS & set(ids(built))
    assert taken in (set(), ROUND_IDS)
    assert len(built.items) <= maximum


def test_what_a_source_lacks_of_a_round_is_added():
    """P-10: only the last result is among the newest two; its call and the other result come with it."""
    room = Room([*talk(), *ROUND, say("late", text="and now?", ago_ms=MINUTE_MS)])
    built = room.build_now(profile="room", overrides={"recent_limit": 2}, explain=True)
    assert ids(built) == ["c", "ra", "rb", "late"]
    assert set(fates(built)) == {"c", "ra", "rb", "late"}


@pytest.mark.parametrize("budget", range(40, 220, 6))
def test_a_budget_takes_or_leaves_whole_rounds(budget: int):
    """P-10, law 3: a round that does not fit is left out whole, and what follows it may still fit."""
    room = Room(
        [
            *talk(),
            call("c", "a", ago=9, text="let me see"),
            result("ra", "a", ago=8, text="sun " * 30),
        ]
    )
    built = room.build_now(profile="room", token_budget=budget, explain=True)
    assert {"c", "ra"} & set(ids(built)) in (set(), {"c", "ra"})
    assert built.tokens.total <= budget


def test_a_round_that_could_never_fit_makes_room_for_the_next():
    """P-10: a round of three in a maximum of two is passed over."""
    room = Room([*talk(), *ROUND, say("late", ago_ms=MINUTE_MS)], settings=ContextSettings())
    built = room.build_now(profile="naive", overrides={"max_context": 2, "recent_limit": 3})
    assert ids(built) == ["late"]


def test_a_call_without_result_gets_a_synthetic_one():
    """P-10: by default the call stays and says that there is no result; nothing else changes."""
    built = Room([*talk(), call("c", "a", "b", ago=9), result("ra", "a", ago=8)]).build_now(
        profile="room"
    )
    (asked,) = [m for m in built.messages if m.message_ids == ("c",)]
    assert asked.content == "[call tool-a {}]\n[call tool-b {}]\n[result tool-b: none]"
    assert {"c", "ra"} <= set(ids(built))


def test_a_call_without_result_is_dropped_when_so_configured():
    """P-10: the call goes, and with it the results of its other calls; explain says so."""
    lines = [*talk(), call("c", "a", "b", ago=9), result("ra", "a", ago=8)]
    built = Room(lines, settings=DROP).build_now(profile="room", explain=True)
    assert {"c", "ra"} & set(ids(built)) == set()
    assert {fates(built)[id] for id in ("c", "ra")} == {"visibility"}


@pytest.mark.parametrize("settings", [ContextSettings(), DROP])
def test_a_result_without_its_call_is_dropped(settings: ContextSettings):
    """P-10: there is nothing it would answer."""
    built = Room([*talk(), result("ra", "a", ago=8)], settings=settings).build_now(profile="room")
    assert "ra" not in ids(built)


def test_a_question_between_call_and_result():
    """P-10: what was answered after the question has no result yet."""
    built = Room([*talk(), *ROUND]).build_now(profile="room", asked_at_ms=ROUND[0].sent_at_ms + 1)
    assert "c" in ids(built)
    assert "[result tool-a: none]" in built.text


def test_ids_that_count_from_one_again():
    """P-10: a local server that calls everything call_0 has rounds of their own, not one large one."""
    rounds = [
        one
        for n in range(5)
        for one in (
            call(f"c{n}", "call_0", ago=15 - 2 * n),
            result(f"r{n}", "call_0", ago=14 - 2 * n),
        )
    ]
    built = Room(rounds).build_now(profile="room", overrides={"max_context": 4, "recent_limit": 4})
    assert ids(built) == ["c3", "r3", "c4", "r4"]


async def test_a_recalled_result_makes_an_orphan_over_the_wire():
    """P-10, through a server: after the recall the call has a synthetic result; after a restart the same."""
    async with served() as (client, _):
        await _round(client)
        assert "[result add: 4]" in (await _ask(client)).text
        await client.recall_message("room", "r")
        context = await _ask(client)
        assert "[call add {}]\n  [result add: none]" in context.text
        assert "r" not in [item.message.id for item in context.items]


async def test_dropped_by_a_setting_of_the_server():
    """P-10: BACKSCROLL_ORPHAN_CALLS=drop."""
    async with served(orphan_calls="drop") as (client, _):
        await _round(client)
        await client.recall_message("room", "r")
        assert [item.message.id for item in (await _ask(client)).items] == ["q"]


async def _round(client: AsyncClient) -> None:
    bot = Author("bot", "Helper", "bot")
    at = 1_795_176_000_000
    report = await client.append(
        "room",
        [
            Message("q", "u1", "two and two?", at),
            Message("c", bot, sent_at=at + 1, parts=[ToolCall("call-1", "add")], role="assistant"),
            Message(
                "r", bot, sent_at=at + 2, parts=[ToolResult("call-1", "4", "add")], role="tool"
            ),
        ],
    )
    assert report.stored == 3


async def _ask(client: AsyncClient):
    return await client.build_context(
        "room",
        "and?",
        asker="u1",
        asked_at=1_795_176_060_000,
        layout="context_and_question",
        profile="room",
    )


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_rounds_of_any_chat_stay_whole(data: st.DataObject):
    """P-10: any mix of lines, calls and results, any maximum and budget: a call that is shown has its results with
    it, and no result stands alone; a smaller maximum is a prefix but for rounds that could never fit."""
    lines, made = [], {}
    for n in range(data.draw(st.integers(1, 14))):
        kind = data.draw(st.sampled_from(["say", "say", "call", "result"]))
        if kind == "call":
            made[f"k{n}"] = f"m{n}"
            lines.append(call(f"m{n}", f"k{n}", ago=40 - n))
        elif kind == "result" and made:
            key = data.draw(st.sampled_from(sorted(made)))
            lines.append(result(f"m{n}", key, ago=40 - n))
        else:
            lines.append(say(f"m{n}", text=f"words {n}", ago_ms=(40 - n) * MINUTE_MS))
    maximum = data.draw(st.integers(1, 10))
    room = Room(lines)
    built = room.build_now(profile="balanced", overrides={"max_context": maximum}, explain=True)
    shown = set(ids_by_rank(built))
    for line in lines:
        for part in line.parts:
            if isinstance(part, ToolResultPart):
                assert (line.id in shown) == (made[part.call_id] in shown)
