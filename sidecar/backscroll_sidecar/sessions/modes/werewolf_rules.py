"""The moves of Werewolf, and what each leads to. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from backscroll_sidecar.sessions.modes.base import (
    Action,
    ActionRefused,
    Announcement,
    Outcome,
    Table,
)
from backscroll_sidecar.sessions.modes.moves import find_seat, join, shown_name, shown_names
from backscroll_sidecar.sessions.modes.werewolf_lines import (
    all_roles,
    tally,
    what_is_found,
    what_one_is,
)
from backscroll_sidecar.sessions.modes.werewolf_state import (
    DEALT_ROLES,
    Death,
    Finding,
    WerewolfConfig,
    WerewolfState,
    check_config,
    check_roles,
    deal,
    players_of,
)
from backscroll_sidecar.sessions.modes.werewolf_texts import (
    CHECK,
    DOCTOR,
    KILL,
    NOBODY_WORDS,
    PASS,
    ROLES,
    SAVE,
    SEER,
    SKIP,
    SPEAK,
    START,
    VOTE,
    WEREWOLF,
    texts_of,
)
from backscroll_sidecar.sessions.participants import name_key

Said = tuple[Announcement, ...]
"""What is announced, in order."""


def play(config: WerewolfConfig, state: WerewolfState, table: Table, action: Action) -> Outcome:
    """What a move leads to. Raises `ActionRefused` where the rules forbid it."""
    texts = texts_of(table.language)
    move = _MOVES.get(action.name)
    if move is None:
        moves = join(table.language, (f"/{one}" for one in _MOVES if one != SPEAK))
        raise ActionRefused(texts.unknown_move.format(moves=moves))
    if state.phase == "over":
        raise ActionRefused(texts.over_refused)
    return move(config, state, table, action)


def _start(config: WerewolfConfig, state: WerewolfState, table: Table, action: Action) -> Outcome:
    texts = texts_of(table.language)
    if state.phase != "lobby":
        raise ActionRefused(texts.started_refused)
    players = players_of(config, table)
    if action.actor_id and action.actor_id not in players:
        raise _not_a_player(table, players)
    try:
        check_config(config, table)
    except ActionRefused as error:  # somebody has come or gone since the session began
        raise ActionRefused(error.message) from None
    roles = deal(config, players, state.seed)
    check_roles(roles, table)
    counts = Counter(roles.values())
    counted = join(
        table.language, (f"{texts.roles[one]} {counts[one]}" for one in ROLES if counts[one])
    )
    text = texts.started.format(players=shown_names(table, players), counts=counted)
    told = tuple(Announcement("\n".join(what_one_is(roles, table, one)), (one,)) for one in players)
    state, night = _night(replace(state, players=players, alive=players, roles=roles), table)
    return Outcome(state, (Announcement(text), *told, *night), "started")


# --- the night -----------------------------------------------------------------------------------


def _kill(config: WerewolfConfig, state: WerewolfState, table: Table, action: Action) -> Outcome:
    _check_night_move(state, table, action, WEREWOLF)
    wolves, actor = state.living(WEREWOLF), action.actor_id
    texts = texts_of(table.language)
    if all(state.has_moved(one) for one in wolves):
        raise ActionRefused(texts.victim_chosen)
    prey = tuple(one for one in state.alive if one not in wolves)
    victim = _chosen(state, table, action, prey)
    text = texts.victim_named.format(
        name=shown_name(table, actor), victim=shown_name(table, victim)
    )
    return _moved(config, _with_move(state, actor, victim), table, (Announcement(text, wolves),))


def _check(config: WerewolfConfig, state: WerewolfState, table: Table, action: Action) -> Outcome:
    _check_night_move(state, table, action, SEER)
    actor = action.actor_id
    seen = _chosen(state, table, action, tuple(one for one in state.alive if one != actor))
    finding = Finding(actor, seen, state.day, state.roles[seen] == WEREWOLF)
    state = replace(_with_move(state, actor, seen), findings=(*state.findings, finding))
    return _moved(config, state, table, (Announcement(what_is_found(finding, table), (actor,)),))


def _save(config: WerewolfConfig, state: WerewolfState, table: Table, action: Action) -> Outcome:
    _check_night_move(state, table, action, DOCTOR)
    actor = action.actor_id
    last = state.last_saves.get(actor)
    saved = _chosen(state, table, action, tuple(one for one in state.alive if one != last))
    text = texts_of(table.language).saved.format(name=shown_name(table, saved))
    return _moved(config, _with_move(state, actor, saved), table, (Announcement(text, (actor,)),))


def _check_night_move(state: WerewolfState, table: Table, action: Action, role: str) -> None:
    """Raise where it is not night, or the actor does not live, is not of the role, or has had its move."""
    _check_phase(state, table, "night")
    _check_living(state, table, action.actor_id)
    texts = texts_of(table.language)
    if state.roles[action.actor_id] != role:
        raise ActionRefused(texts.only_role.format(role=texts.roles[role]), "actor_id")
    if role != WEREWOLF and state.has_moved(action.actor_id):
        raise ActionRefused(texts.moved_refused)


def _with_move(state: WerewolfState, actor: str, target: str) -> WerewolfState:
    """With a move of this night, in the place of an earlier one or of having passed."""
    return replace(
        state,
        moves=state.moves | {actor: target},
        move_order=(*(one for one in state.move_order if one != actor), actor),
        passed=tuple(one for one in state.passed if one != actor),
    )


def _moved(config: WerewolfConfig, state: WerewolfState, table: Table, said: Said) -> Outcome:
    """What follows a move at night: dawn, once nobody is left who must move."""
    if state.awaited:
        return Outcome(state, said, "moved")
    return _dawn(config, state, table, said)


def _dawn(config: WerewolfConfig, state: WerewolfState, table: Table, said: Said = ()) -> Outcome:
    texts = texts_of(table.language)
    saves = {one: state.moves[one] for one in state.living(DOCTOR) if one in state.moves}
    victim = _victim(state)
    state = replace(state, last_saves=saves)
    if victim and victim not in saves.values():
        text = texts.died.format(day=state.day, name=shown_name(table, victim))
        state, was = _with_death(state, table, Death(victim, state.day, "killed"))
        said = (*said, Announcement(text), was)
    else:
        said = (*said, Announcement(texts.nobody_died.format(day=state.day)))
    if ended := _ended(state, table, said):
        return ended
    state, begun = _talk(config, state, table)
    return Outcome(state, (*said, *begun), "dawn")


def _victim(state: WerewolfState) -> str:
    """Whom most werewolves have named, among several whom the latest has; empty: nobody."""
    wolves = state.living(WEREWOLF)
    named = [state.moves[one] for one in state.move_order if one in wolves]
    counts = Counter(named)
    most = max(counts.values(), default=0)
    return next((one for one in reversed(named) if counts[one] == most), "")


# --- the day -------------------------------------------------------------------------------------


def _talk(config: WerewolfConfig, state: WerewolfState, table: Table) -> tuple[WerewolfState, Said]:
    """The living speak in the order of the seats, beginning behind whoever spoke last."""
    if not config.talk_rounds:
        return _vote_begins(state, table)
    behind = state.players.index(state.last_speaker) + 1 if state.last_speaker else 0
    order = [one for one in state.players[behind:] + state.players[:behind] if one in state.alive]
    text = texts_of(table.language).talk_begins.format(name=shown_name(table, order[0]))
    speakers = tuple(order * config.talk_rounds)
    return _in_phase(replace(state, phase="talk"), speakers), (Announcement(text),)


def _speak(config: WerewolfConfig, state: WerewolfState, table: Table, action: Action) -> Outcome:  # noqa: ARG001
    _check_phase(state, table, "talk")
    _check_living(state, table, action.actor_id)
    texts = texts_of(table.language)
    if action.actor_id != state.speakers[0]:
        name = shown_name(table, state.speakers[0])
        raise ActionRefused(texts.not_your_turn.format(name=name), "actor_id")
    left = state.speakers[1:]
    state = replace(state, speakers=left, last_speaker=action.actor_id)
    if not left:
        state, said = _vote_begins(state, table)
        return Outcome(state, said, "spoke")
    text = texts.next_speaker.format(name=shown_name(table, left[0]))
    return Outcome(state, (Announcement(text),), "spoke")


def _vote_begins(state: WerewolfState, table: Table) -> tuple[WerewolfState, Said]:
    text = texts_of(table.language).vote_begins
    return _in_phase(replace(state, phase="vote")), (Announcement(text),)


def _vote(config: WerewolfConfig, state: WerewolfState, table: Table, action: Action) -> Outcome:  # noqa: ARG001
    _check_phase(state, table, "vote")
    _check_living(state, table, action.actor_id)
    target = _chosen(state, table, action, state.alive, or_nobody=True)
    votes = state.votes | {action.actor_id: target}
    passed = tuple(one for one in state.passed if one != action.actor_id)
    return _voted(replace(state, votes=votes, passed=passed), table)


def _voted(state: WerewolfState, table: Table) -> Outcome:
    """What follows a vote: the count, once all have voted."""
    return Outcome(state, (), "voted") if state.awaited else _count(state, table)


def _count(state: WerewolfState, table: Table) -> Outcome:
    """Whoever has most votes is out. Who has passed is not counted."""
    texts = texts_of(table.language)
    counts = Counter(state.votes[one] for one in state.alive if one in state.votes)
    first = counts.most_common(2)
    out = first[0][0] if first and (len(first) == 1 or first[0][1] > first[1][1]) else ""
    said: Said = (Announcement(texts.tally.format(votes=tally(state, table))),)
    if out:
        state, was = _with_death(state, table, Death(out, state.day, "voted_out"))
        text = texts.voted_out.format(name=shown_name(table, out))
        said = (*said, Announcement(text), was)
    else:
        said = (*said, Announcement(texts.nobody_out))
    if ended := _ended(state, table, said):
        return ended
    state, night = _night(state, table)
    return Outcome(state, (*said, *night), "counted")


# --- any time ------------------------------------------------------------------------------------


def _pass(config: WerewolfConfig, state: WerewolfState, table: Table, action: Action) -> Outcome:
    """Give up a move: at night, in the talk, in the vote."""
    if state.phase == "talk":
        return _speak(config, state, table, action)
    texts, actor = texts_of(table.language), action.actor_id
    _check_phase(state, table, "night", "vote")
    _check_living(state, table, actor)
    if state.phase == "night":
        role = state.roles[actor]
        if role not in DEALT_ROLES:
            raise ActionRefused(texts.no_night_move, "actor_id")
        if role != WEREWOLF and state.has_moved(actor):
            raise ActionRefused(texts.moved_refused)
        if role == WEREWOLF and all(state.has_moved(one) for one in state.living(WEREWOLF)):
            raise ActionRefused(texts.victim_chosen)
    state = _with_pass(state, actor)
    return _voted(state, table) if state.phase == "vote" else _moved(config, state, table, ())


def _with_pass(state: WerewolfState, actor: str) -> WerewolfState:
    return replace(
        state,
        moves={one: target for one, target in state.moves.items() if one != actor},
        move_order=tuple(one for one in state.move_order if one != actor),
        votes={one: target for one, target in state.votes.items() if one != actor},
        passed=(*(one for one in state.passed if one != actor), actor),
    )


def _skip(config: WerewolfConfig, state: WerewolfState, table: Table, action: Action) -> Outcome:
    """Whoever runs the session ends a phase; who has not moved has passed."""
    if action.actor_id:
        raise ActionRefused(texts_of(table.language).moderator_only, "actor_id")
    _check_phase(state, table, "night", "talk", "vote")
    if state.phase == "talk":
        state, said = _vote_begins(state, table)
        return Outcome(state, said, "skipped")
    state = replace(state, passed=state.passed + state.awaited)
    return _count(state, table) if state.phase == "vote" else _dawn(config, state, table)


def _check_phase(state: WerewolfState, table: Table, *phases: str) -> None:
    """Raise where the game is in none of these phases."""
    if state.phase in phases:
        return
    texts = texts_of(table.language)
    if state.phase == "talk":
        name = shown_name(table, state.speakers[0])
        raise ActionRefused(texts.talk_refused.format(name=name))
    refused = {"lobby": texts.lobby_refused, "night": texts.night_refused}
    raise ActionRefused(refused.get(state.phase, texts.vote_refused))


def _check_living(state: WerewolfState, table: Table, actor: str) -> None:
    """Raise where somebody does not play, or lives no more."""
    if actor not in state.players:
        raise _not_a_player(table, state.players)
    if actor not in state.alive:
        raise ActionRefused(texts_of(table.language).dead_refused, "actor_id")


def _not_a_player(table: Table, players: Sequence[str]) -> ActionRefused:
    text = texts_of(table.language).not_player
    return ActionRefused(text.format(names=shown_names(table, players)), "actor_id")


def _chosen(
    state: WerewolfState,
    table: Table,
    action: Action,
    choices: tuple[str, ...],
    *,
    or_nobody: bool = False,
) -> str:
    """Whom a move names, among those who can be chosen; empty: nobody, where that is a choice."""
    found = find_seat(table, action.argument, state.players)
    if found in choices:
        return found
    if or_nobody and name_key(action.argument.strip(" .。!！@＠")) in NOBODY_WORDS:
        return ""
    texts = texts_of(table.language)
    names = join(
        table.language,
        (*(shown_name(table, one) for one in choices), *((texts.nobody,) if or_nobody else ())),
    )
    text = texts.dead_choice if found in state.dead else texts.no_choice
    raise ActionRefused(text.format(name=shown_name(table, found), names=names), "argument")


def _with_death(
    state: WerewolfState, table: Table, death: Death
) -> tuple[WerewolfState, Announcement]:
    """Without the one who has died, and what that one was."""
    texts = texts_of(table.language)
    role = texts.roles[state.roles[death.id]]
    alive = tuple(one for one in state.alive if one != death.id)
    return (
        replace(state, alive=alive, deaths=(*state.deaths, death)),
        Announcement(texts.was.format(name=shown_name(table, death.id), role=role)),
    )


def _night(state: WerewolfState, table: Table) -> tuple[WerewolfState, Said]:
    state = _in_phase(replace(state, phase="night", day=state.day + 1))
    return state, (Announcement(texts_of(table.language).night_falls.format(day=state.day)),)


def _in_phase(state: WerewolfState, speakers: tuple[str, ...] = ()) -> WerewolfState:
    """At the beginning of a phase, nobody having moved in it."""
    return replace(state, moves={}, move_order=(), votes={}, passed=(), speakers=speakers)


def _ended(state: WerewolfState, table: Table, said: Said) -> Outcome | None:
    """The end, where one side has won; None: the game goes on."""
    texts = texts_of(table.language)
    wolves = len(state.living(WEREWOLF))
    if wolves and wolves < len(state.alive) - wolves:
        return None
    won = texts.werewolves_won if wolves else texts.villagers_won
    state = replace(_in_phase(state), phase="over", winner="werewolves" if wolves else "villagers")
    text = "\n".join((won, texts.all_roles, *all_roles(state, table)))
    return Outcome(state, (*said, Announcement(text)), "ended")


_MOVES: Mapping[str, Callable[[WerewolfConfig, WerewolfState, Table, Action], Outcome]] = {
    START: _start,
    KILL: _kill,
    CHECK: _check,
    SAVE: _save,
    SPEAK: _speak,
    VOTE: _vote,
    PASS: _pass,
    SKIP: _skip,
}
