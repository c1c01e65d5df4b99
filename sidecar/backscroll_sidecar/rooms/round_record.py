"""A round as it is written down: who was asked, what became of it. Values and bytes.

The texts of its messages are not written down: they are made again from the messages.
"""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.domain import ToolCallPart
from backscroll_sidecar.ports import RecordChange, StoredRecord, about_message
from backscroll_sidecar.sessions.routing import Ignored, RouteReason
from backscroll_sidecar.sessions.session import Session
from backscroll_sidecar.turn_ids import mark_of

ROUND = "round"
"""The kind of a round. Its owner is its session, its id that of the request."""
LOOP = "loop_guard"
"""The kind of a counter of answers. Its owner is who is answered, its id who answers."""
MOVE = "move"
"""The kind of a move that was made by Act. Its owner is its session, its id that of the request."""
ROUND_LIFETIME_MS = 7 * 86_400_000


class StepStatus(StrEnum):
    """Where one answer of a round stands (session.proto); PENDING: not asked yet, or it broke off."""

    PENDING = "pending"
    COMPLETE = "complete"
    SILENT = "silent"
    FOREIGN_SPEAKER = "foreign_speaker"
    FAILED = "failed"
    PARTIAL = "partial"
    INTERRUPTED = "interrupted"


OVER = frozenset(
    (StepStatus.COMPLETE, StepStatus.SILENT, StepStatus.FOREIGN_SPEAKER, StepStatus.FAILED)
)
"""What is not asked again."""


class Change(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the mode made of a message: the new version of its state, its word for it, and what it announced."""

    state_version: int
    event: str
    announcement_ids: tuple[str, ...] = ()


class Step(msgspec.Struct, frozen=True, omit_defaults=True):
    """One answer.

    Attributes
    ----------
    wave : those of one wave see the same history.
    trigger_id : the message that it answers; empty: none.
    turn_id : of the turn that asks the model.
    stage : of the mode, when it was asked (`Mode.stage`).
    depth : how many personas handed on to it.
    message_id : the reply as stored.
    answered : interrupts that were answered, each with a digest of the results.
    """

    target_id: str
    reason: RouteReason
    wave: int
    trigger_id: str
    turn_id: str
    start: int = 0
    end: int = 0
    stage: str = ""
    depth: int = 0
    status: StepStatus = StepStatus.PENDING
    message_id: str = ""
    foreign_id: str = ""
    error_message: str = ""
    error_reason: str = ""
    change: Change | None = None
    interrupt_id: str = ""
    expires_at_ms: int = 0
    calls: tuple[ToolCallPart, ...] = ()
    answered: dict[str, str] = {}


class RoundBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """A round.

    Attributes
    ----------
    digest : of the request, so that another one under its id is told from a retry.
    message_ids : what was said, in order: several where a burst became one round; none: nothing.
    clean_text, user_text : what was said, as it is routed and as prompts have it; not kept.
    snapshot_seq : what came later is not seen by the first wave.
    ending : how it ended; empty: it has not.
    coalesced_into : the request id of the round that answers instead.
    is_routed : whether it is known who answers.
    session_began_ms : when its session was created; one of the same id that came later has other rounds.
    settings : what the request said of prompts and models, for who reads it again.
    """

    request_id: str
    digest: str
    message_ids: tuple[str, ...] = ()
    clean_text: str = ""
    user_text: str = ""
    ignored: tuple[Ignored, ...] = ()
    snapshot_seq: int = 0
    change: Change | None = None
    steps: tuple[Step, ...] = ()
    ending: str = ""
    coalesced_into: str = ""
    is_routed: bool = True
    session_began_ms: int = 0
    settings: bytes = b""


_DECODER = msgspec.json.Decoder(RoundBody)


def round_change(session: Session, body: RoundBody, at_ms: int) -> RecordChange:
    """Keep a round, without the texts of its messages. It goes with them."""
    return RecordChange(
        session.key,
        ROUND,
        body.request_id,
        msgspec.json.encode(replace(body, clean_text="", user_text="")),
        tuple(map(about_message, body.message_ids)),
        at_ms,
        at_ms + ROUND_LIFETIME_MS,
        owner=session.id,
    )


def round_of(stored: StoredRecord) -> RoundBody:
    """A round of its record."""
    return _DECODER.decode(stored.body)


def round_id(session: Session, request_id: str) -> str:
    """An id made of a round's: 20 hex digits."""
    name = "\0".join((*session.key, session.space, session.id, request_id))
    return hashlib.blake2b(name.encode(), digest_size=10).hexdigest()


def turn_id_of(session: Session, request_id: str, step: int) -> str:
    """The id of the turn of a step: the same whenever the round is resumed, another one for each step."""
    name = f"{round_id(session, request_id)}\0{step}"
    made = hashlib.blake2b(name.encode(), digest_size=10).hexdigest()
    return made + mark_of(name)


def interrupt_id_of(turn_id: str, number: int, calls: tuple[ToolCallPart, ...]) -> str:
    """The id of an interrupt: of a turn, how often it waited before, and the calls that it waits for."""
    name = "\0".join((turn_id, str(number), *(call.id for call in calls)))
    return hashlib.blake2b(name.encode(), digest_size=12).hexdigest()
