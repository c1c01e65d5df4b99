"""The validators themselves: each rule is broken once in a body that is good, and each break is refused."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from tests.kit.vendors.rules import APIS, Refused, check

CALL = {"id": "c1", "type": "function", "function": {"name": "weather", "arguments": "{}"}}
THOUGHT = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"}
GOOD: dict[str, dict[str, Any]] = {
    "openai_chat": {
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "weather"}}],
        "messages": [
            {"role": "system", "content": "s"},
            {"role": "user", "content": "hi", "name": "Ann"},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c1", "content": "sunny"},
            {"role": "user", "content": [{"type": "text", "text": "and?"}]},
        ],
    },
    "openai_responses": {
        "model": "m",
        "instructions": "s",
        "input": [
            {"role": "user", "content": "hi"},
            THOUGHT,
            {
                "type": "function_call",
                "id": "fc_1",
                "call_id": "c1",
                "name": "weather",
                "arguments": "{}",
            },
            {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
            {"role": "user", "content": [{"type": "input_text", "text": "and?"}]},
        ],
    },
    "anthropic_messages": {
        "model": "m",
        "max_tokens": 9,
        "system": "s",
        "tools": [{"name": "weather", "input_schema": {"type": "object"}}],
        "messages": [
            {"role": "user", "content": "hi"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "weather", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "t1", "content": "no", "is_error": True},
                    {"type": "text", "text": "and?"},
                ],
            },
        ],
    },
    "gemini_contents": {
        "systemInstruction": {"parts": [{"text": "s"}]},
        "tools": [{"functionDeclarations": [{"name": "weather"}]}],
        "contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            {
                "role": "model",
                "parts": [
                    {
                        "functionCall": {"name": "weather", "args": {}, "id": "1"},
                        "thoughtSignature": "AbC=",
                    }
                ],
            },
            {
                "role": "user",
                "parts": [
                    {
                        "functionResponse": {
                            "name": "weather",
                            "response": {"output": ""},
                            "id": "1",
                        }
                    },
                    {"text": "and?"},
                ],
            },
        ],
    },
}


def put(*path: object) -> Callable[[dict], None]:
    """Sets what stands at the end of a path to the last value."""
    *steps, name, value = path

    def change(body: Any) -> None:
        for step in steps:
            body = body[step]
        body[name] = value

    return change


def drop(*path: object) -> Callable[[dict], None]:
    *steps, name = path

    def change(body: Any) -> None:
        for step in steps:
            body = body[step]
        del body[name]

    return change


def insert(*path: object) -> Callable[[dict], None]:
    *steps, at, value = path

    def change(body: Any) -> None:
        for step in steps:
            body = body[step]
        body.insert(at, value)

    return change


M, T = "messages", "contents"
BREAKS: list[tuple[str, str, Callable[[dict], None]]] = [
    ("openai_chat", "no model", drop("model")),
    ("openai_chat", "no messages", put(M, [])),
    ("openai_chat", "unknown role", put(M, 1, "role", "human")),
    ("openai_chat", "a name with a space", put(M, 1, "name", "Ann Lee")),
    ("openai_chat", "a Chinese name", put(M, 1, "name", "小黑")),
    ("openai_chat", "blank text", put(M, 1, "content", " \n")),
    ("openai_chat", "neither text nor call", drop(M, 2, "tool_calls")),
    ("openai_chat", "a call without result", drop(M, 3)),
    ("openai_chat", "a result without call", put(M, 3, "tool_call_id", "c2")),
    ("openai_chat", "somebody between call and result", insert(M, 3, {"role": "user", "content": "x"})),
    ("openai_chat", "a system line between them", insert(M, 3, {"role": "system", "content": "x"})),
    ("openai_chat", "an id too long", put(M, 2, "tool_calls", 0, "id", "c" * 41)),
    ("openai_chat", "ids twice", put(M, 2, "tool_calls", [CALL, CALL])),
    ("openai_chat", "arguments as an object", put(M, 2, "tool_calls", 0, "function", "arguments", {})),
    ("openai_chat", "an empty result", put(M, 3, "content", "")),
    ("openai_chat", "an array for the model", put(M, 2, "content", [{"type": "text", "text": "x"}])),
    ("openai_chat", "half a character", put(M, 1, "content", "\ud83d")),
    ("openai_chat", "a tool with a dot", put("tools", 0, "function", "name", "a.b")),
    ("openai_chat", "a breakpoint for an older model", put(M, 0, "content", [
        {"type": "text", "text": "x", "prompt_cache_breakpoint": {"mode": "explicit"}},
    ])),
    ("openai_responses", "no input", put("input", [])),
    ("openai_responses", "blank text", put("input", 0, "content", "")),
    ("openai_responses", "empty array", put("input", 4, "content", [])),
    ("openai_responses", "text typed for the other side", put("input", 4, "content", 0, "type", "output_text")),
    ("openai_responses", "thoughts without what they led to", drop("input", 2)),
    ("openai_responses", "an item without its thoughts", drop("input", 1)),
    ("openai_responses", "thoughts that nobody kept", drop("input", 1, "encrypted_content")),
    ("openai_responses", "a call without output", drop("input", 3)),
    ("openai_responses", "an output without call", put("input", 3, "call_id", "c2")),
    ("openai_responses", "an output twice", insert("input", 4, {
        "type": "function_call_output", "call_id": "c1", "output": "x",
    })),
    ("openai_responses", "an item twice", insert("input", 1, THOUGHT)),
    ("openai_responses", "an id of another kind", put("input", 2, "id", "call_1")),
    ("openai_responses", "a call id too long", put("input", 2, "call_id", "c" * 65)),
    ("openai_responses", "an unknown role", put("input", 0, "role", "tool")),
    ("anthropic_messages", "no limit", drop("max_tokens")),
    ("anthropic_messages", "the model first", drop(M, 0)),
    ("anthropic_messages", "the model last", insert(M, 3, {"role": "assistant", "content": "x"})),
    ("anthropic_messages", "a system role", put(M, 0, "role", "system")),
    ("anthropic_messages", "blank text", put(M, 0, "content", "\n")),
    ("anthropic_messages", "empty text block", put(M, 2, "content", 1, "text", "")),
    ("anthropic_messages", "blank system", put("system", " ")),
    ("anthropic_messages", "results behind text", lambda body: body[M][2]["content"].reverse()),
    ("anthropic_messages", "a call without result", drop(M, 2, "content", 0)),
    ("anthropic_messages", "a result without call", drop(M, 1, "content", 1)),
    ("anthropic_messages", "an id with a bar", put(M, 1, "content", 1, "id", "a|b")),
    ("anthropic_messages", "a Chinese tool", put(M, 1, "content", 1, "name", "天气")),
    ("anthropic_messages", "arguments as text", put(M, 1, "content", 1, "input", "{}")),
    ("anthropic_messages", "thoughts without signature", put(M, 1, "content", 0, "signature", "")),
    ("anthropic_messages", "an empty result", put(M, 2, "content", 0, "content", "")),
    ("anthropic_messages", "a picture in an error", put(M, 2, "content", 0, "content", [{"type": "image"}])),
    ("anthropic_messages", "five marks", put("system", [{"type": "text", "text": "s", "cache_control": {}}] * 5)),
    ("anthropic_messages", "calls without tools", drop("tools")),
    ("anthropic_messages", "another picture", insert(M, 2, "content", 1, {
        "type": "image", "source": {"type": "base64", "media_type": "image/bmp", "data": "AA=="},
    })),
    ("gemini_contents", "no contents", put(T, [])),
    ("gemini_contents", "an unknown role", put(T, 1, "role", "assistant")),
    ("gemini_contents", "no parts", put(T, 0, "parts", [])),
    ("gemini_contents", "empty text", put(T, 0, "parts", 0, "text", "")),
    ("gemini_contents", "the model first", drop(T, 0)),
    ("gemini_contents", "the model last", insert(T, 3, {"role": "model", "parts": [{"text": "x"}]})),
    ("gemini_contents", "one side twice", insert(T, 1, {"role": "user", "parts": [{"text": "x"}]})),
    ("gemini_contents", "a call without signature", drop(T, 1, "parts", 0, "thoughtSignature")),
    ("gemini_contents", "a call without id", drop(T, 1, "parts", 0, "functionCall", "id")),
    ("gemini_contents", "a call that is not declared", put("tools", 0, "functionDeclarations", 0, "name", "x")),
    ("gemini_contents", "fewer responses than calls", drop(T, 2, "parts", 0)),
    ("gemini_contents", "a response of another name", put(T, 2, "parts", 0, "functionResponse", "name", "x")),
    ("gemini_contents", "responses behind text", lambda body: body[T][2]["parts"].reverse()),
    ("gemini_contents", "a name that begins with a digit", put(T, 1, "parts", 0, "functionCall", "name", "9lives")),
    ("gemini_contents", "a response as text", put(T, 2, "parts", 0, "functionResponse", "response", "x")),
    ("gemini_contents", "blank instruction", put("systemInstruction", "parts", 0, "text", "")),
]  # fmt: skip


@pytest.mark.parametrize("api", APIS)
def test_what_is_good_is_taken(api: str) -> None:
    check(api, GOOD[api], "gemini-3-pro")


@pytest.mark.parametrize(("api", "what", "change"), BREAKS, ids=[f"{a}: {w}" for a, w, _ in BREAKS])
def test_each_break_is_refused(api: str, what: str, change: Callable[[dict], None]) -> None:
    body = copy.deepcopy(GOOD[api])
    change(body)
    with pytest.raises(Refused):
        check(api, body, "gemini-3-pro")
