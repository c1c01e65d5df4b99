"""A session as its mode sees it. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

from backscroll_sidecar.errors import FailedPrecondition, Reason
from backscroll_sidecar.sessions.kept import Kept
from backscroll_sidecar.sessions.modes.base import (
    Action,
    ActionRefused,
    MemoryLine,
    Mode,
    Outcome,
    Seat,
    Table,
    Waiting,
)
from backscroll_sidecar.sessions.modes.registry import Modes, config_of, state_of
from backscroll_sidecar.sessions.participants import (
    Participant,
    ParticipantKind,
    as_named,
    name_key,
)
from backscroll_sidecar.sessions.session import Session
from backscroll_sidecar.texts import Language

HAN_SHARE = 0.3
"""Of the letters in names and personas: a room with so many Chinese ones speaks Chinese."""


TABLES, TABLES_SIZE = 1_024, 8_000_000
"""Sets of participants whose tables are kept, and characters of their names: they are the same from round to round."""
LANGUAGES = 128
"""Sets of participants whose language is kept."""
READ_OF_A_PERSONA = 200
"""Characters that tell the language of one."""

_T = TypeVar("_T")


class Play(NamedTuple):
    """A mode with everything its functions take. Its methods raise `FailedPrecondition` where the rules forbid it."""

    mode: Mode
    config: Any
    state: Any
    table: Table

    def waiting(self) -> Waiting | None:
        """Whom the mode waits for; None: for nobody in particular."""
        return self._by_the_rules(self.mode.waits_for)

    def memory(self) -> Sequence[MemoryLine]:
        """What is remembered of the state."""
        return self._by_the_rules(self.mode.memory)

    def audience_of(self, sender_id: str) -> tuple[str, ...]:
        """Whom the mode lets hear somebody now; empty: everybody."""
        return tuple(self._by_the_rules(self.mode.audience_of, sender_id))

    def applied(self, action: Action) -> Outcome:
        """What a move leads to."""
        return self._by_the_rules(self.mode.apply, action)

    def _by_the_rules(self, function: Callable[..., _T], *given: Any) -> _T:  # noqa: ANN401
        try:
            return function(self.config, self.state, self.table, *given)
        except ActionRefused as refused:
            raise FailedPrecondition(
                refused.message, field=refused.field, reason=Reason.ACTION_REFUSED
            ) from refused


def play_of(session: Session, modes: Modes) -> Play:
    """The session's mode, configuration, state and table. Raises `InvalidRequest` where they do not fit."""
    mode = modes.find(session.mode)
    config = config_of(mode, session.role_config_json)
    return Play(mode, config, state_of(mode, session.mode_state_json), table_of(session))


def table_of(session: Session) -> Table:
    """Those who take part now, and everything they are called."""
    key = as_named(session.participants), language_of(session)
    found = _tables.get(key)
    if found is None:
        found = _table_of(*key)
        _tables.put(key, found)
    return found


def _table_of(participants: tuple[Participant, ...], language: Language) -> Table:
    here = [one for one in participants if one.is_present]
    names: dict[str, str] = {}
    for one in here:
        for name in (*one.names(), one.id):
            names.setdefault(name_key(name), one.id)
    return Table(tuple(map(_seat, here)), language, names)


def language_of(session: Session) -> Language:
    """The language of the session: as it is set, else that of its names and personas, by their script."""
    tag = session.effective_policy.language.casefold()
    if tag and tag != "auto":
        return Language.ZH if tag.startswith("zh") else Language.EN
    people = session.participants
    machines = [one for one in people if one.kind is not _HUMAN]
    said = tuple(one.name + one.persona[:READ_OF_A_PERSONA] for one in machines)
    return _spoken_in(said or tuple(one.name for one in people))


@lru_cache(maxsize=LANGUAGES)
def _spoken_in(texts: tuple[str, ...]) -> Language:
    words = "".join(texts)
    letters = [char for char in words if char.isalpha()]
    han = sum("\u3400" <= char <= "\u9fff" for char in letters)
    return Language.ZH if letters and han >= HAN_SHARE * len(letters) else Language.EN


def seed_of(session: Session) -> int:
    """What a mode draws its chances from: the same for a session, another one for each."""
    name = "\0".join((*session.key, session.space, session.id, str(session.created_at_ms)))
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=6).digest())


_HUMAN = ParticipantKind.HUMAN


def _size_of(table: Table) -> int:
    return sum(2 * len(name) + 100 for name in table.ids_by_name)


_tables: Kept[tuple[tuple[Participant, ...], Language], Table] = Kept(TABLES, TABLES_SIZE, _size_of)


def _seat(one: Participant) -> Seat:
    return Seat(one.id, one.name, one.is_persona, one.kind is _HUMAN)
