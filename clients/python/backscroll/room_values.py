"""Who takes part in a session, and its settings, as a bot hands them over."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from backscroll._encode import check, encode
from backscroll.v1 import session_pb2
from backscroll.values import Author, AuthorVisibilityName, LayoutName, When, _Value

ParticipantKindName: TypeAlias = Literal["human", "persona", "bot"]
ObserveName: TypeAlias = Literal["all", "present", "addressed", "none"]
ReplyRuleName: TypeAlias = Literal["routed", "mentioned", "always", "never"]
UnaddressedName: TypeAlias = Literal["all", "last_healthy", "default", "selector", "nobody"]
SessionStatusName: TypeAlias = Literal["active", "sealed", "archived"]


@dataclass(frozen=True, slots=True)
class Presence(_Value):
    """A time somebody took part, by arrival (`StoredMessage.sequence`), by the clock, or both.

    None: from the beginning, and still there.
    """

    _kind = session_pb2.Presence

    after_sequence: int | None = None
    until_sequence: int | None = None
    joined_at: When | None = None
    left_at: When | None = None

    def to_proto(self) -> session_pb2.Presence:
        return encode(
            session_pb2.Presence,
            after_sequence=self.after_sequence,
            until_sequence=self.until_sequence,
            joined_at_ms=self.joined_at,
            left_at_ms=self.left_at,
        )


@dataclass(frozen=True, slots=True)
class Participant(_Value):
    """Somebody who takes part in a session: a person, unless `kind` says otherwise.

    Parameters
    ----------
    id
        The author id of its messages.
    name
        What is shown. "": the id. Names, nicknames, aliases and ids are compared without case and
        width, and no two participants may have one.
    persona, summary
        What a persona is told of itself, and what the others are told of it.
    kind
        "human", "persona" (the server's model speaks as it) or "bot" (somebody else's).
    nickname, aliases
        Other names it is found by.
    observe
        What it sees of what is meant for it: "all", what was said while it was "present", what is
        "addressed" to it, or "none". None: "present".
    reply
        When a persona answers: "routed" (as the mode says), "mentioned", "always" or "never". None:
        "routed".
    presences
        The times it took part, oldest first. None: all along, or from when it is added.
    model, token_budget
        What speaks as it, and how long its prompts may be. None: as the round says.

    Examples
    --------
    >>> Participant("u1", "Ann", aliases=["Annie"]).to_proto().aliases
    ['Annie']
    """

    _kind = session_pb2.Participant

    id: str
    name: str = ""
    persona: str = ""
    kind: ParticipantKindName = "human"
    nickname: str = ""
    aliases: Sequence[str] = ()
    summary: str = ""
    observe: ObserveName | None = None
    reply: ReplyRuleName | None = None
    presences: Sequence[Presence | session_pb2.Presence] = ()
    model: str = ""
    token_budget: int | None = None

    def __post_init__(self) -> None:
        check(self._kind, {each.name: getattr(self, each.name) for each in fields(self)})

    def to_proto(self) -> session_pb2.Participant:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return encode(session_pb2.Participant, **values)


@dataclass(frozen=True, slots=True)
class Persona(Participant):
    """A participant that the server's model speaks as.

    Examples
    --------
    >>> Persona("tom", "Tom", "You are a black cat.").kind
    'persona'
    """

    kind: ParticipantKindName = "persona"


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomPolicy(_Value):
    """The settings of a session; None and empty: the space's, else the mode's.

    Parameters
    ----------
    unaddressed
        Who answers a message that names nobody: "all", the "last_healthy" one of `preferred_ids`,
        the "default" one, one that the model chooses ("selector"), or "nobody".
    default_id, preferred_ids
        The personas of "default" and "last_healthy".
    max_targets
        How many answer one message at most, 1 to 32.
    sequential
        Whether they speak one after the other, each seeing the ones before.
    window_messages
        How many of the newest messages a prompt shows, 1 to 500.
    summarise_after_messages, summarise_after_tokens
        What is behind the last summary is summarised once it is so much. 0: never.
    question_label
        What precedes the message in layouts with labels.
    loop_limit, loop_window_s
        How often in so many seconds a persona answers one bot or other persona.
    burst_window_ms
        Messages that come within so many milliseconds of the first become one round, 0 to 60,000.
    onward_depth
        How often a persona that names another hands on to it in one round, 0 to 15.
    profile, layout, language
        As for `build_context`.
    author_visibility, allowed_author_ids
        Whose text prompts show; participants' always.
    prompt
        The template of the system text, with {{name}}, {{persona}}, {{colleagues}}, {{memory}}.

    Examples
    --------
    >>> RoomPolicy(unaddressed="default", default_id="tom").to_proto().default_id
    'tom'
    """

    _kind = session_pb2.RoomPolicy

    unaddressed: UnaddressedName | None = None
    default_id: str = ""
    preferred_ids: Sequence[str] = ()
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
    layout: LayoutName | None = None
    language: str = ""
    author_visibility: AuthorVisibilityName | None = None
    allowed_author_ids: Sequence[str] = ()
    prompt: str = ""

    def to_proto(self) -> session_pb2.RoomPolicy:
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return encode(session_pb2.RoomPolicy, **values)


AnyParticipant: TypeAlias = str | Author | Participant | session_pb2.Participant
AnyPolicy: TypeAlias = RoomPolicy | Mapping[str, Any] | session_pb2.RoomPolicy


def participant_of(given: AnyParticipant) -> Participant | session_pb2.Participant:
    """A participant; an id or an author may stand for a person, the author of a bot for the bot."""
    if isinstance(given, str):
        return Participant(given)
    if isinstance(given, Author):
        return Participant(given.id, given.name, kind="bot" if given.kind == "bot" else "human")
    return given


def participants_of(given: AnyParticipant | Sequence[AnyParticipant]) -> list[object]:
    """Participants of a list, or one alone."""
    if isinstance(given, str | Author | Participant | session_pb2.Participant):
        return [participant_of(given)]
    return [participant_of(each) for each in given]


def policy_of(given: AnyPolicy | None) -> object:
    """A policy, which a dict may stand for."""
    return RoomPolicy(**given) if isinstance(given, Mapping) else given


def json_of(value: Mapping[str, Any] | str | None) -> str | None:
    """A JSON object as text; what is text already is it."""
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)
