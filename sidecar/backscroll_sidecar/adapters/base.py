"""The port of a vendor's adapter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from backscroll_sidecar.domain import NeutralMessage, Part


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's answer in neutral form. Tokens are None where the vendor counted none."""

    parts: tuple[Part, ...]
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


def encoded(
    messages: Sequence[NeutralMessage], form: str, make: Callable[[NeutralMessage], bytes]
) -> list[bytes]:
    """What `make` makes of each message; a sequence that remembers what was made under the name `form` is asked."""
    forms: Callable[[str, Callable[[NeutralMessage], bytes]], list[bytes]] | None
    forms = getattr(messages, "forms", None)
    return list(map(make, messages)) if forms is None else forms(form, make)


class Adapter(Protocol):
    """Translates both ways. Pure."""

    @property
    def name(self) -> str:
        """The payload format's name."""

    def payload(
        self,
        messages: Sequence[NeutralMessage],
        *,
        model: str,
        tools_json: str = "",
        with_names: bool = False,
    ) -> bytes:
        """A request body to be posted unchanged."""

    def parse_reply(self, completion: object) -> ModelReply:
        """The vendor's whole answer, its JSON loaded, as it was written; raises ValueError when it is none."""
