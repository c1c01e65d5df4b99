"""Every call of the contract, described once for both clients.

A *plan* is a generator: it yields the calls to make, is sent their responses and returns the
result. It knows nothing of threads or event loops; `Client` and `AsyncClient` carry plans out,
and their methods take signature and documentation from here. A plan that lists yields what it
found as well; a `Stream` is one call with many responses.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from google.protobuf.message import Message as ProtoMessage
from google.protobuf.wrappers_pb2 import StringValue

from backscroll._encode import encode
from backscroll.results import AppendReport, Context
from backscroll.v1 import context_pb2, history_pb2, message_pb2
from backscroll.values import (
    Author,
    Embedding,
    LayoutName,
    Member,
    Mention,
    Message,
    Overrides,
    Part,
    PayloadFormatName,
    Reply,
    SpeakerStyleName,
    SystemPrompt,
    TimeStyleName,
    TokenizerName,
    When,
    author_of,
    mentions_of,
    parts_of,
    reply_of,
)

T = TypeVar("T")

BATCH_ITEMS = 1_000
BATCH_BYTES = 3_500 * 1024  # the server refuses 4 MiB; the rest is for what surrounds the messages
BULK_TIMEOUT_S = 600.0
_WAIT_S = 10.0
_HEALTH = ("unknown", "serving", "not_serving", "service_unknown")
_ITEM_FRAME_BYTES = 5  # tag and length of a message inside its request

AnyMessage: TypeAlias = Message | message_pb2.Message


@dataclass(frozen=True, slots=True)
class Call:
    """One RPC with one response. No timeout_s: the client's; extra_s is time the server may wait."""

    rpc: str
    request: ProtoMessage
    timeout_s: float | None = None
    extra_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Stream(Generic[T]):
    """One RPC with many responses, each of which holds some items."""

    call: Call
    unpack: Callable[[Any], Iterable[T]]


def deadline_s(default_s: float, timeout_s: float | None, extra_s: float = 0.0) -> float | None:
    """Seconds a call may take; None: as long as it wants."""
    own_s = default_s if timeout_s is None else timeout_s
    return None if math.isinf(own_s) else own_s + extra_s


Plan: TypeAlias = Generator[Call, Any, T]
Listing: TypeAlias = Generator[Call | Sequence[T], Any, None]


# --- context --------------------------------------------------------------------------------------


def build_context(
    channel: str = "",
    question: str = "",
    *,
    asker: str | Author | message_pb2.Author | None = None,
    trigger_message_id: str | None = None,
    asked_at: When | None = None,
    reply: str | Reply | message_pb2.Reply | None = None,
    mentions: Sequence[str | Mention | message_pb2.Mention] = (),
    thread_id: str | None = None,
    session_id: str | None = None,
    self_ids: Sequence[str] = (),
    profile: str | None = None,
    overrides: Overrides | Mapping[str, Any] | context_pb2.Overrides | None = None,
    layout: LayoutName | int | None = None,
    speaker_style: SpeakerStyleName | int | None = None,
    time_style: TimeStyleName | int | None = None,
    time_zone: str = "",
    system: str | SystemPrompt | context_pb2.SystemPrompt | None = None,
    include_system: bool = False,
    tools_json: str = "",
    reserve_tokens: int | None = None,
    preferences: Sequence[str] = (),
    query_embedding: Embedding | message_pb2.Embedding | None = None,
    token_budget: int | None = None,
    tokenizer: TokenizerName | int | None = None,
    payload_formats: PayloadFormatName | Sequence[PayloadFormatName | int] = (),
    model: str = "",
    explain: bool = False,
    include_names: bool = False,
    question_label: str | None = None,
    visible_since_membership: bool = False,
    timeout_s: float | None = None,
) -> Plan[Context]:
    """Pick the few messages that matter for a question, as model input.

    It changes nothing on the server. A channel never heard of gives an empty context.

    Parameters
    ----------
    channel
        Where the question was asked. Empty: the asker's own messages in any channel.
    question
        The text the model will answer. May be empty only with `trigger_message_id`.
    asker
        Who asks: an `Author`, or the id alone. None: the trigger's author.
    trigger_message_id
        The stored message that holds the question; it is left out of the history and gives what
        the request leaves out. None: the asker's newest message with that text, if there is one.
    asked_at
        The time everything refers to; later messages are not seen. None: the trigger's time, else
        now.
    reply, mentions
        What the question answers and whom it names. Left out: the trigger's.
    thread_id
        Only messages of this container of the channel.
    session_id
        The session whose mode, personas and profile apply.
    self_ids
        The bot's own user ids; other bots' lines are shown as theirs.
    profile, overrides
        The named way of picking, and single settings of it to change: `Overrides` or a dict.
    layout, speaker_style, time_style, time_zone
        How messages are shown: "turns", "context_and_question", "single_user" or
        "system_and_user"; speakers by "role" or "tagged"; times as "none", "iso_date" or
        "relative" in an IANA time zone such as "Asia/Shanghai" (empty: UTC).
    system, include_system
        The bot's instruction, text or `SystemPrompt`. The payload has it in any case;
        `include_system` puts it into messages and text as well.
    tools_json
        JSON array of the tool schemas the payload will carry.
    preferences
        Lines about the asker, as the bot knows them.
    query_embedding
        The vector of the question, if the bot has one.
    token_budget, reserve_tokens, tokenizer
        Cap of the whole payload, what of it is kept free for the reply, and what counts:
        "o200k_base", "chars_4" or "bytes_4".
    payload_formats, model
        Vendors' request bodies to make ("openai_chat" if left out, or "none"), and the model
        named in them.
    explain
        Ask for every candidate with its scores and fate.
    include_names
        Put authors' names into the payload's own name field, where the vendor has one.
    question_label
        What precedes the question in the layouts that put it behind the context.
    visible_since_membership
        Leave out what was said while the asker was no member.
    timeout_s
        Deadline of the call. None: the client's.

    Raises
    ------
    InvalidRequest
        With reason QUESTION_MISSING, BUDGET_TOO_SMALL (metadata "least_tokens" would do),
        UNKNOWN_PROFILE, INVALID_FIELD or TOO_LARGE.
    NotFound
        If there is no message `trigger_message_id`.

    Examples
    --------
    >>> context = client.build_context(
    ...     "room",
    ...     "when do we meet?",
    ...     asker="ann",
    ...     system="You are a helpful cat.",
    ...     layout="single_user",
    ...     token_budget=2000,
    ...     preferences=["likes short answers"],
    ... )
    >>> context.payload["messages"][-1]["role"]
    'user'
    """
    response: context_pb2.BuildContextResponse = yield Call(
        "BuildContext",
        encode(
            context_pb2.BuildContextRequest,
            channel=channel,
            asker=author_of(asker),
            question=question,
            trigger_message_id=trigger_message_id,
            asked_at_ms=asked_at,
            reply=reply_of(reply),
            mentions=mentions_of(mentions),
            thread_id=thread_id,
            session_id=session_id,
            self_ids=self_ids,
            profile=profile,
            overrides=Overrides(**overrides) if isinstance(overrides, Mapping) else overrides,
            layout=layout,
            speaker_style=speaker_style,
            time_style=time_style,
            time_zone=time_zone,
            system=SystemPrompt(system) if isinstance(system, str) else system,
            include_system=include_system,
            tools_json=tools_json,
            reserve_tokens=reserve_tokens,
            preferences=preferences,
            query_embedding=query_embedding,
            token_budget=token_budget,
            tokenizer=tokenizer,
            payload_formats=payload_formats,
            model=model,
            explain=explain,
            include_names=include_names,
            question_label=question_label,
            visible_since_membership=visible_since_membership,
        ),
        timeout_s,
    )
    return Context(response)


# --- writing --------------------------------------------------------------------------------------


def append(
    channel: str,
    messages: AnyMessage | Iterable[AnyMessage],
    *,
    timeout_s: float | None = None,
) -> Plan[AppendReport]:
    """Store messages of one channel, durably, before it answers.

    It is safe to repeat: what is already there is a duplicate. One bad message never harms the
    others. More than 1,000 messages or 3.5 MiB go out as several calls, in order, each with its
    own deadline; if one fails, those before it are stored: append the same again.

    Parameters
    ----------
    channel
        Where all of them belong.
    messages
        One message or any number.
    timeout_s
        Deadline of each call. None: the client's.

    Raises
    ------
    Unavailable
        If the store cannot be written now, with reason STORE_READ_ONLY or STORE_UNAVAILABLE.
    Overloaded
        If the server's queue is full.

    Examples
    --------
    >>> client.append("room", Message("m1", "ann", "we meet at six", 1795132800000))
    <AppendReport: 1 messages, 1 stored, 0 duplicates, 0 problems>
    """
    results: list[history_pb2.AppendResult] = []
    for batch in batches(_each(messages)):
        if refused := refusal_of(batch[0]):
            results.append(refused)
            continue
        request = encode(history_pb2.AppendMessagesRequest, channel=channel)
        request.messages.extend(batch)
        response: history_pb2.AppendMessagesResponse = yield Call(
            "AppendMessages", request, timeout_s
        )
        results.extend(response.results)
    return AppendReport(tuple(results))


def edit_message(
    channel: str,
    message_id: str,
    text: str | None = None,
    *,
    parts: Sequence[Part] = (),
    mentions: Sequence[str | Mention | message_pb2.Mention] = (),
    edited_at: When | None = None,
    timeout_s: float | None = None,
) -> Plan[history_pb2.StoredMessage]:
    """Give a message new content; author and time stay. Returns it as it now stands.

    Raises
    ------
    NotFound
        If the channel has no such message.
    Gone
        If it was recalled or erased.

    Examples
    --------
    >>> client.edit_message("room", "m1", "we meet at seven").revision
    1
    """
    response: history_pb2.EditMessageResponse = yield Call(
        "EditMessage",
        encode(
            history_pb2.EditMessageRequest,
            channel=channel,
            message_id=message_id,
            parts=parts_of(text, parts),
            mentions=mentions_of(mentions),
            edited_at_ms=edited_at,
        ),
        timeout_s,
    )
    return response.message


def recall_message(channel: str, message_id: str, *, timeout_s: float | None = None) -> Plan[None]:
    """Take a message back: its text is deleted; its id stays taken. Twice is no error.

    Raises
    ------
    NotFound
        If the channel has no such message.
    Gone
        If it was erased.

    Examples
    --------
    >>> client.recall_message("room", "m1")
    """
    yield Call(
        "RecallMessage",
        encode(history_pb2.RecallMessageRequest, channel=channel, message_id=message_id),
        timeout_s,
    )


def upsert_members(
    channel: str,
    members: Member | history_pb2.Member | Iterable[Member | history_pb2.Member],
    *,
    timeout_s: float | None = None,
) -> Plan[None]:
    """Tell names, aliases, joins and leaves. A rename keeps the old name findable.

    Examples
    --------
    >>> client.upsert_members("room", [Member("u1", "Ann", aliases=["Annie"])])
    """
    given = (members,) if isinstance(members, Member | history_pb2.Member) else tuple(members)
    for start in range(0, len(given), BATCH_ITEMS):
        yield Call(
            "UpsertMembers",
            encode(
                history_pb2.UpsertMembersRequest,
                channel=channel,
                members=given[start : start + BATCH_ITEMS],
            ),
            timeout_s,
        )


def erase(
    channel: str,
    *,
    message_ids: Sequence[str] = (),
    user_id: str = "",
    whole_channel: bool = False,
    timeout_s: float | None = None,
) -> Plan[dict[str, int]]:
    """Delete for good: some messages, all a user wrote there, or the whole channel.

    Exactly one of the three. Never retried by itself.

    Returns
    -------
    dict of str to int
        How many rows went from each part of the store.

    Examples
    --------
    >>> client.erase("room", user_id="u1")
    {'messages': 0}
    """
    response: history_pb2.EraseResponse = yield Call(
        "Erase",
        encode(
            history_pb2.EraseRequest,
            channel=channel,
            message_ids=message_ids,
            user_id=user_id,
            whole_channel=whole_channel,
        ),
        timeout_s,
    )
    return dict(response.erased_count_by_store)


# --- reading --------------------------------------------------------------------------------------


def get_channel(
    channel: str, *, timeout_s: float | None = None
) -> Plan[history_pb2.GetChannelResponse]:
    """Say where a channel stands, so that a bot that was down appends only what is missing.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> client.get_channel("room").newest_message_id
    'm1'
    """
    response: history_pb2.GetChannelResponse = yield Call(
        "GetChannel", encode(history_pb2.GetChannelRequest, channel=channel), timeout_s
    )
    return response


def list_messages(
    channel: str = "",
    *,
    author_id: str = "",
    thread_id: str = "",
    since: When | None = None,
    until: When | None = None,
    newest_first: bool = False,
    include_recalled: bool = False,
    channels: Sequence[str] = (),
    message_ids: Sequence[str] = (),
    limit: int | None = None,
    page_size: int | None = None,
    timeout_s: float | None = None,
) -> Listing[history_pb2.StoredMessage]:
    """Iterate over a channel in order of arrival, page by page as needed.

    All conditions given must hold. Pages are fetched while iterating, so errors of the server
    come up there.

    Parameters
    ----------
    channel
        Which to read. May be empty with `author_id`: then all channels, or those in `channels`.
    author_id, thread_id
        Only this author's, only this thread's.
    since, until
        Only messages sent at or after `since` and before `until`.
    newest_first
        Begin at the end.
    include_recalled
        Recalled ones too, without content.
    channels
        What `author_id` is looked for in, where `channel` is empty.
    message_ids
        Exactly these, those that exist; the conditions but `channel` are ignored.
    limit
        Stop after this many. None: all.
    page_size
        Messages a call, 1 to 1,000. None: the server's 100, or `limit` where that is less.
    timeout_s
        Deadline of each page. None: the client's.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> [stored.message.id for stored in client.list_messages("room", newest_first=True, limit=10)]
    ['m1']
    """
    request = encode(
        history_pb2.ListMessagesRequest,
        channel=channel,
        limit=page_size,
        newest_first=newest_first,
        author_id=author_id,
        thread_id=thread_id,
        since_ms=since,
        until_ms=until,
        include_recalled=include_recalled,
        channels=channels,
        message_ids=message_ids,
    )
    left = limit
    while left is None or left > 0:
        if left is not None:
            request.limit = min(left, page_size or 100)
        page: history_pb2.ListMessagesResponse = yield Call("ListMessages", request, timeout_s)
        yield page.messages[:left]
        if not page.next_page_token:
            return
        left = None if left is None else left - len(page.messages)
        request.page_token = page.next_page_token


def get_thread(
    channel: str,
    message_id: str,
    *,
    limit: int | None = None,
    timeout_s: float | None = None,
) -> Plan[history_pb2.GetThreadResponse]:
    """Return the reply tree a message belongs to, in order of arrival.

    Raises
    ------
    NotFound
        If the channel has no such message.

    Examples
    --------
    >>> client.get_thread("room", "m1").root_message_id
    'm1'
    """
    response: history_pb2.GetThreadResponse = yield Call(
        "GetThread",
        encode(history_pb2.GetThreadRequest, channel=channel, message_id=message_id, limit=limit),
        timeout_s,
    )
    return response


def search(
    channel: str,
    query: str,
    *,
    limit: int | None = None,
    timeout_s: float | None = None,
) -> Plan[Sequence[history_pb2.SearchHit]]:
    """Find messages of a channel by words, best first.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> [hit.message.message.id for hit in client.search("room", "meet", limit=5)]
    ['m1']
    """
    response: history_pb2.SearchMessagesResponse = yield Call(
        "SearchMessages",
        encode(history_pb2.SearchMessagesRequest, channel=channel, query=query, limit=limit),
        timeout_s,
    )
    return response.hits


def list_members(
    channel: str, *, timeout_s: float | None = None
) -> Plan[Sequence[history_pb2.Member]]:
    """Return everybody known in a channel, authors seen included, ordered by id.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> [member.user_id for member in client.list_members("room")]
    ['ann']
    """
    response: history_pb2.ListMembersResponse = yield Call(
        "ListMembers", encode(history_pb2.ListMembersRequest, channel=channel), timeout_s
    )
    return response.members


def wait_for_index(
    channel: str, *, wait_s: float | None = None, timeout_s: float | None = None
) -> Plan[history_pb2.WaitForIndexResponse]:
    """Wait until everything stored before the call can be found by meaning.

    Parameters
    ----------
    channel
        Which to wait for.
    wait_s
        How long the server may wait, up to 600; then it answers with `ready` false. None: 10.
    timeout_s
        Time for the call itself, on top of `wait_s`. None: the client's.

    Examples
    --------
    >>> client.wait_for_index("room", wait_s=30).ready
    True
    """
    response: history_pb2.WaitForIndexResponse = yield Call(
        "WaitForIndex",
        encode(
            history_pb2.WaitForIndexRequest,
            channel=channel,
            timeout_ms=None if wait_s is None else round(wait_s * 1000),
        ),
        timeout_s,
        extra_s=_WAIT_S if wait_s is None else wait_s,
    )
    return response


def export_messages(
    channel: str, *, timeout_s: float | None = BULK_TIMEOUT_S
) -> Stream[history_pb2.StoredMessage]:
    """Iterate over a whole channel in order of arrival, recalled ones included without content.

    Leaving the loop early ends the call. The deadline, ten minutes, is that of the whole stream.

    Raises
    ------
    NotFound
        If the channel was never heard of.

    Examples
    --------
    >>> [text_of(stored.message) for stored in client.export_messages("room")]
    ['we meet at six']
    """
    request = encode(history_pb2.ExportMessagesRequest, channel=channel)
    return Stream(Call("ExportMessages", request, timeout_s), lambda response: response.messages)


def health(service: str = "", *, timeout_s: float | None = None) -> Plan[str]:
    """Ask whether the server takes calls: "serving" or "not_serving". No server is `Unavailable`.

    Examples
    --------
    >>> client.health()
    'serving'
    """
    response = yield Call("Check", encode(StringValue, value=service), timeout_s)
    return _HEALTH[response.value] if response.value < len(_HEALTH) else "unknown"


# --- batches and imports --------------------------------------------------------------------------


def batches(messages: Iterable[message_pb2.Message]) -> Iterator[list[message_pb2.Message]]:
    """Cut into runs that fit one call. A message too large for any call comes alone."""
    batcher = Batcher()
    for message in messages:
        yield from batcher.add(message)
    yield from batcher.rest()


def refusal_of(message: message_pb2.Message) -> history_pb2.AppendResult | None:
    """What the server would say of a message that no call can carry; it need not be sent."""
    if message.ByteSize() <= BATCH_BYTES:
        return None
    return history_pb2.AppendResult(
        message_id=message.id,
        outcome=history_pb2.APPEND_OUTCOME_REFUSED,
        refusal=history_pb2.APPEND_REFUSAL_TEXT_TOO_LARGE,
        field="parts",
    )


class Batcher:
    """Collects messages into batches of at most 1,000 messages and 3.5 MiB, in order."""

    def __init__(self) -> None:
        self._batch: list[message_pb2.Message] = []
        self._bytes = 0

    def add(self, message: message_pb2.Message) -> Iterator[list[message_pb2.Message]]:
        size = message.ByteSize() + _ITEM_FRAME_BYTES
        if self._bytes + size > BATCH_BYTES or len(self._batch) == BATCH_ITEMS:
            yield from self.rest()
        self._batch.append(message)
        self._bytes += size

    def rest(self) -> Iterator[list[message_pb2.Message]]:
        if self._batch:
            yield self._batch
        self._batch, self._bytes = [], 0


class Importer:
    """Turns what an import is given into requests, and its answer into the import's."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._batcher = Batcher()
        self._refused: list[history_pb2.AppendResult] = []
        self.sent_count = 0

    def requests(
        self, messages: Iterable[AnyMessage | Iterable[AnyMessage]]
    ) -> Iterator[history_pb2.ImportMessagesRequest]:
        for given in messages:
            yield from self.add(given)
        yield from self.rest()

    def add(
        self, given: AnyMessage | Iterable[AnyMessage]
    ) -> Iterator[history_pb2.ImportMessagesRequest]:
        for message in _each(given):
            for batch in self._batcher.add(message):
                yield from self._request(batch)

    def rest(self) -> Iterator[history_pb2.ImportMessagesRequest]:
        for batch in self._batcher.rest():
            yield from self._request(batch)

    def finish(
        self, response: history_pb2.ImportMessagesResponse
    ) -> history_pb2.ImportMessagesResponse:
        response.refused_count += len(self._refused)
        response.problems.extend(self._refused[: 100 - len(response.problems)])
        return response

    def _request(
        self, batch: list[message_pb2.Message]
    ) -> Iterator[history_pb2.ImportMessagesRequest]:
        if refused := refusal_of(batch[0]):
            self._refused.append(refused)
            return
        request = encode(history_pb2.ImportMessagesRequest, channel=self._channel)
        request.messages.extend(batch)
        self.sent_count += len(batch)
        yield request


def _each(messages: AnyMessage | Iterable[AnyMessage]) -> Iterator[message_pb2.Message]:
    given = (messages,) if isinstance(messages, Message | message_pb2.Message) else messages
    for message in given:
        if isinstance(message, Message):
            yield message.to_proto()
        elif isinstance(message, message_pb2.Message):
            yield message
        else:
            raise TypeError(f"a message is wanted, not {type(message).__name__}")


# --- methods made of descriptions -----------------------------------------------------------------


def present(method: Callable[..., Any], description: Callable[..., Any], returns: str) -> None:
    """Give a client's method the name, signature and documentation of its description."""
    method.__name__ = description.__name__
    method.__doc__ = description.__doc__
    signature = inspect.signature(description)
    myself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    result = signature.return_annotation.partition("[")[2].removesuffix("]")
    method.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[myself, *signature.parameters.values()],
        return_annotation=returns.format(result),
    )
