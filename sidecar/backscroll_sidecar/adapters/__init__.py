"""Neutral messages to one vendor's payload and back. Pure, no SDK; one file a vendor."""

from collections.abc import Mapping

from backscroll_sidecar.adapters.base import Adapter, encoded
from backscroll_sidecar.adapters.openai_chat import OpenAIChat, payload_name_alone, payload_names

ADAPTERS: Mapping[str, Adapter] = {OpenAIChat.name: OpenAIChat()}

__all__ = ["ADAPTERS", "Adapter", "OpenAIChat", "encoded", "payload_name_alone", "payload_names"]
