"""P-10: a tool call and its results are taken or left together; orphans are repaired or dropped, as configured."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll import AsyncClient, Author, Message, ProviderState, ToolCall, ToolResult
from backscroll_sidecar.context.profiles import ContextSettings
from backscroll_sidecar.context.tool_exchanges import OrphanCalls
from backscroll_sidecar.domain import (
    Layout,
    Role,
    SpeakerStyle,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from tests.kit.chats import BOT, MINUTE_MS, NOON_MS, say
from tests.kit.rooms import Room, fates, ids, ids_by_rank
from tests.kit.served import served
from tests.kit.vendors.rules import check

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
    "profile",
    ["balanced", "chain_recent", "room", "naive", "classic", "retrieval", "hybrid", "steady"],
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


@pytest.mark.row("P-10")
async def test_a_recalled_result_makes_an_orphan_over_the_wire(client):
    """P-10, through a server: after the recall the call has a synthetic result; after a restart the same."""
    await _round(client)
    assert "[result add: 4]" in (await _ask(client)).text
    await client.recall_message("room", "r")
    context = await _ask(client)
    assert "[call add {}]\n  [result add: none]" in context.text
    assert "r" not in [item.message.id for item in context.items]


@pytest.mark.row("P-10")
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


def mixed(id: str, *parts, ago: int):
    return say(id, BOT, ago_ms=ago * MINUTE_MS, parts=parts)


def made(call_id: str) -> ToolCallPart:
    return ToolCallPart(call_id, f"tool-{call_id}")


def answered(call_id: str) -> ToolResultPart:
    return ToolResultPart(call_id, f"tool-{call_id}", "42")


@pytest.mark.parametrize(
    "profile", ["balanced", "chain_recent", "room", "naive", "classic", "hybrid", "steady"]
)
@pytest.mark.parametrize("maximum", range(1, 7))
def test_rounds_that_hang_together_are_one(profile: str, maximum: int):
    """P-10: a message that answers one call and makes the next joins both rounds, whichever of them is newest."""
    chain = [
        mixed("c1", made("a"), ago=9),
        mixed("c2", answered("a"), made("b"), ago=8),
        mixed("r2", answered("b"), ago=7),
    ]
    both = [
        mixed("d1", made("x"), ago=6),
        mixed("d2", made("y"), ago=5),
        mixed("rd", answered("x"), answered("y"), ago=4),
    ]
    overrides = {"max_context": maximum, "recent_limit": maximum, "relevance_threshold": 0.0}
    built = Room([*talk(), *chain, *both]).build_now(profile=profile, overrides=overrides)
    shown = set(ids(built))
    for one in ({"c1", "c2", "r2"}, {"d1", "d2", "rd"}):
        assert shown & one in (set(), one)


def test_one_line_too_many_costs_the_round_and_nothing_else():
    """P-10, S3-09: a round of 13 lines in a window of 12 leaves the other lines their places."""
    names = [f"k{n}" for n in range(12)]
    round_ = [
        mixed("c", *map(made, names), ago=9),
        *(mixed(f"r{n}", answered(name), ago=8) for n, name in enumerate(names)),
    ]
    lines = [*talk(), *round_, say("late", ago_ms=MINUTE_MS)]
    built = Room(lines).build_now(profile="naive", overrides={"recent_limit": 30}, explain=True)
    assert ids(built) == [*(f"m{n}" for n in range(10)), "late"]
    assert {fates(built)[one.id] for one in round_} == {"limit"}


def test_a_cut_call_keeps_its_synthetic_result():
    """P-10, S3-10: the character limit cuts the text, never what says that there is no result."""
    lines = [*talk(), call("c", "a", ago=9, text="z" * 300)]
    overrides = {"max_chars_per_message": 40}
    built = Room(lines).build_now(profile="room", overrides=overrides, layout=Layout.SINGLE_USER)
    assert "…\n  [result tool-a: none]" in built.text


@pytest.mark.injects_fault
def test_rounds_that_cannot_be_made_out_cost_the_tool_messages_only(monkeypatch):
    """Law 5: a fault of ours there is named, and the rest is ranked as ever."""

    def broken(*_: object) -> None:
        raise RuntimeError

    monkeypatch.setattr("backscroll_sidecar.context.candidates.with_whole_exchanges", broken)
    built = Room([*talk(), *ROUND]).build_now(profile="room")
    assert set(ids(built)) == {f"m{n}" for n in range(10)}
    assert [(d.stage, d.reason, d.source) for d in built.degradations] == [
        ("gather", "ERROR", "rounds")
    ]


def test_a_round_larger_than_any_context_is_left_out():
    """P-10: a chain of messages that each answer one call and make the next never fits; it is not gathered either."""
    chain = [
        mixed(f"c{n}", answered(f"k{n - 1}"), made(f"k{n}"), ago=3_000 - n) for n in range(1, 1_500)
    ]
    built = Room([*chain, *talk(ago=2)]).build_now(
        profile="naive", overrides={"recent_limit": 100}, explain=True
    )
    assert set(ids(built)) == {f"m{n}" for n in range(10)}
    assert len(fates(built)) == 100


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_rounds_of_any_chat_stay_whole(data: st.DataObject):
    """P-10: any mix of lines, calls and results, several in a message: a call that is shown has all its results with
    it, a result its call; what is shown keeps to the maximum."""
    lines, parts_of, open_ids = [], {}, []
    for n in range(data.draw(st.integers(1, 14))):
        kinds = data.draw(st.lists(st.sampled_from(["call", "result"]), max_size=3))
        parts = []
        for k, kind in enumerate(kinds):
            if kind == "call":
                open_ids.append(f"k{n}.{k}")
                parts.append(made(open_ids[-1]))
            elif open_ids:
                parts.append(answered(data.draw(st.sampled_from(open_ids))))
        parts_of[f"m{n}"] = parts
        lines.append(mixed(f"m{n}", *(parts or [TextPart(f"words {n}")]), ago=40 - n))
    maximum = data.draw(st.integers(1, 12))
    profile = data.draw(
        st.sampled_from(["balanced", "room", "naive", "chain_recent", "hybrid", "steady"])
    )
    overrides = {"max_context": maximum, "recent_limit": data.draw(st.integers(1, 14))}
    policy = data.draw(st.sampled_from([ContextSettings(), DROP]))
    built = Room(lines, settings=policy).build_now(profile=profile, overrides=overrides)
    shown = set(ids_by_rank(built))
    assert len(shown) <= maximum
    makers = {p.id: id for id, ps in parts_of.items() for p in ps if isinstance(p, ToolCallPart)}
    for id, parts in parts_of.items():
        for part in parts:
            if isinstance(part, ToolResultPart):
                assert (id in shown) == (makers[part.call_id] in shown)


def test_what_ones_own_tools_said_is_nobody_in_the_room():
    """N-07: one person, the bot and its tools are no group: no speakers are written before the lines."""
    room = Room([say("m0", text="what is the weather?", ago_ms=10 * MINUTE_MS), *ROUND])
    built = room.build_now("and tomorrow?", profile="room", self_ids=(BOT.id,))
    assert set(ids(built)) >= ROUND_IDS
    assert built.speaker_style is SpeakerStyle.ROLE
    assert room.build_now("?", profile="room").speaker_style is SpeakerStyle.TAGGED


@pytest.mark.row("P-10")
@pytest.mark.parametrize("used_in", [("one",), ("two",), ("one", "two")])
@pytest.mark.parametrize("profile", ["balanced", "memory", "hybrid", "retrieval", "naive"])
async def test_rounds_of_channels_whose_ids_are_alike(profile, used_in):
    """A question without a channel: platforms count messages per chat, models number their calls anew each time."""
    ann = Author("ann", "Ann")
    async with served() as (client, _):
        for n, room in enumerate(("one", "two")):
            at = 1_795_132_800_000 + 1_000_000 * n
            lines = [
                Message(str(i), ann, f"talk of {room} {i}", at + i * 1_000) for i in range(1, 60)
            ]
            for line, part, role in (
                (5, ToolCall("call_0", "look_up", "{}"), "assistant"),
                (7, ToolResult("call_0", f"zebra of {room}", name="look_up"), "tool"),
            ):
                if room in used_in:
                    lines[line - 1] = Message(
                        str(line), ann, "zebra", at + line * 1_000, role=role, parts=[part]
                    )
            await client.append(room, lines)
        built = await client.build_context(
            "", "which zebra?", asker=ann, profile=profile, overrides={"sources": ["lexical"]}, token_budget=20_000,
            explain=True,
        )  # fmt: skip
        assert not built.degradations
        held = {(item.message.channel, item.message.id) for item in built.items}
        assert held >= {(room, id) for room in used_in for id in ("5", "7")}
        ids = [one.message_id for one in built.raw.explanation.candidates]
        assert not Counter(id for _, id in held) - Counter(ids)


WEATHER = (
    '[{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]'
)
FORMATS = ["openai_chat", "openai_responses", "anthropic_messages", "gemini_contents"]
SIGNED = ProviderState(
    "api.example/v1", "gemini_contents", "gemini-3-pro", "thought_signature", b'"AbC="'
)


def exchange() -> list[Message]:
    """Two calls at once, somebody talking in between, an error, the answer."""
    bot = Author("bot", "Cat", kind="bot")
    called = [
        SIGNED,
        ToolCall("c1", "weather", '{"city": "巴黎"}'),
        ToolCall("c|2", "weather", "{}"),
    ]
    return [
        Message("m1", "u1", "weather?", NOON_MS - 9_000),
        Message("m2", bot, "let me see", NOON_MS - 8_000, parts=called, role="assistant"),
        Message("m3", bot, ToolResult("c1", "sunny", "weather"), NOON_MS - 7_000, role="tool"),
        Message("m4", "u2", "hurry up", NOON_MS - 6_000),
        Message("m5", bot, ToolResult("c|2", "no city", "weather", is_error=True), NOON_MS - 5_000, role="tool"),
        Message("m6", bot, "Sunny!", NOON_MS - 4_000, role="assistant"),
    ]  # fmt: skip


async def payloads(client: AsyncClient, **options) -> dict[str, dict]:
    found = {}
    for name in FORMATS:
        context = await client.build_context(
            "room", "and in Rome?", asker="u1", self_ids=["bot"], asked_at=NOON_MS, payload_formats=name,
            model="gemini-3-pro", profile="room", provider="api.example/v1", **options,
        )  # fmt: skip
        assert context.raw.tokens.total <= context.raw.tokens.budget
        check(name, context.payload, "gemini-3-pro")
        found[name] = context.payload
    return found


@pytest.mark.row("P-10")
@pytest.mark.row("P-20")
@pytest.mark.row("S3-23")
async def test_past_rounds_are_the_vendors_own_messages_where_there_are_tools():
    """Calls and results stand together, in the order of the calls; errors are told; ids are fit for the vendor."""
    async with served() as (client, _):
        await client.append("room", exchange())
        found = await payloads(client, tools_json=WEATHER)
    chat = found["openai_chat"]["messages"]
    assert [one["role"] for one in chat] == [
        "user",
        "assistant",
        "tool",
        "tool",
        "user",
        "assistant",
        "user",
    ]
    first, second = (call["id"] for call in chat[1]["tool_calls"])
    assert [(one["tool_call_id"], one["content"]) for one in chat[2:4]] == [
        (first, "sunny"),
        (second, "no city"),
    ]
    assert (first, chat[1]["content"]) == ("c1", "let me see")
    kinds = [one.get("type", one.get("role")) for one in found["openai_responses"]["input"]]
    assert kinds == [
        "user", "assistant", "function_call", "function_call", "function_call_output", "function_call_output", "user",
        "assistant", "user",
    ]  # fmt: skip
    asked, answered = found["anthropic_messages"]["messages"][1:3]
    assert [one["type"] for one in asked["content"]] == ["text", "tool_use", "tool_use"]
    assert asked["content"][1]["input"] == {"city": "巴黎"}
    assert [one["type"] for one in answered["content"]] == ["tool_result", "tool_result", "text"]
    assert [one.get("is_error", False) for one in answered["content"][:2]] == [False, True]
    model, person = found["gemini_contents"]["contents"][1:3]
    assert [next(iter(one)) for one in model["parts"]] == ["text", "functionCall", "functionCall"]
    assert model["parts"][1]["thoughtSignature"] == "AbC="
    said = [one["functionResponse"]["response"] for one in person["parts"][:2]]
    assert said == [{"output": "sunny"}, {"error": "no city"}]


@pytest.mark.row("P-20")
async def test_past_rounds_are_told_in_words_where_there_are_no_tools():
    """Nothing of the model's own is a call in words: it would learn to write calls instead of making them."""
    async with served() as (client, _):
        await client.append("room", exchange())
        found = await payloads(client)
    chat = found["openai_chat"]["messages"]
    assert all("tool_calls" not in one and one["role"] != "tool" for one in chat)
    for one in chat:
        assert one["role"] == "user" or "[call" not in one["content"]
    assert any("[result weather: sunny]" in one["content"] for one in chat)


@pytest.mark.row("P-31")
async def test_what_only_a_provider_can_read_goes_back_to_it_alone():
    """By provider, interface and family of the model; somebody else's call is told in words to a model that signs."""
    async with served() as (client, _):
        await client.append("room", exchange())

        async def contents(**options) -> str:
            context = await client.build_context(
                "room", "and in Rome?", asker="u1", self_ids=["bot"], asked_at=NOON_MS, tools_json=WEATHER,
                payload_formats="gemini_contents", profile="room", **options,
            )  # fmt: skip
            check("gemini_contents", context.payload, options["model"])
            return json.dumps(context.payload, ensure_ascii=False)

        own = await contents(model="gemini-3-pro-preview", provider="api.example/v1")
        elsewhere = await contents(model="gemini-3-pro", provider="other.example/v1")
        another = await contents(model="gemini-4-flash", provider="api.example/v1")
        old = await contents(model="gemini-2.5-pro", provider="api.example/v1")
    assert '"thoughtSignature": "AbC="' in own
    for other in (elsewhere, another):
        assert "AbC=" not in other
        assert "functionCall" not in other
        assert "[call weather" in other
    assert "functionCall" in old
    assert "AbC=" not in old


@pytest.mark.row("S3-19")
@pytest.mark.parametrize("tools_json", ["", WEATHER])
@pytest.mark.parametrize("by_setting", [False, True])
async def test_outputs_are_kept_cut_or_skipped(tools_json: str, by_setting: bool):
    """By setting or by request, for every vendor; calls stay, and what is stored."""
    text = "BEGIN " + "x" * 5_000 + " END 👨‍👩‍👧"
    bot = Author("bot", "Cat", kind="bot")
    lines = [
        Message("m1", bot, ToolCall("c1", "weather", "{}"), NOON_MS - 3_000, role="assistant"),
        Message("m2", bot, ToolResult("c1", text, "weather"), NOON_MS - 2_000, role="tool"),
    ]
    for policy, shown in (
        ("keep", lambda said: text in said),
        (
            "head_tail",
            lambda said: (
                "BEGIN" in said
                and "END 👨‍👩‍👧" in said
                and "x" * 500 not in said
                and "[… 4" in said
            ),
        ),
        ("skip", lambda said: "BEGIN" not in said and "x" * 10 not in said),
    ):
        options = {} if by_setting else {"tool_outputs": policy, "tool_output_chars": 400}
        server = {"tool_outputs": policy, "tool_output_chars": 400} if by_setting else {}
        async with served(**server) as (client, _):
            await client.append("room", lines)
            found = await payloads(client, tools_json=tools_json, token_budget=20_000, **options)
            for name, body in found.items():
                said = json.dumps(body, ensure_ascii=False)
                assert shown(said), (policy, name)
                assert "weather" in said
            (stored,) = [
                one async for one in client.list_messages("room") if one.message.id == "m2"
            ]
            assert stored.message.parts[0].tool_result.text == text


@pytest.mark.row("P-20")
async def test_tools_in_any_vendors_form():
    """Whoever wrote them for one vendor has them for all four."""
    schema = {"type": "object", "properties": {"city": {"type": "string"}}}
    forms = [
        [
            {
                "type": "function",
                "function": {"name": "weather", "description": "d", "parameters": schema},
            }
        ],
        [{"type": "function", "name": "weather", "description": "d", "parameters": schema}],
        [{"name": "weather", "description": "d", "input_schema": schema}],
        [
            {
                "functionDeclarations": [
                    {"name": "weather", "description": "d", "parametersJsonSchema": schema}
                ]
            }
        ],
    ]
    async with served() as (client, _):
        await client.append("room", exchange())
        every = [await payloads(client, tools_json=json.dumps(one)) for one in forms]
    for name in FORMATS:
        tools = [one[name]["tools"] for one in every]
        if name == "openai_responses":
            assert all(one[0]["parameters"] == schema for one in tools)
        assert all(one == tools[0] for one in tools), name
