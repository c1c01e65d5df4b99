"""The profiles with what the settings define of them (S0-01, S3-18, S5-27). Imports numba."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from backscroll_sidecar.context.profiles import PROFILES, Profile

if TYPE_CHECKING:
    from backscroll_sidecar.config.settings import Settings
    from backscroll_sidecar.own_parts import OwnStages


def profiles(
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
    weights = (
        memory.reply_chain_weight,
        memory.user_continuity_weight,
        memory.time_decay_weight,
        memory.mention_relation_weight,
        memory.keyword_overlap_weight,
    )
    return {
        **PROFILES,
        "classic": replace(
            classic,
            parameters=replace(
                classic.parameters, weights=weights, decay_per_hour=settings.decay_per_hour
            ),
            threshold=memory.relevance_threshold,
            window_hours=memory.time_window_hours,
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
