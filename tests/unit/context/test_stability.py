"""P-12: what stays the same from turn to turn, for the prefix caches of vendors."""

from __future__ import annotations

from itertools import takewhile

import pytest

from backscroll_sidecar.adapters import OPENAI_CHAT
from backscroll_sidecar.analyze import token_counter
from backscroll_sidecar.context.model import SystemPrompt
from backscroll_sidecar.domain import Layout, TimeStyle, TokenizerName
from tests.kit.chats import ANN, BEN, HOUR_MS, MINUTE_MS, NOON_MS, say
from tests.kit.rooms import Room, ids_by_rank, payload

MESSAGE_TOKENS = OPENAI_CHAT.framing.message_tokens

LINES = [say(f"m{n}", (ANN, BEN)[n % 2], f"line {n}", HOUR_MS - n * MINUTE_MS) for n in range(8)]
TOOLS = '[{"type":"function","function":{"name":"search","parameters":{"type":"object"}}}]'


def two_turns(lines=LINES, **request):
    """Two questions of two people, a minute and one line apart."""
    first = Room(lines).build_now("what now?", ANN, **request)
    more = [*lines, say("new", ANN, "what now?", 0)]
    second = Room(more).build_now("猫吃什么？", BEN, asked_at_ms=NOON_MS + MINUTE_MS, **request)
    return first, second


def common_tokens(one, other, tokenizer=TokenizerName.O200K):
    """Tokens of what two payloads begin with alike, tools included."""
    counter = token_counter(tokenizer)
    tokens = counter.count(TOOLS) if "tools" in payload(one) else 0
    for a, b in zip(payload(one)["messages"], payload(other)["messages"], strict=False):
        if a["role"] != b["role"]:
            break
        pairs = zip(a["content"], b["content"], strict=False)
        alike = "".join(x for x, _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
        tokens += MESSAGE_TOKENS + counter.count(alike) if alike else 0
        if a != b:
            break
    return tokens


@pytest.mark.parametrize("include_system", [False, True])
@pytest.mark.parametrize("layout", list(Layout))
@pytest.mark.parametrize("tools", ["", TOOLS])
def test_what_is_reported_is_there_in_the_next_turn(layout, include_system, tools):
    """P-12: in every layout, system text in the body or apart: system and tools, and no more than really stays."""
    first, second = two_turns(
        layout=layout,
        include_system=include_system,
        tools_json=tools,
        system=SystemPrompt("You are the bot of a climbing club.\nBe brief."),
        preferences=("likes tea",),
        time_style=TimeStyle.RELATIVE,
    )
    assert first.stable_prefix_tokens == second.stable_prefix_tokens
    assert first.stable_prefix_tokens == first.tokens.system + first.tokens.tools
    assert MESSAGE_TOKENS < first.stable_prefix_tokens <= common_tokens(first, second)


@pytest.mark.parametrize(
    ("template", "begins"),
    [
        ("You help in {{channel}}{{thread_id}}. Be brief.", "You help in room. Be brief."),
        ("You help in {{ channel }}. It is {{asked_at}}. Be brief.", "You help in room. It is "),
        ("{{asker_name}} ({{asker_id}}) asks. Be brief.", ""),
        ("你在群里回答{{question}}这个问题。", "你在群里回答"),
        ("Mood: {{mood}}. Be brief.", "Mood: "),
    ],
)
def test_a_template_is_stable_up_to_what_changes(template, begins):
    """P-12: asker, question and time are others in the next turn, and what the bot fills in may be."""
    system = SystemPrompt(template, is_template=True, parameters={"mood": "fine"})
    first, second = two_turns(system=system)
    assert first.stable_prefix_tokens == second.stable_prefix_tokens
    assert first.stable_prefix_tokens <= common_tokens(first, second)
    whole = "{{" not in template.replace("{{channel}}", "").replace("{{thread_id}}", "")
    counted = token_counter(TokenizerName.O200K).count(begins)
    expected = counted + MESSAGE_TOKENS - (not whole) if begins else 0
    assert first.stable_prefix_tokens == expected


def test_nothing_stays_without_a_system_text():
    """P-12: a window that slides keeps no line in its place."""
    first, _ = two_turns(system=SystemPrompt(""))
    assert first.stable_prefix_tokens == 0


@pytest.mark.parametrize("profile", ["balanced", "classic", "chain_recent", "hybrid", "room"])
def test_equal_choices_do_not_depend_on_the_question(profile):
    """P-12: of candidates with equal scores the newer are taken, whatever is asked; and lines stand in time order: all
    messages before the question are the same to the byte."""
    lines = [say(f"m{n}", BEN, f"point {n}", HOUR_MS, dedupe_key=f"k{n}") for n in range(30)]
    one, other = (
        Room(lines).build_now(
            question, ANN, profile=profile,
            overrides={"max_context": 5, "recent_limit": 30, "relevance_threshold": 0.0},
        )
        for question in ("what now?", "怎么办？")
    )  # fmt: skip
    assert ids_by_rank(one) == ids_by_rank(other) == [f"m{n}" for n in (29, 28, 27, 26, 25)]
    assert payload(one)["messages"][:-1] == payload(other)["messages"][:-1]
    assert [m["content"][-2:] for m in payload(one)["messages"][:-1]] == [
        "25", "26", "27", "28", "29",
    ]  # fmt: skip
