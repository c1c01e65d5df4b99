"""Neutral messages to one vendor's payload and back. Pure, no SDK; one file a vendor."""

from collections.abc import Mapping

from backscroll_sidecar.adapters.base import (
    Adapter,
    Framing,
    Speaker,
    inside_json,
    speaker_of,
)
from backscroll_sidecar.adapters.openai_chat import OpenAIChat

OPENAI_CHAT = OpenAIChat()
ADAPTERS: Mapping[str, Adapter] = {OPENAI_CHAT.name: OPENAI_CHAT}

__all__ = [
    "ADAPTERS",
    "OPENAI_CHAT",
    "Adapter",
    "Framing",
    "OpenAIChat",
    "Speaker",
    "inside_json",
    "speaker_of",
]
