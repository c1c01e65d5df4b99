"""The settings of the path of a build, as plain values. `config.derived` makes them of what an operator sets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from backscroll_sidecar.context.partials import PartialReplies
from backscroll_sidecar.context.profiles import PROFILES, Profile
from backscroll_sidecar.context.tool_exchanges import OrphanCalls
from backscroll_sidecar.domain import StoredSystemRows
from backscroll_sidecar.texts import NEUTRAL, Wordings


@dataclass(frozen=True, slots=True)
class BotSettings:
    """What is set for one bot, by its user id (the first of `self_ids`). Empty or None: the server's."""

    system_text: str | None = None
    profile: str = ""


@dataclass(frozen=True, slots=True)
class ContextSettings:
    """Settings of every build.

    Attributes
    ----------
    intelligent : MEMORY_ENABLE_INTELLIGENT_MEMORY; off takes the last `plain_messages` (S5-26).
    fallback_on_error : MEMORY_FALLBACK_ON_ERROR; off goes from an error straight to an empty context.
    max_context : MEMORY_MAX_CONTEXT_MESSAGES; None keeps the profiles' own maximum.
    timeout_s : MEMORY_CONTEXT_BUILD_TIMEOUT_SECONDS, then the ladder (S5-25).
    fallback_messages : how many the second rung takes (S5-24).
    orphan_calls : what becomes of a tool call whose result is gone (P-10).
    partial_replies : when a reply of the bot's that broke off is shown.
    keep_control_tokens : control tokens of chat templates in stored texts are shown as they are.
    stored_system_rows : how stored system rows are shown where a request leaves it open.
    wordings : the texts the server adds, in each language.
    system_text : the server's system text; None leaves it to the profile.
    channel_profiles : profile by channel.
    """

    profiles: Mapping[str, Profile] = field(default_factory=lambda: PROFILES)
    default_profile: str = "balanced"
    default_model: str = "gpt-4o-mini"
    intelligent: bool = True
    fallback_on_error: bool = True
    max_context: int | None = None
    timeout_s: float = 5.0
    plain_messages: int = 10
    fallback_messages: int = 20
    orphan_calls: OrphanCalls = OrphanCalls.SYNTHETIC
    partial_replies: PartialReplies = PartialReplies.WHEN_ASKED
    keep_control_tokens: bool = False
    stored_system_rows: StoredSystemRows = StoredSystemRows.USER
    wordings: Wordings = NEUTRAL
    system_text: str | None = None
    bots: Mapping[str, BotSettings] = field(default_factory=dict)
    channel_profiles: Mapping[str, str] = field(default_factory=dict)
