"""Free talk: everybody who is named answers, else everybody. There are no rules and no end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

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

PROMPTS: Mapping[Language, str] = {
    Language.EN: (
        "You are {{name}}.\n"
        "{{persona}}\n"
        "Your colleagues:\n{{colleagues}}\n"
        "{{memory}}\n"
        "Speak as {{name}} alone. Never write lines for anybody else."
    ),
    Language.ZH: (
        "你是{{name}}。\n"
        "{{persona}}\n"
        "你的同事：\n{{colleagues}}\n"
        "{{memory}}\n"
        "只以{{name}}的身份说话，不要替别人说话。"
    ),
}


class FreeChatConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing can be set."""


class FreeChatState(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing is remembered."""


class FreeChat:
    """Talk without rules."""

    name = "free_chat"
    traits = Traits()
    config_type = FreeChatConfig
    state_type = FreeChatState
    prompts = PROMPTS

    def begin(self, config: FreeChatConfig, table: Table, seed: int) -> FreeChatState:
        """The only state there is."""
        return FreeChatState()

    def check(self, config: FreeChatConfig, state: FreeChatState, table: Table) -> None:
        """Nothing can be wrong."""

    def waits_for(
        self, config: FreeChatConfig, state: FreeChatState, table: Table
    ) -> Waiting | None:
        """Nobody: who is named decides."""
        return None

    def read_action(
        self, config: FreeChatConfig, state: FreeChatState, table: Table, sender_id: str, text: str
    ) -> Action | None:
        """All is talk."""
        return None

    def apply(
        self, config: FreeChatConfig, state: FreeChatState, table: Table, action: Action
    ) -> Outcome:
        """There are no moves."""
        raise ActionRefused("free talk has no moves")

    def audience_of(
        self, config: FreeChatConfig, state: FreeChatState, table: Table, sender_id: str
    ) -> Sequence[str]:
        """Everybody."""
        return ()

    def memory(
        self, config: FreeChatConfig, state: FreeChatState, table: Table
    ) -> Sequence[MemoryLine]:
        """Nothing."""
        return ()

    def task_begins_with(self, state: FreeChatState) -> str | None:
        """Each message stands for itself."""
        return None

    def stage(self, state: FreeChatState) -> str:
        """There is one."""
        return ""

    def is_over(self, state: FreeChatState) -> bool:
        """Never."""
        return False
