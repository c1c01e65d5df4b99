"""Chat models behind any vendor's API, and behind servers with one of these: Azure, vLLM, Ollama and others.

The only module that imports the vendor's client, when a model is made: that takes half a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable
from contextlib import aclosing, asynccontextmanager, nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import structlog

from backscroll_sidecar.adapters.target import Target, provider_of
from backscroll_sidecar.concurrency.time_slicing import Pacer
from backscroll_sidecar.models.answer_events import read_events
from backscroll_sidecar.models.answer_reader import FILTERED
from backscroll_sidecar.models.faults import FieldRefused, Filtered, failed, of_event, of_status
from backscroll_sidecar.models.options import OpenAIOptions
from backscroll_sidecar.models.relaying import (
    client_headers,
    refusal_of,
    relayed_body,
    relayed_events,
)
from backscroll_sidecar.models.request_body import context_payload, has_thoughts, request_body
from backscroll_sidecar.models.thoughts import MAX_MODELS, ThoughtMemory
from backscroll_sidecar.models.vendor_apis import VENDOR_APIS, VendorApi
from backscroll_sidecar.ports import (
    ModelError,
    ModelEvent,
    ModelFault,
    ModelRequest,
    Relay,
    VendorAnswer,
)

if TYPE_CHECKING:
    import openai

log = structlog.get_logger("backscroll.models")
T = TypeVar("T")


class OpenAIModel:
    """`ChatModel` over the vendor's client, with its retries off. Make it on the event loop that uses it.

    Calls and reads wait for the `pacer`; None: for those of this model only.
    """

    def __init__(self, options: OpenAIOptions, pacer: Pacer | None = None) -> None:
        sdk, httpx = _import_sdk()
        from backscroll_sidecar.models.transport import MergingTransport  # noqa: PLC0415

        self._options = options
        self._pacer = pacer or Pacer()
        self._sdk, self._httpx = sdk, httpx
        self._provider = provider_of(options.endpoint[0])
        self._refused: set[tuple[str, str]] = set()
        """Fields that are left out, and of which model: it refused them once."""
        self._thoughts = ThoughtMemory(options.thoughts)
        gaps = {"connect": options.connect_s, "pool": options.connect_s, "write": options.idle_s}
        self._answer_timeout = httpx.Timeout(read=options.answer_s, **gaps)
        timeout = httpx.Timeout(read=options.idle_s, **gaps)
        limits = httpx.Limits(
            max_connections=options.max_connections,
            max_keepalive_connections=min(options.max_connections, 100),
        )
        base_url, query = options.endpoint
        own = {name.lower() for name in options.headers}
        self._own_headers = own
        self._client: openai.AsyncOpenAI = sdk.AsyncOpenAI(
            # Without one the client would take a key from the environment.
            api_key=options.api_key or "none",
            base_url=base_url,
            timeout=timeout,
            max_retries=0,
            default_headers=options.headers,
            default_query=dict(query),
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
        if request.relay is not None:
            async with self._relayed(request, request.relay, deadline) as events:
                yield events
            return
        api = VENDOR_APIS[request.api or self._options.api]
        answer = await self._answer(api, request, deadline)
        events = (
            self._events(api, request.model, self._reads(answer), deadline)
            if answer
            else _only_filtered()
        )
        # The answer is closed first, so that its socket closes at once.
        async with aclosing(events), answer or nullcontext():
            yield events

    @asynccontextmanager
    async def relay(
        self,
        path: str,
        body: bytes | None = None,
        deadline: float | None = None,
        *,
        whole: bool = True,
    ) -> AsyncIterator[tuple[VendorAnswer, AsyncIterator[bytes]]]:
        """See `Upstream`. `whole`: the answer is silent until it is there, for as long as one may take."""
        options = {"headers": self._headers(VENDOR_APIS["openai_chat"])}
        if whole:
            options["timeout"] = self._answer_timeout
        stream_cls: type[openai.AsyncStream[object]] = self._sdk.AsyncStream[object]
        kinds: Any = {
            "cast_to": object,
            "options": options,
            "stream": True,
            "stream_cls": stream_cls,
        }
        await self._pacer.wait()
        sending = (
            self._client.get(path, **kinds)
            if body is None
            else self._client.post(path, content=body, **kinds)
        )
        answer = await self._wait(sending, deadline)
        async with answer:
            response = answer.response
            head = VendorAnswer(response.status_code, client_headers(response.headers))
            yield head, self._told(answer, deadline)

    @asynccontextmanager
    async def _relayed(
        self, request: ModelRequest, relay: Relay, deadline: float | None
    ) -> AsyncIterator[AsyncIterator[ModelEvent]]:
        api = VENDOR_APIS["openai_chat"]
        # A client's history may be long, and comparing it with ours takes time.
        payload = context_payload(request, api, self._provider)
        body = await asyncio.to_thread(relayed_body, relay, payload)
        whole = not relay.fields.get("stream")
        async with self.relay(api.path_form, body, deadline, whole=whole) as (head, pieces):
            thoughts = self._thoughts.filter_for(request.model)
            reader = api.reader(Target(self._provider, api.adapter.name, request.model), thoughts)

            async def events() -> AsyncGenerator[ModelEvent, None]:
                yield head
                try:
                    said = relayed_events(pieces, reader, self._wait, deadline)
                    async with aclosing(said):
                        async for event in said:
                            yield event
                finally:
                    if thoughts is not None:
                        apart = reader.thinks_apart
                        self._thoughts.learn(request.model, thoughts, is_set_apart=apart)

            async with aclosing(events()) as found:
                yield found

    async def _answer(
        self, api: VendorApi, request: ModelRequest, deadline: float | None
    ) -> openai.AsyncStream[object] | None:
        """The open stream; None where a filter refused.

        A server that refuses a field that the answer can do without is asked again without, and from then on if it
        answers.
        """
        left_out: set[tuple[str, str]] = set()
        while True:
            try:
                body = self._body(api, request, left_out)
                answer = await self._wait(self._open(api, request.model, body), deadline)
            except Filtered:
                return None
            except FieldRefused as refused:
                field = refused.name, request.model
                is_known = field in left_out or field in self._refused
                if is_known or not self._sends(refused.name, request):
                    raise
                left_out.add(field)
                continue
            for name, model in left_out:
                log.warning("the model refuses a field: it is asked without", field=name)
                if len(self._refused) < MAX_MODELS:
                    self._refused.add((name, model))
            return answer

    def _sends(self, field: str, request: ModelRequest) -> bool:
        """Whether the request has a field that can be left out."""
        if field == "thoughts":
            return has_thoughts(request.messages)
        return field == "stream_options" and self._options.include_usage

    def _body(self, api: VendorApi, request: ModelRequest, left_out: set[tuple[str, str]]) -> bytes:
        fields = [(name, request.model) for name in ("stream_options", "thoughts")]
        refused = [of[0] for of in fields if of in left_out or of in self._refused]
        return request_body(request, api, self._options, self._provider, refused)

    def _headers(self, api: VendorApi) -> dict[str, Any]:
        """Who calls. No key, no header, which the client wants to be told in each call."""
        own = self._own_headers
        found = {"Authorization": self._sdk.Omit(), **api.key_headers(self._options.api_key)}
        return {name: value for name, value in found.items() if name.lower() not in own}

    async def _events(
        self, api: VendorApi, model: str, body: AsyncIterator[bytes], deadline: float | None
    ) -> AsyncGenerator[ModelEvent, None]:
        """The answer's events. Learns from them how the model thinks."""
        thoughts = self._thoughts.filter_for(model)
        reader = api.reader(Target(self._provider, api.adapter.name, model), thoughts)
        try:
            async with aclosing(read_events(body, reader, self._wait, deadline)) as events:
                async for event in events:
                    yield event
        finally:
            if thoughts is not None:
                self._thoughts.learn(model, thoughts, is_set_apart=reader.thinks_apart)

    async def post(self, path: str, body: bytes, deadline: float | None) -> object:
        """One answer that is not streamed, as plain values. `deadline` is a time of the loop."""
        sent = self._client.post(
            path,
            cast_to=object,
            content=body,
            options={
                "headers": self._headers(VENDOR_APIS["openai_chat"]),
                "timeout": self._answer_timeout,
            },
        )
        return await self._wait(sent, deadline)

    async def close(self) -> None:
        await self._client.close()

    async def _open(self, api: VendorApi, model: str, body: bytes) -> openai.AsyncStream[object]:
        await self._pacer.wait()
        # Plain dicts: making the vendor's objects costs more than all the rest.
        stream_cls: type[openai.AsyncStream[object]] = self._sdk.AsyncStream[object]
        return await self._client.post(
            api.path(model),
            cast_to=object,
            content=body,
            options={"headers": self._headers(api)},
            stream=True,
            stream_cls=stream_cls,
        )

    def _reads(self, answer: openai.AsyncStream[object]) -> AsyncIterator[bytes]:
        """The body, one paced read at a time. Our own transport does the pacing itself."""
        body = answer.response.aiter_bytes()
        return _paced(body, self._pacer) if self._options.use_environment else body

    async def _told(
        self, answer: openai.AsyncStream[object], deadline: float | None
    ) -> AsyncGenerator[bytes, None]:
        """The body's reads. Raises `ModelError` where it breaks off."""
        reads = self._reads(answer)
        while (read := await self._wait(anext(reads, None), deadline)) is not None:
            yield read

    async def _wait(self, awaited: Awaitable[T], deadline: float | None) -> T:
        """The result of `awaited` by `deadline`. Every failure is a `ModelError` without the vendor's."""
        try:
            if deadline is None:
                return await awaited
            async with asyncio.timeout_at(deadline):
                return await awaited
        except ModelError:
            raise
        except Exception as error:  # noqa: BLE001 - the port: nothing but ModelError leaves
            failure = self._failure(error)
        # Outside the handler, so that no traceback shows the request and its key.
        raise failure

    def _failure(self, error: Exception) -> ModelError:
        sdk, told = self._sdk, {"error": _names(error)}
        failure: ModelError
        # The oldest clients let errors of their HTTP library through while a stream is read.
        if isinstance(error, TimeoutError | sdk.APITimeoutError | self._httpx.TimeoutException):
            failure = failed(ModelFault.TIMEOUT)
        elif isinstance(error, sdk.APIStatusError):
            answer = error.response
            failure = of_status(error.status_code, error.body, answer.headers)
            secrets = (self._options.api_key, *self._options.headers.values())
            failure.answer = refusal_of(error.status_code, answer.headers, answer.content, secrets)
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
    """The vendor's module and its HTTP library, with their logs at WARNING.

    Below that they may log addresses and bodies, which ``OPENAI_LOG`` asks for.
    """
    import httpx2  # noqa: PLC0415
    import openai  # noqa: PLC0415

    for name in ("openai", "httpx2", "httpcore2"):
        logger = logging.getLogger(name)
        logger.setLevel(max(logger.level, logging.WARNING))
    return openai, httpx2


def _names(error: BaseException) -> str:
    """The classes of an error and its causes, with system error numbers. Their texts may hold anything."""
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
    """The time of the loop at which the call must be over. Raises TIMEOUT where that is past."""
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
