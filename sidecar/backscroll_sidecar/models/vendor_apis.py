"""How each vendor's API is called: where, as whom, with which fields, and how its answer is read. Pure, no SDK."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote

from backscroll_sidecar.adapters import ADAPTERS, Adapter
from backscroll_sidecar.adapters.target import family_of
from backscroll_sidecar.models.answer_reader import AnswerReader
from backscroll_sidecar.models.chat_reader import ChatReader
from backscroll_sidecar.models.contents_reader import ContentsReader
from backscroll_sidecar.models.messages_reader import MessagesReader
from backscroll_sidecar.models.responses_reader import ResponsesReader
from backscroll_sidecar.ports import ModelRequest

ANTHROPIC_VERSION = "2023-06-01"
MAX_ANTHROPIC_TEMPERATURE = 1.0
_REASONING = re.compile(r"o\d|gpt-(?:[5-9]|\d\d)")
"""Families of OpenAI's that think; the others refuse to be asked for their thoughts."""


class VendorApi(NamedTuple):
    """One interface.

    Attributes
    ----------
    adapter : makes its payloads.
    path_form : where to post, behind the base URL; ``{model}`` is the model's.
    key_headers : what tells who calls, of a key that may be empty.
    fields : what a streamed call has beside its payload.
    reader : reads an answer.
    """

    adapter: Adapter
    path_form: str
    key_headers: Callable[[str], Mapping[str, str]]
    fields: Callable[[ModelRequest], dict[str, Any]]
    reader: type[AnswerReader]

    def path(self, model: str) -> str:
        """Where to post, behind the base URL."""
        return self.path_form.format(model=quote(model if "/" in model else f"models/{model}"))


def _bearer(api_key: str) -> Mapping[str, str]:
    return {"Authorization": f"Bearer {api_key}"} if api_key else {}


def _anthropic_headers(api_key: str) -> Mapping[str, str]:
    key = {"x-api-key": api_key} if api_key else {}
    return {"anthropic-version": ANTHROPIC_VERSION} | key


def _google_headers(api_key: str) -> Mapping[str, str]:
    """The key is never part of the address, which servers write into their logs."""
    return {"x-goog-api-key": api_key} if api_key else {}


def _chat_fields(request: ModelRequest) -> dict[str, Any]:
    """Usage comes with the last chunk."""
    found: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}
    if request.temperature is not None:
        found["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        found["max_tokens"] = request.max_output_tokens
    return found


def _responses_fields(request: ModelRequest) -> dict[str, Any]:
    """The server keeps nothing, so thoughts come along, sealed. Models that think take no temperature."""
    found: dict[str, Any] = {"stream": True, "store": False}
    if _REASONING.match(family_of(request.model)):
        found["include"] = ["reasoning.encrypted_content"]
    elif request.temperature is not None:
        found["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        found["max_output_tokens"] = request.max_output_tokens
    return found


def _messages_fields(request: ModelRequest) -> dict[str, Any]:
    """The limit is part of the payload."""
    found: dict[str, Any] = {"stream": True}
    if request.temperature is not None:
        found["temperature"] = min(request.temperature, MAX_ANTHROPIC_TEMPERATURE)
    return found


def _contents_fields(request: ModelRequest) -> dict[str, Any]:
    """They have a place of their own."""
    config: dict[str, Any] = {}
    if request.temperature is not None:
        config["temperature"] = request.temperature
    if request.max_output_tokens is not None:
        config["maxOutputTokens"] = request.max_output_tokens
    return {"generationConfig": config} if config else {}


VENDOR_APIS: Mapping[str, VendorApi] = {
    one.adapter.name: one
    for one in (
        VendorApi(
            ADAPTERS["openai_chat"], "/chat/completions", _bearer, _chat_fields, ChatReader
        ),
        VendorApi(
            ADAPTERS["openai_responses"], "/responses", _bearer, _responses_fields, ResponsesReader
        ),
        VendorApi(
            ADAPTERS["anthropic_messages"], "/messages", _anthropic_headers, _messages_fields,
            MessagesReader,
        ),
        VendorApi(
            ADAPTERS["gemini_contents"], "/{model}:streamGenerateContent?alt=sse", _google_headers,
            _contents_fields, ContentsReader,
        ),
    )
}  # fmt: skip
