"""Models: what answers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

from backscroll_sidecar.domain import NeutralMessage, Part, ToolCallPart


class FinishReason(StrEnum):
    """Why a model stopped, in the vendor's words reduced to these.

    NONE: the stream ended cleanly without a reason. INTERRUPTED: somebody or something stopped the model. UNKNOWN: the
    model stopped for a reason that nobody here knows; `Finished.word` has it.
    """

    STOP = "stop"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    TOOL_CALLS = "tool_calls"
    INTERRUPTED = "interrupted"
    UNKNOWN = "unknown"
    NONE = "none"


class ModelFault(StrEnum):
    """What went wrong with a model call, by what can be done about it. LOADING: a local model is not ready yet."""

    LOADING = "loading"
    RATE_LIMITED = "rate_limited"
    REJECTED = "rejected"
    UNAUTHORIZED = "unauthorized"
    SERVER_ERROR = "server_error"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    BAD_RESPONSE = "bad_response"


@dataclass(frozen=True, slots=True)
class VendorAnswer:
    """How a vendor's answer begins, and the whole body of one that refuses. `headers`: those that concern a client."""

    status: int
    headers: Mapping[str, str]
    body: bytes = b""


class ModelError(Exception):
    """A model call that failed. `safe_reason` may be shown to users: no driver text, no address, no key.

    `told` holds the vendor's own short words, by the name of their field, as far as they are fit for a log.
    `is_overflow`: the request was larger than the model's window; throttling is not that. `answer` is what the vendor
    said of it, for who sent the request to the vendor's own API; None: it said nothing, or may have told a key.
    """

    def __init__(
        self,
        fault: ModelFault,
        safe_reason: str,
        *,
        retry_after_s: float | None = None,
        told: Mapping[str, str] | None = None,
        is_overflow: bool = False,
        answer: VendorAnswer | None = None,
    ) -> None:
        super().__init__(safe_reason)
        self.answer = answer
        self.is_overflow = is_overflow
        self.fault = fault
        self.safe_reason = safe_reason
        self.retry_after_s = retry_after_s
        self.told = told or {}


RESERVED_BODY_FIELDS = (
    "model", "messages", "stream", "tools", "input", "instructions", "system", "contents", "systemInstruction",
)  # fmt: skip
"""Fields of a request's body that nobody but the server sets."""


def reserved_fields(body: Container[str]) -> list[str]:
    """Those of the fields that are reserved."""
    return [name for name in RESERVED_BODY_FIELDS if name in body]


@dataclass(frozen=True, slots=True)
class Relay:
    """A client's own request of Chat Completions. It is sent as it is but for its messages, and so is the answer.

    Attributes
    ----------
    fields : the body; its messages only say where in it they stand.
    messages : what is sent as messages, of those of the context as the payload has them.
    """

    fields: Mapping[str, Any]
    messages: Callable[[Sequence[Any]], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One call of a model. `timeout_s` bounds the whole call; None: only the model's own gaps between deltas.

    The chat leaves it unset: it watches its caller's time itself, so that only one of the two can name the end.

    `extra_body_json` is empty or a JSON object without `RESERVED_BODY_FIELDS`: fields of the request's body over all
    others.

    `api` is the payload format of the vendor's interface; empty: the model's own.

    `with_names` sends the speakers' names beside the messages that have one, as `BuildRequest.include_names` asks.

    With `relay` the body is that client's, and the answer's events come with `VendorAnswer` and `Relayed` between.
    """

    messages: tuple[NeutralMessage, ...]
    model: str
    temperature: float | None = None
    tools_json: str = ""
    max_output_tokens: int | None = None
    timeout_s: float | None = None
    with_names: bool = False
    extra_body_json: str = ""
    api: str = ""
    relay: Relay | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer, never empty."""

    text: str


@dataclass(frozen=True, slots=True)
class TextTakenBack:
    """All text before was thoughts of the model, as only what came behind them told: it is no part of the answer."""


@dataclass(frozen=True, slots=True)
class ToolCallDelta:
    """A whole call the model asks for, once its arguments are complete."""

    call: ToolCallPart


@dataclass(frozen=True, slots=True)
class AnswerParts:
    """The whole answer in the vendor's order, with what only the vendor can read.

    Comes once, right before `Finished`, where there is something of that kind.
    """

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class UsageDelta:
    """What the vendor counted."""

    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class Relayed:
    """A piece of the answer's body, as it came."""

    piece: bytes


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of every stream that did not raise. `word` is the vendor's own, at most 64 characters.

    It makes no ending another one.
    """

    reason: FinishReason
    word: str = field(default="", compare=False)


ModelEvent = (
    TextDelta
    | TextTakenBack
    | ToolCallDelta
    | AnswerParts
    | UsageDelta
    | Finished
    | VendorAnswer
    | Relayed
)


class ChatModel(Protocol):
    """Something that answers messages. One instance serves all requests; safe to call from any task of the loop."""

    def stream(
        self, request: ModelRequest
    ) -> AbstractAsyncContextManager[AsyncIterator[ModelEvent]]:
        """Stream one answer.

        Leaving the block closes the upstream at once, whatever is still to come. Events come in the order of the
        vendor; texts that are there together may come as one; the last is `Finished`, once. Raises `ModelError`, and
        nothing else, on entering or between events; never retries by itself.
        """

    async def close(self) -> None:
        """Release connections. Idempotent."""


class Upstream(Protocol):
    """A vendor's own API, for requests that are passed on as they are."""

    def relay(
        self, path: str, body: bytes | None = None
    ) -> AbstractAsyncContextManager[tuple[VendorAnswer, AsyncIterator[bytes]]]:
        """Post a body, or get without one: how the answer begins, and its body as it comes. Raises `ModelError`."""
