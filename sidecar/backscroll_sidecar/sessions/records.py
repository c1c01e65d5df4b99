"""Sessions as records of the store, and back. Pure.

A session is one record of its channel, each participant another, its mode and state a third. So the erasure of a
person takes along what is known of that person, and a state that names the person: free talk is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from backscroll_sidecar.domain import ChannelKey
from backscroll_sidecar.ports import (
    EVERYWHERE,
    SESSION,
    SPACE,
    RecordChange,
    StoredRecord,
    about_user,
)
from backscroll_sidecar.sessions.participants import Participant
from backscroll_sidecar.sessions.session import (
    FREE_CHAT,
    ForkOrigin,
    RoomPolicy,
    Session,
    SessionStatus,
    Space,
)

PARTICIPANT = "participant"
STATE = "session_state"
STATE_LOG = "session_state_log"
ALIAS = "session_alias"
KINDS = frozenset({SESSION, SPACE, PARTICIPANT, STATE, STATE_LOG, ALIAS})
KEPT_STATES = 1_000
BEGUN, TAKEN_OVER, MODE_BEGUN = "begun", "taken_over", "mode_begun"
BEGINNINGS = frozenset({BEGUN, TAKEN_OVER, MODE_BEGUN})
"""Events that begin a mode: of a session, of one that goes on with the state of another, of another mode."""


class SessionBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the record of a session holds. `made_of`: a digest of the request that made it."""

    project_id: str = ""
    owner_id: str = ""
    aliases: tuple[str, ...] = ()
    title: str = ""
    parent_id: str = ""
    status: SessionStatus = SessionStatus.ACTIVE
    policy: RoomPolicy = RoomPolicy()
    forked_from: ForkOrigin | None = None
    made_of: str = ""


class StateBody(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the record of a state holds: the mode, how it is set, where it stands. `log_id`: its entry in the log."""

    mode: str
    role_config_json: str
    mode_state_json: str
    log_id: str = ""


class LoggedState(msgspec.Struct, frozen=True, omit_defaults=True):
    """An entry of the log of states: what led to it, and which one it came from.

    `role_config_json` is only in those that began a mode.
    """

    id: str
    previous_id: str = ""
    state_version: int = 0
    mode: str = ""
    event: str = ""
    actor_id: str = ""
    at_ms: int = 0
    mode_state_json: str = "{}"
    request_id: str = ""
    role_config_json: str = ""


_BODY = msgspec.json.Decoder(SessionBody)
_PARTICIPANT = msgspec.json.Decoder(Participant | None)
_STATE = msgspec.json.Decoder(StateBody)
_LOGGED = msgspec.json.Decoder(LoggedState)
_SPACE = msgspec.json.Decoder(Space)


def session_change(
    session: Session, made_of: str, at_ms: int, if_version: int | None
) -> RecordChange:
    """Keep a session, without participants and state."""
    body = SessionBody(
        session.project_id,
        session.owner_id,
        session.aliases,
        session.title,
        session.parent_id,
        session.status,
        session.policy,
        session.forked_from,
        made_of,
    )
    return RecordChange(
        session.key,
        SESSION,
        session.space,
        msgspec.json.encode(body),
        at_ms=at_ms,
        owner=session.id,
        if_version=if_version,
    )


def participant_change(session: Session, one: Participant, at_ms: int) -> RecordChange:
    """Keep a participant."""
    return RecordChange(
        session.key,
        PARTICIPANT,
        one.id,
        msgspec.json.encode(one),
        (about_user(one.id),),
        at_ms,
        owner=session.id,
    )


def forgotten_change(session: Session, participant_id: str, at_ms: int) -> RecordChange:
    """Keep nothing of a participant but that it took part, until it is erased."""
    return RecordChange(
        session.key,
        PARTICIPANT,
        participant_id,
        b"null",
        (about_user(participant_id),),
        at_ms,
        owner=session.id,
    )


def alias_change(session: Session, alias: str, at_ms: int) -> RecordChange:
    """Keep another id of a session, which its channel and space do not have yet."""
    return RecordChange(
        session.key,
        ALIAS,
        session.space,
        session.id.encode(),
        at_ms=at_ms,
        owner=alias,
        if_version=0,
    )


def state_changes(
    session: Session,
    mode_state_json: str,
    *,
    event: str,
    actor_id: str,
    at_ms: int,
    request_id: str = "",
) -> tuple[tuple[RecordChange, ...], str]:
    """Replace the state of the session that was read, where it is still that; and the id of the entry in the log.

    `session` has the mode and the configuration that the new state is of.
    """
    version = session.state_version + 1
    log_id = f"{session.id}#{version}"
    mode, config = session.mode, session.role_config_json
    body = StateBody(mode, config, mode_state_json, log_id)
    entry = LoggedState(
        log_id,
        session.log_id,
        version,
        mode,
        event,
        actor_id,
        at_ms,
        mode_state_json,
        request_id,
        config if event in BEGINNINGS else "",
    )
    named = people_in(mode_state_json + config, session.participants)
    state = RecordChange(
        session.key,
        STATE,
        "",
        msgspec.json.encode(body),
        named,
        at_ms,
        owner=session.id,
        if_version=session.state_version,
    )
    logged = RecordChange(
        session.key,
        STATE_LOG,
        log_key(version),
        msgspec.json.encode(entry),
        people_of(mode_state_json + config, session.participants, actor_id),
        at_ms,
        owner=session.id,
    )
    changes: tuple[RecordChange, ...] = (state, logged)
    if version > KEPT_STATES:
        old = RecordChange(
            session.key,
            STATE_LOG,
            log_key(version - KEPT_STATES),
            None,
            at_ms=at_ms,
            owner=session.id,
        )
        changes += (old,)
    return changes, log_id


def log_key(version: int) -> str:
    """The id of the entry of a version in the log."""
    return f"{version:012}"


def people_in(mode_state_json: str, participants: Iterable[Participant]) -> tuple[str, ...]:
    """Names of the participants that a state tells of."""
    return tuple(
        about_user(one.id)
        for one in participants
        if msgspec.json.encode(one.id).decode() in mode_state_json
    )


def people_of(
    mode_state_json: str, participants: Iterable[Participant], actor_id: str
) -> tuple[str, ...]:
    """Names of those whom a move is of: the participants that the state behind it tells of, and who made it."""
    actor = (about_user(actor_id),) if actor_id else ()
    return tuple(dict.fromkeys((*people_in(mode_state_json, participants), *actor)))


def space_change(tenant: str, space: Space, at_ms: int) -> RecordChange:
    """Keep a space."""
    key = ChannelKey(tenant, EVERYWHERE)
    return RecordChange(key, SPACE, "", msgspec.json.encode(space), at_ms=at_ms, owner=space.slug)


def session_of(
    tenant: str,
    stored: StoredRecord,
    participants: Sequence[StoredRecord],
    state: StoredRecord | None,
    space: Space | None,
) -> Session:
    """A session of its records. Without a state its `state_version` is 0."""
    body = _BODY.decode(stored.body)
    standing = None if state is None else _STATE.decode(state.body)
    people = [(one.id, _PARTICIPANT.decode(one.body)) for one in participants]
    return Session(
        ChannelKey(tenant, stored.channel),
        stored.owner,
        stored.id,
        body.project_id,
        body.owner_id,
        body.aliases,
        body.title,
        body.parent_id,
        FREE_CHAT if standing is None else standing.mode,
        "{}" if standing is None else standing.role_config_json,
        "{}" if standing is None else standing.mode_state_json,
        0 if state is None else state.version,
        body.status,
        body.policy,
        RoomPolicy() if space is None else space.policy,
        tuple([one for _, one in people if one is not None]),
        body.forked_from,
        stored.created_at_ms,
        stored.updated_at_ms,
        stored.version,
        "" if standing is None else standing.log_id,
        body.made_of,
        tuple([id_ for id_, one in people if one is None]),
    )


def space_of(stored: StoredRecord) -> Space:
    """A space of its record."""
    return _SPACE.decode(stored.body)


def logged_state_of(stored: StoredRecord) -> LoggedState:
    """An entry of the log of its record."""
    return _LOGGED.decode(stored.body)
