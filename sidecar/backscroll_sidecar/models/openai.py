"""Chat models of OpenAI and everything that speaks its protocol: Azure, vLLM, Ollama and others.

The only module that imports the vendor's client, and only when a model is made: it takes half a second.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Literal, TypeVar
from urllib.parse import urlsplit

import structlog

from backscroll_sidecar.models.body import request_body
from backscroll_sidecar.models.chunks import FILTERED, AnswerReader, whole_answer
from backscroll_sidecar.models.faults import Filtered, failed, of_event, of_status
from backscroll_sidecar.models.reading import read_events
from backscroll_sidecar.models.thoughts import Mode, ThoughtMemory
from backscroll_sidecar.pacing import Pacer
from backscroll_sidecar.ports import ModelError, ModelEvent, ModelFault, ModelRequest

if TYPE_CHECKING:
    import openai

log = structlog.get_logger("backscroll.models")
T = TypeVar("T")

DEFAULT_BASE_URL = "https://api.openai.com/v1"
_PATH = "/chat/completions"
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A token of RFC 9110, 5.6.2."""


@dataclass(frozen=True, slots=True)
class OpenAIOptions:
    """Where the model is and how long to wait for it. Nothing of it comes from a request.

    Attributes
    ----------
    api_key
        Sent as ``Authorization: Bearer …``; empty: no such header (local servers, Azure's ``api-key`` in `headers`).
    base_url
        Up to the version, ``http://127.0.0.1:11434/v1``; the client's own environment variable is not read.
    headers, query
        Sent with every call: ``api-key``, ``OpenAI-Organization``; ``api-version``.
    connect_s, idle_s
        Longest wait for a connection, and for the next bytes of a stream (comments count as bytes).
    answer_s
        Longest wait for an answer that is not streamed: nothing comes until all of it is there.
    max_connections
        Calls at a time; another one waits `connect_s` for its turn.
    include_usage
        Ask for usage at the end of a stream. Off for servers that refuse ``stream_options``.
    max_tokens_field
        The name under which the server takes a limit: OpenAI's newest models want ``max_completion_tokens``.
    use_environment
        Take proxies and certificates from the environment (``HTTPS_PROXY``, ``SSL_CERT_FILE``). Off: what is
        configured here is all there is, and a local server is never asked through a proxy.
    thoughts
        What becomes of thoughts in ``<think>`` tags: see `models.thoughts`.
    """

    api_key: str = field(default="", repr=False)
    base_url: str = field(default=DEFAULT_BASE_URL, repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    query: Mapping[str, str] = field(default_factory=dict, repr=False)
    connect_s: float = 3.0
    idle_s: float = 60.0
    answer_s: float = 600.0
    max_connections: int = 1_000
    include_usage: bool = True
    max_tokens_field: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    use_environment: bool = False
    thoughts: Mode = "auto"

    def __post_init__(self) -> None:
        """Refuse what would fail in every call, without repeating it: it may be a secret."""
        if not all(map(_is_header, (self.api_key, *self.headers, *self.headers.values()))):
            raise ValueError(
                "the model's key and headers must be printable ASCII without spaces at the ends"
            )
        if not all(map(_HEADER_NAME.fullmatch, self.headers)):
            raise ValueError("the names of the model's headers must be letters, digits and hyphens")
        if not all(map(_is_text, (*self.query, *self.query.values()))):
            raise ValueError("the model's query parameters must be text")
        if not _is_address(self.base_url):
            raise ValueError(
                "the model's base URL must begin with http:// or https:// and name a host"
            )


class OpenAIModel:
    """`ChatModel` over the vendor's client, with its retries off. Make it on the event loop that uses it.

    Calling the model and passing on what it says are paced; `pacer` None: only this model's calls wait for each other.
    """

    def __init__(self, options: OpenAIOptions, pacer: Pacer | None = None) -> None:
        sdk, httpx = _import_sdk()
        from backscroll_sidecar.models.transport import MergingTransport  # noqa: PLC0415

        self._options = options
        self._pacer = pacer or Pacer()
        self._sdk, self._httpx = sdk, httpx
        self._thoughts = ThoughtMemory(options.thoughts)
        gaps = {"connect": options.connect_s, "pool": options.connect_s, "write": options.idle_s}
        self._answer_timeout = httpx.Timeout(read=options.answer_s, **gaps)
        timeout = httpx.Timeout(read=options.idle_s, **gaps)
        limits = httpx.Limits(
            max_connections=options.max_connections,
            max_keepalive_connections=min(options.max_connections, 100),
        )
        own = {name.lower() for name in options.headers}
        # No key, no header. The client wants that said in each call.
        bare = not options.api_key and "authorization" not in own
        self._headers = {"Authorization": sdk.Omit()} if bare else {}
        self._client: openai.AsyncOpenAI = sdk.AsyncOpenAI(
            # Without one the client would take a key from the environment.
            api_key=options.api_key or "none",
            base_url=options.base_url,
            timeout=timeout,
            max_retries=0,
            default_headers=options.headers,
            default_query=dict(options.query),
            http_client=sdk.DefaultAsyncHttpxClient(
                timeout=timeout,
                limits=limits,
                # With a transport of ours the library would not look for proxies.
                transport=None
                if options.use_environment
                else MergingTransport(limits, self._pacer),
                trust_env=options.use_environment,
                # A redirect would carry the conversation to an address nobody configured.
                follow_redirects=False,
            ),
        )
        self._client.organization = self._client.project = None  # as read from the environment

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        deadline = _deadline(request)
        body = request_body(
            request,
            streamed=True,
            include_usage=self._options.include_usage,
            max_tokens_field=self._options.max_tokens_field,
        )
        try:
            answer = await self._wait(self._open(body), deadline)
        except Filtered:
            answer = None
        events = (
            self._events(request.model, self._reads(answer), deadline)
            if answer
            else _only_filtered()
        )
        # The answer first: its socket closes at once, whatever the reader of the events is about.
        async with aclosing(events), answer or nullcontext():
            yield events

    async def _events(
        self, model: str, body: AsyncIterator[bytes], deadline: float | None
    ) -> AsyncGenerator[ModelEvent, None]:
        """What the answer says, and what it shows of how the model thinks."""
        thoughts = self._thoughts.filter_for(model)
        reader = AnswerReader(thoughts)
        try:
            async with aclosing(read_events(body, reader, self._wait, deadline)) as events:
                async for event in events:
                    yield event
        finally:
            if thoughts is not None:
                self._thoughts.learn(model, thoughts, is_set_apart=reader.thinks_apart)

    async def complete(self, request: ModelRequest) -> Sequence[ModelEvent]:
        deadline = _deadline(request)
        body = request_body(
            request, streamed=False, max_tokens_field=self._options.max_tokens_field
        )
        try:
            answer = await self.post(_PATH, body, deadline)
            return whole_answer(answer, self._thoughts.filter_for(request.model))
        except Filtered:
            return [FILTERED]

    async def post(self, path: str, body: bytes, deadline: float | None) -> object:
        """One answer of any path that is not streamed, as plain values. `deadline` is a time of the loop."""
        sent = self._client.post(
            path,
            cast_to=object,
            content=body,
            options={"headers": self._headers, "timeout": self._answer_timeout},
        )
        return await self._wait(sent, deadline)

    async def close(self) -> None:
        await self._client.close()

    async def _open(self, body: bytes) -> openai.AsyncStream[object]:
        await self._pacer.wait()
        # Chunks come as plain dicts: making the vendor's objects of them costs more than all the rest.
        stream_cls: type[openai.AsyncStream[object]] = self._sdk.AsyncStream[object]
        return await self._client.post(
            _PATH,
            cast_to=object,
            content=body,
            options={"headers": self._headers},
            stream=True,
            stream_cls=stream_cls,
        )

    def _reads(self, answer: openai.AsyncStream[object]) -> AsyncIterator[bytes]:
        """The body as it comes in, one read at a time: our transport waits before it reads, the library's does not."""
        body = answer.response.aiter_bytes()
        return _paced(body, self._pacer) if self._options.use_environment else body

    async def _wait(self, awaited: Awaitable[T], deadline: float | None) -> T:
        """What `awaited` gives by `deadline`; every failure as a `ModelError` that hides the vendor's."""
        try:
            if deadline is None:
                return await awaited
            async with asyncio.timeout_at(deadline):
                return await awaited
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001 - the port: nothing but ModelError leaves
            failure = self._failure(error)
        # Outside the handler, so that no traceback shows the vendor's error, its request and its key.
        raise failure

    def _failure(self, error: Exception) -> ModelError:
        sdk, told = self._sdk, {"error": _names(error)}
        failure: ModelError
        # The oldest clients we take let the errors of their HTTP library through while a stream is read.
        if isinstance(error, TimeoutError | sdk.APITimeoutError | self._httpx.TimeoutException):
            failure = failed(ModelFault.TIMEOUT)
        elif isinstance(error, sdk.APIStatusError):
            failure = of_status(error.status_code, error.body, error.response.headers)
            told["status"] = str(error.status_code)
        elif (
            isinstance(error, sdk.APIConnectionError | self._httpx.RequestError)
            or self._client.is_closed()
        ):
            failure = failed(ModelFault.CONNECTION)
        elif isinstance(error, sdk.APIError):
            failure = of_event(error.body)
        else:
            failure = failed(ModelFault.BAD_RESPONSE)
        log.warning("a model call failed", fault=failure.fault.value, **told, **failure.told)
        return failure


def _import_sdk() -> tuple[ModuleType, ModuleType]:
    """The vendor's module and its HTTP library, both told to keep quiet about what they send.

    Below WARNING they may tell addresses and bodies, and ``OPENAI_LOG`` asks for it in an import.
    """
    import httpx2  # noqa: PLC0415
    import openai  # noqa: PLC0415

    for name in ("openai", "httpx2", "httpcore2"):
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))
    return openai, httpx2


def _is_address(url: str) -> bool:
    """Whether the vendor's client could call it: it raises for bad hosts, ports and characters, each in its own way."""
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


def _names(error: BaseException) -> str:
    """The kinds of an error and of what is behind it, with the system's number: their texts may hold anything."""
    names: list[str] = []
    behind = error
    while len(names) < 8:
        number = f" {behind.errno}" if isinstance(behind, OSError) and behind.errno else ""
        names.append(type(behind).__name__ + number)
        if (following := behind.__cause__ or behind.__context__) is None:
            break
        behind = following
    return " < ".join(dict.fromkeys(names))


def _deadline(request: ModelRequest) -> float | None:
    """The time of the loop at which the call must be over. Raises when that is now: nothing is sent."""
    if request.timeout_s is None:
        return None
    if request.timeout_s <= 0:
        raise failed(ModelFault.TIMEOUT)
    return asyncio.get_running_loop().time() + request.timeout_s


async def _paced(body: AsyncIterator[bytes], pacer: Pacer) -> AsyncGenerator[bytes, None]:
    async for read in body:
        await pacer.wait()
        yield read


async def _only_filtered() -> AsyncGenerator[ModelEvent, None]:
    yield FILTERED
