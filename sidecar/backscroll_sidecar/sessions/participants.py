"""Who takes part in a session, under which names, and what each may see. Values."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from enum import IntEnum

import msgspec

MAX_PARTICIPANTS = 100
MAX_ALIASES = 50


class ParticipantKind(IntEnum):
    """A person; a persona, which the server speaks as; somebody else's bot."""

    HUMAN = 1
    PERSONA = 2
    BOT = 3


class Observe(IntEnum):
    """What a participant sees of what is meant for it: all; what was said while it was there; what names it; none."""

    ALL = 1
    PRESENT = 2
    ADDRESSED = 3
    NONE = 4


class ReplyRule(IntEnum):
    """When a persona answers: as the session's mode says; only when somebody names it; always; never."""

    ROUTED = 1
    MENTIONED = 2
    ALWAYS = 3
    NEVER = 4


class Presence(msgspec.Struct, frozen=True):
    """A time somebody took part, by arrival in the channel, by the clock, or both; None: open.

    Lines with ``after_seq < seq <= until_seq`` and ``joined_at_ms <= time < left_at_ms`` are of it.
    """

    after_seq: int | None = None
    until_seq: int | None = None
    joined_at_ms: int | None = None
    left_at_ms: int | None = None

    @property
    def is_over(self) -> bool:
        """Whether it has ended."""
        return self.until_seq is not None or self.left_at_ms is not None

    def is_by_clock_at(self, time_ms: int) -> bool:
        """Whether this time is within it, as far as it is bounded by the clock; else there is no telling: no."""
        is_after = (
            self.after_seq is None if self.joined_at_ms is None else time_ms >= self.joined_at_ms
        )
        is_before = self.until_seq is None if self.left_at_ms is None else time_ms < self.left_at_ms
        return is_after and is_before


class Participant(msgspec.Struct, frozen=True):
    """Somebody who takes part in a session.

    Attributes
    ----------
    id : the author id of its messages.
    name, nickname, aliases : what it is called. `name` is shown; each of them is found in a text.
    persona : what a persona is told of itself.
    summary : what the others are told of it.
    presences : when it took part, oldest first; none: all along.
    model, token_budget : of a persona's answers; empty, None: those of the round.
    """

    id: str
    name: str
    kind: ParticipantKind = ParticipantKind.HUMAN
    nickname: str = ""
    aliases: tuple[str, ...] = ()
    persona: str = ""
    summary: str = ""
    observe: Observe = Observe.PRESENT
    reply: ReplyRule = ReplyRule.ROUTED
    presences: tuple[Presence, ...] = ()
    model: str = ""
    token_budget: int | None = None

    @property
    def is_present(self) -> bool:
        """Whether it takes part now."""
        return not self.presences or not self.presences[-1].is_over

    @property
    def is_persona(self) -> bool:
        """Whether the server speaks as it."""
        return self.kind is ParticipantKind.PERSONA

    def names(self) -> Iterator[str]:
        """Everything it is called, the shown name first."""
        yield from filter(None, (self.name, self.nickname, *self.aliases))


def as_named(participants: Sequence[Participant]) -> tuple[Participant, ...]:
    """What names, kinds and presence are told by: the same without what personas are told and how they are asked."""
    return tuple(
        Participant(
            one.id,
            one.name,
            one.kind,
            one.nickname,
            one.aliases,
            reply=one.reply,
            presences=one.presences[-1:],
        )
        for one in participants
    )


def size_of_names(participants: Sequence[Participant]) -> int:
    """Characters of all names and ids, with what each costs besides."""
    return sum(len(name) + 100 for one in participants for name in (one.id, *one.names()))


def name_key(name: str) -> str:
    """What two names are compared by: NFKC, case-folded, white space as one blank, without variation selectors."""
    name = name.replace("\ufe0f", "").replace("\ufe0e", "")
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def mention_key(name: str) -> str:
    """What a name that is mentioned is looked up by: `name_key` without at-signs before it."""
    return name_key(name).lstrip("@ ")


def name_clash(participants: Sequence[Participant]) -> tuple[str, str, str] | None:
    """A name that two of them have where they are mentioned, and their ids; None: there is none. Ids are names, too."""
    taken: dict[str, str] = {}
    for one in participants:
        for name in (one.id, *one.names()):
            other = taken.setdefault(mention_key(name) or name_key(name), one.id)
            if other != one.id:
                return name, other, one.id
    return None
