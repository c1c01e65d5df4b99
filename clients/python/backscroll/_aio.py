"""The client for programs with an event loop: the calls of `Client`, awaited."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Iterable,
    Sequence,
)
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import grpc

from backscroll import _calls
from backscroll._calls import (
    AnyImport,
    AnyMessage,
    Call,
    Conversation,
    Importer,
    Listing,
    Plan,
    RoomCore,
    Stream,
    deadline_s,
)
from backscroll._channel import (
    DEFAULT_TARGET,
    ClosedCalls,
    TlsConfig,
    check_target,
    metadata_for,
    metadata_of,
    open_calls,
    open_channel,
)
from backscroll._room_aio import AsyncRoom, Carriers
from backscroll.errors import BackscrollError, error_from
from backscroll.v1 import history_pb2

P = ParamSpec("P")
T = TypeVar("T")


def _awaiting(
    describe: Callable[P, Plan[T]],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, T]]:
    async def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self._carry_out(describe(*args, **kwargs))

    _calls.present(method, describe, "{}")
    return method


def _listing(
    describe: Callable[P, Listing[T]],
) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[T]]:
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        listing = describe(*args, **kwargs)
        return self._list(listing, next(listing, ()))  # wrong arguments come up here, not later

    _calls.present(method, describe, "AsyncIterator[{}]")
    return method


def _streaming(
    describe: Callable[P, Stream[T]],
) -> Callable[Concatenate[AsyncClient, P], AsyncIterator[T]]:
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        return self._stream(describe(*args, **kwargs))

    _calls.present(method, describe, "AsyncIterator[{}]")
    return method


def _conversing(
    describe: Callable[P, Conversation[T]],
) -> Callable[Concatenate[AsyncClient, P], AsyncGenerator[T, None]]:
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        return self._converse(describe(*args, **kwargs))

    _calls.present(method, describe, "AsyncIterator[{}]")
    return method


def _rooming(describe: Callable[P, RoomCore]) -> Callable[Concatenate[AsyncClient, P], AsyncRoom]:
    def method(self: AsyncClient, /, *args: P.args, **kwargs: P.kwargs) -> AsyncRoom:
        by = Carriers(self._carry_out, self._list, self._stream, self._converse)
        return AsyncRoom(describe(*args, **kwargs), by)

    _calls.present(method, describe, "AsyncRoom")
    return method


class AsyncClient:
    """Talks to a Backscroll server from asyncio; the calls are those of `Client`, awaited.

    It may be made anywhere; it connects on the first call and belongs to that event loop: in
    another one its calls raise `RuntimeError`. What lists is iterated with `async for`. Cancelling
    a task cancels its call.

    Parameters
    ----------
    target, token, tls, timeout_s
        As for `Client`.

    Examples
    --------
    >>> async def answer() -> str:
    ...     async with AsyncClient(address) as client:
    ...         await client.append("room", Message("m1", "ann", "we meet at six", 1795132800000))
    ...         context = await client.build_context("room", "when do we meet?")
    ...         return context.messages[-1]["content"]
    >>> asyncio.run(answer())
    'when do we meet?'
    """

    def __init__(
        self,
        target: str = DEFAULT_TARGET,
        *,
        token: str | None = None,
        tls: TlsConfig | None = None,
        timeout_s: float = 10.0,
    ) -> None:
        check_target(target)
        self._metadata = metadata_for(target, token, tls)
        self._timeout_s = timeout_s
        self._target = target
        self._tls = tls
        self._loop: asyncio.AbstractEventLoop | None = None
        self._channel: Any = None
        self._opened: dict[str, Any] | None = None

    append = _awaiting(_calls.append)
    build_context = _awaiting(_calls.build_context)
    chat = _awaiting(_calls.chat)
    delete_preference = _awaiting(_calls.delete_preference)
    edit_message = _awaiting(_calls.edit_message)
    erase = _awaiting(_calls.erase)
    export_messages = _streaming(_calls.export_messages)
    get_channel = _awaiting(_calls.get_channel)
    get_metric_minutes = _awaiting(_calls.get_metric_minutes)
    get_metrics = _awaiting(_calls.get_metrics)
    get_thread = _awaiting(_calls.get_thread)
    health = _awaiting(_calls.health)
    list_channels = _listing(_calls.list_channels)
    get_usage_record = _awaiting(_calls.get_usage_record)
    list_events = _listing(_calls.list_events)
    list_usage_records = _listing(_calls.list_usage_records)
    delete_channel_settings = _awaiting(_calls.delete_channel_settings)
    get_channel_settings = _awaiting(_calls.get_channel_settings)
    list_channel_settings = _listing(_calls.list_channel_settings)
    set_channel_settings = _awaiting(_calls.set_channel_settings)
    list_weight_versions = _listing(_calls.list_weight_versions)
    roll_back_weights = _awaiting(_calls.roll_back_weights)
    tune_channel = _awaiting(_calls.tune_channel)
    delete_experiment = _awaiting(_calls.delete_experiment)
    get_experiment = _awaiting(_calls.get_experiment)
    get_experiment_report = _awaiting(_calls.get_experiment_report)
    list_experiments = _listing(_calls.list_experiments)
    put_experiment = _awaiting(_calls.put_experiment)
    stop_experiment = _awaiting(_calls.stop_experiment)
    record_feedback = _awaiting(_calls.record_feedback)
    delete_topic_labels = _awaiting(_calls.delete_topic_labels)
    export_usage_records = _streaming(_calls.export_usage_records)
    replay_builds = _streaming(_calls.replay_builds)
    get_usage_consent = _awaiting(_calls.get_usage_consent)
    list_topic_labels = _listing(_calls.list_topic_labels)
    set_topic_labels = _awaiting(_calls.set_topic_labels)
    set_usage_consent = _awaiting(_calls.set_usage_consent)
    list_members = _awaiting(_calls.list_members)
    list_messages = _listing(_calls.list_messages)
    list_preferences = _awaiting(_calls.list_preferences)
    list_preference_topics = _awaiting(_calls.list_preference_topics)
    list_pinned_messages = _awaiting(_calls.list_pinned_messages)
    near_channels = _awaiting(_calls.near_channels)
    pin_message = _awaiting(_calls.pin_message)
    recall_message = _awaiting(_calls.recall_message)
    alias_message = _awaiting(_calls.alias_message)
    room = _rooming(_calls.room)
    search = _awaiting(_calls.search)
    set_preference = _awaiting(_calls.set_preference)
    compact = _awaiting(_calls.compact)
    list_period_summaries = _listing(_calls.list_period_summaries)
    delete_period_summary = _awaiting(_calls.delete_period_summary)
    stream_chat = _conversing(_calls.stream_chat)
    unpin_message = _awaiting(_calls.unpin_message)
    upsert_members = _awaiting(_calls.upsert_members)
    wait_for_index = _awaiting(_calls.wait_for_index)
    delete_space = _awaiting(_calls.delete_space)
    get_space = _awaiting(_calls.get_space)
    import_session = _awaiting(_calls.import_session)
    list_sessions = _listing(_calls.list_sessions)
    list_spaces = _listing(_calls.list_spaces)
    modes = _awaiting(_calls.modes)
    put_space = _awaiting(_calls.put_space)

    async def import_messages(
        self,
        messages: Iterable[AnyImport | Iterable[AnyMessage]]
        | AsyncIterable[AnyImport | Iterable[AnyMessage]],
        *,
        channel: str = "",
        restore_erased: bool = False,
        progress: Callable[[int], object] | None = None,
        timeout_s: float | None = _calls.BULK_TIMEOUT_S,
    ) -> history_pb2.ImportMessagesResponse:
        """Store any number of messages of any channels in one call, as fast as the server takes them.

        As `Client.import_messages`; the messages may come from an asynchronous iterable as well.

        Examples
        --------
        >>> async def load() -> int:
        ...     async with AsyncClient(address) as client:
        ...         lines = [
        ...             Message(f"l{n}", "ben", f"line {n}", 1795132800000 + n) for n in (1, 2)
        ...         ]
        ...         return (await client.import_messages(lines, channel="cellar")).stored_count
        >>> asyncio.run(load())
        2
        """
        importer = Importer(channel, restore_erased=restore_erased)
        call = self._rpcs["ImportMessages"](
            timeout=deadline_s(self._timeout_s, timeout_s), metadata=self._metadata
        )
        try:
            async for request in _requests(importer, messages):
                if not await _taken(call.write(request)):
                    break
                if progress is not None:
                    progress(importer.sent_count)
            await _taken(call.done_writing())
            return importer.finish(await _answer(self._target, call))
        finally:
            call.cancel()

    async def close(self) -> None:
        """Close the connection; calls under way are cancelled."""
        channel, self._channel = self._channel, None
        self._opened, self._loop = ClosedCalls(), None
        if channel is not None:
            await channel.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def _rpcs(self) -> dict[str, Any]:
        """The calls of the server, by name; opened by the first one."""
        loop = asyncio.get_running_loop()
        if self._opened is None:
            self._loop, self._channel = loop, open_channel(grpc.aio, self._target, self._tls)
            self._opened = open_calls(self._channel)
        if self._loop not in (None, loop):
            raise RuntimeError("this AsyncClient belongs to another event loop: make one for each")
        return self._opened

    # --- how a description is carried out; `Client` has the same five --------------------------------

    async def _carry_out(self, plan: Plan[T]) -> T:
        try:
            step = next(plan)
            while True:
                if isinstance(step, Call):
                    try:
                        response = await self._call(step)
                    except BackscrollError as error:
                        step = plan.throw(error)
                    else:
                        step = plan.send(response)
                else:
                    step = plan.send(await step.awaited())
        except StopIteration as done:
            result: T = done.value
            return result

    async def _list(self, listing: Listing[T], step: Call | Sequence[T]) -> AsyncIterator[T]:
        with contextlib.suppress(StopIteration):
            while True:
                if isinstance(step, Call):
                    step = listing.send(await self._call(step))
                else:
                    for item in step:
                        yield item
                    step = next(listing)

    async def _converse(self, conversation: Conversation[T]) -> AsyncGenerator[T, None]:
        with contextlib.suppress(StopIteration):
            step = next(conversation)
            while True:
                if isinstance(step, Stream):
                    try:
                        # Closed here and now: the event loop closes a dropped one when it likes.
                        async with contextlib.aclosing(self._stream(step)) as items:
                            async for item in items:
                                yield item
                    except BackscrollError as error:
                        step = conversation.throw(error)
                    else:
                        step = next(conversation)
                elif isinstance(step, Call):
                    try:
                        response = await self._call(step)
                    except BackscrollError as error:
                        step = conversation.throw(error)
                    else:
                        step = conversation.send(response)
                else:
                    step = conversation.send(await step.awaited())

    async def _stream(self, stream: Stream[T]) -> AsyncGenerator[T, None]:
        call = stream.call
        responses = self._rpcs[call.rpc](
            call.request,
            timeout=deadline_s(self._timeout_s, call.timeout_s),
            metadata=metadata_of(self._metadata, call.request),
        )
        try:
            async for response in responses:
                for item in stream.unpack(response):
                    yield item
        except grpc.RpcError as error:
            raise error_from(error, self._target) from error
        finally:
            responses.cancel()  # a dropped call would live on (grpc#43462)

    async def _call(self, call: Call) -> Any:  # noqa: ANN401
        return await _answer(
            self._target,
            self._rpcs[call.rpc](
                call.request,
                timeout=deadline_s(self._timeout_s, call.timeout_s, call.extra_s),
                metadata=metadata_of(self._metadata, call.request),
            ),
        )


async def _answer(target: str, call: Awaitable[Any]) -> Any:  # noqa: ANN401
    try:
        return await call
    except grpc.RpcError as error:
        raise error_from(error, target) from error


async def _taken(write: Awaitable[None]) -> bool:
    """False if the call ended early; its answer says why, what `write` raises does not."""
    try:
        await write
    except (asyncio.InvalidStateError, grpc.RpcError):
        return False
    return True


async def _requests(
    importer: Importer,
    messages: Iterable[AnyImport | Iterable[AnyMessage]]
    | AsyncIterable[AnyImport | Iterable[AnyMessage]],
) -> AsyncIterator[history_pb2.ImportMessagesRequest]:
    if isinstance(messages, AsyncIterable):
        async for given in messages:
            for request in importer.add(given):
                yield request
        for request in importer.rest():
            yield request
    else:
        for request in importer.requests(messages):
            yield request
