"""What is stored of the asker comes into the request, as if the caller had brought it."""

from __future__ import annotations

from typing import Protocol

import structlog
from msgspec.structs import replace

from backscroll_sidecar.context.candidates import SOURCE_SHARE
from backscroll_sidecar.context.deadline import Deadline
from backscroll_sidecar.context.model import BuildRequest
from backscroll_sidecar.context.profiles import Profile
from backscroll_sidecar.context.question import Question
from backscroll_sidecar.context.response import reason_of
from backscroll_sidecar.domain import ChannelKey, Degradation
from backscroll_sidecar.strategies import GivenPreferences

SOURCE = GivenPreferences.name
log = structlog.get_logger(__name__)


class StoredPreferences(Protocol):
    """Where a build gets preferences from."""

    def known(self, key: ChannelKey, user_id: str) -> tuple[str, ...] | None:
        """The lines about a user that hold in a channel; None: they must be read."""

    async def read(self, key: ChannelKey, user_id: str) -> tuple[str, ...]:
        """The same, read. Raises `StoreUnavailable`."""


async def with_preferences(
    stored: StoredPreferences,
    request: BuildRequest,
    profile: Profile,
    question: Question,
    deadline: Deadline,
) -> tuple[BuildRequest, tuple[Degradation, ...]]:
    """The stored preferences of the asker before those of the request, each once; and what could not be had."""
    asker = question.asker
    if asker is None or SOURCE not in profile.sources:
        return request, ()
    lines = stored.known(request.key, asker.id)
    if lines is None:
        try:
            lines = await deadline.bound(stored.read(request.key, asker.id), SOURCE_SHARE)
        except Exception as error:  # it costs only itself
            reason = reason_of(error)
            log.warning("preferences unavailable", reason=reason, exc_info=reason == "ERROR")
            return request, (Degradation("gather", reason, SOURCE),)
    if not lines:
        return request, ()
    united = dict.fromkeys(map(str.strip, (*lines, *request.preferences)))
    return replace(request, preferences=tuple(united)), ()
