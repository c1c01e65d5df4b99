"""Servers of the four vendors: they hold to the rules, refuse in the vendors' words, and sign what they think."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tests.contract.models.sse_server import DONE, Exchange, Reply, chunk, data
from tests.kit.vendors.rules import Refused, check


class Say(NamedTuple):
    """A piece of the answer."""

    text: str


class Call(NamedTuple):
    """A call of a tool."""

    name: str
    arguments: Mapping[str, Any]


class Think(NamedTuple):
    """What the model thinks apart."""

    text: str


class Answer(NamedTuple):
    """One answer, and why it stops: the vendor's own word, else the usual one."""

    steps: Sequence[Say | Call | Think]
    reason: str = ""
    prompt_tokens: int = 11
    completion_tokens: int = 7


MODELS = {
    "openai_chat": "deepseek-v4",
    "openai_responses": "gpt-5.6",
    "anthropic_messages": "claude-opus-4-8",
    "gemini_contents": "gemini-3-pro",
}
PATHS = {
    "openai_chat": "/v1/chat/completions",
    "openai_responses": "/v1/responses",
    "anthropic_messages": "/v1/messages",
    "gemini_contents": "/v1/models/gemini-3-pro:streamGenerateContent?alt=sse",
}
LENGTH = {
    "openai_chat": "length",
    "openai_responses": "max_output_tokens",
    "anthropic_messages": "max_tokens",
    "gemini_contents": "MAX_TOKENS",
}


@dataclass
class FakeVendor:
    """Plays its answers in order. `refusals`: what it answered 400 to, in its own words."""

    api: str
    answers: list[Answer | Reply]
    is_streaming: bool = True
    refusals: list[str] = field(default_factory=list)
    bodies: list[dict] = field(default_factory=list)
    signed: list[Any] = field(default_factory=list)
    """What it will want back unchanged, as long as the tool loop lasts."""
    _count: int = 0

    def choose(self, exchange: Exchange, at: int) -> Reply:
        body = exchange.json
        self.bodies.append(body)
        try:
            assert exchange.line.split()[1] == PATHS[self.api], exchange.line
            check(self.api, body, MODELS[self.api])
            self._check_signed(body)
        except Refused as refused:
            self.refusals.append(str(refused))
            return Reply([self.error(str(refused))], status=400)
        answer = self.answers[min(at, len(self.answers) - 1)]
        if isinstance(answer, Reply):
            return answer
        made = _MAKERS[self.api](self, answer)
        if self.is_streaming:
            return Reply(made.events)
        return Reply(
            [json.dumps(made.whole).encode()], headers={"content-type": "application/json"}
        )

    def error(self, words: str) -> bytes:
        """An error body in the vendor's shape."""
        shapes: Mapping[str, object] = {
            "openai_chat": {
                "error": {"message": words, "type": "invalid_request_error", "code": None}
            },
            "openai_responses": {
                "error": {"message": words, "type": "invalid_request_error", "code": None}
            },
            "anthropic_messages": {
                "type": "error",
                "error": {"type": "invalid_request_error", "message": words},
            },
            "gemini_contents": {
                "error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT"}
            },
        }
        return json.dumps(shapes[self.api]).encode()

    def number(self) -> int:
        self._count += 1
        return self._count

    def _check_signed(self, body: dict) -> None:
        """What was signed in this loop must come back as it was: `json` holds it whole."""
        text = json.dumps(body, sort_keys=True)
        for one in self.signed:
            if json.dumps(one, sort_keys=True) not in text:
                raise Refused(
                    f"{one} in the latest assistant message cannot be modified or left out"
                )


class _Made(NamedTuple):
    events: list[bytes]
    whole: object


def _named(value: dict) -> bytes:
    return f"event: {value['type']}\n".encode() + data(value)


def _halves(text: str) -> list[str]:
    middle = len(text) // 2
    return [text[:middle], text[middle:]]


def _chat(fake: FakeVendor, answer: Answer) -> _Made:
    events, message = (
        [],
        {"role": "assistant", "content": "", "reasoning_content": "", "tool_calls": []},
    )
    fake.signed = []
    for step in answer.steps:
        match step:
            case Think(text):
                message["reasoning_content"] += text
                events += [data(chunk({"reasoning_content": one})) for one in _halves(text)]
            case Say(text):
                message["content"] += text
                events += [data(chunk({"content": one})) for one in _halves(text)]
            case Call(name, arguments):
                number = fake.number()
                signature = {"google": {"thought_signature": f"c2ln{number:04}"}}
                call = {
                    "id": f"call_{number}", "type": "function", "extra_content": signature,
                    "function": {"name": name, "arguments": json.dumps(arguments)},
                }  # fmt: skip
                fake.signed.append(signature)
                events.append(
                    data(chunk({"tool_calls": [{"index": len(message["tool_calls"]), **call}]}))
                )
                message["tool_calls"].append(call)
    if message["tool_calls"] and message["reasoning_content"]:
        fake.signed.append(message["reasoning_content"])
    reason = answer.reason or ("tool_calls" if message["tool_calls"] else "stop")
    usage = {"prompt_tokens": answer.prompt_tokens, "completion_tokens": answer.completion_tokens}
    events += [data(chunk(finish=reason)), data({"choices": [], "usage": usage}), DONE]
    shown = {name: value for name, value in message.items() if value}
    choice = {"index": 0, "message": shown, "finish_reason": reason}
    return _Made(events, {"object": "chat.completion", "choices": [choice], "usage": usage})


def _responses(fake: FakeVendor, answer: Answer) -> _Made:
    events, output = [], []
    fake.signed = []

    def add(item: dict, *between: dict) -> None:
        at = len(output)
        events.append(
            _named(
                {
                    "type": "response.output_item.added",
                    "output_index": at,
                    "item": item | {"status": "in_progress"},
                }
            )
        )
        events.extend(_named({"output_index": at, **one}) for one in between)
        events.append(
            _named({"type": "response.output_item.done", "output_index": at, "item": item})
        )
        output.append(item)

    thoughts: list[dict] = []
    for step in answer.steps:
        number = fake.number()
        match step:
            case Think(text):
                thought = {
                    "type": "reasoning", "id": f"rs_{number}", "encrypted_content": f"sealed {number}",
                    "summary": [{"type": "summary_text", "text": text}],
                }  # fmt: skip
                thoughts = [thought]
                add(thought)
            case Say(text):
                content = [{"type": "output_text", "text": text, "annotations": []}]
                deltas = [
                    {"type": "response.output_text.delta", "delta": one} for one in _halves(text)
                ]
                add(
                    {
                        "type": "message",
                        "id": f"msg_{number}",
                        "role": "assistant",
                        "content": content,
                    },
                    *deltas,
                )
                thoughts = []
            case Call(name, arguments):
                text = json.dumps(arguments)
                deltas = [
                    {"type": "response.function_call_arguments.delta", "delta": one}
                    for one in _halves(text)
                ]
                call = {
                    "type": "function_call",
                    "id": f"fc_{number}",
                    "call_id": f"call_{number}",
                    "name": name,
                }
                add(call | {"arguments": text}, *deltas)
                fake.signed += thoughts
                thoughts = []
    is_cut = answer.reason in {"max_output_tokens", "content_filter"}
    usage = {"input_tokens": answer.prompt_tokens, "output_tokens": answer.completion_tokens}
    response = {
        "object": "response", "id": "resp_1", "output": output, "usage": usage,
        "status": "incomplete" if is_cut else "completed",
        "incomplete_details": {"reason": answer.reason} if is_cut else None,
    }  # fmt: skip
    begun = {
        "type": "response.created",
        "response": {"object": "response", "status": "in_progress"},
    }
    ended = {"type": f"response.{response['status']}", "response": response}
    return _Made([_named(begun), *events, _named(ended)], response)


def _messages(fake: FakeVendor, answer: Answer) -> _Made:
    events, content = [], []
    fake.signed = []

    def add(block: dict, start: dict, deltas: Sequence[dict]) -> None:
        at = len(content)
        events.append(_named({"type": "content_block_start", "index": at, "content_block": start}))
        events.extend(
            _named({"type": "content_block_delta", "index": at, "delta": one}) for one in deltas
        )
        events.append(_named({"type": "content_block_stop", "index": at}))
        events.append(_named({"type": "ping"}))
        content.append(block)

    for step in answer.steps:
        number = fake.number()
        match step:
            case Think(text):
                block = {"type": "thinking", "thinking": text, "signature": f"c2ln{number:04}"}
                deltas = [{"type": "thinking_delta", "thinking": one} for one in _halves(text)]
                deltas.append({"type": "signature_delta", "signature": block["signature"]})
                add(block, {"type": "thinking", "thinking": "", "signature": ""}, deltas)
                fake.signed.append(block)
            case Say(text):
                deltas = [{"type": "text_delta", "text": one} for one in _halves(text)]
                add({"type": "text", "text": text}, {"type": "text", "text": ""}, deltas)
            case Call(name, arguments):
                start = {"type": "tool_use", "id": f"toolu_{number}", "name": name}
                pieces = ["", *_halves(json.dumps(arguments))]
                deltas = [{"type": "input_json_delta", "partial_json": one} for one in pieces]
                add(start | {"input": dict(arguments)}, start | {"input": {}}, deltas)
    calls = any(one["type"] == "tool_use" for one in content)
    if not calls:
        fake.signed = []
    reason = answer.reason or ("tool_use" if calls else "end_turn")
    begun = {
        "type": "message", "role": "assistant", "content": [],
        "usage": {"input_tokens": answer.prompt_tokens - 4, "cache_read_input_tokens": 4, "output_tokens": 1},
    }  # fmt: skip
    events = [
        _named({"type": "message_start", "message": begun}),
        *events,
        _named({
            "type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": answer.completion_tokens},
        }),
        _named({"type": "message_stop"}),
    ]  # fmt: skip
    usage = begun["usage"] | {"output_tokens": answer.completion_tokens}
    return _Made(events, begun | {"content": content, "stop_reason": reason, "usage": usage})


def _contents(fake: FakeVendor, answer: Answer) -> _Made:
    parts: list[dict] = []
    fake.signed = []
    has_signature = False
    for step in answer.steps:
        number = fake.number()
        match step:
            case Think(text):
                parts.append({"text": text, "thought": True})
            case Say(text):
                parts += [{"text": one} for one in _halves(text)]
            case Call(name, arguments):
                part: dict = {
                    "functionCall": {"name": name, "args": dict(arguments), "id": f"id{number}"}
                }
                if not has_signature:  # of calls at once the first alone has one
                    part["thoughtSignature"] = f"c2ln{number:04}"
                    has_signature = True
                    fake.signed.append(part["thoughtSignature"])
                parts.append(part)
    usage = {
        "promptTokenCount": answer.prompt_tokens, "candidatesTokenCount": answer.completion_tokens - 2,
        "thoughtsTokenCount": 2,
    }  # fmt: skip
    reason = answer.reason or "STOP"

    def response(said: Sequence[dict], **fields: object) -> dict:
        return {"candidates": [{"content": {"role": "model", "parts": list(said)}, **fields}]}

    events = [data(response([one])) for one in parts]
    events.append(data(response([{"text": ""}], finishReason=reason) | {"usageMetadata": usage}))
    return _Made(events, [response(parts, finishReason=reason) | {"usageMetadata": usage}])


_MAKERS: Mapping[str, Callable[[FakeVendor, Answer], _Made]] = {
    "openai_chat": _chat,
    "openai_responses": _responses,
    "anthropic_messages": _messages,
    "gemini_contents": _contents,
}


def signatures_in(value: object) -> Iterator[str]:
    """Everything signed or sealed in a body."""
    names = {
        "signature",
        "thoughtSignature",
        "thought_signature",
        "encrypted_content",
        "reasoning_content",
    }
    match value:
        case Mapping():
            for name, one in value.items():
                if name in names and isinstance(one, str) and one:
                    yield one
                yield from signatures_in(one)
        case list():
            for one in value:
                yield from signatures_in(one)
