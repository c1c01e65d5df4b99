"""What a request resolves to before anything is read: profile, time zone, model. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

from backscroll_sidecar.context.model import BuildRequest, Overrides
from backscroll_sidecar.context.moment import PartialReplies
from backscroll_sidecar.context.profiles import (
    PROFILES,
    Profile,
    find_profile,
    plain,
    with_overrides,
)
from backscroll_sidecar.context.tool_exchanges import OrphanCalls
from backscroll_sidecar.domain import Embedding, StoredSystemRows
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.texts import ENGLISH, NEUTRAL, Texts, Wordings

KEPT_ROUTES = 256
"""Combinations of profile, overrides, time zone and model that are kept; a bot uses one or two."""


class Route(msgspec.Struct, frozen=True):
    """What a request resolves to before anything is read.

    `fallback`: the last messages, where `profile` fails; `keep_control`: control tokens in texts stay; `system_rows`:
    how stored system rows are shown; `texts`: those the server adds, right once the question is known (`asked`).
    """

    profile: Profile
    fallback: Profile
    zone: tzinfo
    model: str
    keep_control: bool = False
    system_rows: StoredSystemRows = StoredSystemRows.USER
    texts: Texts = ENGLISH

    def asked(self, texts: Texts) -> Route:
        """The same where the server's texts for the question are these."""
        return self if texts is self.texts else msgspec.structs.replace(self, texts=texts)


class Routes:
    """Routes requests by the server's settings. `dims_of`: the size of an embedder's vectors, 0 when not known."""

    def __init__(
        self,
        settings: ContextSettings,
        dims_of: Callable[[str], int],
    ) -> None:
        self._settings = settings
        self._dims_of = dims_of
        self._known = lru_cache(maxsize=KEPT_ROUTES)(self._resolved)

    def of(self, request: BuildRequest) -> Route:
        """Profile: the request's, else the bot's, else the channel's, else the server's; then overrides, switches."""
        settings = self._settings
        if request.query_embedding is not None:
            self._check_embedding(request.query_embedding)
        bot = settings.bots.get(request.self_ids[0]) if request.self_ids else None
        name = (
            request.profile
            or (bot.profile if bot else "")
            or settings.channel_profiles.get(request.key.channel, "")
            or settings.default_profile
        )
        return self._known(
            name, request.overrides, request.time_zone, request.model, request.stored_system_rows
        )

    def _resolved(
        self,
        name: str,
        overrides: Overrides,
        time_zone: str,
        model: str,
        system_rows: StoredSystemRows | None,
    ) -> Route:
        """What a request asks for by settings alone; the same for every request that has them."""
        settings = self._settings
        profile = find_profile(settings.profiles, name)
        if settings.max_context is not None:
            profile = replace(profile, max_context=settings.max_context)
        profile = with_overrides(profile, overrides)
        wanted = overrides.use_intelligent_context
        if not (settings.intelligent if wanted is None else wanted):
            limits = (overrides.max_context, settings.max_context)
            most = next((limit for limit in limits if limit is not None), settings.plain_messages)
            profile = plain(profile, min(most, settings.plain_messages))
        return Route(
            profile,
            plain(profile, min(profile.max_context, settings.fallback_messages)),
            ZoneInfo(time_zone),
            model or settings.default_model,
            settings.keep_control_tokens,
            system_rows or settings.stored_system_rows,
            settings.wordings.english,
        )

    def _check_embedding(self, given: Embedding) -> None:
        """A vector of another size is no vector of this embedder: it is refused, not passed over."""
        dims = self._dims_of(given.embedder_id)
        if dims not in {0, len(given.values)}:
            raise InvalidRequest(
                f"query_embedding has {len(given.values)} dimensions, this embedder's vectors have {dims}",
                field="query_embedding.values",
            )


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
    intelligent : MEMORY_ENABLE_INTELLIGENT_MEMORY; off takes the last `plain_messages`.
    fallback_on_error : MEMORY_FALLBACK_ON_ERROR; off goes from an error straight to an empty context.
    max_context : MEMORY_MAX_CONTEXT_MESSAGES; None keeps the profiles' own maximum.
    timeout_s : MEMORY_CONTEXT_BUILD_TIMEOUT_SECONDS, then the ladder.
    fallback_messages : how many the second rung takes.
    orphan_calls : what becomes of a tool call whose result is gone.
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
