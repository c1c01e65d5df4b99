"""What calls say of sessions: which one is meant, what a new one begins with, what is to change. Pure."""

from __future__ import annotations

import hashlib

import msgspec

from backscroll_sidecar.allowed_channels import AllowedChannels
from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.sessions.participants import Participant
from backscroll_sidecar.sessions.session import (
    FREE_CHAT,
    ForkOrigin,
    RoomPolicy,
    Session,
    SessionStatus,
    Space,
    with_participants,
)

MAX_CHANNEL_BYTES = 400
"""Of a channel named after its session; a longer name is replaced by its digest."""


class SessionRef(msgspec.Struct, frozen=True):
    """What a call says of the session it means; and the channels it can only be in, None: any."""

    session_id: str = ""
    space: str = ""
    project_id: str = ""
    owner_id: str = ""
    allowed: AllowedChannels | None = None


class SessionDraft(msgspec.Struct, frozen=True):
    """What a session is to begin with; empty and None: the space's, else the usual.

    `is_complete`: its participants are all there are, and none of the space's are added.
    """

    id: str = ""
    space: str = ""
    project_id: str = ""
    owner_id: str = ""
    channel: str = ""
    aliases: tuple[str, ...] = ()
    title: str = ""
    parent_id: str = ""
    mode: str = ""
    role_config_json: str = ""
    policy: RoomPolicy = RoomPolicy()
    participants: tuple[Participant, ...] = ()
    status: SessionStatus = SessionStatus.ACTIVE
    mode_state_json: str = ""
    forked_from: ForkOrigin | None = None
    is_complete: bool = False


class SessionEdit(msgspec.Struct, frozen=True):
    """What is to change of a session; None: nothing."""

    title: str | None = None
    mode: str | None = None
    role_config_json: str | None = None
    status: SessionStatus | None = None
    policy: RoomPolicy | None = None
    mode_state_json: str | None = None
    expected_state_version: int | None = None
    add_aliases: tuple[str, ...] = ()


def session_of(
    tenant: str, session_id: str, draft: SessionDraft, space: Space, now_ms: int
) -> Session:
    """The session that begins with a draft in its space; its mode has no state yet."""
    mode = draft.mode or space.mode or FREE_CHAT
    role_config_json = draft.role_config_json
    if not role_config_json and mode == space.mode:
        role_config_json = space.role_config_json
    participants = draft.participants
    if not draft.is_complete:
        participants = with_participants(space.participants, participants)
    return Session(
        ChannelKey(tenant, draft.channel or channel_of(draft.space, session_id)),
        session_id,
        draft.space,
        draft.project_id or space.project_id,
        draft.owner_id,
        tuple(dict.fromkeys(draft.aliases)),
        draft.title,
        draft.parent_id,
        mode,
        role_config_json or "{}",
        status=draft.status,
        policy=draft.policy,
        space_policy=space.policy,
        participants=participants,
        forked_from=draft.forked_from,
        created_at_ms=now_ms,
        updated_at_ms=now_ms,
    )


def channel_of(space: str, session_id: str) -> str:
    """The channel of a session that has none: named after it."""
    parts = [one.replace("%", "%25").replace("/", "%2F") for one in (space, session_id) if one]
    name = "/".join(("session", *parts))
    if len(name.encode()) > MAX_CHANNEL_BYTES:
        name = f"session/{hashlib.blake2b(name.encode(), digest_size=20).hexdigest()}"
    return name
