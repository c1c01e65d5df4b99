"""A mode that somebody wrote who never saw the server's code."""

from collections.abc import Sequence
from typing import ClassVar

import msgspec

from backscroll_sidecar.sessions.modes.base import (
    Action,
    ActionRefused,
    MemoryLine,
    Outcome,
    Table,
    Traits,
    Waiting,
)
from backscroll_sidecar.texts import Language


class DebateConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    sides: tuple[str, str]
    rounds: int = 1


class DebateState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    turn: int = -1
    total: int = 0


class Debate:
    """Two personas speak in turns about what somebody said."""

    name = "debate"
    traits = Traits(in_parallel=False, is_serial=True, window_messages=50)
    config_type = DebateConfig
    state_type = DebateState
    prompts: ClassVar = {
        Language.EN: "You are {{name}}.\n{{persona}}\n{{colleagues}}\n{{memory}}",
        Language.ZH: "你是{{name}}。\n{{persona}}\n{{colleagues}}\n{{memory}}",
    }

    def begin(self, config: DebateConfig, table: Table, seed: int) -> DebateState:
        if not all(map(table.has, config.sides)):
            raise ActionRefused("a side takes no part", "role_config.sides")
        return DebateState(total=2 * config.rounds)

    def check(self, config: DebateConfig, state: DebateState, table: Table) -> None:
        if not -1 <= state.turn <= state.total:
            raise ActionRefused(f"there is no turn {state.turn}")

    def waits_for(self, config: DebateConfig, state: DebateState, table: Table) -> Waiting:
        if state.turn < 0 or state.turn >= state.total:
            return Waiting(())
        return Waiting((config.sides[state.turn % 2],))

    def read_action(
        self, config: DebateConfig, state: DebateState, table: Table, sender_id: str, text: str
    ) -> Action | None:
        if state.turn < 0:
            return Action("open", sender_id)
        return Action("argue", sender_id) if sender_id in config.sides else None

    def apply(
        self, config: DebateConfig, state: DebateState, table: Table, action: Action
    ) -> Outcome:
        if action.name not in ("open", "argue"):
            raise ActionRefused("a debate knows open and argue")
        return Outcome(DebateState(state.turn + 1, state.total), (), action.name)

    def audience_of(
        self, config: DebateConfig, state: DebateState, table: Table, sender_id: str
    ) -> Sequence[str]:
        return ()

    def memory(
        self, config: DebateConfig, state: DebateState, table: Table
    ) -> Sequence[MemoryLine]:
        return [MemoryLine("turn", f"[轮到你了: {state.turn}]")]

    def task_begins_with(self, state: DebateState) -> str | None:
        return None

    def stage(self, state: DebateState) -> str:
        return str(state.turn)

    def is_over(self, state: DebateState) -> bool:
        return state.turn >= state.total


class Nothing:
    """No mode at all."""

    name = "nothing"
