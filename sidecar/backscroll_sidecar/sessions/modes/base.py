"""What a mode is: its traits as data, and pure functions from one state of a session to the next.

A mode never reads a clock, a file or a store, and draws its chances from the seed it is given. States and
configurations are `msgspec.Struct` classes: what is stored and sent is their JSON, what is wrong in one is told by its
field.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Any, Protocol, runtime_checkable

import msgspec

from backscroll_sidecar.texts import Language


class Unaddressed(IntEnum):
    """Who answers a message that names nobody."""

    ALL = 1
    LAST_HEALTHY = 2
    DEFAULT = 3
    SELECTOR = 4
    NOBODY = 5


class Traits(msgspec.Struct, frozen=True):
    """What a mode is like, as data.

    Attributes
    ----------
    unaddressed : who answers a message that names nobody.
    heeds_mentions : whether a mention decides who answers.
    in_parallel : whether those who answer one message do so at once, none seeing the others' answers.
    is_serial : whether only one round of a session runs at a time.
    window_messages : how many of the newest messages a prompt shows at most.
    summarise_after_messages, summarise_after_tokens : what is behind the last summary is summarised once it has so
        many; 0: never.
    most_steps : how many answers the mode may ask for behind one message.
    """

    unaddressed: Unaddressed = Unaddressed.ALL
    heeds_mentions: bool = True
    in_parallel: bool = True
    is_serial: bool = False
    window_messages: int = 20
    summarise_after_messages: int = 0
    summarise_after_tokens: int = 0
    most_steps: int = 16


class Seat(msgspec.Struct, frozen=True):
    """A participant as a mode sees it."""

    id: str
    name: str
    is_persona: bool = False
    is_human: bool = True


class Table(msgspec.Struct, frozen=True):
    """Who is there, in the order in which they joined, what they are called, and in which language the mode speaks."""

    seats: tuple[Seat, ...]
    language: Language = Language.EN
    ids_by_name: Mapping[str, str] = {}

    def name_of(self, seat_id: str) -> str:
        """What somebody is called; the id where nobody of that id is there."""
        return next((one.name for one in self.seats if one.id == seat_id), seat_id)

    def has(self, seat_id: str) -> bool:
        """Whether somebody of that id is there."""
        return any(one.id == seat_id for one in self.seats)


class Action(msgspec.Struct, frozen=True):
    """A move: its name, who makes it (empty: who runs the session), what it is about, and in which message."""

    name: str
    actor_id: str = ""
    argument: str = ""
    message_id: str = ""


class ActionRefused(Exception):
    """The rules forbid a move. `message` is for whoever made it; `field` is "name", "actor_id" or "argument"."""

    def __init__(self, message: str, field: str = "name") -> None:
        super().__init__(message)
        self.message = message
        self.field = field


class Announcement(msgspec.Struct, frozen=True):
    """A line that the mode itself says. `audience`: the ids of those it is for; empty: everybody."""

    text: str
    audience: tuple[str, ...] = ()


class Outcome(msgspec.Struct, frozen=True):
    """What a move led to: the new state, what is announced, and a word for what happened, such as "voted"."""

    state: Any
    announcements: tuple[Announcement, ...] = ()
    event: str = ""


class Waiting(msgspec.Struct, frozen=True):
    """Whom a mode waits for. Several may be asked at once where `in_parallel`, else the first of them is.

    `goes_on`: a round asks them by itself behind other answers; else they wait for the next message.
    """

    ids: tuple[str, ...] = ()
    in_parallel: bool = False
    goes_on: bool = True


class MemoryLine(msgspec.Struct, frozen=True):
    """A line of what is remembered: the field of the state it tells of, and whom it may be shown to (empty: all)."""

    field: str
    text: str
    audience: tuple[str, ...] = ()


@runtime_checkable
class Mode(Protocol):
    """A mode. All methods are pure; `config` and `state` are of the types the mode names.

    Attributes
    ----------
    name : str
        Names it in requests: lower-case letters, digits, ``_``.
    traits : Traits
    config_type, state_type : types
        Of `role_config` and `mode_state`: `msgspec.Struct` classes that forbid unknown fields.
    prompts : mapping of Language to str
        What a persona is told, with ``{{name}}``, ``{{persona}}``, ``{{colleagues}}``, ``{{memory}}``.
    """

    name: str
    traits: Traits
    config_type: type[Any]
    state_type: type[Any]
    prompts: Mapping[Language, str]

    def begin(self, config: Any, table: Table, seed: int) -> Any:
        """The state a session begins with. Raises `ActionRefused` where the configuration does not fit the table."""

    def check(self, config: Any, state: Any, table: Table) -> None:
        """Raise `ActionRefused` where the other functions could not go on from a state that somebody gave.

        It takes the place of `begin` in sessions that are copied or set by hand: whoever the state or the configuration
        names may have left the table since.
        """

    def waits_for(self, config: Any, state: Any, table: Table) -> Waiting | None:
        """Who must speak or act next; None: the mode leaves that to mentions and to who is addressed."""

    def read_action(
        self,
        config: Any,
        state: Any,
        table: Table,
        sender_id: str,
        text: str,
    ) -> Action | None:
        """The move that a message makes; None: it is talk."""

    def apply(self, config: Any, state: Any, table: Table, action: Action) -> Outcome:
        """The state behind a move. Raises `ActionRefused`."""

    def audience_of(self, config: Any, state: Any, table: Table, sender_id: str) -> Sequence[str]:
        """Whom what somebody says now is for; empty: everybody."""

    def memory(self, config: Any, state: Any, table: Table) -> Sequence[MemoryLine]:
        """What prompts show of the state, line by line, each with whom it may be shown to."""

    def task_begins_with(self, state: Any) -> str | None:
        """The message that begins the task, empty where there is none yet; None: what is asked is each message."""

    def stage(self, state: Any) -> str:
        """Names the part of the play that moves are for: an answer that was asked for in another one moves nothing."""

    def is_over(self, state: Any) -> bool:
        """Whether the game or the task has ended."""
