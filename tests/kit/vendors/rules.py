"""What each vendor takes, as its own errors tell. `check` raises `Refused` in the words of the vendor's API."""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Body = Mapping[str, Any]
_STRICT = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_GEMINI_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,127}")


class Refused(AssertionError):
    """A 400."""


def need(holds: object, words: str) -> None:
    if not holds:
        raise Refused(words)


def check(api: str, body: Body, model: str = "") -> None:
    """Raises `Refused` where the vendor would answer 400. `model`: where it is no part of the body."""
    _no_lone_surrogates(body)
    if api == "gemini_contents":
        gemini(body, model)
    else:
        CHECKS[api](body)


def _no_lone_surrogates(value: object) -> None:
    match value:
        case str():
            need(
                not any("\ud800" <= one <= "\udfff" for one in value), "invalid unicode: surrogate"
            )
        case Mapping():
            for name, one in value.items():
                _no_lone_surrogates(name)
                _no_lone_surrogates(one)
        case list():
            for one in value:
                _no_lone_surrogates(one)


# --- OpenAI chat -------------------------------------------------------------------------------------


def _breakpoints(body: Body) -> None:
    """At most 80 are looked at, and models before gpt-5.6 know none."""
    count = _count("prompt_cache_breakpoint", body)
    version = re.match(r"gpt-(\d+)\.?(\d*)", body["model"])
    is_known = version and (int(version[1]), int(version[2] or 0)) >= (5, 6)
    need(not count or is_known, "Unknown parameter: 'prompt_cache_breakpoint'.")
    need(count <= 80, "too many prompt_cache_breakpoint")


def _count(name: str, value: object) -> int:
    match value:
        case Mapping():
            return (name in value) + sum(_count(name, one) for one in value.values())
        case list():
            return sum(_count(name, one) for one in value)
    return 0


def openai_chat(body: Body) -> None:
    messages = body.get("messages")
    need(body.get("model"), "you must provide a model parameter")
    _breakpoints(body)
    need(isinstance(messages, list) and messages, "'messages' must be a non-empty list")
    tools = {one["function"]["name"] for one in body.get("tools") or () if "function" in one}
    need(all(map(_STRICT.fullmatch, tools)), "Invalid 'tools[0].function.name'")
    waiting: list[str] = []
    for at, message in enumerate(messages):
        where = f"messages.[{at}]"
        role = message.get("role")
        need(role in {"system", "developer", "user", "assistant", "tool"}, f"{where}.role")
        if role == "tool":
            need(
                message.get("tool_call_id") in waiting,
                "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'",
            )
            waiting.remove(message["tool_call_id"])
            need(isinstance(message.get("content"), str) and message["content"], f"{where}.content")
            continue
        need(
            not waiting,
            "An assistant message with 'tool_calls' must be followed by tool messages "
            "responding to each 'tool_call_id'",
        )
        if "name" in message:
            need(
                _STRICT.fullmatch(message["name"]),
                f"Invalid '{where}.name': string does not match pattern",
            )
        calls = message.get("tool_calls")
        if calls is not None:
            need(role == "assistant" and calls, f"{where}.tool_calls")
            waiting = [_chat_call(one, where) for one in calls]
            need(len(set(waiting)) == len(waiting), "Duplicate value for 'tool_call_id'")
        content = message.get("content")
        if content is None:
            need(calls, f"Invalid value for 'content' of {where}: expected a string, got null.")
        elif isinstance(content, str):
            need(content.strip() or calls, f"{where}: text content blocks must be non-empty")
        else:
            need(role != "assistant", f"{where}.content: an array makes some models echo structure")
            for part in content:
                _chat_part(part, where)
    need(not waiting, "An assistant message with 'tool_calls' must be followed by tool messages")


def _chat_call(call: Body, where: str) -> str:
    need(call.get("type") == "function", f"{where}.tool_calls.type")
    need(
        0 < len(call.get("id", "")) <= 40,
        "string too long. Expected a string with maximum length 40",
    )
    need(isinstance(call["function"]["arguments"], str), f"{where}.function.arguments")
    need(
        call["function"]["name"] and len(call["function"]["name"]) <= 128, f"{where}.function.name"
    )
    return str(call["id"])


def _chat_part(part: Body, where: str) -> None:
    if part["type"] == "text":
        need(part["text"].strip(), f"{where}: text content blocks must be non-empty")
    else:
        need(part["type"] == "image_url", f"{where}: {part['type']}")
        url = part["image_url"]["url"]
        need(url.startswith(("https://", "http://", "data:image/")), "Invalid image URL")


# --- OpenAI responses --------------------------------------------------------------------------------


def openai_responses(body: Body) -> None:
    need(body.get("model"), "Missing required parameter: 'model'.")
    _breakpoints(body)
    items = body.get("input")
    need(isinstance(items, list) and items, "Missing required parameter: 'input'.")
    need(body.get("instructions", "x").strip(), "Invalid 'instructions'")
    for tool in body.get("tools") or ():
        if tool["type"] == "function":
            need(_STRICT.fullmatch(tool["name"]), "Invalid 'tools[0].name'")
    called, answered, ids = set[str](), set[str](), set[str]()
    for at, item in enumerate(items):
        kind = item.get("type", "message")
        if item_id := item.get("id"):
            need(len(item_id) <= 64, "Invalid 'input[0].id': string too long")
            need(item_id not in ids, f"Duplicate item found with id {item_id}")
            ids.add(item_id)
        before = items[at - 1].get("type") if at else None
        behind = items[at + 1] if at + 1 < len(items) else {}
        match kind:
            case "message":
                _responses_message(item, before)
            case "reasoning":
                need(item.get("encrypted_content"), f"Item with id '{item_id}' not found.")
                need(
                    behind.get("type", "") in {"function_call", "message", "reasoning"}
                    and behind.get("id"),
                    f"Item '{item_id}' of type 'reasoning' was provided without its required following item.",
                )
            case "function_call":
                need(0 < len(item["call_id"]) <= 64, "Invalid 'input[0].call_id'")
                need(item["call_id"] not in called, f"Duplicate function call {item['call_id']}")
                called.add(item["call_id"])
                need(isinstance(item["arguments"], str), "Invalid type for 'arguments'")
                if item_id:
                    need(
                        item_id.startswith("fc_"),
                        f"Invalid 'input[{at}].id': expected an ID that begins with 'fc'.",
                    )
                    _needs_reasoning(item_id, before)
            case "function_call_output":
                need(
                    item["call_id"] in called and item["call_id"] not in answered,
                    f"No tool call found for function call output with call_id {item['call_id']}.",
                )
                answered.add(item["call_id"])
                need(item["output"], "Invalid 'output'")
            case _:
                raise Refused(f"Invalid value: '{kind}'")
    need(
        called == answered,
        f"No tool output found for function call {min(called - answered, default='')}.",
    )


def _responses_message(item: Body, before: str | None) -> None:
    need(item["role"] in {"user", "assistant", "system", "developer"}, "Invalid role")
    content = item["content"]
    if isinstance(content, str):
        need(content.strip(), "Invalid 'content': empty")
        return
    need(content, "Invalid 'content': empty array")
    typed = "output_text" if item["role"] == "assistant" else "input_text"
    for part in content:
        need(part["type"] in {typed, "input_image"}, f"Invalid value: '{part['type']}'")
        need(part["type"] != typed or part["text"].strip(), "Invalid 'content': empty")
        need(part["type"] == typed or part.get("detail"), "Missing required parameter: 'detail'")
    if item.get("id"):
        need(item["id"].startswith("msg_"), "expected an ID that begins with 'msg'.")
        _needs_reasoning(item["id"], before)


def _needs_reasoning(item_id: str, before: str | None) -> None:
    need(
        before in {"reasoning", "function_call", "message"},
        f"Item '{item_id}' was provided without its required 'reasoning' item.",
    )


# --- Anthropic ---------------------------------------------------------------------------------------


def anthropic_messages(body: Body) -> None:
    messages = body.get("messages")
    need(body.get("model"), "model: Field required")
    need(
        isinstance(body.get("max_tokens"), int) and body["max_tokens"] > 0,
        "max_tokens: Field required",
    )
    need(isinstance(messages, list) and messages, "messages: at least one message is required")
    need(len(messages) <= 100_000, "messages: too many")
    marks = 0
    system = body.get("system", "x")
    if isinstance(system, str):
        need(system.strip(), "system: text content blocks must be non-empty")
    else:
        for block in system:
            need(
                block["type"] == "text" and block["text"].strip(),
                "system: text content blocks must be non-empty",
            )
            marks += "cache_control" in block
    for tool in body.get("tools") or ():
        if "input_schema" in tool:
            need(
                _STRICT.fullmatch(tool["name"]), "tools.0.custom.name: String should match pattern"
            )
            need(
                tool["input_schema"].get("type") == "object",
                "tools.0.custom.input_schema.type: Field required",
            )
        marks += "cache_control" in tool
    need(messages[0]["role"] == "user", 'messages: first message must use the "user" role')
    need(
        messages[-1]["role"] == "user",
        "This model does not support assistant message prefill. The conversation must end with a user message.",
    )
    waiting: list[str] = []
    used: set[str] = set()
    for at, message in enumerate(messages):
        role, content = message["role"], message["content"]
        need(role in {"user", "assistant"}, f"messages.{at}: unknown variant `{role}`")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        need(blocks, f"messages.{at}: content must be non-empty")
        results = [one["tool_use_id"] for one in blocks if one["type"] == "tool_result"]
        if waiting:
            first = [one["type"] for one in blocks[: len(results)]]
            need(
                role == "user"
                and sorted(results) == sorted(waiting)
                and set(first) <= {"tool_result"},
                f"messages.{at}: `tool_use` ids were found without `tool_result` blocks immediately after: {waiting}",
            )
        else:
            need(
                not results,
                f"messages.{at}: unexpected `tool_use_id` found in `tool_result` blocks: {results}",
            )
        waiting = []
        for block in blocks:
            marks += "cache_control" in block
            waiting += _anthropic_block(block, role, at, used)
    need(not waiting, "`tool_use` ids were found without `tool_result` blocks immediately after")
    need(
        not used or body.get("tools"),
        "Requests which include `tool_use` or `tool_result` blocks must define tools",
    )
    need(marks <= 4, f"A maximum of 4 blocks with cache_control may be provided. Found {marks}.")


def _anthropic_block(block: Body, role: str, at: int, used: set[str]) -> list[str]:
    match block["type"]:
        case "text":
            need(block["text"], f"messages.{at}: text content blocks must be non-empty")
            need(
                block["text"].strip(),
                f"messages.{at}: text content blocks must contain non-whitespace text",
            )
        case "tool_use":
            need(
                role == "assistant",
                f"messages.{at}: `tool_use` blocks can only be in assistant messages",
            )
            need(
                _STRICT.fullmatch(block["id"]),
                f"messages.{at}.tool_use.id: String should match pattern",
            )
            need(block["id"] not in used, "messages: `tool_use` ids must be unique")
            need(
                _STRICT.fullmatch(block["name"]),
                f"messages.{at}.tool_use.name: String should match pattern",
            )
            need(
                isinstance(block["input"], dict),
                f"messages.{at}.tool_use.input: Input should be a valid dictionary",
            )
            used.add(block["id"])
            return [block["id"]]
        case "tool_result":
            need(
                role == "user", f"messages.{at}: `tool_result` blocks can only be in user messages"
            )
            content = block.get("content", "")
            if block.get("is_error"):
                need(
                    isinstance(content, str) or all(one["type"] == "text" for one in content),
                    "tool_result: all content must be type text if `is_error` is true",
                )
            need(content, "text content blocks must be non-empty")
        case "thinking":
            need(
                role == "assistant" and block.get("signature"),
                f"messages.{at}: Invalid `signature` in `thinking` block",
            )
        case "redacted_thinking":
            need(
                role == "assistant" and block.get("data"),
                f"messages.{at}: Invalid `data` in `redacted_thinking` block",
            )
        case "image":
            source = block["source"]
            if source["type"] == "base64":
                need(
                    source["media_type"] in {"image/jpeg", "image/png", "image/gif", "image/webp"},
                    "image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', "
                    "'image/gif' or 'image/webp'",
                )
                base64.b64decode(source["data"], validate=True)
            else:
                need(
                    source["type"] == "url" and source["url"].startswith("https://"),
                    "Only HTTPS URLs are supported.",
                )
        case other:
            raise Refused(f"messages.{at}: Input tag '{other}' found using 'type' does not match")
    return []


# --- Gemini ------------------------------------------------------------------------------------------


def gemini(body: Body, model: str) -> None:
    contents = body.get("contents")
    need(isinstance(contents, list) and contents, "contents is not specified")
    signs = model.startswith("gemini") and not model.startswith("gemini-2")
    if "systemInstruction" in body:
        texts = [one.get("text", "") for one in body["systemInstruction"]["parts"]]
        need(all(one.strip() for one in texts) and texts, "systemInstruction: empty")
    declared: set[str] = set()
    for tool in body.get("tools") or ():
        for one in tool.get("functionDeclarations", ()):
            need(
                _GEMINI_NAME.fullmatch(one["name"]),
                "Invalid function name. Must start with a letter or an underscore.",
            )
            declared.add(one["name"])
    calls: list[Body] = []
    need(
        contents[0]["role"] == "user",
        "Please ensure that multiturn requests begin with a user turn",
    )
    need(contents[-1]["role"] == "user", "Please ensure that the request ends with a user turn")
    for at, content in enumerate(contents):
        role, parts = content["role"], content.get("parts")
        need(role in {"user", "model"}, "Please use a valid role: user, model.")
        need(parts, "Unable to submit request because it must include at least one parts field")
        if at:
            need(
                role != contents[at - 1]["role"],
                "Please ensure that multiturn requests alternate between user and model",
            )
        responses = [one["functionResponse"] for one in parts if "functionResponse" in one]
        need(
            len(responses) == len(calls),
            "Please ensure that the number of function response parts is equal to the number of function call parts of "
            "the function call turn.",
        )
        if calls:
            need(
                "functionResponse" in parts[0],
                "Please ensure that function response turn comes first",
            )
            for call, response in zip(calls, responses, strict=True):
                need(call["name"] == response["name"], "function response name mismatch")
                need(call.get("id") == response.get("id"), "function response id mismatch")
                need(
                    not declared or call["name"] in declared,
                    f"Function `{call['name']}` is not declared",
                )
        calls = [one["functionCall"] for one in parts if "functionCall" in one]
        need(not calls or role == "model", "function call in a user turn")
        if calls and signs:
            first = next(one for one in parts if "functionCall" in one)
            need(
                first.get("thoughtSignature"),
                "Function call is missing a thought_signature in functionCall parts. "
                f"Function call `{calls[0]['name']}`",
            )
            need(all(one.get("id") for one in calls), "function call without id")
        for part in parts:
            _gemini_part(part)
    need(not calls, "Please ensure that the number of function response parts is equal")


def _gemini_part(part: Body) -> None:
    known = {"text", "functionCall", "functionResponse", "inlineData", "fileData"}
    need(len(known & part.keys()) == 1, "Invalid value at 'contents.parts': oneof field 'data'")
    if "text" in part:
        need(
            part["text"].strip() or part.get("thoughtSignature"),
            "Unable to submit request: empty text parameter",
        )
    for kind in ("functionCall", "functionResponse"):
        if kind in part:
            need(_GEMINI_NAME.fullmatch(part[kind]["name"]), "Invalid function name.")
            value = part[kind]["args" if kind == "functionCall" else "response"]
            need(isinstance(value, dict), "Invalid value: expected Struct")
    if signature := part.get("thoughtSignature"):
        base64.b64decode(signature, validate=True)


CHECKS: Mapping[str, Callable[[Body], None]] = {
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
    "anthropic_messages": anthropic_messages,
}
APIS: Sequence[str] = (*CHECKS, "gemini_contents")
