"""The client for programs without an event loop."""

from __future__ import annotations

import contextlib
import queue
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
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
from backscroll._room import Carriers, Room
from backscroll.errors import BackscrollError, error_from
from backscroll.v1 import history_pb2

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(describe: Callable[P, Plan[T]]) -> Callable[Concatenate[Client, P], T]:
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._carry_out(describe(*args, **kwargs))

    _calls.present(method, describe, "{}")
    return method


def _listing(describe: Callable[P, Listing[T]]) -> Callable[Concatenate[Client, P], Iterator[T]]:
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        listing = describe(*args, **kwargs)
        return self._list(listing, next(listing, ()))  # wrong arguments come up here, not later

    _calls.present(method, describe, "Iterator[{}]")
    return method


def _streaming(describe: Callable[P, Stream[T]]) -> Callable[Concatenate[Client, P], Iterator[T]]:
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self._stream(describe(*args, **kwargs))

    _calls.present(method, describe, "Iterator[{}]")
    return method


def _conversing(
    describe: Callable[P, Conversation[T]],
) -> Callable[Concatenate[Client, P], Generator[T, None, None]]:
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        return self._converse(describe(*args, **kwargs))

    _calls.present(method, describe, "Iterator[{}]")
    return method


def _rooming(describe: Callable[P, RoomCore]) -> Callable[Concatenate[Client, P], Room]:
    def method(self: Client, /, *args: P.args, **kwargs: P.kwargs) -> Room:
        by = Carriers(self._carry_out, self._list, self._stream, self._converse)
        return Room(describe(*args, **kwargs), by)

    _calls.present(method, describe, "Room")
    return method


class Client:
    """Talks to a Backscroll server. Safe to share between threads.

    Every call has a deadline. What is safe to repeat is retried for about a second while the
    server is away. Failures raise a `BackscrollError`.

    A program that goes on after Ctrl-C makes a new client: a KeyboardInterrupt inside gRPC can leave a lock held, and
    the next call would wait for ever. `AsyncClient` has no such trouble.

    Parameters
    ----------
    target
        "host:port", or "unix:/path/of/the/socket".
    token
        The credential, sent with every call; to another machine only with `tls`.
    tls
        How to speak TLS. None: not at all.
    timeout_s
        Deadline of each call that sets none of its own; `math.inf`: none.

    Examples
    --------
    >>> with Client(address) as client:
    ...     client.append("room", Message("m1", "ann", "we meet at six", 1795132800000)).stored
    1
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
        self._channel = open_channel(grpc, target, tls)
        self._rpcs: dict[str, Any] = open_calls(self._channel)

    append = _blocking(_calls.append)
    build_context = _blocking(_calls.build_context)
    chat = _blocking(_calls.chat)
    delete_preference = _blocking(_calls.delete_preference)
    edit_message = _blocking(_calls.edit_message)
    erase = _blocking(_calls.erase)
    export_messages = _streaming(_calls.export_messages)
    get_channel = _blocking(_calls.get_channel)
    get_metric_minutes = _blocking(_calls.get_metric_minutes)
    get_metrics = _blocking(_calls.get_metrics)
    get_thread = _blocking(_calls.get_thread)
    health = _blocking(_calls.health)
    list_channels = _listing(_calls.list_channels)
    get_usage_record = _blocking(_calls.get_usage_record)
    list_events = _listing(_calls.list_events)
    list_usage_records = _listing(_calls.list_usage_records)
    delete_channel_settings = _blocking(_calls.delete_channel_settings)
    get_channel_settings = _blocking(_calls.get_channel_settings)
    list_channel_settings = _listing(_calls.list_channel_settings)
    set_channel_settings = _blocking(_calls.set_channel_settings)
    list_weight_versions = _listing(_calls.list_weight_versions)
    roll_back_weights = _blocking(_calls.roll_back_weights)
    tune_channel = _blocking(_calls.tune_channel)
    delete_experiment = _blocking(_calls.delete_experiment)
    get_experiment = _blocking(_calls.get_experiment)
    get_experiment_report = _blocking(_calls.get_experiment_report)
    list_experiments = _listing(_calls.list_experiments)
    put_experiment = _blocking(_calls.put_experiment)
    stop_experiment = _blocking(_calls.stop_experiment)
    record_feedback = _blocking(_calls.record_feedback)
    delete_topic_labels = _blocking(_calls.delete_topic_labels)
    export_usage_records = _streaming(_calls.export_usage_records)
    replay_builds = _streaming(_calls.replay_builds)
    get_usage_consent = _blocking(_calls.get_usage_consent)
    list_topic_labels = _listing(_calls.list_topic_labels)
    set_topic_labels = _blocking(_calls.set_topic_labels)
    set_usage_consent = _blocking(_calls.set_usage_consent)
    list_members = _blocking(_calls.list_members)
    list_messages = _listing(_calls.list_messages)
    list_preferences = _blocking(_calls.list_preferences)
    list_preference_topics = _blocking(_calls.list_preference_topics)
    list_pinned_messages = _blocking(_calls.list_pinned_messages)
    near_channels = _blocking(_calls.near_channels)
    pin_message = _blocking(_calls.pin_message)
    recall_message = _blocking(_calls.recall_message)
    alias_message = _blocking(_calls.alias_message)
    room = _rooming(_calls.room)
    search = _blocking(_calls.search)
    set_preference = _blocking(_calls.set_preference)
    compact = _blocking(_calls.compact)
    list_period_summaries = _listing(_calls.list_period_summaries)
    delete_period_summary = _blocking(_calls.delete_period_summary)
    stream_chat = _conversing(_calls.stream_chat)
    unpin_message = _blocking(_calls.unpin_message)
    upsert_members = _blocking(_calls.upsert_members)
    wait_for_index = _blocking(_calls.wait_for_index)
    delete_space = _blocking(_calls.delete_space)
    get_space = _blocking(_calls.get_space)
    import_session = _blocking(_calls.import_session)
    list_sessions = _listing(_calls.list_sessions)
    list_spaces = _listing(_calls.list_spaces)
    modes = _blocking(_calls.modes)
    put_space = _blocking(_calls.put_space)

    def import_messages(
        self,
        messages: Iterable[AnyImport | Iterable[AnyMessage]],
        *,
        channel: str = "",
        restore_erased: bool = False,
        progress: Callable[[int], object] | None = None,
        timeout_s: float | None = _calls.BULK_TIMEOUT_S,
    ) -> history_pb2.ImportMessagesResponse:
        """Store any number of messages of any channels in one call, as fast as the server takes them.

        What was sent before a failure stays stored: import the same again.

        Parameters
        ----------
        messages
            Messages or batches of them; read on the caller's thread, bit by bit. An `ImportMessagesRequest` is sent as
            it is, in its place: it can tell of members, too.
        channel
            Where messages without a channel of their own belong.
        restore_erased
            Store again what went because its whole channel was erased. What was recalled, or erased by its id or its
            author, stays gone.
        progress
            Called with the number of messages handed over so far, after each thousand or so.
        timeout_s
            Deadline of the whole import, ten minutes; `math.inf`: none.

        Examples
        --------
        >>> lines = [Message(f"l{n}", "ben", f"line {n}", 1795132800000 + n) for n in range(3)]
        >>> client.import_messages(lines, channel="attic", progress=print).stored_count
        3
        3
        """
        importer = Importer(channel, restore_erased=restore_erased)
        outgoing: queue.Queue[history_pb2.ImportMessagesRequest | None] = queue.Queue(maxsize=2)
        call = self._rpcs["ImportMessages"].future(
            iter(outgoing.get, None),  # gRPC's own thread takes from the queue
            timeout=deadline_s(self._timeout_s, timeout_s),
            metadata=self._metadata,
        )
        try:
            for request in importer.requests(messages):
                if not _put(outgoing, request, call):
                    break
                if progress is not None:
                    progress(importer.sent_count)
            _put(outgoing, None, call)
            return importer.finish(_answer(self._target, call.result))
        finally:
            call.cancel()
            with contextlib.suppress(queue.Full):  # if it is full, nobody waits for it
                outgoing.put_nowait(None)

    def close(self) -> None:
        """Close the connection; calls under way are cancelled."""
        self._rpcs = ClosedCalls()
        self._channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    # --- how a description is carried out; `AsyncClient` has the same five --------------------------

    def _carry_out(self, plan: Plan[T]) -> T:
        try:
            step = next(plan)
            while True:
                if isinstance(step, Call):
                    try:
                        response = self._call(step)
                    except BackscrollError as error:
                        step = plan.throw(error)
                    else:
                        step = plan.send(response)
                else:
                    step = plan.send(step.now())
        except StopIteration as done:
            result: T = done.value
            return result

    def _list(self, listing: Listing[T], step: Call | Sequence[T]) -> Iterator[T]:
        with contextlib.suppress(StopIteration):
            while True:
                if isinstance(step, Call):
                    step = listing.send(self._call(step))
                else:
                    yield from step
                    step = next(listing)

    def _converse(self, conversation: Conversation[T]) -> Generator[T, None, None]:
        with contextlib.suppress(StopIteration):
            step = next(conversation)
            while True:
                if isinstance(step, Stream):
                    try:
                        yield from self._stream(step)
                    except BackscrollError as error:
                        step = conversation.throw(error)
                    else:
                        step = next(conversation)
                elif isinstance(step, Call):
                    try:
                        response = self._call(step)
                    except BackscrollError as error:
                        step = conversation.throw(error)
                    else:
                        step = conversation.send(response)
                else:
                    step = conversation.send(step.now())

    def _stream(self, stream: Stream[T]) -> Iterator[T]:
        call = stream.call
        responses = self._rpcs[call.rpc](
            call.request,
            timeout=deadline_s(self._timeout_s, call.timeout_s),
            metadata=metadata_of(self._metadata, call.request),
        )
        try:
            for response in responses:
                yield from stream.unpack(response)
        except grpc.RpcError as error:
            raise error_from(error, self._target) from error
        finally:
            responses.cancel()  # a dropped call would live on (grpc#43462)

    def _call(self, call: Call) -> Any:  # noqa: ANN401
        return _answer(
            self._target,
            self._rpcs[call.rpc],
            call.request,
            timeout=deadline_s(self._timeout_s, call.timeout_s, call.extra_s),
            metadata=metadata_of(self._metadata, call.request),
        )


def _answer(target: str, call: Callable[..., Any], *args: object, **kwargs: object) -> Any:  # noqa: ANN401
    try:
        return call(*args, **kwargs)
    except grpc.RpcError as error:
        raise error_from(error, target) from error


def _put(outgoing: queue.Queue[Any], item: object, call: Any) -> bool:  # noqa: ANN401
    """Put into a bounded queue; false if the call ended and nobody takes from it any more."""
    while not call.done():
        with contextlib.suppress(queue.Full):
            outgoing.put(item, timeout=0.05)
            return True
    return False
