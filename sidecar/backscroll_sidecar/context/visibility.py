"""What of a channel a context may show, decided in one place: for whose eyes it is, and why a line is shown."""

from __future__ import annotations

from enum import IntEnum

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from backscroll_sidecar.channels import WITHHELD, ChannelView
from backscroll_sidecar.domain import Role, StoredMessage
from backscroll_sidecar.sessions.participants import Observe, Presence
from backscroll_sidecar.sessions.session import AuthorVisibility

RULE_SHIFT = 28
"""A rule stands above the bits of the sources."""
_ASSISTANT = np.uint8(Role.ASSISTANT)
_NOBODY = -1


class VisibilityRule(IntEnum):
    """By what rule a message may be shown (context.proto)."""

    CHANNEL = 1
    SESSION = 2
    AUDIENCE = 3
    AUTHOR = 4
    MEMBERSHIP = 5
    QUOTE = 6
    USER_SCOPE = 7
    TENANT_SCOPE = 8
    SHARING = 9


class Viewer(msgspec.Struct, frozen=True):
    """For whose eyes a context is.

    Attributes
    ----------
    id : of a participant, a user or a bot; empty: for nobody's in particular.
    session_id : of the session that the context is for; empty: none that is known.
    observe : what it sees of what is meant for it.
    presences : when it took part; none: all along.
    visibility : whose text is shown.
    allowed_ids : those authors who are allowed.
    takes_assistants : the bot's own lines are those of any assistant.
    until_seq : what arrived later is not seen yet; None: everything is.
    """

    id: str = ""
    session_id: str = ""
    observe: Observe = Observe.ALL
    presences: tuple[Presence, ...] = ()
    visibility: AuthorVisibility = AuthorVisibility.ALL
    allowed_ids: frozenset[str] = frozenset()
    takes_assistants: bool = False
    until_seq: int | None = None

    @property
    def is_narrow(self) -> bool:
        """Whether it may see less than everything that is for everybody."""
        is_plain = self.observe is Observe.ALL or (
            self.observe is Observe.PRESENT and not self.presences
        )
        is_plain = is_plain and self.until_seq is None
        return not is_plain or self.visibility is not AuthorVisibility.ALL

    def asked_by(self, asker_id: str) -> Viewer:
        """The same, where this is who asks: its own text is always allowed."""
        if self.visibility is AuthorVisibility.ALL or asker_id in self.allowed_ids:
            return self
        return replace(self, allowed_ids=self.allowed_ids | {asker_id})

    def may_see(self, stored: StoredMessage) -> bool:
        """Whether a message of another channel may be shown."""
        message = stored.message
        is_meant = not message.audience or self.id in (*message.audience, message.author.id)
        is_allowed = (
            self.visibility is AuthorVisibility.ALL or message.author.id in self.allowed_ids
        )
        return is_meant and is_allowed and self._observes(stored)

    def _observes(self, stored: StoredMessage) -> bool:
        """Whether it was there, by the clock: arrival in its own channel tells nothing of others."""
        if self.observe is Observe.ALL or self.observe is Observe.NONE:
            return self.observe is Observe.ALL
        is_there = not self.presences or any(
            one.is_by_clock_at(stored.rank_time_ms) for one in self.presences
        )
        return is_there and (self.observe is not Observe.ADDRESSED or self._is_addressed(stored))

    def _is_addressed(self, stored: StoredMessage) -> bool:
        message = stored.message
        reply = message.reply
        return self.id != "" and self.id in (
            message.author.id,
            "" if reply is None else reply.user_id,
            *message.audience,
            *stored.analysis.mention_ids,
        )


EVERYTHING = Viewer()


def withheld(view: ChannelView, viewer: Viewer, quoted_row: int = _NOBODY) -> ChannelView:
    """The view without what the viewer may not see; itself where it may see all.

    `quoted_row`: what the question replies to, directly; -1 nothing.
    """
    if len(view.scopes) == 1 and not viewer.is_narrow:
        return view
    hides = ~_meant(view, viewer)
    if viewer.visibility is not AuthorVisibility.ALL:
        others = ~_allowed(view, viewer)
        if viewer.visibility is AuthorVisibility.ALLOWLIST_QUOTE and quoted_row >= 0:
            others[quoted_row] = False
        hides |= others
    if viewer.until_seq is not None:
        hides |= view.seq > viewer.until_seq
    if viewer.observe is Observe.NONE:
        hides[:] = True
    elif viewer.observe is not Observe.ALL:
        hides |= ~_there(view, viewer.presences)
        if viewer.observe is Observe.ADDRESSED:
            hides |= ~_addressed(view, viewer)
    return view.hiding(hides, WITHHELD)


def shared(view: ChannelView, viewer: Viewer) -> NDArray[np.bool_]:
    """bool[n]: rows that a channel shares where it shares at all: talk for everybody in it, of no session."""
    for_all = [not session_id and not audience for session_id, audience in view.scopes]
    rows: NDArray[np.bool_] = np.array(for_all, np.bool_)[view.scope]
    rows &= (view.role == np.uint8(Role.USER)) | (view.role == _ASSISTANT)
    if viewer.visibility is not AuthorVisibility.ALL:
        rows &= _allowed(view, viewer)
    return rows


def rules_of(
    view: ChannelView,
    viewer: Viewer,
    rows: NDArray[np.int32],
    *,
    quoted_row: int,
    by_membership: bool,
    elsewhere: NDArray[np.uint32] | None,
) -> NDArray[np.uint32] | VisibilityRule:
    """By which rule each of these rows, which may be seen, is shown: uint32[k], or one for all of them.

    Parameters
    ----------
    by_membership : the asker's membership hides rows.
    elsewhere : uint32[k], the rules of the rows behind those of the view; None: there are none.
    """
    is_present = viewer.observe in (Observe.PRESENT, Observe.ADDRESSED) and bool(viewer.presences)
    usual = VisibilityRule.MEMBERSHIP if by_membership or is_present else VisibilityRule.CHANNEL
    if view.origins or not view.key.channel:
        usual = VisibilityRule.USER_SCOPE
    is_plain = len(view.scopes) == 1 and viewer.visibility is AuthorVisibility.ALL
    if is_plain and (not len(rows) or rows.max() < view.count):
        return usual
    out = np.full(len(rows), usual, np.uint32)
    here = rows < view.count
    if elsewhere is not None:
        out[~here] = elsewhere[rows[~here] - view.count]
    own = rows[here]
    of_scope = np.array([_rule_of_scope(scope, viewer, usual) for scope in view.scopes], np.uint32)
    rules = of_scope[view.scope[own]]
    if viewer.visibility is AuthorVisibility.ALLOWLIST_QUOTE and quoted_row >= 0:
        is_quoted = (own == quoted_row) & ~_allowed(view, viewer)[own]
        rules[is_quoted] = VisibilityRule.QUOTE
    out[here] = rules
    return out


def _rule_of_scope(
    scope: tuple[str, tuple[str, ...]], viewer: Viewer, usual: VisibilityRule
) -> VisibilityRule:
    session_id, audience = scope
    if audience:
        return VisibilityRule.AUDIENCE if viewer.id in audience else VisibilityRule.AUTHOR
    is_usual = usual is VisibilityRule.CHANNEL and session_id and session_id == viewer.session_id
    return VisibilityRule.SESSION if is_usual else usual


def _meant(view: ChannelView, viewer: Viewer) -> NDArray[np.bool_]:
    """bool[n]: rows that are for the viewer, or by it, and of no other session than the context's."""
    here = [
        not viewer.session_id or session_id in ("", viewer.session_id)
        for session_id, _ in view.scopes
    ]
    for_all = [not audience or viewer.id in audience for _, audience in view.scopes]
    is_here = np.array(here, np.bool_)[view.scope]
    is_meant = np.array(for_all, np.bool_)[view.scope]
    if not all(for_all) and viewer.id:
        is_meant |= view.columns.author == view.people.index.get(viewer.id, _NOBODY)
    meant: NDArray[np.bool_] = is_here & is_meant
    return meant


def _allowed(view: ChannelView, viewer: Viewer) -> NDArray[np.bool_]:
    """bool[n]: rows by authors whose text is shown."""
    index = view.people.index
    numbers = [index[user_id] for user_id in viewer.allowed_ids if user_id in index]
    allowed: NDArray[np.bool_] = np.isin(view.columns.author, np.array(numbers, np.int32))
    if viewer.takes_assistants:
        allowed |= view.role == _ASSISTANT
    return allowed


def _there(view: ChannelView, presences: tuple[Presence, ...]) -> NDArray[np.bool_]:
    """bool[n]: rows that were said within one of these times; all where there are none."""
    out = np.full(view.count, not presences, np.bool_)
    seq, times_ms = view.seq, view.columns.time_ms
    for one in presences:
        inside = np.ones(view.count, np.bool_)
        if one.after_seq is not None:
            inside &= seq > one.after_seq
        if one.until_seq is not None:
            inside &= seq <= one.until_seq
        if one.joined_at_ms is not None:
            inside &= times_ms >= one.joined_at_ms
        if one.left_at_ms is not None:
            inside &= times_ms < one.left_at_ms
        out |= inside
    return out


def _addressed(view: ChannelView, viewer: Viewer) -> NDArray[np.bool_]:
    """bool[n]: rows that the viewer wrote, that name it or answer it, or that are for it and not for everybody."""
    for_it = [viewer.id in audience for _, audience in view.scopes]
    out = np.array(for_it, np.bool_)[view.scope]
    number = view.people.index.get(viewer.id, _NOBODY)
    if number == _NOBODY:
        return out
    columns = view.explicit_columns
    own = columns.author == number
    out |= own
    parents = columns.parent
    answers = parents >= 0
    answers[answers] = own[parents[answers]]
    out |= answers
    named = np.flatnonzero(columns.mention_ids == number)
    out[np.searchsorted(columns.mention_offsets, named, side="right") - 1] = True
    return out
