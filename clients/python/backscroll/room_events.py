"""What a round says, event by event, and what routing, moves and preparing answer.

Every event has `target_id`, the persona it is of ("": the round's own), and `sequence`, which counts
the events of a round from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from backscroll.results import Context, text_of
from backscroll.v1 import message_pb2, session_pb2
from backscroll.values import ToolCall


@dataclass(frozen=True, slots=True)
class Target:
    """A persona that answers, and why: "mention", "reply", "all", "role_map", …"""

    id: str
    name: str
    reason: str
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class Ignored:
    """A name that led to nobody, and why: "unknown", "self", "unavailable", "code", "limit", "loop"."""

    text: str
    reason: str
    id: str = ""


@dataclass(frozen=True, slots=True)
class Route:
    """Who answers a message, and why.

    `clean_text` is the text without the mentions that were heeded, `user_text` what prompts have;
    `policy` holds where nobody is named, and `candidate_ids` are those whom "selector" chooses among.
    """

    targets: tuple[Target, ...]
    ignored: tuple[Ignored, ...]
    clean_text: str
    user_text: str
    policy: str
    candidate_ids: tuple[str, ...]
    raw: session_pb2.Route = field(repr=False)

    @property
    def ids(self) -> list[str]:
        """The ids of those who answer, in order."""
        return [one.id for one in self.targets]

    @property
    def reasons(self) -> dict[str, str]:
        """Why each of them does, by id."""
        return {one.id: one.reason for one in self.targets}


@dataclass(frozen=True, slots=True)
class RoundStarted:
    """The first event: where it is said, what was stored, who answers; `resumed`: an earlier call began it."""

    session_id: str
    request_id: str
    route: Route
    resumed: bool
    raw: session_pb2.RoundEvent = field(repr=False)
    sequence: int = 0
    target_id: str = ""


@dataclass(frozen=True, slots=True)
class TargetStarted:
    """A persona is asked. `context` is None where the round is told again."""

    target: Target
    context: Context | None
    step: int
    raw: session_pb2.RoundEvent = field(repr=False)
    sequence: int = 0
    target_id: str = ""


@dataclass(frozen=True, slots=True)
class TargetDelta:
    """A piece of an answer. `whole`: all of it so far, in the place of the pieces before."""

    text: str
    target_id: str
    whole: bool
    raw: session_pb2.RoundEvent = field(repr=False)
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class TargetToolCall:
    """A call that a persona asks for. With `tools` the client answers it by itself."""

    call: ToolCall
    target_id: str
    raw: session_pb2.RoundEvent = field(repr=False)
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class TargetEnded:
    """The end of an answer.

    `reason` is "complete", "failed", "partial", "silent", "foreign_speaker" or "interrupted";
    `message` what was stored (None: nothing), `text` its text. `error` says in words safe to show
    what went wrong, `error_reason` in a stable word; both are "" where nothing did.
    """

    reason: str
    target_id: str
    message: message_pb2.Message | None
    error: str
    error_reason: str
    end_reason: str
    raw: session_pb2.RoundEvent = field(repr=False)
    sequence: int = 0

    @property
    def text(self) -> str:
        """What was stored of it."""
        return "" if self.message is None else text_of(self.message)


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The state of the mode changed: its word for what happened, the state, and what it announces."""

    event: str
    state: dict[str, Any]
    state_version: int
    announcements: tuple[message_pb2.Message, ...]
    over: bool
    raw: session_pb2.RoundEvent = field(repr=False)
    sequence: int = 0
    target_id: str = ""


@dataclass(frozen=True, slots=True)
class Interrupt:
    """The round waits for the results of these calls: `resume` with answers under `interrupt_id`."""

    interrupt_id: str
    target_id: str
    calls: tuple[ToolCall, ...]
    expires_at_ms: int
    raw: session_pb2.RoundEvent = field(repr=False)
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class LoopSuppressed:
    """`participant_id` does not answer: it and `sender_id` have answered each other too often."""

    sender_id: str
    participant_id: str
    retry_after_ms: int
    raw: session_pb2.RoundEvent = field(repr=False)
    sequence: int = 0
    target_id: str = ""


@dataclass(frozen=True, slots=True)
class RoundNotice:
    """A text of the server's own to show behind an answer; never stored."""

    text: str
    target_id: str
    reason: str
    raw: session_pb2.RoundEvent = field(repr=False)
    sequence: int = 0


@dataclass(frozen=True, slots=True)
class RoundEnded:
    """The last event, once.

    `reason` is "complete", "nobody", "interrupted", "deadline", "coalesced", "loop_suppressed" or
    "step_limit". `responses` are in the order of the targets; `failed_ids` gave no whole answer;
    `coalesced_into` is the request id of the round that answers in its place.
    """

    reason: str
    responses: tuple[message_pb2.Message, ...]
    failed_ids: tuple[str, ...]
    state_version: int
    coalesced_into: str
    raw: session_pb2.RoundEvent = field(repr=False)
    sequence: int = 0
    target_id: str = ""


RoundEvent: TypeAlias = (
    RoundStarted
    | TargetStarted
    | TargetDelta
    | TargetToolCall
    | TargetEnded
    | StateChanged
    | Interrupt
    | LoopSuppressed
    | RoundNotice
    | RoundEnded
)


@dataclass(frozen=True, slots=True)
class Move:
    """What a move led to: as `StateChanged`, and the ids of those who are to speak or move next."""

    event: str
    state: dict[str, Any]
    state_version: int
    announcements: tuple[message_pb2.Message, ...]
    over: bool
    waiting_for: tuple[str, ...]
    raw: session_pb2.ActResponse = field(repr=False)


@dataclass(frozen=True, slots=True)
class TargetContext:
    """What one persona would be given; an answer is to be cut where a line begins with a stop name."""

    target: Target
    context: Context
    stop_names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PreparedRound:
    """All that a round would go by.

    `lookup` is everything participants are called by, and whom it means; `history` what of the
    session everybody is shown; `task_prompt` the task of a workflow, else "".
    """

    route: Route
    contexts: tuple[TargetContext, ...]
    lookup: Mapping[str, str]
    history: tuple[message_pb2.Message, ...]
    user_text: str
    task_prompt: str
    mode: str
    state_version: int
    raw: session_pb2.PrepareRoundResponse = field(repr=False)
