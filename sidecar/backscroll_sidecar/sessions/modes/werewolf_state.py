"""What Werewolf is configured with and what it remembers; who plays, and how roles are dealt. Pure."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Literal

import msgspec

from backscroll_sidecar.sessions.modes.base import ActionRefused, Table
from backscroll_sidecar.sessions.modes.moves import join
from backscroll_sidecar.sessions.modes.werewolf_texts import (
    DOCTOR,
    ROLES,
    SEER,
    VILLAGER,
    WEREWOLF,
    texts_of,
)

MIN_PLAYERS = 3
MAX_TALK_ROUNDS = 10
MAX_DAYS = 1_000_000
DEALT_ROLES = (WEREWOLF, SEER, DOCTOR)
"""What can be counted in a configuration; each of them has a move at night."""


class WerewolfConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How a game is set up.

    Attributes
    ----------
    roles : how many there are of "werewolf", "seer", "doctor"; all others are villagers. What is not counted is one
        werewolf for each four players and at least one, one seer from four players on, and no doctor.
    assign : the role of a player by its id; it need not be dealt then.
    players : ids of who plays; none: all people and personas at the table when the game starts.
    seed : of the dealing; None: that of the session.
    talk_rounds : how often each speaks before a vote, from 0 to 10.
    """

    roles: dict[str, int] = {}
    assign: dict[str, str] = {}
    players: tuple[str, ...] = ()
    seed: int | None = None
    talk_rounds: int = 1


class Death(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who died, in the night or on the day of which number, and how."""

    id: str
    day: int
    cause: Literal["killed", "voted_out"]


class Finding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a seer has found out about somebody, in the night of which number."""

    seer_id: str
    id: str
    day: int
    is_werewolf: bool


class WerewolfState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A game.

    Attributes
    ----------
    phase : "lobby", "night", "talk", "vote" or "over".
    seed : of the dealing.
    day : the number of the night and of the day behind it, from 1; 0: before the first.
    roles : everybody's role by id; empty before the game starts.
    players, alive : ids in the order of the seats.
    moves : whom each has named this night.
    move_order : who has moved this night, the latest last.
    votes : whom each votes for; empty: nobody.
    passed : who has given up the move of this phase.
    speakers : who is still to speak today, the one whose turn it is first.
    last_speaker : who spoke last, today or on an earlier day.
    findings : what the seers know.
    last_saves : whom each doctor guarded last night.
    deaths : oldest first.
    winner : "villagers" or "werewolves"; empty: nobody yet.
    """

    phase: Literal["lobby", "night", "talk", "vote", "over"] = "lobby"
    seed: int = 0
    day: int = 0
    roles: dict[str, str] = {}
    players: tuple[str, ...] = ()
    alive: tuple[str, ...] = ()
    moves: dict[str, str] = {}
    move_order: tuple[str, ...] = ()
    votes: dict[str, str] = {}
    passed: tuple[str, ...] = ()
    speakers: tuple[str, ...] = ()
    last_speaker: str = ""
    findings: tuple[Finding, ...] = ()
    last_saves: dict[str, str] = {}
    deaths: tuple[Death, ...] = ()
    winner: Literal["", "villagers", "werewolves"] = ""

    def living(self, role: str) -> tuple[str, ...]:
        """The living of a role."""
        return tuple(one for one in self.alive if self.roles[one] == role)

    @property
    def dead(self) -> tuple[str, ...]:
        """The players who live no more."""
        return tuple(one for one in self.players if one not in self.alive)

    @property
    def awaited(self) -> tuple[str, ...]:
        """Those whose move or word the phase waits for."""
        if self.phase == "talk":
            return self.speakers[:1]
        if self.phase == "vote":
            return tuple(one for one in self.alive if not self.has_moved(one))
        if self.phase == "night":
            movers = (one for one in self.alive if self.roles[one] in DEALT_ROLES)
            return tuple(one for one in movers if not self.has_moved(one))
        return ()

    def has_moved(self, player_id: str) -> bool:
        """Whether somebody has moved, voted or passed in this phase."""
        return player_id in self.moves or player_id in self.votes or player_id in self.passed


def players_of(config: WerewolfConfig, table: Table) -> tuple[str, ...]:
    """Who plays, in the order of the seats."""
    chosen = frozenset(config.players)
    return tuple(
        one.id
        for one in table.seats
        if (one.id in chosen if chosen else one.is_persona or one.is_human)
    )


def check_config(config: WerewolfConfig, table: Table) -> None:
    """Raise `ActionRefused`, with the field of the configuration, where it does not fit the table."""
    texts = texts_of(table.language)
    known = join(table.language, (one.id for one in table.seats))
    for index, one in enumerate(config.players):
        if not table.has(one):
            raise _misfit("players", texts.unknown_id.format(id=one, ids=known))
        if one in config.players[:index]:
            raise _misfit("players", texts.twice_player.format(id=one))
    check_counts(config, table)
    players = players_of(config, table)
    for one, role in config.assign.items():
        if one not in players:
            ids = join(table.language, players)
            raise _misfit("assign", texts.unknown_id.format(id=one, ids=ids))
        if role not in ROLES:
            raise _unknown_role("assign", role, ROLES, table)
    open_seats = len(players) - len(config.assign)
    to_deal = sum(_open_count(config, role, count) for role, count in config.roles.items())
    if to_deal > open_seats:
        raise _misfit("roles", texts.many_roles.format(count=to_deal, players=open_seats))


def check_counts(config: WerewolfConfig, table: Table) -> None:
    """Raise `ActionRefused` where the configuration fits no table."""
    texts = texts_of(table.language)
    for role, count in config.roles.items():
        if role not in DEALT_ROLES:
            raise _unknown_role("roles", role, DEALT_ROLES, table)
        if count < 0:
            raise _misfit("roles", texts.negative_count.format(role=texts.roles[role], count=count))
    if not 0 <= config.talk_rounds <= MAX_TALK_ROUNDS:
        raise _misfit("talk_rounds", texts.talk_rounds_range.format(most=MAX_TALK_ROUNDS))


def check_state(state: WerewolfState) -> None:
    """Raise `ActionRefused` where no game can go on from a state."""
    if state.phase == "lobby":
        if state != WerewolfState(seed=state.seed):
            raise _unsound("phase", "a game that has not begun has no more than its seed")
        return
    players, alive = frozenset(state.players), frozenset(state.alive)
    if len(players) != len(state.players) or not players:
        raise _unsound("players", "players are at least one, each once")
    if state.roles.keys() != players or not {*state.roles.values()} <= {*ROLES}:
        raise _unsound("roles", "each player has one of the roles, and nobody else")
    if len(alive) != len(state.alive):
        raise _unsound("alive", "the living are named once")
    if not 1 <= state.day <= MAX_DAYS:
        raise _unsound("day", f"day is not between 1 and {MAX_DAYS}")
    if state.phase == "talk" and not state.speakers:
        raise _unsound("speakers", "somebody speaks while there is talk")
    if not {*state.move_order} <= state.moves.keys():
        raise _unsound("move_order", "whoever has moved has a move")
    if bool(state.winner) != (state.phase == "over"):
        raise _unsound("winner", "there is a winner where the game is over")
    for field, ids, known in _named(state, players, alive):
        if not {*ids} <= known:
            raise _unsound(field, "names somebody who does not play or is dead")


def _named(
    state: WerewolfState, players: frozenset[str], alive: frozenset[str]
) -> Iterator[tuple[str, Iterable[str], frozenset[str]]]:
    """The ids in each field, and whose they may be."""
    yield "alive", state.alive, players
    yield "moves", state.moves, alive
    yield "moves", state.moves.values(), players
    yield "votes", state.votes, alive
    yield "votes", filter(None, state.votes.values()), alive
    yield "passed", state.passed, alive
    yield "speakers", state.speakers, alive
    yield "last_speaker", filter(None, (state.last_speaker,)), players
    yield "findings", (id for one in state.findings for id in (one.seer_id, one.id)), players
    yield "last_saves", (*state.last_saves, *state.last_saves.values()), players
    yield "deaths", (one.id for one in state.deaths), players - alive


def deal(config: WerewolfConfig, players: tuple[str, ...], seed: int) -> dict[str, str]:
    """The role of each player. Whatever is counted goes before what is not; `check_config` has passed."""
    counts = {WEREWOLF: max(1, len(players) // 4), SEER: int(len(players) >= 4), DOCTOR: 0}
    counts |= config.roles
    open_ids = [one for one in players if one not in config.assign]
    cards = [
        role
        for role in sorted(DEALT_ROLES, key=lambda one: one not in config.roles)
        for _ in range(_open_count(config, role, counts[role]))
    ][: len(open_ids)]
    cards += [VILLAGER] * (len(open_ids) - len(cards))
    random.Random(seed).shuffle(cards)
    dealt = dict(zip(open_ids, cards, strict=True)) | config.assign
    return {one: dealt[one] for one in players}


def check_roles(roles: Mapping[str, str], table: Table) -> None:
    """Raise `ActionRefused` where no game can be played with these roles."""
    texts = texts_of(table.language)
    count, werewolves = len(roles), Counter(roles.values())[WEREWOLF]
    if count < MIN_PLAYERS:
        raise ActionRefused(texts.few_players.format(least=MIN_PLAYERS, count=count))
    if not werewolves:
        raise ActionRefused(texts.no_werewolf)
    if werewolves >= count - werewolves:
        raise ActionRefused(texts.many_werewolves.format(werewolves=werewolves, count=count))


def _open_count(config: WerewolfConfig, role: str, count: int) -> int:
    """How many of a role are to be dealt, besides those that are assigned."""
    return max(0, count - list(config.assign.values()).count(role))


def _misfit(field: str, message: str) -> ActionRefused:
    return ActionRefused(message, f"role_config.{field}")


def _unsound(field: str, message: str) -> ActionRefused:
    return ActionRefused(f"{field}: {message}", "mode_state")


def _unknown_role(field: str, role: str, known: tuple[str, ...], table: Table) -> ActionRefused:
    text = texts_of(table.language).unknown_role
    return _misfit(field, text.format(role=role, roles=join(table.language, known)))
