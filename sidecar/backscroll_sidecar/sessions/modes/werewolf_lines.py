"""What is told of a game of Werewolf, when it happens and whenever a prompt shows the game. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from backscroll_sidecar.sessions.modes.base import MemoryLine, Table
from backscroll_sidecar.sessions.modes.moves import shown_name, shown_names
from backscroll_sidecar.sessions.modes.werewolf_state import Finding, WerewolfState
from backscroll_sidecar.sessions.modes.werewolf_texts import WEREWOLF, texts_of


def what_one_is(roles: Mapping[str, str], table: Table, player_id: str) -> tuple[str, ...]:
    """What a player is told of its role: for nobody else's eyes."""
    texts, role = texts_of(table.language), roles[player_id]
    lines = [texts.you_are.format(role=texts.roles[role], task=texts.tasks[role])]
    pack = [one for one in roles if roles[one] == WEREWOLF]
    if role == WEREWOLF and len(pack) > 1:
        lines.append(texts.fellows.format(names=shown_names(table, pack)))
    return tuple(lines)


def what_is_found(finding: Finding, table: Table) -> str:
    """What a seer is told of somebody: for nobody else's eyes."""
    texts = texts_of(table.language)
    text = texts.finding if finding.is_werewolf else texts.finding_none
    return text.format(name=shown_name(table, finding.id))


def tally(state: WerewolfState, table: Table) -> str:
    """How many votes each has, and whose."""
    texts = texts_of(table.language)
    voters: dict[str, list[str]] = {}
    for one in state.alive:
        if one in state.votes:
            voters.setdefault(state.votes[one], []).append(one)
    return (
        "; ".join(
            f"{shown_name(table, one) if one else texts.nobody} {len(ids)} ({shown_names(table, ids)})"
            for one, ids in sorted(voters.items(), key=lambda item: -len(item[1]))
        )
        or texts.nobody_voted
    )


def all_roles(state: WerewolfState, table: Table) -> tuple[str, ...]:
    """What everybody was, a line each: for when the game is over."""
    texts = texts_of(table.language)
    return tuple(
        texts.is_role.format(name=shown_name(table, one), role=texts.roles[state.roles[one]])
        for one in state.players
    )


def public_lines(state: WerewolfState, table: Table) -> Iterator[MemoryLine]:
    """What everybody knows."""
    texts = texts_of(table.language)
    if state.phase == "over":
        won = texts.villagers_won if state.winner == "villagers" else texts.werewolves_won
        yield MemoryLine("winner", won)
        for line in all_roles(state, table):
            yield MemoryLine("roles", line)
    elif state.phase == "night":
        yield MemoryLine("phase", texts.night_line.format(day=state.day))
    elif state.phase == "talk":
        name = shown_name(table, state.speakers[0])
        yield MemoryLine("phase", texts.talk_line.format(day=state.day, name=name))
    else:
        yield MemoryLine("phase", texts.vote_line.format(day=state.day))
    yield MemoryLine("alive", texts.alive_line.format(names=shown_names(table, state.alive)))
    for death in state.deaths:
        text = texts.killed_line if death.cause == "killed" else texts.voted_out_line
        name, role = shown_name(table, death.id), texts.roles[state.roles[death.id]]
        yield MemoryLine("deaths", text.format(day=death.day, name=name, role=role))


def private_lines(state: WerewolfState, table: Table) -> Iterator[MemoryLine]:
    """What each player alone knows, and what it is to do now."""
    texts = texts_of(table.language)
    for one in state.players:
        for line in what_one_is(state.roles, table, one):
            yield MemoryLine("roles", line, (one,))
    for finding in state.findings:
        text = what_is_found(finding, table)
        line = texts.finding_line.format(day=finding.day, finding=text)
        yield MemoryLine("findings", line, (finding.seer_id,))
    for one, saved in state.last_saves.items():
        line = texts.last_save_line.format(name=shown_name(table, saved))
        yield MemoryLine("last_saves", line, (one,))
    if state.phase == "over":
        return
    for one in state.dead:
        yield MemoryLine("deaths", texts.dead_line, (one,))
    tasks = {"talk": texts.speak_task, "vote": texts.vote_task}
    for one in state.awaited:
        task = tasks.get(state.phase) or texts.tasks[state.roles[one]]
        yield MemoryLine("phase", texts.to_do.format(task=task), (one,))
