"""Chats: the context is built, the model called, the bot's tools run, round by round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Unpack

from backscroll._calls.context import ContextOptions, context_request
from backscroll._calls.plan import CHAT_TIMEOUT_S, Call, Conversation, Plan, Stream
from backscroll._encode import encode
from backscroll._tools import ToolFunctions, ToolRun, ToolTable
from backscroll.errors import BackscrollError, Unavailable
from backscroll.events import (
    ChatAnswer,
    ChatEvent,
    End,
    ErrorEvent,
    ToolCallEvent,
    end_of,
    error_of,
    event_of,
)
from backscroll.results import Context
from backscroll.v1 import context_pb2
from backscroll.values import PayloadFormatName, ToolCall, ToolResult

_MAX_ROUNDS = 100
"""What the contract allows. The server ends a turn much earlier; this is for a server that does not."""


def stream_chat(
    channel: str = "",
    question: str = "",
    *,
    temperature: float | None = None,
    max_tool_iterations: int | None = None,
    enable_tools: bool | None = None,
    max_output_tokens: int | None = None,
    extra_body_json: str = "",
    model_api: PayloadFormatName | int | None = None,
    question_message_id: str = "",
    tools: ToolFunctions | None = None,
    turn_id: str = "",
    tool_results: Sequence[ToolResult] = (),
    timeout_s: float | None = CHAT_TIMEOUT_S,
    **context: Unpack[ContextOptions],
) -> Conversation[ChatEvent]:
    """Answer a question: build the context, call the server's model, iterate over what it says.

    The question and the reply are stored in the channel. First comes a `ContextEvent`, then each
    `Delta`, last an `End` that says why it ended; a model that fails on the way is an `ErrorEvent`,
    not an exception, and an end of "deadline" or "incomplete" leaves half an answer without one. A
    server that is not there, or stops midway, raises. Leaving the loop early ends the call and the
    model's work. Never retried by itself, but for the results of tools, which are sent once more
    when the server could not be reached; an error raised then has `turn_id` and `tool_results`,
    which continue the turn.

    Parameters
    ----------
    channel, question
        As for `build_context`; a question that is no stored message needs its `asker`.
    temperature
        0 to 2. None: the server's, 0.7.
    max_tool_iterations
        Most rounds of tools in one turn, 1 to 100. None: the server's, 10.
    enable_tools
        Whether the model may call tools. None: where there are `tools`.
    max_output_tokens
        Cap of the answer. None: the model's own.
    extra_body_json
        A JSON object of further fields for the request to the model, over those of the server's setting
        model_extra_body: ``'{"enable_thinking": false}'``.
    model_api
        The interface to call the model by, at the address the server is set to. None: the server's.
    question_message_id
        The id to store the question under, so that a retry is no second question. None: made up.
        Ignored where a stored message is the question, as `trigger_message_id` says.
    tools
        Functions by name. The client calls those that the model asks for, hands back what they
        return, as text or JSON, and goes on until there is an answer. One that raises costs only
        itself: the model learns that it failed. Without `tools_json` their schemas are made from
        annotations and docstrings; parameters that begin with an underscore are no one's but
        yours. With `AsyncClient` they may be asynchronous, and plain ones run in a thread, so that
        they do not hold up the event loop: they must be safe there.
    turn_id, tool_results
        Without `tools`: continue the turn that ended with "tool_calls", with the results of its
        calls. Of a turn that is complete: its reply again. Question and context are ignored then.
    timeout_s
        Deadline of each call of the server, two minutes; the tools' own time comes on top.
    **context
        Every other keyword of `build_context`.

    Raises
    ------
    InvalidRequest
        As for `build_context`, and with reason MISSING_FIELD without an asker.
    NotFound
        If there is no such turn; or no message `trigger_message_id`, and no question.
    Unavailable
        If the server is not there, or stops midway.
    TypeError, ValueError
        Before anything is asked: `tools` is no dict of functions, or asynchronous ones come without
        `AsyncClient`; a function cannot be described, or no vendor takes its name (letters, digits,
        _ and -, at most 64).

    Examples
    --------
    >>> for event in client.stream_chat("room", "when do we meet?", asker="ann"):
    ...     match event:
    ...         case Delta(text):
    ...             print(text)
    ...         case ErrorEvent(message):
    ...             print(message)
    when do
    we meet?
    """
    turn = _begun(
        channel,
        question,
        context,
        _model_call(
            temperature,
            max_tool_iterations,
            enable_tools,
            max_output_tokens,
            extra_body_json,
            model_api,
        ),
        question_message_id,
        tools,
        (turn_id, tool_results),
    )
    return _rounds(turn, timeout_s)


def chat(
    channel: str = "",
    question: str = "",
    *,
    temperature: float | None = None,
    max_tool_iterations: int | None = None,
    enable_tools: bool | None = None,
    max_output_tokens: int | None = None,
    extra_body_json: str = "",
    model_api: PayloadFormatName | int | None = None,
    question_message_id: str = "",
    tools: ToolFunctions | None = None,
    turn_id: str = "",
    tool_results: Sequence[ToolResult] = (),
    timeout_s: float | None = CHAT_TIMEOUT_S,
    **context: Unpack[ContextOptions],
) -> Plan[ChatAnswer]:
    """Answer a question and return the whole answer; otherwise as `stream_chat`.

    Examples
    --------
    >>> def meeting(day: str) -> str:
    ...     "Look up when we meet."
    ...     return f"on {day} at six"
    >>> answer = client.chat("room", "when do we meet?", asker="ann", tools={"meeting": meeting})
    >>> answer.text
    'The tool says: on friday at six'
    """
    turn = _begun(
        channel,
        question,
        context,
        _model_call(
            temperature,
            max_tool_iterations,
            enable_tools,
            max_output_tokens,
            extra_body_json,
            model_api,
        ),
        question_message_id,
        tools,
        (turn_id, tool_results),
    )
    if turn.table is not None:
        yield turn.table
    built: Context | None = None
    calls: list[ToolCall] = []
    while True:
        response: context_pb2.ChatResponse
        try:
            response = yield Call("Chat", context_pb2.ChatRequest(turn=turn.request), timeout_s)
        except BackscrollError as error:
            turn.failed(error)
            continue
        if built is None and response.HasField("context"):
            built = Context.of(response.context, turn.request.context)
        asked = [ToolCall(one.id, one.name, one.arguments_json) for one in response.tool_calls]
        calls += asked
        turn.asked(asked)
        end = end_of(context_pb2.StreamChatResponse(end=response.end))
        if not turn.goes_on(end):
            return ChatAnswer(response.text, end, built, _error(response), tuple(calls), response)
        for run in turn.runs():
            turn.take((yield run))
        turn.begin_round()


def _rounds(turn: _Turn, timeout_s: float | None) -> Conversation[ChatEvent]:
    """Stream, run the tools asked for, stream again; the end of a round that goes on is left out."""
    if turn.table is not None:
        yield turn.table
    while True:
        try:
            yield Stream(Call("StreamChat", turn.request, timeout_s), turn.heard)
        except BackscrollError as error:
            turn.failed(error)
            continue
        if not turn.is_open:
            return
        for run in turn.runs():
            turn.take((yield run))
        turn.begin_round()


@dataclass(slots=True)
class _Turn:
    """A turn as the bot sees it: what to send next, given what was said."""

    request: context_pb2.StreamChatRequest
    table: ToolTable | None
    rounds_left: int
    is_open: bool = False
    turn_id: str = ""
    calls: list[ToolCall] = field(default_factory=list)
    results: list[ToolResult] = field(default_factory=list)
    sent: tuple[ToolResult, ...] = ()
    may_resend: bool = False

    def failed(self, error: BackscrollError) -> None:
        """Let the same request be sent again, or raise the error with what would continue the turn.

        Sending results twice is safe; where nothing was heard of the round it costs nothing either.
        """
        if isinstance(error, Unavailable) and self.may_resend:
            self.may_resend = False
            return
        error.turn_id, error.tool_results = self.request.turn_id, self.sent
        raise error

    def heard(self, raw: context_pb2.StreamChatResponse) -> Iterator[ChatEvent]:
        """Pass an event on, and remember what it means for the next round."""
        self.may_resend = False
        event = event_of(raw, self.request.context)
        if isinstance(event, ToolCallEvent):
            self.asked([event.call])
        if event is not None and not (isinstance(event, End) and self.goes_on(event)):
            yield event

    def asked(self, calls: Sequence[ToolCall]) -> None:
        """Remember calls that must be answered."""
        self.calls.extend(calls)

    def goes_on(self, end: End) -> bool:
        """Whether this end is one that our functions can answer."""
        self.turn_id = end.turn_id
        self.is_open = (
            end.reason == "tool_calls"
            and bool(end.turn_id)
            and self.table is not None
            and bool(self.calls)
            and self.rounds_left > 0
        )
        return self.is_open

    def runs(self) -> list[ToolRun]:
        """What must be run for the next round."""
        return [] if self.table is None else [self.table.run_of(call) for call in self.calls]

    def take(self, result: ToolResult) -> None:
        """Remember what a tool answered."""
        self.results.append(result)

    def begin_round(self) -> None:
        """Make the request that continues the turn with the results."""
        self.request = context_pb2.StreamChatRequest(
            turn_id=self.turn_id, tool_results=map(_result, self.results)
        )
        self.sent = tuple(self.results)
        self.calls, self.results = [], []
        self.is_open, self.may_resend = False, True
        self.rounds_left -= 1


def _begun(
    channel: str,
    question: str,
    options: ContextOptions,
    model_call: context_pb2.ModelCall,
    question_message_id: str,
    tools: ToolFunctions | None,
    continued: tuple[str, Sequence[ToolResult]],
) -> _Turn:
    turn_id, tool_results = continued
    table = None
    if tools is not None and (model_call.enable_tools or not model_call.HasField("enable_tools")):
        table = ToolTable.of(tools, options.get("tools_json", ""))
        model_call.enable_tools = table is not None
        options = {**options, "tools_json": "" if table is None else table.schemas_json}
    built = context_request(channel, question, **options)
    request = encode(
        context_pb2.StreamChatRequest,
        context=None if turn_id else built,
        model_call=model_call,
        turn_id=turn_id,
        tool_results=[_result(one) for one in tool_results],
        question_message_id=question_message_id,
    )
    rounds = model_call.max_tool_iterations or _MAX_ROUNDS
    return _Turn(request, table, rounds, sent=tuple(tool_results))


def _model_call(
    temperature: float | None,
    max_tool_iterations: int | None,
    enable_tools: bool | None,
    max_output_tokens: int | None,
    extra_body_json: str,
    model_api: PayloadFormatName | int | None,
) -> context_pb2.ModelCall:
    return encode(
        context_pb2.ModelCall,
        temperature=temperature,
        max_tool_iterations=max_tool_iterations,
        enable_tools=enable_tools,
        max_output_tokens=max_output_tokens,
        extra_body_json=extra_body_json,
        model_api=model_api,
    )


def _result(result: ToolResult) -> context_pb2.ToolResult:
    return encode(
        context_pb2.ToolResult,
        call_id=result.call_id,
        text=result.text,
        is_error=result.is_error,
    )


def _error(response: context_pb2.ChatResponse) -> ErrorEvent | None:
    if not response.HasField("error"):
        return None
    raw = context_pb2.StreamChatResponse(error=response.error)
    return error_of(raw)
