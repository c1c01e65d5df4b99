"""Whom a payload is for, and what may be given back to them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import orjson

from backscroll_sidecar.domain import Part, ProviderStatePart

BASE_URLS = {
    "openai_chat": "https://api.openai.com/v1",
    "openai_responses": "https://api.openai.com/v1",
    "anthropic_messages": "https://api.anthropic.com/v1",
    "gemini_contents": "https://generativelanguage.googleapis.com/v1beta",
}
"""The vendors' own addresses by payload format, up to the version."""
CALL_PATHS = ("/chat/completions", "/responses", "/messages", "/embeddings")
"""Paths that people copy with a base URL from a vendor's example."""
_DATED = re.compile(
    r"(?:[-@:](?:latest|preview|exp|stable|default|\d{8}|\d{4}-\d\d-\d\d|\d\d-\d{4}|\d\d-\d\d|\d{4}|v\d))+\Z"
)


class Target(NamedTuple):
    """An API that is asked, and the model there.

    Attributes
    ----------
    provider : as `provider_of` has it.
    api : the payload's format.
    """

    provider: str
    api: str
    model: str

    def takes(self, state: ProviderStatePart) -> bool:
        """Whether a state came from there."""
        return (
            provider_of(state.provider) == self.provider
            and state.api == self.api
            and family_of(state.model) == family_of(self.model)
        )

    def own(self, parts: Iterable[Part]) -> list[Part]:
        """The parts without what only others can read."""
        return [one for one in parts if not isinstance(one, ProviderStatePart) or self.takes(one)]

    def state(self, kind: str, value: object) -> ProviderStatePart | None:
        """A value that came from there, to be given back; None where nothing is in it."""
        if not value:
            return None
        try:
            data = orjson.dumps(value)
        except TypeError:  # half a character, or a number that JSON has not
            return None
        return ProviderStatePart(self.provider, self.api, self.model, kind, data)


def value_of(state: ProviderStatePart) -> Any:  # noqa: ANN401 - whatever JSON holds
    """What a state holds; None where it is no JSON."""
    try:
        return orjson.loads(state.data)
    except ValueError:
        return None


@lru_cache(maxsize=1_024)
def family_of(model: str) -> str:
    """A model's name without its maker's, date and ``-latest``: ``openai/gpt-5.6-2026-08-01`` is ``gpt-5.6``."""
    name = model.strip().lower().rsplit("/", 1)[-1]
    return _DATED.sub("", name) or name


@lru_cache(maxsize=1_024)
def provider_of(base_url: str) -> str:
    """An API's address without scheme, credentials, path of a call, query: ``api.openai.com/v1``; empty for none."""
    try:
        parts = urlsplit(base_url)
    except ValueError:
        return ""
    return (parts.netloc.rpartition("@")[2] + without_call(parts.path)).lower()


def without_call(path: str) -> str:
    """The path of an address, up to the version."""
    path = path.rstrip("/")
    for call in CALL_PATHS:
        path = path.removesuffix(call)
    return path
