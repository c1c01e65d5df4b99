"""For whose eyes a build is: its viewer, made of the request and of the session it is for. Pure."""

from __future__ import annotations

from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.visibility import EVERYTHING, Viewer
from backscroll_sidecar.sessions.participants import Observe, Presence
from backscroll_sidecar.sessions.session import AuthorVisibility, RoomPolicy, Session

_NO_POLICY = RoomPolicy()


def viewer_of(request: BuildRequest, session: Session | None) -> Viewer:
    """The viewer that the request names, else the first of the bot's ids; in a session as that participant.

    Whom the session has forgotten sees nothing of it.
    """
    id_ = request.viewer_id or next(iter(request.self_ids), "")
    is_narrowed = request.author_visibility is not None or request.seen_until_seq is not None
    if not id_ and session is None and not is_narrowed:
        return EVERYTHING
    policy = _NO_POLICY if session is None else session.effective_policy
    visibility = request.author_visibility or policy.author_visibility or AuthorVisibility.ALL
    participant = None if session is None else session.participant(id_)
    observe = Observe.ALL
    presences: tuple[Presence, ...] = ()
    if participant is not None:
        observe = participant.observe
        presences = participant.presences if observe is not Observe.ALL else ()
    elif session is not None and id_ in session.forgotten_ids:
        observe = Observe.NONE
    allowed: frozenset[str] = frozenset()
    if visibility is not AuthorVisibility.ALL:
        listed = request.allowed_author_ids or policy.allowed_author_ids
        asker = (request.asker.id,) if request.asker else ()
        here = () if session is None else tuple([one.id for one in session.participants])
        allowed = frozenset((*listed, *request.self_ids, *asker, *here, id_))
    return Viewer(
        id_,
        "" if session is None else session.id,
        observe,
        presences,
        visibility,
        allowed,
        not request.self_ids,
        request.seen_until_seq,
    )
