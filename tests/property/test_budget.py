"""Law 3: nothing exceeds the budget, the trigger message appears once. Counted here, not by the code under test."""

import json

import pytest
import quicktok
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import fields

from backscroll.v1.message_pb2 import Message
from backscroll_sidecar.context.compress import Compressed
from backscroll_sidecar.context.model import BuiltContext, SystemPrompt
from backscroll_sidecar.context.profiles import PROFILES
from backscroll_sidecar.domain import Layout, SpeakerStyle, TimeStyle, TokenizerName
from backscroll_sidecar.errors import BudgetTooSmall
from backscroll_sidecar.strategies import Messages
from tests.kit.chats import ANN, BEN, BOT, HOUR_MS, MINUTE_MS, NOON_MS, say
from tests.kit.examples import examples
from tests.kit.rooms import Fixed, Room, fates, payload
from tests.property.chats import chats, plain_texts, texts

O200K = quicktok.get_encoding("o200k_base").count
COUNT = {
    TokenizerName.O200K: O200K,
    TokenizerName.CHARS_4: lambda text: -(-len(text) // 4),
    TokenizerName.BYTES_4: lambda text: -(-len(text.encode()) // 4),
}
TOOLS = json.dumps(
    [{"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}]
)
MARK = "⟦the one question⟧"


def counted(built: BuiltContext, tokenizer: TokenizerName, reserve: int) -> int:
    """What OpenAI's published rule says the payload costs: 4 a message, 1 and the name for a name, 3 at the end; and
    the tools' schemas and the reserve."""
    count, body = COUNT[tokenizer], payload(built)
    total = 3 + reserve + (count(TOOLS) if "tools" in body else 0)
    for message in body["messages"]:
        total += 4 + count(message["content"])
        total += 1 + count(message["name"]) if "name" in message else 0
    return total


def check(built: BuiltContext, budget: int, tokenizer: TokenizerName, reserve: int) -> None:
    """Law 3, P-02, P-25, S2-08."""
    tokens = built.tokens
    assert tokens.total == counted(built, tokenizer, reserve)
    assert tokens.total <= budget == tokens.budget
    assert tokens.tokenizer is tokenizer
    parts = {
        f.name: getattr(tokens, f.name)
        for f in fields(tokens)
        if f.name not in ("tokenizer", "budget", "calibration")
    }
    assert sum(parts.values()) == tokens.total
    assert all(part >= 0 for part in parts.values()), parts
    assert parts["reserve"] == reserve
    shown = {item.category.value for item in built.items}
    assert (parts["recent"] > 0, parts["semantic"] > 0) == ("recent" in shown, "semantic" in shown)
    said = "".join(message["content"] for message in payload(built)["messages"])
    assert said.count(MARK) == 1
    assert built.payloads[0].body.decode().count(MARK) == 1


@st.composite
def requests(draw: st.DrawFn) -> dict:
    system = draw(st.sampled_from(["", "Be kind.", "你是一个有用的助手。" * 5]))
    return {
        "profile": draw(st.sampled_from(sorted(PROFILES))),
        "layout": draw(st.sampled_from(Layout)),
        "tokenizer": draw(st.sampled_from(TokenizerName)),
        "speaker_style": draw(st.sampled_from([*SpeakerStyle, None])),
        "time_style": draw(st.sampled_from([*TimeStyle, None])),
        "system": SystemPrompt(system),
        "include_system": draw(st.booleans()),
        "include_names": draw(st.booleans()),
        "tools_json": draw(st.sampled_from(["", TOOLS])),
        "reserve_tokens": draw(st.sampled_from([0, 7, 300])),
        "preferences": tuple(draw(st.lists(texts, max_size=3))),
        "self_ids": draw(st.sampled_from([(), ("bot",)])),
        "overrides": {"relevance_threshold": draw(st.sampled_from([None, 0.0]))},
    }


@settings(max_examples=examples(300))
@given(chats(), requests(), texts, st.integers(1, 700), st.sampled_from(["named", "found", "none"]))
def test_the_budget_holds(messages, request, tail, budget, trigger):
    """Law 3, P-02, P-25, S2-08, S4-25: any chat, layout, tokenizer, style, system, tools, reserve: what is counted
    from the payload is what is reported, fits, and has the question once. Too small a budget names the least that
    would do: that works, and one less does not."""
    question = f"{MARK} {tail}"
    if trigger != "none":
        messages = [*messages, say("trigger", ANN, question, 0)]
    named = {"trigger_message_id": "trigger"} if trigger == "named" else {}
    room = Room(messages)
    reserve, tokenizer = request["reserve_tokens"], request["tokenizer"]
    asked = question if trigger != "named" else ""
    try:
        built = room.build_now(asked, **request, **named, token_budget=budget)
        check(built, budget, tokenizer, reserve)
    except BudgetTooSmall as error:
        least = error.least_tokens
        assert least > budget
        built = room.build_now(asked, **request, **named, token_budget=least)
        check(built, least, tokenizer, reserve)
        assert built.tokens.total == least
        with pytest.raises(BudgetTooSmall) as again:
            room.build_now(asked, **request, **named, token_budget=least - 1)
        assert again.value.least_tokens == least
        assert again.value.metadata == {"least_tokens": str(least), "token_budget": str(least - 1)}


@settings(max_examples=examples(60))
@given(st.lists(st.one_of(plain_texts, texts), min_size=1, max_size=30), st.integers(60, 400))
def test_semantic_lines_and_a_tight_budget(lines, budget):
    """P-02: sections, titles and blank lines count too."""
    messages = [
        say(f"m{n}", (ANN, BEN, BOT)[n % 3], text, HOUR_MS - n) for n, text in enumerate(lines)
    ]
    far = Fixed("semantic", Messages("semantic", message_ids=[m.id for m in messages[::2]]))  # type: ignore[arg-type]
    room = Room(messages, own=[far])
    built = room.build_now(
        MARK,
        profile="retrieval",
        layout=Layout.SINGLE_USER,
        token_budget=budget,
        system=SystemPrompt("x"),
    )
    check(built, budget, TokenizerName.O200K, 0)


def test_the_budget_is_used():
    """P-02, P-27: a token budget is filled, not a top-k: twice the budget, about twice the lines."""
    room = Room([say(f"m{n}", ANN, "about fifteen tokens of ordinary text, more or less, said once", HOUR_MS - n)
                 for n in range(200)])  # fmt: skip
    request = {"profile": "room", "overrides": {"max_context": 200, "recent_limit": 200}}
    small, large = (room.build_now(**request, token_budget=budget) for budget in (1_000, 2_000))
    for built, budget in ((small, 1_000), (large, 2_000)):
        assert 0.9 * budget < built.tokens.total <= budget
    assert 1.9 < len(large.items) / len(small.items) < 2.2


@pytest.mark.parametrize("lines", [0, 3])
def test_preferences_go_before_the_question_does(lines):
    """Law 3, law 5: preferences that alone exceed the budget are left out, and that is said; the lines stay."""
    room = Room([say(f"m{n}", ANN, f"line {n}", HOUR_MS - n) for n in range(lines)])
    built = room.build_now(MARK, token_budget=60, preferences=("tea " * 200,), profile="room")
    check(built, 60, TokenizerName.O200K, 0)
    assert "Preferences" not in built.text
    assert len(built.items) == lines
    assert [(d.stage, d.reason, d.source) for d in built.degradations] == [
        ("compress", "BUDGET", "preferences")
    ]


class KeepsAll:
    """A compressor that keeps to nothing."""

    def compress(self, lines, limits):
        return Compressed(tuple(lines), len(lines))


@pytest.mark.parametrize("layout", Layout)
def test_the_recount_has_the_last_word(layout):
    """Law 3: whatever the compressor lets through, what is rendered fits; the best ranked stay."""
    room = Room(
        [say(f"m{n}", ANN, f"line {n}", HOUR_MS - n) for n in range(50)], compressor=KeepsAll()
    )
    built = room.build_now(MARK, token_budget=100, layout=layout, profile="room", explain=True)
    check(built, 100, TokenizerName.O200K, 0)
    kept = [item.message_id for item in built.items]
    assert kept == [f"m{n}" for n in range(50 - len(kept), 50)]
    assert len(kept) >= 7
    assert fates(built)["m30"] == "budget"


def test_what_the_caller_brings_counts():
    """P-25: system text, tool schemas and reserve each take exactly their tokens from the budget."""
    room = Room([say("m1", ANN, "hello")])
    bare = room.build_now(profile="room").tokens
    system = room.build_now(profile="room", system=SystemPrompt("Be kind.")).tokens
    tools = room.build_now(profile="room", tools_json=TOOLS).tokens
    reserve = room.build_now(profile="room", reserve_tokens=500).tokens
    assert system.system == system.total - bare.total == O200K("Be kind.") + 4
    assert tools.tools == tools.total - bare.total == O200K(TOOLS)
    assert reserve.reserve == reserve.total - bare.total == 500


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        (say("x", ANN, " the question ", 30_000), False),
        (say("x", ANN, "the question", 60_000), False),
        (say("x", ANN, "the question", 60_001), True),
        (say("x", BEN, "the question", 30_000), True),
        (say("x", ANN, "the questions", 30_000), True),
    ],
)
def test_a_question_without_an_id(line, stays):
    """Law 3: without a trigger id the newest line of the same author with equal text within 60 s is the question."""
    built = Room([say("a", BEN, "hi"), line]).build_now("the question", ANN, profile="room")
    assert ("x" in [item.message_id for item in built.items]) is stays
    assert (built.trigger_fragment is None) is stays


def test_only_the_newest_of_two_equal_lines_is_the_question():
    """Law 3: said twice within a minute, the newer line is the question and the older one is history."""
    lines = [say("old", ANN, "well?", 50_000), say("new", ANN, "well?", 10_000)]
    built = Room(lines).build_now("well?", ANN, profile="room")
    assert [item.message_id for item in built.items] == ["old"]


def test_a_named_trigger_brings_what_the_request_leaves_out():
    """Law 3, S5-13, P-24: text, asker, time and edge of a named trigger; what came after it is not seen."""
    lines = [
        say("p", BEN, "shall we meet?", 3 * MINUTE_MS),
        say("t", ANN, "when?", 2 * MINUTE_MS, reply_to="p"),
        say("later", BEN, "too late to be seen", MINUTE_MS),
    ]
    built = Room(lines).build_now("", None, trigger_message_id="t", profile="classic", explain=True)
    assert built.asked_at_ms == NOON_MS - 2 * MINUTE_MS
    assert [item.message_id for item in built.items] == ["p"]
    assert Message.FromString(built.trigger_fragment).id == "t"
    assert payload(built)["messages"][-1]["content"].endswith("when?")
