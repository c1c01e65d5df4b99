"""What a chat stream says, in order: the context once, deltas and calls, a notice or an error, the end once."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from backscroll_sidecar.context.model import BuiltContext
from backscroll_sidecar.domain import ToolCallPart


class EndReason(StrEnum):
    """Why a stream ended (law 8). CANCELLED stands in records only: nobody is there to hear it."""

    COMPLETE = "complete"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    INCOMPLETE = "incomplete"
    UPSTREAM_ERROR = "upstream_error"
    DEADLINE = "deadline"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class ContextBuilt:
    """The context the model gets; first, once; not on a turn that is continued."""

    built: BuiltContext


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TakenBack:
    """All deltas before were thoughts of the model: they are no part of the answer. Who streams cannot say so."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A call the model asks for."""

    call: ToolCallPart


@dataclass(frozen=True, slots=True)
class Notice:
    """A text of ours behind the last delta (S5-31); never stored."""

    text: str
    reason: EndReason


@dataclass(frozen=True, slots=True)
class ChatError:
    """What went wrong, safe to show (S5-32). `reason` is a short, stable word; `retry_after_ms` the vendor's wish."""

    message: str
    reason: str
    retry_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ChatEnd:
    """The last event. `reply_message_id` is empty where nothing was stored, `finish_reason` where none was given."""

    reason: EndReason
    turn_id: str
    reply_message_id: str = ""
    is_partial: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str = ""


ChatEvent = ContextBuilt | Delta | TakenBack | ToolCalled | Notice | ChatError | ChatEnd
