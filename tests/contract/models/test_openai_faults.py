"""Cause by cause, in exact bytes: what the model's server sends, what comes out, and that nobody asks twice."""

import asyncio
import json
from collections.abc import Callable

import pytest

from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.models.openai import OpenAIModel
from backscroll_sidecar.models.sse import MAX_EVENT_BYTES
from backscroll_sidecar.ports import (
    Finished,
    FinishReason,
    ModelError,
    ModelEvent,
    ModelFault,
    TextDelta,
    ToolCallDelta,
    UsageDelta,
)
from tests.contract.models.model_contract import ENOUGH_S
from tests.contract.models.scenario import ask, joined, listen
from tests.contract.models.sse_server import (
    CUT,
    DONE,
    HANG,
    Reply,
    SseServer,
    chunk,
    data,
    error_body,
    said,
    stopped,
    used,
    whole,
)

Connect = Callable[..., OpenAIModel]
PATH = "/chat/completions"
JSON = {"content-type": "application/json"}
CAT, FISH, STOP = TextDelta("猫"), TextDelta("🐟"), Finished(FinishReason.STOP)
NONE, TOOLS = Finished(FinishReason.NONE), Finished(FinishReason.TOOL_CALLS)


def call(**fields) -> bytes:
    return data(chunk({"tool_calls": [fields]}))


WEATHER = call(
    index=0, id="c1", type="function", function={"name": "weather", "arguments": '{"a":'}
)
ONE = call(index=0, function={"arguments": " 1}"})
WHOLE_WEATHER = ToolCallDelta(ToolCallPart("c1", "weather", '{"a": 1}'))

NO_TEXT = [data(chunk({"content": text})) for text in ("", None)]
COUNTED = data(chunk({"content": "猫"}, usage={"prompt_tokens": 9, "completion_tokens": 1}))


def escaped(escapes: str) -> bytes:
    """A delta whose text is written in JSON escapes."""
    return b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\n' % escapes.encode()


CLEAN: dict[str, tuple[list, list[ModelEvent]]] = {
    "as it should be": ([said("猫"), said("🐟"), stopped(), used(9, 2), DONE], [CAT, FISH, UsageDelta(9, 2), STOP]),
    "no DONE": ([said("猫"), stopped()], [CAT, STOP]),
    "text beside the reason": ([data(chunk({"content": "猫"}, "length")), DONE], [CAT, Finished(FinishReason.LENGTH)]),
    "no finish reason": ([said("猫"), DONE], [CAT, STOP]),
    "no finish reason and no DONE": ([said("猫")], [CAT, NONE]),
    "a reason nobody knows": ([said("猫"), stopped("whim")], [CAT, Finished(FinishReason.UNKNOWN)]),
    "an interruption": ([said("猫"), stopped("abort"), DONE], [CAT, Finished(FinishReason.INTERRUPTED)]),
    "length": ([said("猫"), stopped("length"), DONE], [CAT, Finished(FinishReason.LENGTH)]),
    "content filter": ([stopped("content_filter"), DONE], [Finished(FinishReason.CONTENT_FILTER)]),
    "comments and blank lines": ([b": ping\n\n\n", said("猫"), b":\n", b": ping\n\n", stopped(), DONE], [CAT, STOP]),
    "CR LF": ([b"data: " + said("猫")[6:-2] + b"\r\n\r\n", stopped(), DONE], [CAT, STOP]),
    "no space after data:": ([b"data:" + said("猫")[6:], stopped(), DONE], [CAT, STOP]),
    "empty choices": ([data({"choices": [], "prompt_filter_results": []}), said("猫"), stopped(), DONE], [CAT, STOP]),
    "no choices": ([data({"id": "c1"}), said("猫"), data({"choices": None}), stopped(), DONE], [CAT, STOP]),
    "empty deltas": ([*NO_TEXT, said("猫"), stopped()], [CAT, STOP]),
    "null delta": ([data({"choices": [{"index": 0, "delta": None}]}), said("猫"), stopped()], [CAT, STOP]),
    "another choice": (
        [data({"choices": [{"index": 1, "delta": {"content": "🐟"}}]}), said("猫")], [FISH, NONE]
    ),
    "reasoning": ([data(chunk({"reasoning_content": "嗯"})), said("猫"), stopped()], [CAT, STOP]),
    "a refusal": ([data(chunk({"refusal": "猫"})), stopped()], [CAT, Finished(FinishReason.CONTENT_FILTER)]),
    "a list of parts": ([data(chunk({"content": [{"type": "text", "text": "猫"}]})), stopped()], [CAT, STOP]),
    "usage in every chunk": ([COUNTED, stopped(), used(9, 2)], [CAT, UsageDelta(9, 2), STOP]),
    "error after the reason": ([said("猫"), stopped(), data({"error": {"message": "late"}})], [CAT, STOP]),
    "cut after the reason": ([said("猫"), stopped(), CUT], [CAT, STOP]),
    "no blank line at the end": ([said("猫"), stopped().rstrip()], [CAT, STOP]),
    "CR alone": ([said("猫").replace(b"\n", b"\r"), stopped().replace(b"\n", b"\r")], [CAT, STOP]),
    "data on two lines": ([b"data: {\ndata: " + said("猫")[7:], stopped()], [CAT, STOP]),
    "left open after DONE": ([said("猫"), DONE, HANG], [CAT, STOP]),
    "a lone surrogate": ([escaped(r"\ud83d!"), stopped()], [TextDelta("\ufffd!"), STOP]),
    "a surrogate at the end": ([escaped(r"\ud83d"), stopped()], [TextDelta("\ufffd"), STOP]),
    "a pair across deltas": ([escaped(r"\ud83d"), escaped(r"\udc1f"), stopped()], [FISH, STOP]),
    "NUL": ([escaped(r"a\u0000"), stopped()], [TextDelta("a\ufffd"), STOP]),
    "a call in pieces": ([WEATHER, ONE, stopped("tool_calls"), DONE], [WHOLE_WEATHER, TOOLS]),
    "a call that stops": ([WEATHER, ONE, stopped("stop")], [WHOLE_WEATHER, TOOLS]),
    "a whole call, no reason": ([WEATHER, ONE], [WHOLE_WEATHER, NONE]),
    "a call that was cut off": ([WEATHER, stopped("length"), DONE], [Finished(FinishReason.LENGTH)]),
    "a whole answer instead of a stream": ([whole({"content": "猫"})], [CAT, STOP]),
}  # fmt: skip


@pytest.mark.parametrize("cause", CLEAN)
async def test_clean_endings(cause: str, connect: Connect, server: SseServer) -> None:
    steps, expected = CLEAN[cause]
    headers = JSON if cause.startswith("a whole answer") else {}
    heard, error = await listen(connect(Reply(steps, headers=headers)))
    assert error is None
    assert heard == joined(expected)
    assert len(server.exchanges) == 1


ERROR = {"message": "boom sk-kept-to-ourselves", "type": "server_error"}
FAILED: dict[str, tuple[list, list[ModelEvent], ModelFault]] = {
    "malformed line": ([said("猫"), b'data: {"choices": [{\n\n', said("🐟")], [CAT], ModelFault.BAD_RESPONSE),
    "bytes that are no UTF-8": ([said("猫"), b'data: {"choices": "\xff"}\n\n'], [CAT], ModelFault.BAD_RESPONSE),
    "not an object": ([said("猫"), data(5)], [CAT], ModelFault.BAD_RESPONSE),
    "null": ([said("猫"), b"data: null\n\n", said("🐟")], [CAT], ModelFault.BAD_RESPONSE),
    "choices of another shape": ([data({"choices": {"0": 1}})], [], ModelFault.BAD_RESPONSE),
    "error event": ([said("猫"), data({"error": ERROR}), said("🐟")], [CAT], ModelFault.SERVER_ERROR),
    "error event first": ([data({"error": ERROR})], [], ModelFault.SERVER_ERROR),
    "error event of one word": ([said("猫"), data({"error": "boom"})], [CAT], ModelFault.SERVER_ERROR),
    "error event, vLLM": ([said("猫"), data({"object": "error", "message": "boom"})], [CAT], ModelFault.SERVER_ERROR),
    "error event with a status": ([data({"error": {**ERROR, "code": 429}})], [], ModelFault.RATE_LIMITED),
    "error event with a name": ([data({"error": {**ERROR, "type": "rate_limit_error"}})], [], ModelFault.RATE_LIMITED),
    "finish reason error": ([said("猫"), stopped("error")], [CAT], ModelFault.SERVER_ERROR),
    "nothing": ([], [], ModelFault.BAD_RESPONSE),
    "DONE alone": ([DONE], [], ModelFault.BAD_RESPONSE),
    "a page": ([b"<html><body>Welcome</body></html>"], [], ModelFault.BAD_RESPONSE),
    "half a call, no reason": ([WEATHER], [], ModelFault.BAD_RESPONSE),
    "a call without a name": ([call(index=0, id="c1"), stopped("tool_calls")], [], ModelFault.BAD_RESPONSE),
    "half a line at the end": ([said("猫"), b'data: {"choices": [{"ind'], [CAT], ModelFault.CONNECTION),
    "half a name at the end": ([said("猫"), b"dat"], [CAT], ModelFault.CONNECTION),
    "a line without an end": ([said("猫"), b"data: " + b"x" * MAX_EVENT_BYTES], [CAT], ModelFault.BAD_RESPONSE),
    "cut inside a line": ([said("猫"), said("🐟")[:-9], CUT], [CAT], ModelFault.CONNECTION),
    "cut inside a character": ([said("猫"), "data: 猫".encode()[:-1], CUT], [CAT], ModelFault.CONNECTION),
}  # fmt: skip


@pytest.mark.parametrize("cause", FAILED)
async def test_failures(cause: str, connect: Connect, server: SseServer) -> None:
    steps, expected, fault = FAILED[cause]
    heard, error = await listen(connect(Reply(steps)))
    assert heard == expected
    assert error is not None
    assert error.fault is fault
    assert "boom" not in error.safe_reason
    assert len(server.exchanges) == 1


async def test_every_byte_in_a_chunk_of_its_own(connect: Connect) -> None:
    """Characters cut anywhere come out whole."""
    body = b"".join([said("猫🐟"), said("👩‍👩‍👧é"), stopped(), used(1, 2), DONE])
    model = connect(Reply([bytes([byte]) for byte in body]))
    heard, error = await listen(model)
    assert error is None
    assert heard == [TextDelta("猫🐟👩‍👩‍👧é"), UsageDelta(1, 2), STOP]


FILTERED_PROMPT = {"error": {"message": "boom", "code": "content_filter", "status": 400}}


async def test_a_prompt_refused_by_the_filter_is_an_ending(
    connect: Connect, server: SseServer
) -> None:
    """S5-31: Azure says it by a status, others by an event or in a body."""
    body = json.dumps(FILTERED_PROMPT).encode()
    filtered = [Finished(FinishReason.CONTENT_FILTER)]
    for reply in (
        Reply([body], 400, JSON),
        Reply([body], headers=JSON),
        Reply([data(FILTERED_PROMPT)]),
    ):
        assert await listen(connect(reply)) == (filtered, None)
    late = connect(Reply([said("猫"), data(FILTERED_PROMPT), said("🐟")]))
    assert await listen(late) == ([CAT, *filtered], None)
    assert len(server.exchanges) == 4


STATUSES = [
    (307, "", ModelFault.BAD_RESPONSE),
    (400, "some_code", ModelFault.REJECTED),
    (400, "context_length_exceeded", ModelFault.REJECTED),
    (401, "invalid_api_key", ModelFault.UNAUTHORIZED),
    (403, "", ModelFault.UNAUTHORIZED),
    (404, "model_not_found", ModelFault.REJECTED),
    (408, "", ModelFault.TIMEOUT),
    (409, "", ModelFault.REJECTED),
    (422, "", ModelFault.REJECTED),
    (429, "rate_limit_exceeded", ModelFault.RATE_LIMITED),
    (500, "", ModelFault.SERVER_ERROR),
    (503, "", ModelFault.SERVER_ERROR),
    (529, "", ModelFault.SERVER_ERROR),
]


@pytest.mark.parametrize(("status", "code", "fault"), STATUSES)
async def test_statuses(
    status: int, code: str, fault: ModelFault, connect: Connect, server: SseServer
) -> None:
    reply = Reply(
        [error_body(code, "boom")],
        status,
        {**JSON, "location": "/v1/elsewhere", "x-should-retry": "true"},
    )
    model = connect(reply)
    heard, error = await listen(model)
    with pytest.raises(ModelError) as whole_error:
        await model.post(PATH, b"{}", None)
    assert heard == []
    assert error is not None
    assert error.fault is whole_error.value.fault is fault
    assert "boom" not in error.safe_reason
    assert len(server.exchanges) == 2


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"retry-after": "7"}, 7.0),
        ({"retry-after-ms": "250"}, 0.25),
        ({}, None),
        ({"retry-after": "soon"}, None),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
async def test_retry_after_is_passed_on_and_not_followed(
    status: int, headers: dict[str, str], wait: float | None, connect: Connect, server: SseServer
) -> None:
    _, error = await listen(connect(Reply([error_body("x")], status, {**JSON, **headers})))
    assert error is not None
    assert error.retry_after_s == wait
    assert len(server.exchanges) == 1


async def test_a_status_with_a_page_for_a_body(connect: Connect) -> None:
    page = Reply([b"<html>Bad \xff Gateway</html>"], 502, {"content-type": "text/html"})
    _, error = await listen(connect(page))
    assert error is not None
    assert error.fault is ModelFault.SERVER_ERROR


@pytest.mark.parametrize("k", [0, 1, 5])
async def test_silence_between_deltas(k: int, connect: Connect, server: SseServer) -> None:
    """The gap counts from the last bytes, without a limit for the whole call."""
    async with asyncio.timeout(ENOUGH_S):
        heard, error = await listen(connect(Reply([*[said("猫")] * k, HANG]), idle_s=0.5))
    assert heard == joined([CAT] * k)
    assert error is not None
    assert error.fault is ModelFault.TIMEOUT
    assert len(server.exchanges) == 1


async def test_silence_before_the_status(connect: Connect, server: SseServer) -> None:
    model = connect(Reply(before_head=[HANG]), idle_s=0.3, answer_s=0.3)
    async with asyncio.timeout(ENOUGH_S):
        _, error = await listen(model)
        with pytest.raises(ModelError) as whole_error:
            await model.post(PATH, b"{}", None)
    assert error is not None
    assert error.fault is whole_error.value.fault is ModelFault.TIMEOUT
    assert len(server.exchanges) == 2


async def test_pings_are_signs_of_life(connect: Connect) -> None:
    steps = [*[b": ping\n\n", 0.3] * 8, said("猫"), stopped(), DONE]
    heard, error = await listen(connect(Reply(steps), idle_s=1.5))
    assert error is None
    assert heard == [CAT, STOP]


async def test_pings_do_not_outlive_the_call(connect: Connect, server: SseServer) -> None:
    async with asyncio.timeout(ENOUGH_S):
        heard, error = await listen(
            connect(Reply([b": ping\n\n", 0.05] * 10_000)), ask(timeout_s=0.5)
        )
        await server.exchanges[0].gone.wait()
    assert heard == []
    assert error is not None
    assert error.fault is ModelFault.TIMEOUT


async def test_a_stream_left_open_after_the_reason(connect: Connect) -> None:
    async with asyncio.timeout(ENOUGH_S):
        for end in (HANG, DONE):
            heard, error = await listen(connect(Reply([said("猫"), stopped(), end, HANG])))
            assert error is None
            assert heard == [CAT, STOP]


async def test_a_connection_refused_and_one_closed_unanswered(
    connect: Connect, server: SseServer
) -> None:
    _, refused = await listen(connect(base_url="http://127.0.0.1:1/v1"))
    _, unanswered = await listen(connect(Reply(before_head=[CUT])))
    assert refused is not None
    assert unanswered is not None
    assert refused.fault is unanswered.fault is ModelFault.CONNECTION
    assert len(server.exchanges) == 1


async def test_whole_answers_that_are_none(connect: Connect) -> None:
    for body in (b"{", b"", b"[]", b'{"choices": []}', b"null", b'"\xff"'):
        _, error = await listen(connect(Reply([body], headers=JSON)))
        assert error is not None
        assert error.fault is ModelFault.BAD_RESPONSE


async def test_a_whole_answer_may_take_longer_than_a_gap(connect: Connect) -> None:
    model = connect(
        Reply([b'{"cat": "\xe7\x8c\xab"}'], headers=JSON, before_head=[1.0]), idle_s=0.3
    )
    assert await model.post(PATH, b"{}", None) == {"cat": "猫"}
