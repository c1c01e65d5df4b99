"""What there is: spaces, sessions and modes; and sessions that come from elsewhere."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from backscroll._calls.plan import BULK_TIMEOUT_S, Call, Listing, Plan, pages
from backscroll._encode import encode
from backscroll.room_values import (
    AnyParticipant,
    AnyPolicy,
    json_of,
    participants_of,
    policy_of,
)
from backscroll.v1 import session_pb2

_RUN_LINES = 500
_RUN_BYTES = 1_000_000


def put_space(
    slug: str,
    *,
    personas: AnyParticipant | Sequence[AnyParticipant] = (),
    mode: str = "",
    role_config: Mapping[str, Any] | str | None = None,
    policy: AnyPolicy | None = None,
    project_id: str = "",
    timeout_s: float | None = None,
) -> Plan[session_pb2.Space]:
    """Store what the sessions of a space begin with, or replace it. Safe to repeat.

    Examples
    --------
    >>> client.put_space("cafe", personas=[Persona("tom", "Tom")]).slug
    'cafe'
    """
    space = encode(
        session_pb2.Space,
        slug=slug,
        project_id=project_id,
        participants=participants_of(personas),
        mode=mode,
        role_config_json=json_of(role_config),
        policy=policy_of(policy),
    )
    response: session_pb2.PutSpaceResponse = yield Call(
        "PutSpace", session_pb2.PutSpaceRequest(space=space), timeout_s
    )
    return response.space


def get_space(slug: str, *, timeout_s: float | None = None) -> Plan[session_pb2.Space]:
    """Read a space.

    Raises
    ------
    NotFound
        With reason SPACE_NOT_FOUND.

    Examples
    --------
    >>> _ = client.put_space("cafe", mode="quiz")
    >>> client.get_space("cafe").mode
    'quiz'
    """
    response: session_pb2.GetSpaceResponse = yield Call(
        "GetSpace", encode(session_pb2.GetSpaceRequest, slug=slug), timeout_s
    )
    return response.space


def list_spaces(
    *, page_size: int | None = None, timeout_s: float | None = None
) -> Listing[session_pb2.Space]:
    """Iterate over the spaces, by slug.

    Examples
    --------
    >>> _ = client.put_space("cafe")
    >>> [space.slug for space in client.list_spaces()]
    ['cafe']
    """
    request = encode(session_pb2.ListSpacesRequest, limit=page_size)
    yield from pages("ListSpaces", request, "spaces", timeout_s)


def delete_space(slug: str, *, timeout_s: float | None = None) -> Plan[None]:
    """Delete a space; one that is not there is no error. Its sessions stay.

    Examples
    --------
    >>> client.delete_space("cafe")
    """
    yield Call("DeleteSpace", encode(session_pb2.DeleteSpaceRequest, slug=slug), timeout_s)


def list_sessions(
    *,
    space: str | None = None,
    channel: str = "",
    owner_id: str = "",
    include_archived: bool = False,
    page_size: int | None = None,
    timeout_s: float | None = None,
) -> Listing[session_pb2.Session]:
    """Iterate over sessions without participants and state, the one that changed or got a message last first.

    Parameters
    ----------
    space, channel, owner_id
        Only those in it, or of one owner. A space of "": those in none.
    include_archived
        Archived ones, too.
    page_size
        Sessions a call, 1 to 1,000. None: the server's 100.
    timeout_s
        Deadline of each page. None: the client's.

    Examples
    --------
    >>> _ = client.room("cats", personas=["tom"]).session()
    >>> [session.session_id for session in client.list_sessions()]
    ['cats']
    """
    request = encode(
        session_pb2.ListSessionsRequest,
        space=space,
        channel=channel,
        owner_id=owner_id,
        include_archived=include_archived,
        limit=page_size,
    )
    yield from pages("ListSessions", request, "sessions", timeout_s)


def modes(*, timeout_s: float | None = None) -> Plan[Sequence[session_pb2.Mode]]:
    """List the modes that the server knows, with the JSON schemas of their configuration and state.

    Examples
    --------
    >>> [mode.name for mode in client.modes()]
    ['free_chat', 'quiz']
    """
    response: session_pb2.ListModesResponse = yield Call(
        "ListModes", session_pb2.ListModesRequest(), timeout_s
    )
    return response.modes


def import_session(
    lines: Iterable[str],
    *,
    session_id: str = "",
    channel: str = "",
    space: str | None = None,
    timeout_s: float | None = BULK_TIMEOUT_S,
) -> Plan[session_pb2.ImportSessionResponse]:
    """Take a session as `export` of a room gave it. Messages that are there stay; safe to repeat.

    Parameters
    ----------
    lines
        The lines, the session's first. They are read before anything is sent.
    session_id, channel, space
        What it gets in the place of what it had.
    timeout_s
        Deadline of the whole import, ten minutes.

    Examples
    --------
    >>> room = client.room("cats", personas=["tom"])
    >>> _ = room.ask("hello", "u1")
    >>> client.import_session(room.export(), session_id="copy").session.session_id
    'copy'
    """
    requests = list(_runs(lines))
    first = requests[0]
    first.session_id, first.channel = session_id, channel
    if space is not None:
        first.space = space
    response: session_pb2.ImportSessionResponse = yield Call(
        "ImportSession", iter(requests), timeout_s
    )
    return response


def _runs(lines: Iterable[str]) -> Iterator[session_pb2.ImportSessionRequest]:
    """Requests of some lines each; one at least."""
    run, size = session_pb2.ImportSessionRequest(), 0
    for line in lines:
        if len(run.lines) == _RUN_LINES or (run.lines and size + len(line) > _RUN_BYTES):
            yield run
            run, size = session_pb2.ImportSessionRequest(), 0
        run.lines.append(line)
        size += len(line)
    yield run
