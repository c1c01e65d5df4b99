"""The port of a vendor's adapter."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import orjson

from backscroll_sidecar.adapters.pictures import PICTURE_TOKENS
from backscroll_sidecar.domain import NeutralMessage, Part, Role


@dataclass(frozen=True, slots=True)
class ModelReply:
    """A model's answer in neutral form. Tokens are None where the vendor counted none."""

    parts: tuple[Part, ...]
    finish_reason: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class Framing(NamedTuple):
    """Tokens of a payload that are nobody's text: of each message, of a name beside it, once of the whole, of a picture
    by its link.
    """

    message_tokens: int
    name_tokens: int
    priming_tokens: int
    linked_picture_tokens: int = PICTURE_TOKENS


class Speaker(NamedTuple):
    """Who says a message: their id, which tells them apart where there is one, and the name they go by."""

    author_id: str
    name: str

    @property
    def key(self) -> str:
        """What tells them apart; empty for nobody."""
        return self.author_id or self.name


class PayloadOptions(NamedTuple):
    """What a payload has beside its messages.

    Attributes
    ----------
    tools_json : a JSON list of tools, in any vendor's form.
    with_names : speakers' names beside their messages, where the vendor has a place for them.
    provider : who will get it (`target.provider_of`), the only one that its own states go back to.
    reply_tokens : the most the answer may take, for vendors that insist on a limit; None: as the adapter likes.
    """

    model: str
    tools_json: str = ""
    with_names: bool = False
    provider: str = ""
    reply_tokens: int | None = None


class LineForm(Protocol):
    """How a payload is put together that is an envelope around its messages, each whatever the others are.

    Then lines can be encoded before anybody asks.
    """

    def envelope(self, model: str, tools_json: str) -> tuple[bytes, bytes]:
        """What a request body has before its messages, which commas part, and behind them."""

    def around(self, role: Role, name: str = "") -> tuple[bytes, bytes]:
        """What a message has before and behind its text, which stands in it as `inside_json` has it."""


class Adapter(Hashable, Protocol):
    """Translates both ways. Pure.

    Attributes
    ----------
    name : the payload format's.
    framing : what a payload costs beside its texts.
    line_form : None where a message looks otherwise beside others.
    """

    @property
    def name(self) -> str: ...
    @property
    def framing(self) -> Framing: ...
    @property
    def line_form(self) -> LineForm | None: ...

    def names(self, speakers: Sequence[Speaker]) -> list[str]:
        """The name of each as the vendor takes it, told from those of the others; empty where there is none."""

    def name_alone(self, speaker: Speaker, *, is_shared: bool = False) -> str:
        """The name that `names` gives somebody whose own nobody else has, or, `is_shared`, somebody else has, too."""

    def payload(self, messages: Sequence[NeutralMessage], options: PayloadOptions) -> bytes:
        """A request body to be posted unchanged. Calls of tools have their results behind them (`pairing.paired`)."""

    def parse_reply(self, completion: object) -> ModelReply:
        """The vendor's whole answer, its JSON loaded, as it was written; raises ValueError when it is none."""


class Nameless:
    """What adapters have in common whose vendors have no place for names: they stand in the texts alone."""

    line_form = None

    def names(self, speakers: Sequence[Speaker]) -> list[str]:
        """None."""
        return [""] * len(speakers)

    def name_alone(self, speaker: Speaker, *, is_shared: bool = False) -> str:  # noqa: ARG002 - the port's
        """None."""
        return ""


def speaker_of(message: NeutralMessage) -> Speaker:
    """Who says a message."""
    return Speaker(message.author_id, message.name)


def inside_json(text: str) -> bytes:
    """A text as it stands between the quotes of a JSON text."""
    return orjson.dumps(text)[1:-1]
