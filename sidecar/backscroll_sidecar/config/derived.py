"""What builds and chats are set to, made of what an operator sets. Imports numba."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from backscroll_sidecar.adapters.target import BASE_URLS, provider_of
from backscroll_sidecar.chat.turns import ChatSettings
from backscroll_sidecar.config.settings import Settings
from backscroll_sidecar.context.moment import PartialReplies
from backscroll_sidecar.context.profiles import PROFILES, BotSettings, ContextSettings, Profile
from backscroll_sidecar.context.tool_exchanges import OrphanCalls
from backscroll_sidecar.domain import StoredSystemRows
from backscroll_sidecar.own_parts import OwnStages
from backscroll_sidecar.summaries.compaction import CompactionSettings
from backscroll_sidecar.tool_outputs import OutputPolicy, ToolOutputs


def context_settings(
    settings: Settings, own_sources: Sequence[str] = (), stages: OwnStages | None = None
) -> ContextSettings:
    """Settings of builds, the profiles derived.

    `own_sources` run in every profile but `classic`, after its own; `stages` are the operator's of `naive`.
    """
    memory = settings.memory
    return ContextSettings(
        profiles=_profiles(settings, own_sources, stages or OwnStages()),
        default_profile=settings.default_profile,
        time_zone=settings.time_zone,
        default_model=settings.default_model,
        intelligent=memory.enable_intelligent_memory,
        fallback_on_error=memory.fallback_on_error,
        max_context=memory.max_context_messages,
        timeout_s=memory.context_build_timeout_seconds,
        orphan_calls=OrphanCalls(settings.orphan_calls),
        partial_replies=PartialReplies(settings.partial_replies),
        stored_system_rows=StoredSystemRows(settings.stored_system_rows),
        keep_control_tokens=settings.keep_control_tokens,
        wordings=settings.wordings(),
        system_text=settings.system_text,
        bots={id: BotSettings(bot.system_text, bot.profile) for id, bot in settings.bots.items()},
        channel_profiles=dict(settings.channel_profiles),
        tool_outputs=ToolOutputs(OutputPolicy(settings.tool_outputs), settings.tool_output_chars),
        provider=provider_of(settings.model_base_url or BASE_URLS[settings.model_api]),
    )


def chat_settings(settings: Settings) -> ChatSettings:
    """Settings of StreamChat and Chat."""
    return ChatSettings(
        temperature=None if settings.temperature == "none" else settings.temperature,
        max_tool_iterations=settings.max_tool_iterations,
        wordings=settings.wordings(),
        missing_finish_is_complete=settings.model_missing_finish_is_complete,
        model_api=settings.model_api,
    )


def compaction_settings(settings: Settings) -> CompactionSettings:
    """Settings of summaries."""
    return CompactionSettings(
        is_automatic=settings.compaction == "auto",
        threshold_tokens=settings.compaction_tokens,
        threshold_messages=settings.compaction_messages,
        keep_tokens=settings.compaction_keep_tokens,
    )


def _profiles(
    settings: Settings, own_sources: Sequence[str], stages: OwnStages
) -> dict[str, Profile]:
    """By name; `own_sources` run in every profile but `classic`, after its own, `stages` are those of `naive`."""
    return {
        name: one if name == "classic" else _with_sources(one, own_sources)
        for name, one in _derived_profiles(settings, stages).items()
    }


def _with_sources(profile: Profile, own_sources: Sequence[str]) -> Profile:
    return replace(profile, sources=tuple(dict.fromkeys((*profile.sources, *own_sources))))


def _derived_profiles(settings: Settings, stages: OwnStages) -> Mapping[str, Profile]:
    """The profiles with what the settings define of them."""
    memory, classic, naive = settings.memory, PROFILES["classic"], PROFILES["naive"]
    window = settings.tg_history_window
    if classic.parameters is None:
        raise AssertionError("classic has a scorer")
    return {
        **PROFILES,
        "classic": replace(
            classic,
            parameters=replace(
                classic.parameters, weights=memory.weights, decay_per_hour=settings.decay_per_hour
            ),
            threshold=memory.relevance_threshold,
            window_hours=memory.time_window_hours,
            exploration_slots=settings.exploration_slots,
            exploration_temperature=settings.exploration_temperature,
        ),
        **{
            name: replace(
                PROFILES[name], recency_half_life_minutes=settings.recency_half_life_minutes
            )
            for name in ("hybrid", "hybrid_linear")
        },
        "naive": replace(
            naive,
            sources=(
                stages.provider.name if stages.provider else settings.naive_provider,
                *naive.sources[1:],
            ),
            recent_limit=window,
            window_limit=window,
            thread_limit=window,
            semantic_limit=window,
            recall_limit=window,
            max_messages=window,
            max_chars_per_message=settings.max_chars_per_message,
            compressor=stages.compressor,
            assembler=stages.assembler,
        ),
    }
