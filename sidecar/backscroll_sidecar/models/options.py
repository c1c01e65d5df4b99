"""Where a model with OpenAI's protocol is and how it is called. Pure, no SDK."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import parse_qsl, urlsplit, urlunsplit

from backscroll_sidecar.adapters.target import BASE_URLS, without_call
from backscroll_sidecar.models.thoughts import Mode
from backscroll_sidecar.ports import reserved_fields

DEFAULT_BASE_URL = BASE_URLS["openai_chat"]
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110, 5.6.2."""


@dataclass(frozen=True, slots=True)
class OpenAIOptions:
    """Where the model is and how long to wait for it. Nothing of it comes from a request.

    Attributes
    ----------
    api
        The payload format it takes where a request names none.
    api_key
        Sent as the API wants it, such as ``Authorization: Bearer …``; empty: no such header (local servers, Azure's
        ``api-key`` in `headers`).
    base_url
        Up to the version, ``http://127.0.0.1:11434/v1``, or the whole address of a call, with its query; the client's
        own environment variable is not read.
    headers, query
        Sent with every call: ``api-key``, ``OpenAI-Organization``; ``api-version``.
    connect_s, idle_s
        Longest wait for a connection, and for the next bytes of a stream (comments count as bytes).
    answer_s
        Longest wait for an answer that is not streamed: nothing comes until all of it is there.
    max_connections
        Calls at a time; another one waits `connect_s` for its turn.
    include_usage
        Ask for usage at the end of a stream, until the server has refused ``stream_options``.
    extra_body
        Fields of every call's body, over those that are made here; `RESERVED_BODY_FIELDS` are refused.
    max_tokens_field
        The name under which the server takes a limit: OpenAI's newest models want ``max_completion_tokens``.
    use_environment
        Take proxies and certificates from the environment (``HTTPS_PROXY``, ``SSL_CERT_FILE``). Off: what is
        configured here is all there is, and a local server is never asked through a proxy.
    thoughts
        What becomes of thoughts in ``<think>`` tags: see `models.thoughts`.
    """

    api: str = "openai_chat"
    api_key: str = field(default="", repr=False)
    base_url: str = field(default=DEFAULT_BASE_URL, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect_s: float = 3.0
    idle_s: float = 60.0
    answer_s: float = 600.0
    max_connections: int = 1_000
    include_usage: bool = True
    extra_body: Mapping[str, object] = field(default_factory=dict)
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    use_environment: bool = False
    thoughts: Mode = "auto"

    def __post_init__(self) -> None:
        """Refuse what would fail in every call, without showing it: it may be a secret."""
        if not all(map(_is_header, (self.api_key, *self.headers, *self.headers.values()))):
            raise ValueError(
                "the model's key and headers must be printable ASCII without spaces at the ends"
            )
        if not all(map(_HEADER_NAME.fullmatch, self.headers)):
            raise ValueError("the names of the model's headers must be letters, digits and hyphens")
        if not all(map(_is_text, (*self.query, *self.query.values()))):
            raise ValueError("the model's query parameters must be text")
        if found := reserved_fields(self.extra_body):
            raise ValueError(f"the model's extra body may not hold {found[0]}")
        if not _is_address(self.base_url):
            raise ValueError(
                "the model's base URL must begin with http:// or https:// and name a host"
            )

    @property
    def endpoint(self) -> tuple[str, Mapping[str, str]]:
        """The base URL without the path of a call, and the query. `query` replaces the URL's own."""
        parts = urlsplit(self.base_url)
        base = urlunsplit((parts.scheme, parts.netloc, without_call(parts.path), "", ""))
        return base, {**dict(parse_qsl(parts.query, keep_blank_values=True)), **self.query}


def _is_address(url: str) -> bool:
    """Whether the vendor's client could call it."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port  # raises for a port that is none
        host.encode("idna")
    except ValueError:
        return False
    return parts.scheme in {"http", "https"} and host != "" and url.isprintable() and " " not in url


def _is_text(value: str) -> bool:
    """JSON can spell half a character."""
    return not any("\ud800" <= char <= "\udfff" for char in value)


def _is_header(value: str) -> bool:
    return value.isascii() and (not value or value.isprintable()) and value == value.strip()
