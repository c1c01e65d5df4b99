"""The payload as it is sent. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from backscroll.v1 import context_pb2 as pb
from backscroll.v1 import message_pb2

FORMATS = ("openai_chat", "openai_responses", "anthropic_messages", "gemini_contents")


@dataclass(frozen=True, slots=True)
class PayloadText:
    """A request body for a vendor, unchanged."""

    format: str
    body: str


@dataclass(frozen=True, slots=True)
class Spoken:
    """One message of the neutral list, with the stored messages it was made from."""

    role: str
    content: str
    message_ids: Sequence[str]


@dataclass(frozen=True, slots=True)
class PayloadPage:
    """What the model is sent, and the same as neutral messages."""

    payload: PayloadText | None
    messages: Sequence[Spoken]
    text: str
    stable_tokens: int
    layout: str


def payload_of(built: pb.BuildContextResponse) -> PayloadText | None:
    """The first payload that was asked for; None: it could not be made."""
    for one in built.payloads:
        name = pb.PayloadFormat.Name(one.format).removeprefix("PAYLOAD_FORMAT_").lower()
        return PayloadText(name, one.body.decode())
    return None


def payload_page(built: pb.BuildContextResponse) -> PayloadPage:
    """The whole page."""
    return PayloadPage(
        payload_of(built),
        [
            Spoken(
                message_pb2.Role.Name(one.role).removeprefix("ROLE_").lower(),
                one.content,
                list(one.message_ids),
            )
            for one in built.messages
        ],
        built.text,
        built.stable_prefix_tokens,
        pb.Layout.Name(built.layout).removeprefix("LAYOUT_").lower(),
    )
