"""Assignment of channels to arms by a provider of OpenFeature, such as flagd's. Needs the extra `openfeature`."""

from __future__ import annotations

from collections.abc import Sequence

from openfeature import api
from openfeature.evaluation_context import EvaluationContext
from openfeature.provider import FeatureProvider

DOMAIN = "backscroll"


class OpenFeatureResolver:
    """An `ArmResolver`: the flag of an experiment's id has the names of its arms as variants of type text.

    `provider`: who knows the flags; None: the one that the process has set by itself.
    """

    def __init__(self, provider: FeatureProvider | None = None) -> None:
        if provider is not None:
            api.set_provider(provider, DOMAIN)
        self._client = api.get_client(DOMAIN)

    def arm(
        self,
        tenant: str,
        experiment_id: str,
        channel: str,
        arms: Sequence[str],  # noqa: ARG002 - the provider knows its variants
    ) -> str:
        """The variant's value for a channel; empty: the flag says none. Raises `LookupError` where nobody can tell."""
        context = EvaluationContext(channel, {"tenant": tenant})
        found = self._client.get_string_details(experiment_id, "", context)
        if found.error_code is not None:
            raise LookupError(f"{found.error_code}: {found.error_message}")
        return found.value
