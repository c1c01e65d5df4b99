"""What a round is asked for, and what it tells as it goes."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

import msgspec

from backscroll_sidecar.chat.events import ChatError, EndReason, Notice
from backscroll_sidecar.chat.turns import ChatRequest
from backscroll_sidecar.context.model import BuildRequest, BuiltContext
from backscroll_sidecar.domain import Layout, Message, ToolCallPart, ToolResultPart
from backscroll_sidecar.rooms.drafts import SessionDraft, SessionRef
from backscroll_sidecar.rooms.round_record import StepStatus
from backscroll_sidecar.sessions.modes.base import Unaddressed
from backscroll_sidecar.sessions.routing import Ignored, Target
from backscroll_sidecar.sessions.session import Session


class RoundEnding(StrEnum):
    """How a round ended (session.proto)."""

    COMPLETE = "complete"
    NOBODY = "nobody"
    INTERRUPTED = "interrupted"
    DEADLINE = "deadline"
    COALESCED = "coalesced"
    LOOP_SUPPRESSED = "loop_suppressed"
    STEP_LIMIT = "step_limit"


class RoundRequest(msgspec.Struct, frozen=True):
    """One StartRound, checked by the edge.

    Attributes
    ----------
    message : what is said; None: nothing, the mode goes on.
    draft : what a new session begins with.
    context : settings of the prompts; its key, question and asker are not heeded.
    layout : of the prompts; None: the session's.
    call : how the models are called; without a context.
    settings : the last two as the edge reads them, kept with the round.
    """

    tenant: str
    ref: SessionRef
    context: BuildRequest
    call: ChatRequest
    request_id: str = ""
    message: Message | None = None
    targets: tuple[str, ...] = ()
    draft: SessionDraft = SessionDraft()
    layout: Layout | None = None
    settings: bytes = b""
    expected_state_version: int | None = None
    time_left_s: float | None = None


class Answers(msgspec.Struct, frozen=True):
    """The results of the tools that a persona asked for."""

    interrupt_id: str
    results: tuple[ToolResultPart, ...]


@dataclass(frozen=True, slots=True)
class Routing:
    """Who answers a message, and why; the text as it is shown to them."""

    targets: tuple[Target, ...]
    ignored: tuple[Ignored, ...]
    clean_text: str
    user_text: str
    policy: Unaddressed
    candidates: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """A round began, or goes on."""

    session: Session
    request_id: str
    message: Message | None
    routing: Routing
    snapshot_seq: int
    is_resumed: bool = False


@dataclass(frozen=True, slots=True)
class TargetStarted:
    """A persona is asked. `built` is its context; None where it is told again."""

    target: Target
    name: str
    step: int
    built: BuiltContext | None = None


@dataclass(frozen=True, slots=True)
class TargetDelta:
    """A piece of an answer; with `is_whole` all of it so far."""

    text: str
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class TargetToolCall:
    """A call that a persona's model asks for."""

    call: ToolCallPart


@dataclass(frozen=True, slots=True)
class TargetEnded:
    """A persona's answer has ended. `message` as stored; None: nothing was."""

    status: StepStatus
    message: Message | None = None
    error: ChatError | None = None
    end_reason: EndReason | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    foreign_id: str = ""


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The mode's state changed."""

    state_version: int
    event: str
    mode_state_json: str
    announcements: tuple[Message, ...] = ()
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The round waits for the results of tools."""

    interrupt_id: str
    calls: tuple[ToolCallPart, ...]
    expires_at_ms: int


@dataclass(frozen=True, slots=True)
class LoopSuppressed:
    """A persona does not answer: it and the sender have answered each other too often."""

    sender_id: str
    participant_id: str
    retry_after_ms: int


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """The last event."""

    ending: RoundEnding
    responses: tuple[Message, ...] = ()
    failed_ids: tuple[str, ...] = ()
    state_version: int = 0
    coalesced_into: str = ""


Told = (
    RoundStarted
    | TargetStarted
    | TargetDelta
    | TargetToolCall
    | TargetEnded
    | StateChanged
    | Interrupted
    | LoopSuppressed
    | Notice
    | RoundEnded
)


@dataclass(frozen=True, slots=True)
class RoundEvent:
    """One event. `target_id`: the persona it is of; empty: of the round."""

    sequence: int
    told: Told
    target_id: str = field(default="")
