"""What calls on sessions are refused for."""

from __future__ import annotations

from collections.abc import Sequence

from backscroll_sidecar.allowed_channels import AllowedChannels, is_allowed
from backscroll_sidecar.errors import (
    Conflict,
    FailedPrecondition,
    InvalidRequest,
    NotAllowed,
    Reason,
)
from backscroll_sidecar.sessions.participants import MAX_PARTICIPANTS, Participant, name_clash
from backscroll_sidecar.sessions.session import MAX_STATE_BYTES, Session


def check_names(participants: Sequence[Participant]) -> None:
    """Raise `InvalidRequest` where there are too many, or two have one name."""
    if len(participants) > MAX_PARTICIPANTS:
        raise InvalidRequest(
            f"at most {MAX_PARTICIPANTS} take part",
            field="participants",
            reason=Reason.TOO_LARGE,
        )
    clash = name_clash(participants)
    if clash is not None:
        name, first, second = clash
        raise InvalidRequest(
            f"{first} and {second} are both called {name}",
            field="participants",
            reason=Reason.NAME_TAKEN,
            metadata={"name": name, "participant_id": first, "other_id": second},
        )


def check_allowed(channel: str, allowed: AllowedChannels | None, field: str) -> None:
    """Raise `NotAllowed` where a session would be in a channel that the caller may not use."""
    if not is_allowed(channel, allowed):
        raise NotAllowed("the key does not permit the channel of this session", field=field)


def checked_state(mode_state_json: str) -> str:
    """The state, if it is not too large. Raises `InvalidRequest`."""
    if len(mode_state_json.encode()) > MAX_STATE_BYTES:
        raise InvalidRequest(
            f"mode_state is larger than {MAX_STATE_BYTES} bytes",
            field="mode_state_json",
            reason=Reason.TOO_LARGE,
        )
    return mode_state_json


def stale_state(session: Session) -> Conflict:
    """The error for a call that expects another state."""
    return Conflict(
        f"state_version is {session.state_version}: read the session again",
        field="expected_state_version",
    )


def check_active(session: Session) -> None:
    """Raise `FailedPrecondition` for a session that takes no rounds and moves."""
    if not session.is_active:
        raise FailedPrecondition(
            "the session is sealed or archived",
            field="session.session_id",
            reason=Reason.SESSION_CLOSED,
        )
