"""Events of a chat stream, in order: the context, deltas and calls, a notice or an error, the end."""

from dataclasses import dataclass
from enum import StrEnum

from backscroll_sidecar.context.model import BuiltContext
from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.ports import Relayed, VendorAnswer


class EndReason(StrEnum):
    """Why a stream ended. CANCELLED is only recorded: its caller has left."""

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
    """The context the model gets. The first event; a continued turn has none."""

    built: BuiltContext


@dataclass(frozen=True, slots=True)
class Delta:
    """A piece of the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class TakenBack:
    """All deltas before were thoughts of the model, not its answer. StreamChat cannot tell."""


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A call the model asks for."""

    call: ToolCallPart


@dataclass(frozen=True, slots=True)
class Notice:
    """A text of the server after the last delta. Never stored."""

    text: str
    reason: EndReason


@dataclass(frozen=True, slots=True)
class ChatError:
    """What went wrong, safe to show. `reason` is a stable word, `retry_after_ms` the vendor's.

    `answer` is what the vendor itself said, for who speaks its API.
    """

    message: str
    reason: str
    retry_after_ms: int | None = None
    answer: VendorAnswer | None = None


@dataclass(frozen=True, slots=True)
class NotStored(ChatError):
    """The answer is whole, and what the store was to keep of the turn is not, or not in time."""


@dataclass(frozen=True, slots=True)
class ChatEnd:
    """The last event. `reply_message_id` is empty where nothing was stored."""

    reason: EndReason
    turn_id: str
    reply_message_id: str = ""
    is_partial: bool = False
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    finish_reason: str = ""


ChatEvent = (
    ContextBuilt
    | Delta
    | TakenBack
    | ToolCalled
    | Notice
    | ChatError
    | ChatEnd
    | VendorAnswer
    | Relayed
)
"""The last two come for a relayed request alone."""
