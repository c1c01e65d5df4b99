"""What a request resolves to before anything is read: profile, time zone, model. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

from backscroll_sidecar.context.model import BuildRequest, Overrides
from backscroll_sidecar.context.profiles import Profile, find_profile, plain, with_overrides
from backscroll_sidecar.context.settings import ContextSettings
from backscroll_sidecar.domain import Embedding, StoredSystemRows
from backscroll_sidecar.errors import InvalidRequest
from backscroll_sidecar.texts import ENGLISH, Texts

KEPT_ROUTES = 256
"""Combinations of profile, overrides, time zone and model that are kept; a bot uses one or two."""


class Route(msgspec.Struct, frozen=True):
    """What a request resolves to before anything is read.

    `keep_control`: control tokens in texts stay; `system_rows`: how stored system rows are shown;
    `texts`: those the server adds, right once the question is known (`asked`).
    """

    profile: Profile
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
