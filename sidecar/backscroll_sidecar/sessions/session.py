"""A session, a space and their settings. Values."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from functools import lru_cache

import msgspec
from msgspec.structs import replace

from backscroll_sidecar.domain import ChannelKey, Layout
from backscroll_sidecar.sessions.modes.base import Unaddressed
from backscroll_sidecar.sessions.participants import Participant

FREE_CHAT = "free_chat"
DEFAULT_LOOP_LIMIT, DEFAULT_LOOP_WINDOW_S = 3, 300
DEFAULT_MAX_TARGETS = 8
MAX_STATE_BYTES = 64 * 1024
"""Of a mode's configuration, and of its state."""
POLICIES = 128
"""Settings of sessions over those of their spaces that are kept."""


class AuthorVisibility(IntEnum):
    """Whose text is shown: everybody's, that of those who are allowed, theirs and what the question replies to."""

    ALL = 1
    ALLOWLIST = 2
    ALLOWLIST_QUOTE = 3


class SessionStatus(IntEnum):
    """Whether a session goes on. A sealed one is read only; an archived one is left out of lists, too."""

    ACTIVE = 1
    SEALED = 2
    ARCHIVED = 3


class RoomPolicy(msgspec.Struct, frozen=True):
    """Settings of a session; None and empty: the space's, else the mode's, else what session.proto says."""

    unaddressed: Unaddressed | None = None
    default_id: str = ""
    preferred_ids: tuple[str, ...] = ()
    max_targets: int | None = None
    sequential: bool | None = None
    window_messages: int | None = None
    summarise_after_messages: int | None = None
    summarise_after_tokens: int | None = None
    question_label: str | None = None
    loop_limit: int | None = None
    loop_window_s: int | None = None
    burst_window_ms: int | None = None
    onward_depth: int | None = None
    profile: str = ""
    layout: Layout | None = None
    language: str = ""
    author_visibility: AuthorVisibility | None = None
    allowed_author_ids: tuple[str, ...] = ()
    prompt: str = ""

    def over(self, below: RoomPolicy) -> RoomPolicy:
        """Its settings; where it leaves one open, that of the other."""
        return _over(self, below)


@lru_cache(maxsize=POLICIES)
def _over(policy: RoomPolicy, below: RoomPolicy) -> RoomPolicy:
    unset = (None, "", ())
    return RoomPolicy(
        **{
            name: getattr(below, name) if value in unset else value
            for name, value in msgspec.structs.asdict(policy).items()
        }
    )


class ForkOrigin(msgspec.Struct, frozen=True):
    """Of what session another one was forked, behind which message."""

    session_id: str
    message_id: str


class Space(msgspec.Struct, frozen=True):
    """What the sessions of a space begin with."""

    slug: str
    project_id: str = ""
    participants: tuple[Participant, ...] = ()
    mode: str = FREE_CHAT
    role_config_json: str = ""
    policy: RoomPolicy = RoomPolicy()


class Session(msgspec.Struct, frozen=True):
    """A session as it stands.

    Attributes
    ----------
    key : the tenant and the channel that its messages are in.
    mode_state_json, state_version : where its mode stands, and how often that changed, from 1; 0:
        mode and state went with somebody's erasure.
    participants : in the order in which they joined, those who left included.
    policy : as it was given; `effective_policy` is with the space's.
    version : of its record: it grows with every change of it.
    log_id : of its state in the log of states.
    made_of : a digest of the request that made it.
    forgotten_ids : of those who took part and were forgotten.
    """

    key: ChannelKey
    id: str
    space: str = ""
    project_id: str = ""
    owner_id: str = ""
    aliases: tuple[str, ...] = ()
    title: str = ""
    parent_id: str = ""
    mode: str = FREE_CHAT
    role_config_json: str = "{}"
    mode_state_json: str = "{}"
    state_version: int = 1
    status: SessionStatus = SessionStatus.ACTIVE
    policy: RoomPolicy = RoomPolicy()
    space_policy: RoomPolicy = RoomPolicy()
    participants: tuple[Participant, ...] = ()
    forked_from: ForkOrigin | None = None
    created_at_ms: int = 0
    updated_at_ms: int = 0
    version: int = 1
    log_id: str = ""
    made_of: str = ""
    forgotten_ids: tuple[str, ...] = ()

    @property
    def effective_policy(self) -> RoomPolicy:
        """Its settings over those of its space."""
        return self.policy.over(self.space_policy)

    def participant(self, participant_id: str) -> Participant | None:
        """The participant of this id."""
        return next((one for one in self.participants if one.id == participant_id), None)

    @property
    def is_active(self) -> bool:
        """Whether it takes rounds and moves."""
        return self.status is SessionStatus.ACTIVE


def with_participants(
    known: Sequence[Participant], given: Sequence[Participant]
) -> tuple[Participant, ...]:
    """Those known, with those of the same id replaced and the others behind them."""
    by_id = {one.id: one for one in known}
    for one in given:
        before = by_id.get(one.id)
        if before is not None and not one.presences:
            one = replace(one, presences=before.presences)  # noqa: PLW2901
        by_id[one.id] = one
    return tuple(by_id.values())
