"""The game of Werewolf: hidden roles, nights for a few, days for all. People and personas play side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from backscroll_sidecar.sessions.modes.base import (
    Action,
    MemoryLine,
    Outcome,
    Table,
    Traits,
    Unaddressed,
    Waiting,
)
from backscroll_sidecar.sessions.modes.moves import read_move, shown_names
from backscroll_sidecar.sessions.modes.werewolf_lines import private_lines, public_lines
from backscroll_sidecar.sessions.modes.werewolf_rules import play
from backscroll_sidecar.sessions.modes.werewolf_state import (
    WerewolfConfig,
    WerewolfState,
    check_config,
    check_counts,
    check_state,
    players_of,
)
from backscroll_sidecar.sessions.modes.werewolf_texts import (
    NAMES_BY_WORD,
    PROMPTS,
    SPEAK,
    WEREWOLF,
    texts_of,
)
from backscroll_sidecar.texts import Language


class Werewolf:
    """The mode of that name; see `Mode`. Who a message is for is asked with the state before the move in it."""

    name = "werewolf"
    traits = Traits(
        unaddressed=Unaddressed.NOBODY,
        heeds_mentions=False,
        in_parallel=False,
        is_serial=True,
        window_messages=40,
        most_steps=64,
    )
    config_type = WerewolfConfig
    state_type = WerewolfState
    prompts: Mapping[Language, str] = PROMPTS

    def begin(self, config: WerewolfConfig, table: Table, seed: int) -> WerewolfState:
        check_config(config, table)
        return WerewolfState(seed=seed if config.seed is None else config.seed)

    def check(self, config: WerewolfConfig, state: WerewolfState, table: Table) -> None:
        check_counts(config, table)
        check_state(state)

    def waits_for(self, config: WerewolfConfig, state: WerewolfState, table: Table) -> Waiting:
        return Waiting(state.awaited, in_parallel=state.phase in ("night", "vote"))

    def read_action(
        self,
        config: WerewolfConfig,
        state: WerewolfState,
        table: Table,
        sender_id: str,
        text: str,
    ) -> Action | None:
        """The move in a message. Whatever somebody says in turn is that turn, moves written too early included."""
        if state.phase == "talk" and sender_id == state.speakers[0]:
            return Action(SPEAK, sender_id)
        found = read_move(text, NAMES_BY_WORD)
        return Action(found[0], sender_id, found[1]) if found else None

    def apply(
        self, config: WerewolfConfig, state: WerewolfState, table: Table, action: Action
    ) -> Outcome:
        return play(config, state, table, action)

    def audience_of(
        self,
        config: WerewolfConfig,
        state: WerewolfState,
        table: Table,
        sender_id: str,
    ) -> Sequence[str]:
        """Whom what somebody says now is for.

        By day the living speak to everybody, and the dead to the dead alone, by night too. At night the werewolves
        hear each other. All others sleep: what they say is for themselves alone, so that a move such as ``/check``
        stays hidden, and so that nobody can tell who is awake. Whoever does not play is heard by everybody.
        """
        if state.phase in ("lobby", "over") or sender_id not in state.players:
            return ()
        if sender_id not in state.alive:
            return state.dead
        if state.phase != "night":
            return ()
        wolves = state.living(WEREWOLF)
        return wolves if sender_id in wolves else (sender_id,)

    def memory(
        self, config: WerewolfConfig, state: WerewolfState, table: Table
    ) -> Sequence[MemoryLine]:
        if state.phase == "lobby":
            names = shown_names(table, players_of(config, table))
            texts = texts_of(table.language)
            return (
                MemoryLine("phase", texts.lobby_line),
                MemoryLine("players", texts.alive_line.format(names=names)),
            )
        return (*public_lines(state, table), *private_lines(state, table))

    def task_begins_with(self, state: WerewolfState) -> str | None:
        """Each message stands for itself."""
        return None

    def stage(self, state: WerewolfState) -> str:
        speaker = state.speakers[0] if state.phase == "talk" and state.speakers else ""
        return f"{state.phase}:{state.day}:{speaker}"

    def is_over(self, state: WerewolfState) -> bool:
        return state.phase == "over"
