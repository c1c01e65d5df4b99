"""Sessions: a room is a handle of one, its calls are described here. The session begins on the first of them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from backscroll._calls.plan import BULK_TIMEOUT_S, Call, Listing, Plan, Stream, pages
from backscroll._encode import encode
from backscroll._round_events import move_of
from backscroll.errors import NotFound, PermissionDenied
from backscroll.room_events import Move
from backscroll.room_values import (
    AnyParticipant,
    AnyPolicy,
    SessionStatusName,
    json_of,
    participants_of,
    policy_of,
)
from backscroll.v1 import session_pb2
from backscroll.values import When


@dataclass(slots=True)
class RoomCore:
    """Which session, whose it must be, and what it begins with where it is not there (None: it must be)."""

    ref: session_pb2.SessionRef
    draft: session_pb2.Session | None
    is_new: bool = False
    is_there: bool = False


def room(
    session_id: str | None = None,
    *,
    personas: AnyParticipant | Sequence[AnyParticipant] = (),
    mode: str = "",
    role_config: Mapping[str, Any] | str | None = None,
    policy: AnyPolicy | None = None,
    space: str = "",
    project_id: str = "",
    owner_id: str = "",
    channel: str = "",
    title: str = "",
    aliases: Sequence[str] = (),
) -> RoomCore:
    """A session in which people and personas talk: one that is there, or that begins with the first call.

    Nothing is sent yet. Where the session is there, what it begins with is passed over: `add` and `update` of the
    room change it. An id alone is of a session that must be there.

    Parameters
    ----------
    session_id
        Its id, or one of its aliases. None: a new one, whose id is made up.
    personas
        Who takes part at the beginning: `Persona`, `Participant`, or people's ids.
    mode, role_config
        What is played, and its configuration: a dict, or JSON. "": that of the space, else "free_chat".
    policy
        Its settings: a `RoomPolicy`, or a dict.
    space, project_id, owner_id
        The space it is in, and whose it is. Where it is there, it must be in it, or in none.
    channel
        Where its messages are. "": in one of its own.
    title, aliases
        Its title, and other ids it is found by.

    Examples
    --------
    >>> room = client.room("cats", personas=[Persona("tom", "Tom"), Persona("kit", "Kit")])
    >>> [one.name for one in room.session().participants]
    ['Tom', 'Kit']
    """
    given = encode(
        session_pb2.Session,
        session_id=session_id or uuid.uuid4().hex,
        aliases=aliases,
        space=space,
        project_id=project_id,
        owner_id=owner_id,
        channel=channel,
        title=title,
        mode=mode,
        role_config_json=json_of(role_config),
        policy=policy_of(policy),
        participants=participants_of(personas),
    )
    ref = session_pb2.SessionRef(
        session_id=given.session_id, space=space, project_id=project_id, owner_id=owner_id
    )
    begins = session_id is None or bool(personas or mode or role_config or policy or space)
    return RoomCore(ref, given if begins else None, is_new=session_id is None)


def begun(core: RoomCore, timeout_s: float | None) -> Plan[None]:
    """Begin the session where it is not there."""
    if core.is_there or core.draft is None:
        return
    if not core.is_new:
        try:
            yield Call("GetSession", session_pb2.GetSessionRequest(session=core.ref), timeout_s)
        except (NotFound, PermissionDenied) as error:
            if isinstance(error, PermissionDenied) and error.field != "session.space":
                raise  # one of this id in another space is another session
        else:
            core.is_there = True
            return
    request = session_pb2.CreateSessionRequest(session=core.draft)
    yield Call("CreateSession", request, timeout_s)
    core.is_there = True


def session(core: RoomCore, *, timeout_s: float | None = None) -> Plan[session_pb2.Session]:
    """Read the session as it stands, with its participants; it begins where it is not there.

    Examples
    --------
    >>> client.room("cats", personas=[Persona("tom", "Tom")]).session().participants[0].name
    'Tom'
    """
    yield from begun(core, timeout_s)
    response: session_pb2.GetSessionResponse = yield Call(
        "GetSession", session_pb2.GetSessionRequest(session=core.ref), timeout_s
    )
    return response.session


def update(
    core: RoomCore,
    *,
    title: str | None = None,
    mode: str | None = None,
    role_config: Mapping[str, Any] | str | None = None,
    status: SessionStatusName | None = None,
    policy: AnyPolicy | None = None,
    mode_state: Mapping[str, Any] | str | None = None,
    expected_state_version: int | None = None,
    add_aliases: Sequence[str] = (),
    timeout_s: float | None = None,
) -> Plan[session_pb2.Session]:
    """Change what is given, and return the session as it then stands. Not retried by itself.

    Another mode begins its state anew; the old one stays in `states`. `mode_state` sets a game right by hand.

    Raises
    ------
    Conflict
        If `expected_state_version` is another one than the session's.
    InvalidRequest
        With reason UNKNOWN_MODE, or INVALID_FIELD and the field.

    Examples
    --------
    >>> client.room("cats", personas=["tom"]).update(title="The cats").title
    'The cats'
    """
    yield from begun(core, timeout_s)
    request = encode(
        session_pb2.UpdateSessionRequest,
        session=core.ref,
        title=title,
        mode=mode,
        role_config_json=json_of(role_config),
        status=status,
        policy=policy_of(policy),
        mode_state_json=json_of(mode_state),
        expected_state_version=expected_state_version,
        add_aliases=add_aliases,
    )
    response: session_pb2.UpdateSessionResponse = yield Call("UpdateSession", request, timeout_s)
    return response.session


def add(
    core: RoomCore, *participants: AnyParticipant, timeout_s: float | None = None
) -> Plan[Sequence[session_pb2.Participant]]:
    """Let people, personas and bots take part from now on, or change those of the same id; returns all of them.

    Who comes back sees what was said in both stays and not what was said between.

    Raises
    ------
    InvalidRequest
        With reason NAME_TAKEN where two have one name; `metadata` says who has it.

    Examples
    --------
    >>> room = client.room("cats", personas=["tom"])
    >>> [one.id for one in room.add(Participant("u1", "Ann"), Persona("kit", "Kit"))]
    ['tom', 'u1', 'kit']
    """
    yield from begun(core, timeout_s)
    request = encode(
        session_pb2.PutParticipantsRequest,
        session=core.ref,
        participants=participants_of(participants),
    )
    response: session_pb2.PutParticipantsResponse = yield Call(
        "PutParticipants", request, timeout_s
    )
    return response.participants


def remove(
    core: RoomCore,
    *participant_ids: str,
    left_at: When | None = None,
    forget: bool = False,
    timeout_s: float | None = None,
) -> Plan[Sequence[session_pb2.Participant]]:
    """Let participants leave: what is said from now on is not for them. Who is none is no error.

    Parameters
    ----------
    participant_ids
        Who leaves.
    left_at
        When they left. None: now.
    forget
        Delete what is known of them; they are no participants any more.
    timeout_s
        Deadline of the call. None: the client's.

    Examples
    --------
    >>> room = client.room("cats", personas=["tom", "kit"])
    >>> _ = room.session()
    >>> [one.id for one in room.remove("tom", forget=True)]
    ['kit']
    """
    request = encode(
        session_pb2.RemoveParticipantsRequest,
        session=core.ref,
        participant_ids=participant_ids,
        left_at_ms=left_at,
        forget=forget,
    )
    response: session_pb2.RemoveParticipantsResponse = yield Call(
        "RemoveParticipants", request, timeout_s
    )
    return response.participants


def act(
    core: RoomCore,
    name: str,
    *,
    actor: str = "",
    argument: str = "",
    request_id: str | None = None,
    expected_state_version: int | None = None,
    timeout_s: float | None = None,
) -> Plan[Move]:
    """Make a move in the session's mode, such as a vote, without a message. A retry is no second move.

    Parameters
    ----------
    name, argument
        The move and what it is about: "vote", "Tom".
    actor
        The participant who makes it. "": whoever runs the session.
    request_id
        The same one again gives the same answer. None: made up.
    expected_state_version
        Refuse the move where the session has another one.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    Refused
        If the rules forbid the move; `message` says why, in the session's language.

    Examples
    --------
    >>> client.room("cats", personas=["tom"]).act("start").event
    'start'
    """
    yield from begun(core, timeout_s)
    request = encode(
        session_pb2.ActRequest,
        session=core.ref,
        name=name,
        actor_id=actor,
        argument=argument,
        expected_state_version=expected_state_version,
        request_id=request_id or uuid.uuid4().hex,
    )
    response: session_pb2.ActResponse = yield Call("Act", request, timeout_s)
    return move_of(response)


def states(
    core: RoomCore, *, page_size: int | None = None, timeout_s: float | None = None
) -> Listing[session_pb2.SessionState]:
    """Iterate over the states that the session had, the newest first; those of earlier modes, too.

    Examples
    --------
    >>> room = client.room("cats", personas=["tom"])
    >>> _ = room.session()
    >>> [one.event for one in room.states()]
    ['begun']
    """
    request = encode(session_pb2.ListStatesRequest, session=core.ref, limit=page_size)
    yield from pages("ListStates", request, "states", timeout_s)


def fork(
    core: RoomCore,
    *,
    message_id: str = "",
    new_session_id: str | None = None,
    timeout_s: float | None = None,
) -> Plan[RoomCore]:
    """Begin a session with what this one holds: participants, mode, state, and copies of its messages."""
    new_id = new_session_id or uuid.uuid4().hex
    request = encode(
        session_pb2.ForkSessionRequest,
        session=core.ref,
        message_id=message_id,
        new_session_id=new_id,
    )
    response: session_pb2.ForkSessionResponse = yield Call("ForkSession", request, timeout_s)
    made = response.session
    ref = session_pb2.SessionRef(
        session_id=made.session_id,
        space=made.space,
        project_id=made.project_id,
        owner_id=made.owner_id,
    )
    return RoomCore(ref, None, is_there=True)


def delete(
    core: RoomCore, *, erase_messages: bool = False, timeout_s: float | None = None
) -> Plan[bool]:
    """Delete the session, and say whether it was there. Its messages stay, unless they are erased for good.

    Examples
    --------
    >>> room = client.room("cats", personas=["tom"])
    >>> _ = room.session()
    >>> room.delete(), room.delete()
    (True, False)
    """
    request = session_pb2.DeleteSessionRequest(session=core.ref, erase_messages=erase_messages)
    response: session_pb2.DeleteSessionResponse = yield Call("DeleteSession", request, timeout_s)
    core.is_there = False
    return response.deleted


def export(core: RoomCore, *, timeout_s: float | None = BULK_TIMEOUT_S) -> Stream[str]:
    """Iterate over the session as lines of JSON: the session, then its messages in order of arrival.

    `Client.import_session` takes them.

    Examples
    --------
    >>> room = client.room("cats", personas=["tom"])
    >>> _ = room.session()
    >>> import json
    >>> [list(json.loads(line)) for line in room.export()]
    [['session']]
    """
    request = session_pb2.ExportSessionRequest(session=core.ref)
    return Stream(Call("ExportSession", request, timeout_s), lambda response: response.lines)
