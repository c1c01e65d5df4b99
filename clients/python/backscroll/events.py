"""What a chat says: the events of a stream, and the whole answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from backscroll._encode import enum_name
from backscroll.results import Context
from backscroll.v1 import context_pb2
from backscroll.values import ToolCall

_REASON = context_pb2.EndReason.DESCRIPTOR


@dataclass(frozen=True, slots=True)
class ContextEvent:
    """The context that was built; first, once, not where a turn is continued."""

    context: Context
    raw: context_pb2.StreamChatResponse = field(repr=False)


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the answer."""

    text: str
    raw: context_pb2.StreamChatResponse = field(repr=False)


@dataclass(frozen=True, slots=True)
class ToolCallEvent:
    """A call the model asks for. With a table of functions the client answers it by itself."""

    call: ToolCall
    raw: context_pb2.StreamChatResponse = field(repr=False)


@dataclass(frozen=True, slots=True)
class Notice:
    """A text of the server's own to show behind the answer, such as that it was cut; never stored."""

    text: str
    reason: str
    raw: context_pb2.StreamChatResponse = field(repr=False)


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    """What went wrong, in words safe to show; `reason` is a short, stable word.

    `retry_after_ms` is how long the model's vendor wants to be left alone; None: it did not say.
    """

    message: str
    reason: str
    raw: context_pb2.StreamChatResponse = field(repr=False)
    retry_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class End:
    """The last event, once.

    `reason` is "complete", "length", "content_filter", "tool_calls", "incomplete", "upstream_error"
    or "deadline". `reply_message_id` is empty where no reply was stored; `partial` says that the
    one stored is not whole. `finish_reason` is the model's own word, empty where it gave none.
    """

    reason: str
    turn_id: str
    reply_message_id: str
    partial: bool
    raw: context_pb2.StreamChatResponse = field(repr=False)
    finish_reason: str = ""


ChatEvent: TypeAlias = ContextEvent | Delta | ToolCallEvent | Notice | ErrorEvent | End


@dataclass(frozen=True, slots=True)
class ChatAnswer:
    """The whole answer of a chat.

    Attributes
    ----------
    text : str
        The answer, notices included; not what the model said before it called a tool.
    end : End
        Why it ended.
    context : Context or None
        What the model was shown; None where a turn was continued.
    error : ErrorEvent or None
        What went wrong, if something did. Nothing raises for it.
    tool_calls : tuple of ToolCall
        Every call the model asked for, in order; open only if `end.reason` is "tool_calls".
    raw : backscroll.v1.context_pb2.ChatResponse
        What the server said last.

    Examples
    --------
    >>> answer = client.chat("room", "when do we meet?", asker="ann")
    >>> answer.text, answer.end.reason
    ('when do we meet?', 'complete')
    """

    text: str
    end: End
    context: Context | None
    error: ErrorEvent | None
    tool_calls: tuple[ToolCall, ...]
    raw: context_pb2.ChatResponse = field(repr=False)


def event_of(
    raw: context_pb2.StreamChatResponse, request: context_pb2.BuildContextRequest | None = None
) -> ChatEvent | None:
    """Translate an event; None: a newer server's, which this client does not know.

    `request` is what a context was asked for with.
    """
    match raw.WhichOneof("event"):
        case "context":
            return ContextEvent(
                Context.of(raw.context, request or context_pb2.BuildContextRequest()), raw
            )
        case "delta":
            return Delta(raw.delta, raw)
        case "tool_call":
            call = raw.tool_call
            return ToolCallEvent(ToolCall(call.id, call.name, call.arguments_json), raw)
        case "notice":
            return Notice(raw.notice.text, enum_name(_REASON, raw.notice.reason), raw)
        case "error":
            return error_of(raw)
        case "end":
            return end_of(raw)
    return None


def error_of(raw: context_pb2.StreamChatResponse) -> ErrorEvent:
    """Translate an error."""
    error = raw.error
    wait_ms = error.retry_after_ms if error.HasField("retry_after_ms") else None
    return ErrorEvent(error.message, error.reason, raw, wait_ms)


def end_of(raw: context_pb2.StreamChatResponse) -> End:
    """Translate the last event."""
    end = raw.end
    reason = enum_name(_REASON, end.reason)
    return End(reason, end.turn_id, end.reply_message_id, end.partial, raw, end.finish_reason)
