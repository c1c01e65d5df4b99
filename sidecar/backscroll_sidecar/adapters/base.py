"""The port of a vendor's adapter."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import orjson

from backscroll_sidecar.domain import NeutralMessage, Part, Role


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's answer in neutral form. Tokens are None where the vendor counted none."""

    parts: tuple[Part, ...]
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Framing(NamedTuple):
    """Tokens of a payload that are nobody's text: of each message, of a name beside it, once of the whole."""

    message_tokens: int
    name_tokens: int
    priming_tokens: int


class Speaker(NamedTuple):
    """Who says a message: their id, which tells them apart where there is one, and the name they go by."""

    author_id: str
    name: str

    @property
    def key(self) -> str:
        """What tells them apart; empty for nobody."""
        return self.author_id or self.name


class Adapter(Hashable, Protocol):
    """Translates both ways. Pure.

    Attributes
    ----------
    name : the payload format's.
    framing : what a payload costs beside its texts.
    """

    @property
    def name(self) -> str: ...
    @property
    def framing(self) -> Framing: ...

    def envelope(self, model: str, tools_json: str) -> tuple[bytes, bytes]:
        """What a request body has before its messages, which commas part, and behind them."""

    def around(self, role: Role, name: str = "") -> tuple[bytes, bytes]:
        """What a message has before and behind its text, which stands in it as `inside_json` has it."""

    def names(self, speakers: Sequence[Speaker]) -> list[str]:
        """The name of each as the vendor takes it, told from those of the others; empty where there is none."""

    def name_alone(self, speaker: Speaker, *, is_shared: bool = False) -> str:
        """The name that `names` gives somebody whose own nobody else has, or, `is_shared`, somebody else has, too."""

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


def speaker_of(message: NeutralMessage) -> Speaker:
    """Who says a message."""
    return Speaker(message.author_id, message.name)


def inside_json(text: str) -> bytes:
    """A text as it stands between the quotes of a JSON text."""
    return orjson.dumps(text)[1:-1]
