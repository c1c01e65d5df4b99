"""Whatever a history holds, each vendor takes the payload made of it: judged by `tests.kit.vendors.rules` alone.

BACKSCROLL_HISTORIES sets how many histories are tried; `make proof` tries 20,000.
"""

import json
import os
from collections.abc import Mapping, Sequence

import pytest
import quicktok
from hypothesis import given, settings
from hypothesis import strategies as st

from backscroll_sidecar.adapters import ADAPTERS, PayloadOptions
from backscroll_sidecar.adapters.target import Target
from backscroll_sidecar.context.model import SystemPrompt
from backscroll_sidecar.context.profiles import ContextSettings
from backscroll_sidecar.context.tool_exchanges import OrphanCalls
from backscroll_sidecar.domain import (
    Layout,
    MediaPart,
    Message,
    NeutralMessage,
    Part,
    ProviderStatePart,
    Role,
    SpeakerStyle,
    StoredSystemRows,
    TextPart,
    ToolCallPart,
    ToolResultPart,
    assistant_message,
    result_message,
)
from tests.kit.chats import ANN, BEN, BOT, CAT, MINUTE_MS, say
from tests.kit.examples import examples
from tests.kit.rooms import Room
from tests.kit.vendors.rules import APIS, check

MODELS = {
    "openai_chat": "gpt-5.6",
    "openai_responses": "gpt-5.6-2026-08-01",
    "anthropic_messages": "claude-opus-4-8",
    "gemini_contents": "gemini-3-pro",
}
HOST = "api.example/v1"
TOOLS = json.dumps([
    {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}},
    {"name": "查", "input_schema": {"type": "object"}},
])  # fmt: skip

texts = st.sampled_from(["", " ", "\n", "hi", "小黑在哪?", "Assistant: hm", "a" * 70, "🐈"])
call_ids = st.sampled_from(["c1", "c2", "c3", "toolu_01", "调用", "x" * 60, "a|b", "fc_1|c"])
tool_names = st.sampled_from(["weather", "查天气", "functions.weather", "9lives", "", "n" * 100])
arguments = st.sampled_from(["{}", '{"city": "巴黎"}', "{city: Paris", "", "null", "[1]", "你好"])
names = st.sampled_from(["", "Ann", "小黑", "小白", "Ann Lee", "Ann_Lee"])


def _state(api: str, kind: str, value: object, *, foreign: bool) -> ProviderStatePart:
    made = Target("elsewhere/v1" if foreign else HOST, api, MODELS[api]).state(kind, value)
    assert made is not None
    return made


signed = st.builds(
    lambda api, foreign: {
        "openai_chat": [_state(api, "extra_content", {"google": {"a": "b"}}, foreign=foreign)],
        "openai_responses": [],
        "anthropic_messages": [],
        "gemini_contents": [_state(api, "thought_signature", "AbC=", foreign=foreign)],
    }[api],
    st.sampled_from(APIS),
    st.booleans(),
)
calls = st.builds(ToolCallPart, call_ids, tool_names, arguments)
results = st.builds(ToolResultPart, call_ids, tool_names, texts, st.booleans())


@st.composite
def said(draw: st.DrawFn) -> NeutralMessage:
    """A message of the model: texts, calls, signatures, in any order."""
    parts: list[Part] = []
    for _ in range(draw(st.integers(0, 4))):
        parts += draw(signed)
        parts.append(draw(st.one_of(calls, st.builds(TextPart, texts))))
    parts += draw(signed)
    return assistant_message(tuple(parts))


@st.composite
def thought(draw: st.DrawFn) -> NeutralMessage:
    """What a vendor's own answers look like: thoughts, then what they led to."""
    api = draw(st.sampled_from(["openai_responses", "anthropic_messages"]))
    foreign, number = draw(st.booleans()), draw(st.integers(0, 10**9))
    parts: list[Part] = []
    if api == "anthropic_messages":
        block = {"type": "thinking", "thinking": "hm", "signature": "sig"}
        parts.append(_state(api, "thinking", block, foreign=foreign))
    else:
        item = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "x"}
        parts.append(_state(api, "reasoning", item, foreign=foreign))
        prefix = "fc" if (calling := draw(st.booleans())) else "msg"
        parts.append(_state(api, "item_id", f"{prefix}_{number}", foreign=foreign))
        parts.append(draw(calls) if calling else TextPart("well"))
        return assistant_message(tuple(parts))
    parts.append(draw(st.one_of(calls, st.builds(TextPart, texts))))
    return assistant_message(tuple(parts))


messages = st.lists(
    st.one_of(
        st.builds(NeutralMessage, st.just(Role.USER), texts, names, author_id=names),
        st.builds(NeutralMessage, st.just(Role.SYSTEM), texts),
        st.builds(NeutralMessage, st.just(Role.ASSISTANT), texts),
        said(),
        thought(),
        st.builds(lambda found: result_message(tuple(found)), st.lists(results, max_size=3)),
    ),
    max_size=12,
)


def body_of(api: str, history: Sequence[NeutralMessage], tools_json: str = "") -> dict:
    options = PayloadOptions(MODELS[api], tools_json, with_names=True, provider=HOST)
    body: dict = json.loads(ADAPTERS[api].payload(history, options))
    return body


@pytest.mark.parametrize("api", APIS)
@given(
    history=messages,
    system=texts,
    question=st.sampled_from(["when?", "几点?"]),
    tools=st.booleans(),
)
@settings(max_examples=examples(250), deadline=None)
def test_every_vendor_takes_every_history(api, history, system, question, tools):
    """Orphans, parallel calls, ids twice, foreign turns, blanks, Chinese names: never a 400; the question once."""
    asked = [
        NeutralMessage(Role.SYSTEM, system), *history, NeutralMessage(Role.USER, question),
    ]  # fmt: skip
    body = body_of(api, asked, json.dumps(json.loads(TOOLS)[:1]) if tools else "")
    check(api, body, MODELS[api])
    assert json.dumps(body, ensure_ascii=False).count(question) == 1


# --- through the whole path -----------------------------------------------------------------------------------------

HISTORIES = int(os.environ.get("BACKSCROLL_HISTORIES", "150"))
MARK = "⟦the one question 问题⟧"
COUNT = quicktok.get_encoding("o200k_base").count


@st.composite
def stored(draw: st.DrawFn) -> list[Message]:
    """A chat as bots store it: people, rounds with results that come late, twice or never, and other bots."""
    lines: list[Message] = []
    for number in range(draw(st.integers(0, 14))):
        kind = draw(st.sampled_from(["line", "line", "said", "result", "system", "picture"]))
        author, role = draw(st.sampled_from([ANN, BEN, CAT])), Role.USER
        parts: tuple[Part, ...] = (TextPart(draw(texts)),)
        if kind == "said":
            author, role = draw(st.sampled_from([BOT, BOT, CAT])), Role.ASSISTANT
            parts = draw(st.one_of(said(), thought())).parts
        elif kind == "result":
            author, role = BOT, Role.TOOL
            parts = tuple(draw(st.lists(results, min_size=1, max_size=2)))
        elif kind == "system":
            role = Role.SYSTEM
        elif kind == "picture":
            url = draw(
                st.sampled_from(["https://example.com/a.png", "data:image/png;base64,AA==", ""])
            )
            parts = (MediaPart("image", url, draw(texts), "image/png"), *parts)
        lines.append(
            say(f"m{number}", author, ago_ms=(20 - number) * MINUTE_MS, parts=parts, role=role)
        )
    return lines


asked = st.fixed_dictionaries({
    "tools_json": st.sampled_from(["", json.dumps(json.loads(TOOLS)[:1])]),
    "token_budget": st.sampled_from([None, 4_000, 400, 200, 120]),
    "profile": st.sampled_from(["room", "naive", "balanced", "chain_recent", "steady"]),
    "pictures": st.sampled_from([
        (), (MediaPart("image", "https://example.com/a.png"), MediaPart("image", "data:image/png;base64,AA==")),
    ]),
    "cache_marks": st.sampled_from([None, True, False]),
    "layout": st.sampled_from(Layout),
    "include_names": st.booleans(),
    "include_system": st.booleans(),
    "system": st.sampled_from([None, SystemPrompt("Be kind. 请友善。")]),
    "stored_system_rows": st.sampled_from(StoredSystemRows),
    "preferences": st.sampled_from([(), ("likes tea",)]),
    "speaker_style": st.sampled_from([None, *SpeakerStyle]),
})  # fmt: skip


@pytest.mark.parametrize("orphans", OrphanCalls)
@given(
    lines=stored(), request=asked,
    server=st.sampled_from([("gemini-3-pro", HOST), ("gpt-5.6-mini", "api.openai.com/v1")]),
)  # fmt: skip
@settings(max_examples=HISTORIES, deadline=None)
def test_a_build_gives_payloads_that_no_vendor_refuses(orphans, lines, request, server):
    """Law 3 as well: inside the budget, by a count of its own, and the question once."""
    model, host = server
    room = Room(lines, settings=ContextSettings(timeout_s=300.0, orphan_calls=orphans))
    built = room.build_now(
        MARK, self_ids=("bot",), payload_formats=tuple(APIS), model=model, provider=host, reserve_tokens=0, **request,
    )  # fmt: skip
    assert built.tokens.total <= built.tokens.budget
    assert [one for one in built.degradations if one.reason == "ERROR"] == []
    bodies = {one.format: json.loads(one.body) for one in built.payloads}
    assert bodies.keys() == set(APIS)
    for api, body in bodies.items():
        check(api, body, model)
        assert json.dumps(body, ensure_ascii=False).count(MARK) == 1
    assert spent(bodies["openai_chat"], request["tools_json"]) <= built.tokens.total


def spent(body: Mapping, tools_json: str) -> int:
    """What a Chat Completions payload costs: 4 a message and a call, 1 and the name for a name, 3 at the end."""
    total = 3 + (COUNT(tools_json) if tools_json else 0)
    for message in body["messages"]:
        if isinstance(message["content"], list):
            message["content"] = message["content"][0]["text"]
        total += (
            4 + COUNT(message["content"] or "")
            if "tool_calls" not in message
            else COUNT(message["content"] or "")
        )
        total += 1 + COUNT(message["name"]) if "name" in message else 0
        for call in message.get("tool_calls", ()):
            total += 4 + COUNT(call["function"]["name"])
    return total
