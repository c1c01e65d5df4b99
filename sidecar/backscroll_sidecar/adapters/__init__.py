"""Neutral messages to one vendor's payload and back. Pure, no SDK; one file a vendor."""

from collections.abc import Mapping

from backscroll_sidecar.adapters.anthropic_messages import AnthropicMessages
from backscroll_sidecar.adapters.base import (
    Adapter,
    Framing,
    PayloadOptions,
    Speaker,
    inside_json,
    speaker_of,
)
from backscroll_sidecar.adapters.cache_marks import writes_breakpoints
from backscroll_sidecar.adapters.gemini_contents import GeminiContents
from backscroll_sidecar.adapters.openai_chat import OpenAIChat
from backscroll_sidecar.adapters.openai_responses import OpenAIResponses

OPENAI_CHAT = OpenAIChat()
ADAPTERS: Mapping[str, Adapter] = {
    one.name: one for one in (OPENAI_CHAT, OpenAIResponses(), AnthropicMessages(), GeminiContents())
}

__all__ = [
    "ADAPTERS",
    "OPENAI_CHAT",
    "Adapter",
    "AnthropicMessages",
    "Framing",
    "GeminiContents",
    "OpenAIChat",
    "OpenAIResponses",
    "PayloadOptions",
    "Speaker",
    "inside_json",
    "speaker_of",
    "writes_breakpoints",
]
